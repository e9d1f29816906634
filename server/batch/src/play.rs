//! Traits that hide the type of a game, for code that works with every game.

use std::sync::Arc;

use boardwire_bots::{Bot, BotError, Choice, PlayoutEnd, Rollout, RunningPlayout};
use boardwire_kernel::{
    ActionSet, Digest, Episode, Estimate, GameInfo, Key, Knowledge, NameGroup, Outcome, RESAMPLE_STREAM,
    RandomSource, Rejection, RngStream, ScoreLine, Seat, SeatSet, Viewer,
};

use crate::batch::{Block, EnvironmentConfig, Environments};
use crate::efg::{EfgError, efg};

/// A game of any type, with the seats and options of a table.
pub trait AnyGame: Send + Sync {
    /// Returns the facts of the table.
    fn info(&self) -> &GameInfo;

    /// Returns the names in the game's texts that a request can exchange for neutral ones.
    fn names(&self) -> Vec<NameGroup>;

    /// Returns the game in Gambit's EFG format.
    ///
    /// # Errors
    /// As [`efg`].
    fn efg(&self, max_nodes: u64) -> Result<String, EfgError>;

    /// Deals an episode. `key` determines its chance events.
    fn deal(self: Arc<Self>, key: Key) -> Box<dyn AnyEpisode>;

    /// Returns a block of `count` environments of a batch with this seed, numbered from `first`.
    fn environments(
        self: Arc<Self>,
        config: Arc<EnvironmentConfig>,
        seed: u64,
        first: u64,
        count: usize,
    ) -> Box<dyn Block>;
}

impl<G: Estimate> AnyGame for G {
    fn info(&self) -> &GameInfo {
        G::info(self)
    }

    fn names(&self) -> Vec<NameGroup> {
        G::names(self)
    }

    fn efg(&self, max_nodes: u64) -> Result<String, EfgError> {
        efg(self, max_nodes)
    }

    fn deal(self: Arc<Self>, key: Key) -> Box<dyn AnyEpisode> {
        Box::new(Episode::keyed(self, key))
    }

    fn environments(
        self: Arc<Self>,
        config: Arc<EnvironmentConfig>,
        seed: u64,
        first: u64,
        count: usize,
    ) -> Box<dyn Block> {
        Box::new(Environments::new(self, config, seed, first, count))
    }
}

/// Decisions that bots make together, in any game. The methods are those of [`bots::Round`].
///
/// [`bots::Round`]: boardwire_bots::Round
pub trait BotDecisions: Send {
    /// Returns the seat whose bot thinks now. `None` once all bots have chosen.
    fn seat(&self) -> Option<Seat>;
    /// Thinks for about as long as one determinization takes; returns true once all bots have chosen.
    ///
    /// # Errors
    /// A bot failed.
    fn advance(&mut self) -> Result<bool, BotError>;
    /// Returns the actions that the bots chose.
    fn choices(self: Box<Self>) -> Vec<Choice>;
}

impl<G: Estimate> BotDecisions for boardwire_bots::Round<G> {
    fn seat(&self) -> Option<Seat> {
        Self::seat(self)
    }

    fn advance(&mut self) -> Result<bool, BotError> {
        Self::advance(self)
    }

    fn choices(self: Box<Self>) -> Vec<Choice> {
        Self::choices(*self)
    }
}

/// The information set of a seat that owes a decision, in any game.
pub trait InformationSet: Send + Sync {
    /// Returns the seat.
    fn seat(&self) -> Seat;
    /// Samples a world from what the seat knows. `seed` also determines the later chance events of the world.
    fn sample_determinization(&self, seed: u64) -> Arc<dyn AnyEpisode>;
}

impl<G: Estimate> InformationSet for Knowledge<G> {
    fn seat(&self) -> Seat {
        Self::seat(self)
    }

    fn sample_determinization(&self, seed: u64) -> Arc<dyn AnyEpisode> {
        let chance = RandomSource::seeded(seed, G::TYPE.streams.len());
        Arc::new(Self::sample_episode(self, &mut RngStream::new(seed, RESAMPLE_STREAM), chance))
    }
}

