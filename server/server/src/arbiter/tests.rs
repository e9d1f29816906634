mod batches;
mod bots;
mod clocks;
mod episodes;
mod events;
mod fair;
mod history;
mod inviting;
mod phases;
mod replay;
mod resigning;
mod restarts;
mod secrecy;
mod watching;

use std::sync::LazyLock;
use std::time::Duration;

use boardwire_api::Error;
use boardwire_api::v1::{self, IllegalActionPolicy};
use boardwire_batch::pool::Pool;
use boardwire_batch::registry::Registry;
use boardwire_batch::tables::Tables;
use boardwire_bots::Bot;
use boardwire_kernel::{RngStream, SUBSTITUTE_STREAM, SeatSet};
use uuid::Uuid;

use super::*;
use crate::record::fair::{DealSecret, commitment_to};
use crate::record::{Cause, DecisionTime, Forfeited, Mismatch, verify};

fn tables() -> Tables {
    Tables::new(Registry::standard())
}

fn table(game: &str, seats: u32) -> Arc<Table> {
    tables().table(game, seats, []).expect("the table can be set up")
}

fn settings(players: &[Player]) -> Settings {
    Settings { seed: Some(7), ..Settings::of(players.to_vec()) }
}

/// The thread pool of all tests.
fn pool() -> &'static Pool {
    static POOL: LazyLock<Pool> = LazyLock::new(|| Pool::new(2).expect("threads start"));
    &POOL
}

fn arbiter(table: Arc<Table>, settings: Settings) -> Arc<Arbiter> {
    let arbiter = Arc::new(Arbiter::new(table, settings, pool().new_group().work_queue(), 3));
    arbiter.start();
    arbiter
}

const AGENT: Player = Player::Agent;
const RANDOM: Player = Player::Bot(Bot::Random);

fn faraway(settings: Settings) -> Arc<Arbiter> {
    let seats = u32::try_from(settings.players.len()).expect("the number fits u32");
    arbiter(table("faraway", seats), settings)
}

async fn observe(arbiter: &Arc<Arbiter>, seat: Seat) -> Observation {
    arbiter.observe(seat, false, Extras::default()).await.expect("the match is open")
}

/// Asks for the next episode for a seat.
async fn reset(
    arbiter: &Arc<Arbiter>,
    seat: Seat,
    seed: Option<u64>,
    from_episode: Option<u32>,
) -> Result<(), Error> {
    arbiter.reset(seat, Reset { seed, from_episode, ..Reset::default() }).await.map(drop)
}

/// Returns the source of the present episode's seed.
fn source(arbiter: &Arbiter) -> SeedSource {
    arbiter.lock().state.present.key.source
}

/// Returns the public facts about a fair deal.
fn fair_deal(arbiter: &Arbiter) -> v1::FairDeal {
    arbiter.describe(Audience::Seat(Seat::FIRST)).fair.expect("the match has fair deals")
}

/// Converts commitments or secrets to the form that they have in messages.
fn to_message_bytes(values: &[Option<[u8; 32]>]) -> Vec<bytes::Bytes> {
    values.iter().map(|value| value.map(|value| value.to_vec().into()).unwrap_or_default()).collect()
}

/// Returns the next frame; `None` when the match is closed.
async fn next(watcher: &mut Watcher) -> Result<Option<Frame>, Error> {
    Ok(if watcher.wait().await? { Some(watcher.take_frame(false)?.0) } else { None })
}

fn legal(observation: &Observation) -> Vec<u32> {
    let bit = |at: usize| observation.mask[at / 8] >> (at % 8) & 1 == 1;
    (0..8 * observation.mask.len())
        .filter(|&at| bit(at))
        .map(|at| u32::try_from(at).expect("an action fits"))
        .collect()
}

fn illegal(observation: &Observation) -> u32 {
    (0..113).find(|action| !legal(observation).contains(action)).expect("not everything is legal")
}

fn decision_of(observation: &Observation, action: u32) -> Decision {
    Decision { episode: observation.episode, number: observation.decision, action }
}

/// Plays the first legal action for every agent's seat until the episode is over.
async fn play_to_end(arbiter: &Arc<Arbiter>) {
    while arbiter.phase() == Phase::Playing {
        for seat in arbiter.settings.agents().iter() {
            let observation = observe(arbiter, seat).await;
            if observation.pending.contains(&seat.number().into()) {
                arbiter
                    .act(seat, decision_of(&observation, legal(&observation)[0]))
                    .await
                    .expect("a legal action is accepted");
            }
        }
    }
}

