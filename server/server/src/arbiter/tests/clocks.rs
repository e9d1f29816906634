//! Tests of clocks: which time they count, which timeouts they forgive, and what a timeout does. Most tests simulate time.

use boardwire_api::{Error, v1};
use tokio::time::{Instant, advance};

use super::*;
use crate::stall;

const SECOND: Duration = Duration::from_secs(1);

fn clock(on_timeout: OnTimeout) -> Clock {
    Clock { limit: SECOND, bank: 10 * SECOND, increment: SECOND / 2, strikes: 0, on_timeout }
}

/// Creates a match in which all agents have joined.
fn timed(game: &str, players: &[Player], clock: &Clock) -> Arc<Arbiter> {
    stall::tests::disable();
    let each = |player: &Player| (*player == AGENT).then(|| clock.clone());
    let clocks = players.iter().map(each).collect();
    let seats = u32::try_from(players.len()).expect("the number fits u32");
    let arbiter = arbiter(table(game, seats), Settings { clocks, ..settings(players) });
    for seat in arbiter.settings.agents().iter() {
        arbiter.join(seat, None, None).expect("the seat has no agent");
    }
    arbiter
}

/// Lets other tasks run.
async fn run_other_tasks() {
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
}

/// The reading of a seat's clock.
struct Reading {
    left: Duration,
    bank: Duration,
    running: bool,
    strikes: u32,
}

async fn reading(arbiter: &Arc<Arbiter>, seat: Seat) -> Reading {
    run_other_tasks().await;
    let v1::ClockReading { left, bank, running, strikes } = observe(arbiter, seat).await.clocks[seat.index()];
    let time = |time: Option<prost_types::Duration>| {
        time.unwrap_or_default().try_into().expect("the duration is not negative")
    };
    Reading { left: time(left), bank: time(bank), running, strikes }
}

/// Returns the seat that has forfeited the episode, and why.
fn loser(observation: &Observation) -> Option<(Seat, Forfeit)> {
    let forfeits = observation.outcome.as_ref()?.forfeits();
    Seat::all(6).zip(forfeits).find(|(_, reason)| *reason != Forfeit::Unspecified)
}

/// Closes a match, and verifies its replay.
fn check(arbiter: &Arc<Arbiter>) {
    arbiter.close(CloseReason::Host);
    let replay = arbiter.replay(Audience::Host, None).expect("the episode is kept");
    let verified = verify(&replay, &tables()).expect("the replay is right");
    assert_eq!(verified.decisions, arbiter.lock().state.present.moves.len());
}

/// Makes a seat's decision with the lowest legal action.
async fn choose(arbiter: &Arc<Arbiter>, seat: Seat, thinking_time: Option<Duration>) -> Result<(), Error> {
    let observation = observe(arbiter, seat).await;
    arbiter
        .act(seat, Act { thinking_time, ..decision_of(&observation, legal(&observation)[0]).into() })
        .await
        .map(drop)
}

