//! The bots of a match, and what happens when a bot fails.

use std::task::Poll;

use boardwire_api::Error;
use boardwire_api::v1::IllegalActionPolicy;
use boardwire_batch::play::{AnyEpisode, BotDecisions, InformationSet};
use boardwire_bots::{BotError, Choice, Rollout, RunningPlayout};
use boardwire_kernel::{ActionSet, Digest, Outcome, Rejection, ScoreLine, Viewer};

use super::*;

/// Returns an action that depends only on the observation. About one in four is illegal.
fn policy(observation: &Observation) -> u32 {
    let digest = Digest::of(&(observation.view.to_vec(), observation.decision));
    let pick = usize::from(digest.as_bytes()[0]);
    let legal = legal(observation);
    let illegal: Vec<u32> = (0..50).filter(|action| !legal.contains(action)).collect();
    if pick % 4 == 0 && !illegal.is_empty() {
        illegal[pick % illegal.len()]
    } else {
        legal[pick % legal.len()]
    }
}

/// Plays a match of two agents and two bots. Returns the agents' observations at each of their decisions and at the end.
///
/// With `reversed`, the later of two pending agents decides first. With `slow`, no bot runs before the agents have decided.
async fn transcript(game: &str, reversed: bool, slow: bool) -> Vec<Observation> {
    let pool = Pool::new(1).expect("a thread starts");
    let players = [AGENT, Player::Bot(Bot::Greedy { determinizations: 2 }), AGENT, RANDOM];
    let settings = Settings { illegal_actions: IllegalActionPolicy::SeededLegal, ..settings(&players) };
    let arbiter = Arc::new(Arbiter::new(table(game, 4), settings, pool.new_group().work_queue(), 3));
    arbiter.start();
    let mut observations = vec![];
    loop {
        let mut due = vec![];
        bots_are_done(&arbiter).await;
        for seat in [0, 2].map(Seat::new) {
            // One of them owes a decision now, or both do.
            let observation = std::pin::pin!(arbiter.observe(seat, true, Extras::default()));
            if let Poll::Ready(observation) = futures_util::poll!(observation) {
                due.push((seat, observation.expect("the match is open")));
            }
        }
        let over = due.iter().any(|(_, observation)| observation.terminated);
        observations.extend(due.iter().map(|(_, observation)| observation.clone()));
        if over {
            return observations;
        }
        if reversed {
            due.reverse();
        }
        let hold = slow.then(|| pool.block_threads());
        let acts = due.into_iter().map(|(seat, observation)| {
            let (arbiter, decision) = (Arc::clone(&arbiter), decision_of(&observation, policy(&observation)));
            async move {
                arbiter.act(seat, decision).await.expect("another action is played for an illegal one");
            }
        });
        futures_util::future::join_all(acts).await;
        drop(hold);
    }
}

/// Waits until no bot thinks.
async fn bots_are_done(arbiter: &Arc<Arbiter>) {
    let idle = |_: &mut Inner, _| Ok((!arbiter.bots_think()).then_some(()));
    let _ = arbiter.respond_when(Role::Host, false, idle).await;
}

/// The match does not depend on the order of the agents' decisions, nor on how long bots think.
#[tokio::test]
async fn bots_and_substitutes_do_not_depend_on_the_order_of_decisions() {
    for game in boardwire_games::IDS {
        let expected = transcript(game, false, false).await;
        assert!(
            expected.iter().any(|observation| observation.substituted),
            "{game}: no action was substituted"
        );
        for (reversed, slow) in [(true, false), (false, true), (true, true)] {
            let other = transcript(game, reversed, slow).await;
            assert_eq!(other.len(), expected.len(), "{game}, reversed {reversed}, slow {slow}");
            for (other, expected) in other.iter().zip(&expected) {
                assert_eq!(other.view, expected.view, "{game}, reversed {reversed}, slow {slow}");
                assert_eq!(other.outcome, expected.outcome);
            }
        }
    }
}

/// How a bot fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BotFault {
    Panics,
    Refuses,
    ChoosesIllegalAction,
}

/// An episode in which bots fail.
struct FaultyEpisode(Box<dyn AnyEpisode>, BotFault);

/// The pending decisions of the bots of a [`FaultyEpisode`].
struct FailingDecisions(BotFault, Vec<(Seat, RngStream)>);

impl BotDecisions for FailingDecisions {
    fn seat(&self) -> Option<Seat> {
        self.1.first().map(|(seat, _)| *seat)
    }