#[tokio::test]
async fn a_repeated_decision_changes_nothing() {
    let arbiter = faraway(settings(&[AGENT, AGENT]));
    let seat = Seat::new(0);
    let observation = observe(&arbiter, seat).await;
    let decision = decision_of(&observation, legal(&observation)[0]);
    arbiter.act(seat, decision).await.expect("the decision is due");
    let after = observe(&arbiter, seat).await;
    arbiter.act(seat, decision).await.expect("a repetition is answered");
    assert_eq!(observe(&arbiter, seat).await, after);
    let other = Decision { action: legal(&observation)[1], ..decision };
    let stale = Error::DecisionStale { expected_episode: 0, expected_decision: 1, episode: 0, decision: 0 };
    assert_eq!(arbiter.act(seat, other).await, Err(stale));
    assert_eq!(observe(&arbiter, seat).await, after);
}

#[tokio::test]
async fn a_future_decision_or_one_of_another_episode_is_stale() {
    let arbiter = faraway(settings(&[AGENT, RANDOM]));
    let seat = Seat::new(0);
    let observation = observe(&arbiter, seat).await;
    for (episode, number) in [(0, 1), (1, 0)] {
        let decision = Decision { episode, number, action: legal(&observation)[0] };
        assert!(matches!(arbiter.act(seat, decision).await, Err(Error::DecisionStale { .. })));
    }
    arbiter.act(seat, decision_of(&observation, legal(&observation)[0])).await.expect("the decision is due");
    reset(&arbiter, seat, None, Some(0)).await.expect("the only agent may reset");
    assert!(matches!(
        arbiter.act(seat, decision_of(&observation, legal(&observation)[0])).await,
        Err(Error::DecisionStale { expected_episode: 1, expected_decision: 0, .. })
    ));
}

#[tokio::test]
async fn a_decision_of_a_seat_that_owes_none_is_refused() {
    let arbiter = faraway(settings(&[AGENT, AGENT]));
    let seat = Seat::new(0);
    let observation = observe(&arbiter, seat).await;
    arbiter.act(seat, decision_of(&observation, legal(&observation)[0])).await.expect("the decision is due");
    let waiting = observe(&arbiter, seat).await;
    assert!(legal(&waiting).is_empty());
    let early = Decision { action: legal(&observation)[1], ..decision_of(&waiting, 0) };
    let pending = SeatSet::only(Seat::new(1));
    assert_eq!(
        arbiter.act(seat, early).await,
        Err(Error::NotYourTurn { seat: seat.number(), pending: pending.to_string() })
    );
}

#[tokio::test]
async fn a_refused_action_changes_nothing() {
    let arbiter = faraway(settings(&[AGENT, AGENT]));
    let seat = Seat::new(1);
    let observation = observe(&arbiter, seat).await;
    let refused = arbiter.act(seat, decision_of(&observation, illegal(&observation))).await;
    assert!(matches!(refused, Err(Error::ActionIllegal { .. })), "{refused:?}");
    let refused = arbiter.act(seat, decision_of(&observation, 113)).await;
    assert_eq!(refused, Err(Error::ActionOutOfRange { action: 113, actions: 113 }));
    assert_eq!(observe(&arbiter, seat).await, observation);
}

#[tokio::test]
async fn illegal_actions_follow_the_policy_of_the_match() {
    let policy = |illegal_actions| faraway(Settings { illegal_actions, ..settings(&[AGENT, RANDOM]) });
    let seat = Seat::new(0);

    let first = policy(IllegalActionPolicy::FirstLegal);
    let observation = observe(&first, seat).await;
    first.act(seat, decision_of(&observation, illegal(&observation))).await.expect("a substitute is played");
    let honest = policy(IllegalActionPolicy::Reject);
    honest.act(seat, decision_of(&observation, legal(&observation)[0])).await.expect("the action is legal");
    let substituted = observe(&first, seat).await;
    assert!(substituted.substituted);
    assert_eq!(Observation { substituted: false, ..substituted }, observe(&honest, seat).await);

    let (one, two) = (policy(IllegalActionPolicy::SeededLegal), policy(IllegalActionPolicy::SeededLegal));
    for arbiter in [&one, &two] {
        arbiter
            .act(seat, decision_of(&observation, illegal(&observation)))
            .await
            .expect("a substitute is played");
    }
    assert_eq!(observe(&one, seat).await, observe(&two, seat).await);

    let forfeit = policy(IllegalActionPolicy::Forfeit);
    forfeit
        .act(seat, decision_of(&observation, illegal(&observation)))
        .await
        .expect("the forfeit is accepted");
    let end = observe(&forfeit, seat).await;
    assert!(end.terminated && !end.truncated && end.pending.is_empty() && legal(&end).is_empty());
    assert!((end.reward + 1.0).abs() < 1e-9);
    let ending = end.outcome.clone().expect("the episode is over");
    let forfeits: Vec<_> = ending.forfeits().collect();
    assert_eq!((ending.ranks, forfeits), (vec![2, 1], vec![Forfeit::IllegalAction, Forfeit::Unspecified]));
    assert_eq!(forfeit.act(seat, decision_of(&end, 0)).await, Err(Error::EpisodeOver { episode: 0 }));
}