#[tokio::test(start_paused = true)]
async fn a_decision_is_charged_beyond_its_limit_and_earns_its_increment() {
    let arbiter = timed("faraway", &[AGENT, RANDOM], &clock(OnTimeout::Forfeit));
    let seat = Seat::new(0);
    let fresh = reading(&arbiter, seat).await;
    assert_eq!((fresh.left, fresh.bank, fresh.running), (11 * SECOND, 10 * SECOND, true));
    advance(3 * SECOND).await;
    let later = reading(&arbiter, seat).await;
    assert_eq!((later.left, later.bank), (8 * SECOND, 8 * SECOND));
    choose(&arbiter, seat, None).await.expect("the decision is in time");
    // The decision took 3 s, of which the limit covers 1 s. The increment adds 0.5 s.
    assert_eq!(reading(&arbiter, seat).await.bank, 8 * SECOND + SECOND / 2);
    choose(&arbiter, seat, None).await.expect("the decision is in time");
    assert_eq!(reading(&arbiter, seat).await.bank, 9 * SECOND);
    let moves = arbiter.lock().state.present.moves.clone();
    let times = moves.iter().filter(|played| played.seat == seat).map(|played| played.decision_time);
    let exactly = |elapsed| Some(DecisionTime { elapsed, network: Duration::ZERO });
    assert_eq!(times.collect::<Vec<_>>(), [exactly(3 * SECOND), exactly(Duration::ZERO)]);
    // A retry costs no more time.
    let last = arbiter.lock().state.by_seat[0].last.expect("the seat has chosen");
    arbiter.act(seat, last).await.expect("a repetition is answered");
    assert_eq!(reading(&arbiter, seat).await.bank, 9 * SECOND);
    // The next episode begins with a full bank.
    reset(&arbiter, seat, None, None).await.expect("the match has one agent");
    assert_eq!(reading(&arbiter, seat).await.left, 11 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_seat_that_runs_out_of_time_loses_the_episode() {
    let arbiter = timed("faraway", &[AGENT, AGENT], &clock(OnTimeout::Forfeit));
    let (fast, slow) = (Seat::new(0), Seat::new(1));
    let began = Instant::now();
    while observe(&arbiter, fast).await.pending.contains(&fast.number().into()) {
        choose(&arbiter, fast, None).await.expect("the decision is in time");
    }
    let observation = arbiter.observe(fast, true, Extras::default()).await.expect("the episode ends");
    assert_eq!(loser(&observation), Some((slow, Forfeit::Time)));
    // The time of the seat plus its quota for network time.
    let waited = began.elapsed();
    assert!((11 * SECOND..13 * SECOND).contains(&waited), "{waited:?}");
    let observation = observe(&arbiter, slow).await;
    let late = arbiter.act(slow, decision_of(&observation, 0)).await;
    assert!(matches!(late, Err(Error::EpisodeOver { .. })), "{late:?}");
    check(&arbiter);
}

#[tokio::test(start_paused = true)]
async fn seats_that_run_out_of_time_at_once_are_equally_likely_to_lose() {
    stall::tests::disable();
    let mut losses = [0; 2];
    for seed in 0..200 {
        let clocks = vec![Some(clock(OnTimeout::Forfeit)); 2];
        let arbiter = faraway(Settings { clocks, seed: Some(seed), ..settings(&[AGENT, AGENT]) });
        for seat in arbiter.settings.agents().iter() {
            arbiter.join(seat, None, None).expect("the seat has no agent");
        }
        let observation =
            arbiter.observe(Seat::new(0), false, Extras::default()).await.expect("the match is open");
        assert_eq!(observation.pending.len(), 2, "both choose at the same time");
        advance(13 * SECOND).await;
        run_other_tasks().await;
        let (loser, _) = loser(&observe(&arbiter, Seat::new(0)).await).expect("a seat has lost");
        losses[loser.index()] += 1;
    }
    assert!((85..=115).contains(&losses[0]), "{losses:?}");
}

/// The late decision arrives within the quota for network time, before the timeout of the seat.
#[tokio::test(start_paused = true)]
async fn a_late_decision_gets_the_error_of_its_timeout_policy() {
    let seat = Seat::new(0);
    for on_timeout in [OnTimeout::Forfeit, OnTimeout::FirstLegal] {
        let arbiter = timed("faraway", &[AGENT, RANDOM], &clock(on_timeout.clone()));
        let observation = arbiter.observe(seat, true, Extras::default()).await.expect("the match is open");
        advance(11 * SECOND + Duration::from_millis(1)).await;
        let late = decision_of(&observation, legal(&observation)[0]);
        for _ in 0..2 {
            let refused = arbiter.act(seat, late).await;
            match on_timeout {
                OnTimeout::Forfeit => {
                    assert!(matches!(refused, Err(Error::EpisodeOver { .. })), "{refused:?}");
                }
                _ => assert!(matches!(refused, Err(Error::DecisionLate { .. })), "{refused:?}"),
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_engine_decides_for_a_late_seat() {
    for game in boardwire_games::IDS {
        for on_timeout in [OnTimeout::FirstLegal, OnTimeout::SeededLegal] {
            let clock = Clock { bank: Duration::ZERO, ..clock(on_timeout) };
            let arbiter = timed(game, &[AGENT, RANDOM], &clock);
            let seat = Seat::new(0);
            let observation =
                arbiter.observe(seat, true, Extras::default()).await.expect("the match is open");
            advance(2 * SECOND).await;
            run_other_tasks().await;
            let late = arbiter.observe(seat, true, Extras::default()).await.expect("the match is open");
            assert!(late.timed_out && late.decision == observation.decision + 1, "{game}: {late:?}");
            let refused = arbiter.act(seat, decision_of(&observation, legal(&observation)[0])).await;
            let expected = Error::DecisionLate { episode: 0, decision: observation.decision };
            assert_eq!(refused, Err(expected), "{game}");
            choose(&arbiter, seat, None).await.expect("the next decision is in time");
            assert!(!observe(&arbiter, seat).await.timed_out);
            // The episode also ends if the agent sends no more decisions.
            let over = arbiter.observe(seat, false, Extras::default());
            let mut over = over.await.expect("the match is open");
            while over.outcome.is_none() {
                advance(2 * SECOND).await;
                run_other_tasks().await;
                over = arbiter.observe(seat, true, Extras::default()).await.expect("the match is open");
            }
            let moves = arbiter.lock().state.present.moves.clone();
            let late =
                moves.iter().filter(|played| matches!(played.cause, Cause::TimedOut { bot: false, .. }));
            assert!(late.count() > 5, "{game}");
            check(&arbiter);
        }
    }
}

/// A bot thinks in a pool thread, so this test uses real time.
#[tokio::test]
async fn a_bot_decides_for_a_late_seat() {
    for game in boardwire_games::IDS {
        let on_timeout = OnTimeout::Bot(Bot::Search { playouts: 20 });
        let (limit, bank) = (Duration::from_millis(20), Duration::ZERO);
        let arbiter = timed(game, &[AGENT, RANDOM], &Clock { limit, bank, ..clock(on_timeout) });
        let seat = Seat::new(0);
        while arbiter.lock().state.by_seat[0].decision < 2 {
            arbiter.change_notify.notified().await;
        }
        let moves = arbiter.lock().state.present.moves.clone();
        let late = moves.iter().filter(|played| matches!(played.cause, Cause::TimedOut { bot: true, .. }));
        assert_eq!(late.count(), 2, "{game}");
        let after = arbiter.lock().state.bot_rng(seat).words();
        assert!(after > 0, "{game}: the bot has used its stream");
        arbiter.close(CloseReason::Host);
    }
}

#[tokio::test(start_paused = true)]
async fn a_strike_is_forgiven_and_the_next_is_not() {
    let clock = Clock { strikes: 1, bank: SECOND, ..clock(OnTimeout::Forfeit) };
    let arbiter = timed("faraway", &[AGENT, RANDOM], &clock);
    let seat = Seat::new(0);
    advance(3 * SECOND).await;
    let second = reading(&arbiter, seat).await;
    assert_eq!((second.strikes, second.left, second.running), (0, 2 * SECOND, true));
    advance(SECOND).await;
    choose(&arbiter, seat, None).await.expect("the clock has restarted");
    assert_eq!(observe(&arbiter, seat).await.outcome, None);
    advance(5 * SECOND).await;
    run_other_tasks().await;
    assert!(observe(&arbiter, seat).await.outcome.is_some());
}

/// The clock refunds network time within bounds, even if an agent claims more.
#[tokio::test(start_paused = true)]
async fn network_time_is_refunded_within_bounds() {
    let clock = Clock { bank: Duration::ZERO, increment: Duration::ZERO, ..clock(OnTimeout::Forfeit) };
    let allowance = SECOND / 20 + 40 * SECOND / 250;
    let arbiter = timed("faraway", &[AGENT, RANDOM], &clock);
    let seat = Seat::new(0);
    run_other_tasks().await;
    for (elapsed, thinking_time, counted) in [
        (SECOND, Some(SECOND * 9 / 10), SECOND * 9 / 10),
        // Longer than the limit, but part of it is network time.
        (SECOND * 11 / 10, Some(SECOND / 2), SECOND / 2),
        (SECOND / 2, None, SECOND / 2),
        // The agent claims more than the whole time.
        (SECOND / 2, Some(9 * SECOND), SECOND / 2),
    ] {
        advance(elapsed).await;
        choose(&arbiter, seat, thinking_time).await.expect("the decision is in time");
        run_other_tasks().await;
        let time = arbiter.lock().state.present.moves.iter().rev().find_map(|played| played.decision_time);
        let time = time.expect("the seat has a clock");
        assert_eq!((time.elapsed, time.counted()), (elapsed, counted));
        assert!(time.network <= 7 * allowance);
    }
    // The agent claims that it never thinks. It soon uses up its quota, and then gets one allowance for each decision.
    let mut maximum = Duration::ZERO;
    while observe(&arbiter, seat).await.outcome.is_none() {
        let elapsed = (SECOND + allowance).saturating_sub(Duration::from_millis(1));
        advance(elapsed).await;
        choose(&arbiter, seat, Some(Duration::ZERO)).await.expect("the decision is in time");
        run_other_tasks().await;
        let time = arbiter.lock().state.present.moves.iter().rev().find_map(|played| played.decision_time);
        maximum = time.expect("the seat has a clock").counted();
    }
    assert!(maximum > SECOND.saturating_sub(allowance), "{maximum:?}");
}

/// Clocks wait at most a minute for agents that have not joined. No other call starts or stops them.
#[tokio::test(start_paused = true)]
async fn clocks_begin_when_all_have_joined_or_after_a_minute() {
    stall::tests::disable();
    let clocks = vec![Some(clock(OnTimeout::Forfeit)); 2];
    let arbiter = faraway(Settings { clocks, ..settings(&[AGENT, AGENT]) });
    let (early, late) = (Seat::new(0), Seat::new(1));
    arbiter.join(early, None, None).expect("the seat has no agent");
    advance(50 * SECOND).await;
    assert!(!reading(&arbiter, early).await.running);
    choose(&arbiter, early, None).await.expect("the agent that has joined may play");
    arbiter.join(late, Some(Uuid::from_u128(1)), None).expect("the seat has no agent");
    assert!(reading(&arbiter, late).await.running);
    advance(5 * SECOND).await;
    // Joining again, observing and waiting change no clock.
    arbiter.join(late, Some(Uuid::from_u128(1)), None).expect("the same request");
    let shown = reading(&arbiter, late).await;
    let waited = tokio::time::timeout(SECOND, arbiter.observe(early, true, Extras::default())).await;
    assert!(waited.is_err(), "the other seat must decide");
    assert_eq!(reading(&arbiter, late).await.left, shown.left.saturating_sub(SECOND));

    let alone =
        faraway(Settings { clocks: vec![Some(clock(OnTimeout::Forfeit)); 2], ..settings(&[AGENT, AGENT]) });
    alone.join(early, None, None).expect("the seat has no agent");
    choose(&alone, early, None).await.expect("the agent that has joined may play");
    let began = Instant::now();
    let observation = alone.observe(early, true, Extras::default()).await.expect("the episode ends");
    assert!(loser(&observation).is_some_and(|(seat, _)| seat == late));
    let waited = began.elapsed();
    assert!((71 * SECOND..73 * SECOND).contains(&waited), "{waited:?}");
}

/// No clock counts the time in which bots think.
#[tokio::test]
async fn clocks_stop_while_bots_think() {
    let thoughtful = Player::Bot(Bot::Search { playouts: 20_000 });
    let arbiter = timed("faraway", &[AGENT, thoughtful], &clock(OnTimeout::Forfeit));
    assert!(arbiter.bots_think(), "20,000 playouts take a while");
    assert!(!reading(&arbiter, Seat::new(0)).await.running);
    arbiter.close(CloseReason::Host);
}

#[test]
fn invalid_clocks_are_refused() {
    let day = clock::MAX_CLOCK;
    for wrong in [
        Clock { limit: Duration::ZERO, bank: Duration::ZERO, ..clock(OnTimeout::Forfeit) },
        Clock { limit: day + SECOND, ..clock(OnTimeout::Forfeit) },
        Clock { bank: day + SECOND, ..clock(OnTimeout::Forfeit) },
        Clock { increment: day + SECOND, ..clock(OnTimeout::Forfeit) },
        Clock { strikes: 101, ..clock(OnTimeout::Forfeit) },
    ] {
        let settings = Settings { clocks: vec![Some(wrong), None], ..settings(&[AGENT, RANDOM]) };
        assert!(matches!(settings.check(), Err(Error::FieldInvalid { field: "clocks", .. })));
    }
}

/// Clocks also wait for an agent without a clock to join.
#[tokio::test(start_paused = true)]
async fn clocks_wait_for_agents_without_one() {
    stall::tests::disable();
    let clocks = vec![Some(clock(OnTimeout::Forfeit)), None];
    let arbiter = faraway(Settings { clocks, ..settings(&[AGENT, AGENT]) });
    let (timed, other) = (Seat::new(0), Seat::new(1));
    arbiter.join(timed, None, None).expect("the seat has no agent");
    assert!(!reading(&arbiter, timed).await.running);
    arbiter.join(other, None, None).expect("the seat has no agent");
    assert!(reading(&arbiter, timed).await.running);
}
