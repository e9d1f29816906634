//! One play of a game from its deal to its end, with its source of randomness.

use std::sync::Arc;

use borsh::BorshDeserialize;

use crate::{
    Digest, Estimate, Game, Key, Outcome, RandomSource, Rejection, RngStream, Seat, SeatSet, apply, game,
};

/// A game in progress: its rules, state, source of randomness, and number of plies.
#[derive(Debug)]
pub struct Episode<G: Game> {
    game: Arc<G>,
    state: G::State,
    random_source: RandomSource,
    ply: u32,
}

impl<G: Game> Clone for Episode<G> {
    fn clone(&self) -> Self {
        Self {
            game: Arc::clone(&self.game),
            state: self.state,
            random_source: self.random_source.clone(),
            ply: self.ply,
        }
    }
}

impl<G: Game> Episode<G> {
    /// Starts an episode with randomness from `seed`.
    #[must_use]
    pub fn seeded(game: Arc<G>, seed: u64) -> Self {
        Self::keyed(game, seed.into())
    }

    /// Starts an episode with randomness from `key`.
    #[must_use]
    pub fn keyed(game: Arc<G>, key: Key) -> Self {
        Self::start(game, RandomSource::keyed(key, G::TYPE.streams.len()))
    }

    /// Starts an episode with any source of randomness.
    #[must_use]
    pub fn start(game: Arc<G>, mut chance: RandomSource) -> Self {
        let state = game.deal(&mut chance);
        Self { game, state, random_source: chance, ply: 0 }
    }

    /// Restarts the episode with randomness from `seed`, and reuses its memory.
    pub fn restart(&mut self, seed: u64) {
        self.random_source.reseed(seed, G::TYPE.streams.len());
        self.state = self.game.deal(&mut self.random_source);
        self.ply = 0;
    }

    /// Returns the rules.
    #[must_use]
    pub fn game(&self) -> &Arc<G> {
        &self.game
    }

    /// Returns the whole position. Only the arbiter may use it, never a seat.
    #[must_use]
    pub fn state(&self) -> &G::State {
        &self.state
    }

    /// Returns the source of randomness.
    #[must_use]
    pub fn random_source(&self) -> &RandomSource {
        &self.random_source
    }

    /// Returns the source of randomness, to extend a script.
    pub fn random_source_mut(&mut self) -> &mut RandomSource {
        &mut self.random_source
    }

    /// Returns the number of applied actions.
    #[must_use]
    pub fn ply(&self) -> u32 {
        self.ply
    }

    /// Returns the seats with a pending decision; none once the game is over or truncated.
    #[must_use]
    pub fn pending(&self) -> SeatSet {
        if self.is_truncated() { SeatSet::EMPTY } else { self.game.pending(&self.state) }
    }

