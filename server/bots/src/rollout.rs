//! Playouts for a search outside of this crate, which has its own evaluation.

use std::sync::Arc;

use boardwire_kernel::{
    ActionSet, BOT_STREAM, Estimate, Game, Outcome, RandomSource, RngStream, Seat, apply,
};

use crate::BotError;
use crate::playout::{Playout, Seeds};
use crate::policy::{Pick, PolicyDecision, PolicyPlayer, PolicyRequest};

/// How the seats of a playout choose, and where it ends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Rollout {
    /// Every seat takes the action with its best estimate one ply ahead, or in a game without one a random legal action.
    #[default]
    Estimate,
    /// Every seat takes a random legal action.
    Random,
    /// Every seat follows a policy.
    Policy {
        /// The policy.
        player: PolicyPlayer,
        /// The maximum number of plies. After them the policy values the position.
        plies: Option<u32>,
    },
}

/// How a playout has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlayoutEnd {
    /// The game is over.
    Outcome(Outcome),
    /// The game exceeds its maximum length.
    Truncated,
    /// The maximum number of plies was played: the policy's values for these seats, in thousandths of a point of margin. In a
    /// game of two, a seat that owes no decision is left out.
    Leaf(Vec<(Seat, i32)>),
}

/// A playout in progress.
pub trait RunningPlayout: Send {
    /// Plays until a policy must respond. Advance other playouts before the next call, to fill the policy's batch. Returns
    /// the end once it is reached; do not call it again then.
    ///
    /// # Errors
    /// The policy gives no response, or no value.
    fn advance(&mut self) -> Result<Option<PlayoutEnd>, BotError>;
}

impl Rollout {
    /// Starts a playout of this position. `seed` determines the random outcomes and the random choices.
    pub fn start<G: Estimate>(&self, game: &Arc<G>, state: &G::State, seed: u64) -> Box<dyn RunningPlayout> {
        // Not `seed` itself: the world may be sampled from it, and would then meet the same random numbers again.
        let mut rng = RngStream::new(seed, BOT_STREAM);
        let seeds = Seeds::draw(&mut rng);
        let end = |outcome: Option<Outcome>| outcome.map_or(PlayoutEnd::Truncated, PlayoutEnd::Outcome);
        match self {
            Self::Estimate => Box::new(Some(end(Playout::of_estimates(seeds, rng, &**game, state)))),
            Self::Random => Box::new(Some(end(Playout::of_random(seeds, rng, &**game, state)))),
            Self::Policy { player, plies } => Box::new(PolicyPlayout {
                game: Arc::clone(game),
                state: *state,
                chance: seeds.chance_source(G::TYPE.streams.len()),
                rng,
                player: player.clone(),
                plies_left: plies.unwrap_or(u32::MAX).min(game.info().max_plies),
                values_leaf: plies.is_some_and(|plies| plies <= game.info().max_plies),
                pending: Pending::Nothing,
            }),
        }
    }
}

/// A playout that needs no policy: its end.
impl RunningPlayout for Option<PlayoutEnd> {
    fn advance(&mut self) -> Result<Option<PlayoutEnd>, BotError> {
        Ok(self.take())
    }
}

/// A playout whose seats follow a policy.
struct PolicyPlayout<G: Game> {
    game: Arc<G>,
    state: G::State,
    chance: RandomSource,
    /// The source of sampled actions.
    rng: RngStream,
    player: PolicyPlayer,
    plies_left: u32,
    /// Whether the policy values the position after the last ply. Otherwise the playout is truncated.
    values_leaf: bool,
    pending: Pending,
}

/// What a playout waits for.
enum Pending {
    Nothing,
    /// The choices of the seats that owe one.
    Choices(Vec<(Seat, PolicyDecision)>),
    /// The values of the last position.
    Values(Vec<(Seat, Box<dyn PolicyRequest>)>),
}

impl<G: Game> PolicyPlayout<G> {
    fn view(&self, seat: Seat) -> Vec<u8> {
        let mut view = vec![0; self.game.info().layout.bytes()];
        self.game.view(&self.state, seat.into(), &mut view);
        view
    }

    /// Submits the requests for the choices that are due, or for the values of the last position. Returns the end if the
    /// playout needs neither.
    fn submit(&mut self) -> Option<PlayoutEnd> {
        let due = self.game.pending(&self.state);
        if due.is_empty() {
            let outcome = self.game.outcome(&self.state);
            return Some(outcome.map_or(PlayoutEnd::Truncated, PlayoutEnd::Outcome));
        }
        if self.plies_left > 0 {
            let decision = |seat| {
                let legal = self.game.legal(&self.state, seat);
                (
                    seat,
                    PolicyDecision::new(
                        &self.player.policy,
                        self.player.pick == Pick::Sampled,
                        legal,
                        || self.view(seat),
                    ),
                )
            };
            self.pending = Pending::Choices(due.iter().map(decision).collect());
            return None;
        }
        if !self.values_leaf {
            return Some(PlayoutEnd::Truncated);
        }
        let seats = self.game.info().seats;
        // In a game of two, the margin of one seat is that of the other with the opposite sign.
        let valued = Seat::all(seats).filter(|&seat| seats > 2 || due.contains(seat));
        let policy = &self.player.policy;
        let request = |seat| (seat, Arc::clone(policy).submit(self.view(seat), ActionSet::EMPTY));
        self.pending = Pending::Values(valued.map(request).collect());
        None
    }

    /// Applies choices until no ply is left.
    fn apply(&mut self, choices: Vec<(Seat, u8)>) {
        for (seat, action) in choices.into_iter().take(self.plies_left as usize) {
            apply(&*self.game, &mut self.state, seat, action.into(), &mut self.chance)
                .expect("a simultaneous choice stays legal");
            self.plies_left -= 1;
        }
    }
}

impl<G: Game> RunningPlayout for PolicyPlayout<G> {
    fn advance(&mut self) -> Result<Option<PlayoutEnd>, BotError> {
        match std::mem::replace(&mut self.pending, Pending::Nothing) {
            Pending::Nothing => {}
            Pending::Choices(decisions) => {
                let mut choices = Vec::with_capacity(decisions.len());
                for (seat, mut decision) in decisions {
                    let action = wait(seat, || decision.advance(&mut self.rng))?;
                    choices.push((seat, action));
                }
                self.apply(choices);
            }
            Pending::Values(requests) => {
                let value = |(seat, mut request): (Seat, Box<dyn PolicyRequest>)| {
                    let value = wait(seat, || request.advance())?.value;
                    let name = self.player.policy.name();
                    let reason = || format!("policy `{name}`: the value is not a finite number");
                    Ok((seat, value.ok_or_else(|| BotError { seat, reason: reason() })?))
                };
                let values = requests.into_iter().map(value).collect::<Result<_, BotError>>()?;
                return Ok(Some(PlayoutEnd::Leaf(values)));
            }
        }
        Ok(self.submit())
    }
}

/// Works on requests of the policy until the response for `seat` is there.
fn wait<T>(seat: Seat, mut advance: impl FnMut() -> Result<Option<T>, String>) -> Result<T, BotError> {
    loop {
        if let Some(response) = advance().map_err(|reason| BotError { seat, reason })? {
            return Ok(response);
        }
    }
}