#[tokio::test]
async fn an_index_out_of_range_is_refused_under_every_policy() {
    use IllegalActionPolicy::{FirstLegal, Forfeit, Reject, SeededLegal};
    for illegal_actions in [Reject, FirstLegal, SeededLegal, Forfeit] {
        let arbiter = faraway(Settings { illegal_actions, ..settings(&[AGENT, RANDOM]) });
        let seat = Seat::new(0);
        let observation = observe(&arbiter, seat).await;
        let refused = arbiter.act(seat, decision_of(&observation, 1_000)).await;
        assert_eq!(refused, Err(Error::ActionOutOfRange { action: 1_000, actions: 113 }));
    }
}

#[tokio::test]
async fn skip_forced_skips_forced_decisions() {
    for game in boardwire_games::IDS {
        let skipping = Settings { skip_forced: true, ..settings(&[AGENT, RANDOM]) };
        let (arbiter, seat) = (arbiter(table(game, 2), skipping), Seat::new(0));
        for _ in 0..40 {
            let observation = observe(&arbiter, seat).await;
            if observation.pending.contains(&seat.number().into()) {
                assert!(legal(&observation).len() > 1, "{game} asks for a forced decision");
                arbiter
                    .act(seat, decision_of(&observation, legal(&observation)[0]))
                    .await
                    .expect("the action is legal");
            }
        }
    }
}

#[test]
fn skip_forced_is_refused_with_several_agents() {
    let skipping = |players: &[Player]| Settings { skip_forced: true, ..settings(players) }.check();
    assert_eq!(skipping(&[AGENT, RANDOM]), Ok(()));
    let refused = skipping(&[AGENT, RANDOM, AGENT]);
    assert!(matches!(refused, Err(Error::FieldInvalid { field: "skip_forced", .. })), "{refused:?}");
}

/// The call fails before it makes the decision, not when it would have to wait.
#[tokio::test]
async fn a_decision_of_a_busy_seat_that_would_wait_changes_nothing() {
    let arbiter = faraway(settings(&[AGENT, AGENT]));
    let (seat, other) = (Seat::new(0), Seat::new(1));
    let observation = observe(&arbiter, other).await;
    arbiter.act(other, decision_of(&observation, legal(&observation)[0])).await.expect("the decision is due");
    let mut waiting: Vec<_> =
        (0..3).map(|_| Box::pin(arbiter.observe(other, true, Extras::default()))).collect();
    for call in &mut waiting {
        assert!(futures_util::poll!(call).is_pending());
    }
    let observation = observe(&arbiter, seat).await;
    arbiter.act(seat, decision_of(&observation, legal(&observation)[0])).await.expect("the decision is due");
    let next = observe(&arbiter, other).await;
    assert!(next.pending.contains(&1), "seat 1 owes a decision, but its waiting calls are not polled");
    let act = Act { wait: true, ..decision_of(&next, legal(&next)[0]).into() };
    let refused = arbiter.act(other, act).await;
    assert_eq!(refused, Err(Error::SeatBusy { seat: 1, limit: 3 }));
    assert_eq!(observe(&arbiter, other).await.decision, next.decision);
    drop(waiting);
}

#[tokio::test]
async fn waiting_calls_of_a_seat_are_limited() {
    let arbiter = faraway(settings(&[AGENT, AGENT]));
    let seat = Seat::new(0);
    let observation = observe(&arbiter, seat).await;
    arbiter.act(seat, decision_of(&observation, legal(&observation)[0])).await.expect("the decision is due");
    let wait = || Box::pin(arbiter.observe(seat, true, Extras::default()));
    let mut waiting: Vec<_> = (0..3).map(|_| wait()).collect();
    for call in &mut waiting {
        assert!(futures_util::poll!(call).is_pending());
    }
    assert_eq!(wait().await, Err(Error::SeatBusy { seat: seat.number(), limit: 3 }));
    observe(&arbiter, seat).await;
    assert!(arbiter.idle_since().is_none(), "a call waits");
    waiting.pop();
    let mut next = wait();
    assert!(futures_util::poll!(&mut next).is_pending(), "a dropped call makes room");
    arbiter.lock().last_used -= Duration::from_hours(1);
    drop((waiting, next));
    let since = arbiter.idle_since().expect("no call waits");
    assert!(since.elapsed() < Duration::from_mins(1), "a waiting call uses the match until it ends");
}