    /// Returns whether the episode was truncated at its maximum length.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.ply >= self.game.info().max_plies && !self.game.pending(&self.state).is_empty()
    }

    /// Returns the result of a game that has ended by its rules.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        self.game.outcome(&self.state)
    }

    /// Applies the action with index `action` for `seat`.
    ///
    /// # Errors
    /// As [`apply`]; the episode is then unchanged.
    pub fn apply(&mut self, seat: Seat, action: u32) -> Result<(), Rejection> {
        self.check_length()?;
        apply(&*self.game, &mut self.state, seat, action, &mut self.random_source)?;
        self.ply += 1;
        Ok(())
    }

    /// Checks whether `seat` may choose the action with index `action` now.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub fn check(&self, seat: Seat, action: u32) -> Result<(), Rejection> {
        self.check_length()?;
        game::check(&*self.game, &self.state, seat, action).map(drop)
    }

    fn check_length(&self) -> Result<(), Rejection> {
        if self.is_truncated() { Err(Rejection::Over) } else { Ok(()) }
    }

    /// Returns the only legal action of `seat`, if it has a pending decision with one legal action.
    #[must_use]
    pub fn forced(&self, seat: Seat) -> Option<u8> {
        let legal =
            if self.pending().contains(seat) { self.game.legal(&self.state, seat) } else { return None };
        if legal.len() == 1 { legal.lowest() } else { None }
    }

    /// Returns the digest of ply, position and randomness used. Compare it only within one match identity.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(&(self.ply, &self.state, self.random_source.usage()))
    }

    /// Returns a snapshot: ply, key, words used, state. It reveals everything, so only the arbiter may have it.
    #[must_use]
    pub fn save(&self) -> Vec<u8> {
        borsh::to_vec(&(self.ply, self.random_source.key(), self.random_source.usage(), &self.state))
            .expect("writing to memory does not fail")
    }

    /// Restores an episode from a snapshot of the same game, seats, options and catalogue.
    ///
    /// # Errors
    /// The bytes are not a snapshot of this game. The text is the reason.
    pub fn restore(game: Arc<G>, snapshot: &[u8]) -> Result<Self, String> {
        let (ply, key, words, state): (u32, Option<Key>, Vec<u64>, G::State) =
            BorshDeserialize::try_from_slice(snapshot).map_err(|error| error.to_string())?;
        let key = key.ok_or("a scripted game cannot be restored")?;
        if words.len() != G::TYPE.streams.len() {
            return Err(format!(
                "snapshot has {} random streams; this game has {}",
                words.len(),
                G::TYPE.streams.len()
            ));
        }
        words.iter().try_for_each(|&used| RngStream::check_words(used))?;
        game.audit(&state)?;
        Ok(Self { game, state, random_source: RandomSource::resume(key, &words), ply })
    }

    /// Returns what `seat` knows, for a bot.
    #[must_use]
    pub fn knowledge(&self, seat: Seat) -> Knowledge<G> {
        Knowledge { game: Arc::clone(&self.game), state: self.state, seat }
    }

    /// Returns the same episode in another position.
    #[cfg(any(test, feature = "testkit"))]
    pub(crate) fn with_state(&self, state: G::State) -> Self {
        Self { state, ..self.clone() }
    }
}

/// Everything that a seat may know of a position.
///
/// It gives states sampled from what the seat knows, never the true state. So a bot with this value cannot cheat by
/// accident.
pub struct Knowledge<G: Game> {
    game: Arc<G>,
    state: G::State,
    seat: Seat,
}

impl<G: Game> Knowledge<G> {
    /// Returns the rules.
    #[must_use]
    pub fn game(&self) -> &G {
        &self.game
    }

    /// Returns the seat whose knowledge this is.
    #[must_use]
    pub fn seat(&self) -> Seat {
        self.seat
    }

    /// Returns the legal actions of the seat.
    #[must_use]
    pub fn legal(&self) -> crate::ActionSet {
        self.game.legal(&self.state, self.seat)
    }

    /// Returns the view of the seat, in the bytes of its layout.
    #[must_use]
    pub fn view(&self) -> Vec<u8> {
        let mut view = vec![0; self.game.info().layout.bytes()];
        self.game.view(&self.state, self.seat.into(), &mut view);
        view
    }

    /// [Samples](crate::Hidden::resample) a determinization from what the seat knows, as an episode with its own
    /// randomness. Its plies count from 0.
    #[must_use]
    pub fn sample_episode(&self, rng: &mut RngStream, chance: RandomSource) -> Episode<G> {
        let mut state = self.state;
        self.game.resample(&mut state, self.seat, rng);
        Episode { game: Arc::clone(&self.game), state, random_source: chance, ply: 0 }
    }
}

impl<G: Estimate> Knowledge<G> {
    /// [Samples](crate::Hidden::resample) a state from what the seat knows, for estimates and playouts. The state lacks
    /// what [`reduce_for_playouts`](Estimate::reduce_for_playouts) drops.
    #[must_use]
    pub fn determinize(&self, rng: &mut RngStream) -> G::State {
        let mut state = self.state;
        self.game.reduce_for_playouts(&mut state);
        self.game.resample(&mut state, self.seat, rng);
        state
    }
}