    fn advance(&mut self) -> Result<bool, BotError> {
        assert!(self.0 != BotFault::Panics, "the test asks for a panic");
        let error = BotError { seat: Seat::new(1), reason: "it has no answer".to_owned() };
        if self.0 == BotFault::Refuses { Err(error) } else { Ok(true) }
    }

    fn choices(self: Box<Self>) -> Vec<Choice> {
        self.1.into_iter().map(|(seat, rng)| Choice { seat, action: 255, rng }).collect()
    }
}

impl AnyEpisode for FaultyEpisode {
    fn start_bots(&self, bots: Vec<(Seat, Bot, RngStream)>) -> Box<dyn BotDecisions> {
        Box::new(FailingDecisions(self.1, bots.into_iter().map(|(seat, _, rng)| (seat, rng)).collect()))
    }

    fn check(&self, seat: Seat, action: u32) -> Result<(), Rejection> {
        self.0.check(seat, action)
    }

    fn apply(&mut self, seat: Seat, action: u32) -> Result<(), Rejection> {
        self.0.apply(seat, action)
    }

    fn pending(&self) -> SeatSet {
        self.0.pending()
    }

    fn legal(&self, seat: Seat) -> ActionSet {
        self.0.legal(seat)
    }

    fn view(&self, viewer: Viewer, out: &mut [u8]) {
        self.0.view(viewer, out);
    }

    fn text(&self, viewer: Viewer) -> String {
        self.0.text(viewer)
    }

    fn phrase(&self, seat: Seat, action: u8) -> String {
        self.0.phrase(seat, action)
    }

    fn report(&mut self, seat: Seat, action: u8, viewer: Seat, out: &mut String) -> Result<(), Rejection> {
        self.0.report(seat, action, viewer, out)
    }

    fn ply(&self) -> u32 {
        self.0.ply()
    }

    fn is_truncated(&self) -> bool {
        self.0.is_truncated()
    }

    fn outcome(&self) -> Option<Outcome> {
        self.0.outcome()
    }

    fn explain(&self, seat: Seat) -> Vec<ScoreLine> {
        self.0.explain(seat)
    }

    fn forced(&self, seat: Seat) -> Option<u8> {
        self.0.forced(seat)
    }

    fn information_set(&self, seat: Seat) -> Box<dyn InformationSet> {
        self.0.information_set(seat)
    }

    fn copy(&self) -> Arc<dyn AnyEpisode> {
        self.0.copy()
    }

    fn start_playout(&self, rollout: &Rollout, seed: u64) -> Box<dyn RunningPlayout> {
        self.0.start_playout(rollout, seed)
    }

    fn digest(&self) -> Digest {
        self.0.digest()
    }

    fn determinized(&self, seat: Seat, rng: &mut RngStream) -> Box<dyn AnyEpisode> {
        self.0.determinized(seat, rng)
    }
}

#[tokio::test]
async fn a_bot_that_fails_closes_its_match_and_ends_waiting_calls() {
    for (fault, problem) in [
        (BotFault::Panics, "the bot panicked"),
        (BotFault::Refuses, "it has no answer"),
        (BotFault::ChoosesIllegalAction, "action 255: "),
    ] {
        for bot in [Bot::Random, Bot::Greedy { determinizations: 1 }] {
            let name = bot.to_string();
            let settings = settings(&[AGENT, Player::Bot(bot)]);
            let arbiter =
                Arc::new(Arbiter::new(table("faraway", 2), settings, pool().new_group().work_queue(), 3));
            {
                let state = &mut arbiter.lock().state;
                let play =
                    std::mem::replace(&mut state.play, table("faraway", 2).game.clone().deal(1.into()));
                state.play = Box::new(FaultyEpisode(play, fault));
            }
            arbiter.start();
            let waiting = arbiter.observe(Seat::new(0), true, Extras::default()).await;
            // The agent owes a decision immediately, unless the bot has failed already.
            let ended = match waiting {
                Ok(_) => arbiter.observe(Seat::new(0), false, Extras::default()).await.map(|_| ()),
                Err(refused) => Err(refused),
            };
            let Err(Error::BotFailed { id, seat, problem: actual }) = ended else {
                panic!("{fault:?} {name}: {ended:?}")
            };
            assert_eq!((id.as_str(), seat), (arbiter.id(), 1));
            assert!(actual.starts_with(problem), "{fault:?} {name}: {actual}");
            assert!(matches!(arbiter.phase(), Phase::Closed(CloseReason::BotFailed { .. })));
        }
    }
}