/// An episode of any game. The methods are those of [`Episode`] and [`Game`](boardwire_kernel::Game).
pub trait AnyEpisode: Send + Sync {
    /// Returns the seats that owe a decision.
    fn pending(&self) -> SeatSet;
    /// Returns the actions that are legal for `seat` now.
    fn legal(&self, seat: Seat) -> ActionSet;
    /// Writes the view of `viewer` to `out`.
    fn view(&self, viewer: Viewer, out: &mut [u8]);
    /// Returns the view of `viewer` as text.
    fn text(&self, viewer: Viewer) -> String;
    /// Returns what an action that is legal for `seat` does now.
    ///
    /// # Panics
    /// The game has no such action.
    fn phrase(&self, seat: Seat, action: u8) -> String;
    /// Returns the number of applied actions.
    fn ply(&self) -> u32;
    /// Returns whether the episode was truncated at the limit on plies.
    fn is_truncated(&self) -> bool;
    /// Returns the result, once the episode has ended by the rules.
    fn outcome(&self) -> Option<Outcome>;
    /// Returns the score of `seat` line by line, once the episode has ended by the rules.
    fn explain(&self, seat: Seat) -> Vec<ScoreLine>;
    /// Returns the only legal action of `seat`, if it owes a decision and has exactly one.
    fn forced(&self, seat: Seat) -> Option<u8>;
    /// Checks whether `seat` may play an action.
    ///
    /// # Errors
    /// As [`Episode::check`].
    fn check(&self, seat: Seat, action: u32) -> Result<(), Rejection>;
    /// Plays an action.
    ///
    /// # Errors
    /// As [`Episode::apply`].
    fn apply(&mut self, seat: Seat, action: u32) -> Result<(), Rejection>;
    /// Plays an action, and writes to `out` what `viewer` saw of it.
    ///
    /// # Errors
    /// As [`Episode::apply`].
    fn report(&mut self, seat: Seat, action: u8, viewer: Seat, out: &mut String) -> Result<(), Rejection>;
    /// Starts the decisions of bots at seats that owe one, from what each seat knows now.
    fn start_bots(&self, bots: Vec<(Seat, Bot, RngStream)>) -> Box<dyn BotDecisions>;
    /// Returns the information set of a seat that owes a decision.
    fn information_set(&self, seat: Seat) -> Box<dyn InformationSet>;
    /// Returns a copy of the episode.
    fn copy(&self) -> Arc<dyn AnyEpisode>;
    /// Starts a playout of the position. `seed` determines its chance events and random choices.
    fn start_playout(&self, rollout: &Rollout, seed: u64) -> Box<dyn RunningPlayout>;
    /// Returns the digest of the position. It depends on hidden information, so no seat may see it.
    fn digest(&self) -> Digest;
    /// Returns a copy with all information resampled that is hidden from `seat`, to test that `seat` sees no difference.
    #[cfg(feature = "testkit")]
    fn determinized(&self, seat: Seat, rng: &mut RngStream) -> Box<dyn AnyEpisode>;
}

impl<G: Estimate> AnyEpisode for Episode<G> {
    fn pending(&self) -> SeatSet {
        Self::pending(self)
    }

    fn legal(&self, seat: Seat) -> ActionSet {
        if self.pending().contains(seat) { self.game().legal(self.state(), seat) } else { ActionSet::EMPTY }
    }

    fn view(&self, viewer: Viewer, out: &mut [u8]) {
        self.game().view(self.state(), viewer, out);
    }

    fn text(&self, viewer: Viewer) -> String {
        let mut text = String::new();
        self.game().text(self.state(), viewer, &mut text).expect("writing to a string does not fail");
        text
    }

    fn phrase(&self, seat: Seat, action: u8) -> String {
        let (game, mut phrase) = (self.game(), String::new());
        let action = game.decode(action).expect("a legal action is in the action space");
        let written = game.phrase(self.state(), seat, action, &mut phrase);
        written.expect("writing to a string does not fail");
        phrase
    }

    fn ply(&self) -> u32 {
        Self::ply(self)
    }

    fn is_truncated(&self) -> bool {
        Self::is_truncated(self)
    }

    fn outcome(&self) -> Option<Outcome> {
        Self::outcome(self)
    }

    fn explain(&self, seat: Seat) -> Vec<ScoreLine> {
        if self.outcome().is_some() { self.game().explain(self.state(), seat) } else { Vec::new() }
    }

    fn forced(&self, seat: Seat) -> Option<u8> {
        Self::forced(self, seat)
    }

    fn check(&self, seat: Seat, action: u32) -> Result<(), Rejection> {
        Self::check(self, seat, action)
    }

    fn apply(&mut self, seat: Seat, action: u32) -> Result<(), Rejection> {
        Self::apply(self, seat, action)
    }

    fn report(&mut self, seat: Seat, action: u8, viewer: Seat, out: &mut String) -> Result<(), Rejection> {
        let before = *self.state();
        Self::apply(self, seat, action.into())?;
        let (game, after) = (self.game(), self.state());
        let choice = (seat, game.decode(action).expect("an applied action is in the action space"));
        game.report(&before, choice, after, viewer, out).expect("writing to a string does not fail");
        Ok(())
    }

    fn start_bots(&self, bots: Vec<(Seat, Bot, RngStream)>) -> Box<dyn BotDecisions> {
        Box::new(boardwire_bots::Round::new(self, bots))
    }

    fn information_set(&self, seat: Seat) -> Box<dyn InformationSet> {
        Box::new(self.knowledge(seat))
    }

    fn copy(&self) -> Arc<dyn AnyEpisode> {
        Arc::new(self.clone())
    }

    fn start_playout(&self, rollout: &Rollout, seed: u64) -> Box<dyn RunningPlayout> {
        if self.is_truncated() {
            return Box::new(Some(PlayoutEnd::Truncated));
        }
        rollout.start(self.game(), self.state(), seed)
    }

    fn digest(&self) -> Digest {
        Self::digest(self)
    }

    #[cfg(feature = "testkit")]
    fn determinized(&self, seat: Seat, rng: &mut RngStream) -> Box<dyn AnyEpisode> {
        Box::new(boardwire_kernel::testkit::determinize(self, seat, rng))
    }
}