#[tokio::test]
async fn a_token_gives_access_to_its_seat_only() {
    let arbiter = faraway(settings(&[AGENT, RANDOM, AGENT]));
    let seats: Vec<Seat> = arbiter.invitations().into_iter().map(|(seat, _)| seat).collect();
    assert_eq!(seats, [Seat::new(0), Seat::new(2)]);
    let once = Some(Uuid::from_u128(1));
    let token = arbiter.join(seats[1], once, None).expect("no agent has joined yet");
    assert_eq!(
        arbiter.join(seats[1], once, None),
        Ok(token.clone()),
        "a repeated request gets the same token"
    );
    assert!(matches!(
        arbiter.join(seats[1], Some(Uuid::from_u128(2)), None),
        Err(Error::InvitationUsed { .. })
    ));
    assert_eq!(arbiter.role(Some(&token)), Ok(Role::Seat(seats[1])));
    assert_eq!(arbiter.role(Some(arbiter.host_token())), Ok(Role::Host));
    assert!(matches!(arbiter.seat_of(Role::Host), Err(Error::SeatOnly { .. })));
    assert!(matches!(arbiter.role(Some("guess")), Err(Error::TokenWrong { .. })));
    assert!(matches!(arbiter.role(Some("")), Err(Error::TokenWrong { .. })));
    assert_eq!(arbiter.role(None), Err(Error::TokenMissing));
}

#[tokio::test]
async fn a_waiting_call_wakes_on_another_seats_action_and_on_close() {
    let arbiter = faraway(settings(&[AGENT, AGENT]));
    let (zero, one) = (Seat::new(0), Seat::new(1));
    let observation = observe(&arbiter, zero).await;
    arbiter.act(zero, decision_of(&observation, legal(&observation)[0])).await.expect("the decision is due");
    let waiting = tokio::spawn({
        let arbiter = Arc::clone(&arbiter);
        async move { arbiter.observe(zero, true, Extras::default()).await }
    });
    let mut other = observe(&arbiter, one).await;
    while arbiter.phase() == Phase::Playing
        && !observe(&arbiter, zero).await.pending.contains(&zero.number().into())
    {
        arbiter.act(one, decision_of(&other, legal(&other)[0])).await.expect("the action is legal");
        other = observe(&arbiter, one).await;
    }
    let woken = waiting.await.expect("the call does not panic").expect("the match is open");
    assert!(woken.pending.contains(&zero.number().into()));
    let observation = observe(&arbiter, one).await;
    if observation.pending.contains(&one.number().into()) {
        arbiter
            .act(one, decision_of(&observation, legal(&observation)[0]))
            .await
            .expect("the action is legal");
    }
    let waiting = arbiter.observe(one, true, Extras::default());
    let (ended, ()) = tokio::join!(waiting, async { arbiter.close(CloseReason::Host) });
    assert!(matches!(ended, Ok(_) | Err(Error::MatchClosed { .. })));
    assert!(matches!(observe_refused(&arbiter, one).await, Error::MatchClosed { .. }));
}

async fn observe_refused(arbiter: &Arc<Arbiter>, seat: Seat) -> Error {
    arbiter.observe(seat, true, Extras::default()).await.expect_err("the match is closed")
}

#[tokio::test]
async fn bots_play_a_match_without_agents_to_its_end() {
    for game in boardwire_games::IDS {
        let greedy = Player::Bot(Bot::Greedy { determinizations: 1 });
        let arbiter = arbiter(table(game, 2), settings(&[greedy, RANDOM]));
        let over =
            arbiter.respond_when(Role::Host, false, |inner, _| Ok(inner.state.is_over().then_some(()))).await;
        assert_eq!(over, Ok(()));
        let end = arbiter
            .observe(Seat::new(0), true, Extras { text: true, explanation: true, ..Extras::default() })
            .await;
        let end = end.expect("the match is open");
        assert!(end.terminated, "{game}");
        let ending = end.outcome.expect("the episode is over");
        for (score, lines) in ending.scores.iter().zip(&ending.explanations) {
            assert_eq!(*score, lines.lines.iter().map(|line| line.points).sum::<i32>(), "{game}");
        }
    }
}
