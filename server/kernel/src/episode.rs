//! One play of a game from its deal to its end, with the chance it draws from.

use std::sync::Arc;

use borsh::BorshDeserialize;

use crate::{Chance, Digest, Estimate, Game, Key, Outcome, Rejection, RngStream, Seat, SeatSet, apply, game};

/// A game in progress: its rules, its state, its chance, and how many plies have been played.
#[derive(Debug)]
pub struct Episode<G: Game> {
    game: Arc<G>,
    state: G::State,
    chance: Chance,
    ply: u32,
}

impl<G: Game> Clone for Episode<G> {
    fn clone(&self) -> Self {
        Self { game: Arc::clone(&self.game), state: self.state, chance: self.chance.clone(), ply: self.ply }
    }
}

impl<G: Game> Episode<G> {
    /// Deals with chance from `seed`.
    #[must_use]
    pub fn seeded(game: Arc<G>, seed: u64) -> Self {
        Self::keyed(game, seed.into())
    }

    /// Deals with chance from `key`.
    #[must_use]
    pub fn keyed(game: Arc<G>, key: Key) -> Self {
        Self::start(game, Chance::keyed(key, G::TYPE.streams.len()))
    }

    /// Deals with any chance.
    #[must_use]
    pub fn start(game: Arc<G>, mut chance: Chance) -> Self {
        let state = game.deal(&mut chance);
        Self { game, state, chance, ply: 0 }
    }

    /// Deals anew with chance from `seed`, in the memory there is.
    pub fn restart(&mut self, seed: u64) {
        self.chance.reseed(seed, G::TYPE.streams.len());
        self.state = self.game.deal(&mut self.chance);
        self.ply = 0;
    }

    /// The rules.
    #[must_use]
    pub fn game(&self) -> &Arc<G> {
        &self.game
    }

    /// The whole position: for the arbiter, never for a seat.
    #[must_use]
    pub fn state(&self) -> &G::State {
        &self.state
    }

    /// The chance drawn from.
    #[must_use]
    pub fn chance(&self) -> &Chance {
        &self.chance
    }

    /// The chance drawn from, to extend a script.
    pub fn chance_mut(&mut self) -> &mut Chance {
        &mut self.chance
    }

    /// How many actions have been applied.
    #[must_use]
    pub fn ply(&self) -> u32 {
        self.ply
    }

    /// The seats that owe a choice: none once the game is over or truncated.
    #[must_use]
    pub fn pending(&self) -> SeatSet {
        if self.is_truncated() { SeatSet::EMPTY } else { self.game.pending(&self.state) }
    }

    /// Whether the game was cut because it had reached its greatest length.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.ply >= self.game.info().max_plies && !self.game.pending(&self.state).is_empty()
    }

    /// The result of a game that has ended by its rules.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        self.game.outcome(&self.state)
    }

    /// Plays the action with index `action` for `seat`.
    ///
    /// # Errors
    /// As [`apply`]; nothing has changed then.
    pub fn apply(&mut self, seat: Seat, action: u32) -> Result<(), Rejection> {
        self.check_length()?;
        apply(&*self.game, &mut self.state, seat, action, &mut self.chance)?;
        self.ply += 1;
        Ok(())
    }

    /// Looks whether `seat` may choose the action with index `action` now.
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

    /// The one legal action of `seat`, if it owes a choice and has no other.
    #[must_use]
    pub fn forced(&self, seat: Seat) -> Option<u8> {
        let legal =
            if self.pending().contains(seat) { self.game.legal(&self.state, seat) } else { return None };
        if legal.len() == 1 { legal.lowest() } else { None }
    }

    /// The digest of the position, the plies and the chance used so far, within one match identity.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(&(self.ply, &self.state, self.chance.words()))
    }

    /// A snapshot: ply, words of chance used, state. It tells everything, so it is for the arbiter only.
    #[must_use]
    pub fn save(&self) -> Vec<u8> {
        borsh::to_vec(&(self.ply, self.chance.key(), self.chance.words(), &self.state))
            .expect("writing to memory does not fail")
    }

    /// Goes on from a snapshot of the same game, seats, options and catalogue.
    ///
    /// # Errors
    /// What is wrong with bytes that are no such snapshot.
    pub fn restore(game: Arc<G>, snapshot: &[u8]) -> Result<Self, String> {
        let (ply, key, words, state): (u32, Option<Key>, Vec<u64>, G::State) =
            BorshDeserialize::try_from_slice(snapshot).map_err(|error| error.to_string())?;
        let key = key.ok_or("a scripted game cannot be restored")?;
        if words.len() != G::TYPE.streams.len() {
            return Err(format!("{} streams of chance, not {}", words.len(), G::TYPE.streams.len()));
        }
        words.iter().try_for_each(|&used| RngStream::check_words(used))?;
        game.audit(&state)?;
        Ok(Self { game, state, chance: Chance::resume(key, &words), ply })
    }

    /// What `seat` knows, for a bot.
    #[must_use]
    pub fn knowledge(&self, seat: Seat) -> Knowledge<G> {
        Knowledge { game: Arc::clone(&self.game), state: self.state, seat }
    }

    /// The same episode in another position.
    #[cfg(any(test, feature = "testkit"))]
    pub(crate) fn at(&self, state: G::State) -> Self {
        Self { state, ..self.clone() }
    }
}

/// All a seat may know of a position.
///
/// It gives states sampled from what the seat knows, never the true state: a bot that holds this cannot cheat by
/// accident.
pub struct Knowledge<G: Game> {
    game: Arc<G>,
    state: G::State,
    seat: Seat,
}

impl<G: Game> Knowledge<G> {
    /// The rules.
    #[must_use]
    pub fn game(&self) -> &G {
        &self.game
    }

    /// The seat whose knowledge this is.
    #[must_use]
    pub fn seat(&self) -> Seat {
        self.seat
    }

    /// The actions the seat may choose from.
    #[must_use]
    pub fn legal(&self) -> crate::ActionSet {
        self.game.legal(&self.state, self.seat)
    }

    /// What the seat is shown, in the bytes of its layout.
    #[must_use]
    pub fn view(&self) -> Vec<u8> {
        let mut view = vec![0; self.game.info().layout.bytes()];
        self.game.view(&self.state, self.seat.into(), &mut view);
        view
    }

    /// A state [sampled](crate::Hidden::resample) from what the seat knows, to be played on with chance of its own; its plies
    /// count from here.
    #[must_use]
    pub fn imagine(&self, rng: &mut RngStream, chance: Chance) -> Episode<G> {
        let mut state = self.state;
        self.game.resample(&mut state, self.seat, rng);
        Episode { game: Arc::clone(&self.game), state, chance, ply: 0 }
    }
}

impl<G: Estimate> Knowledge<G> {
    /// A state [sampled](crate::Hidden::resample) from what the seat knows, for estimates and playouts: it
    /// [forgets](Estimate::forget).
    #[must_use]
    pub fn determinize(&self, rng: &mut RngStream) -> G::State {
        let mut state = self.state;
        self.game.forget(&mut state);
        self.game.resample(&mut state, self.seat, rng);
        state
    }
}
