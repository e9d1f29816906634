//! Checks the invariants of every reachable state.

use boardwire_kernel::{Audits, CheckResult, ComponentTally, Seat, Turns, ensure};

use super::Rauha;
use super::catalogue::{ENTITY_COUNT, STOP_COUNT};
use super::state::{BiomeId, Board, CARD_COUNT, CELL_COUNT, CardSet, EntitySet, Phase, State};
use super::turn::{age_of, set_of};

impl Audits for Rauha {
    fn audit(&self, state: &State) -> CheckResult {
        self.audit_stop(state)?;
        self.audit_cards(state)?;
        self.audit_kept(state)?;
        let (_, unused) = state.boards.all().split_at(self.seats.into());
        ensure(
            unused.iter().all(|board| *board == self.opening_board),
            || "the board of an unused seat differs from the initial board",
        )?;
        let mut held = ComponentTally::<1>::new("Entity");
        for seat in Seat::all(self.seats) {
            self.audit_board(state, seat).map_err(|broken| format!("{seat}: {broken}"))?;
            held.add(state.boards[seat].entities)?;
        }
        let maximum = state.boards.of(self.seats).iter().map(Board::points).max();
        ensure(Some(state.boards[state.leader].points()) == maximum, || {
            format!("leader {} does not have the most points", state.leader)
        })?;
        self.audit_activation(state)
    }
}

impl Rauha {
    /// Checks the stop, the phase and the order of the seats.
    fn audit_stop(&self, state: &State) -> CheckResult {
        ensure((1..=STOP_COUNT).contains(&state.stop), || {
            format!("stop is {}; it must be 1 to {STOP_COUNT}", state.stop)
        })?;
        let are_seats = [state.leader, state.first_seat].iter().all(|seat| seat.number() < self.seats);
        ensure(are_seats, || "leader or first_seat is not in this game")?;
        let is_over = state.phase == Phase::Over;
        let is_done = state.seats_done == self.seats;
        ensure(state.seats_done <= self.seats && is_done == is_over, || {
            format!(
                "seats_done is {}; it must be below the seat count until the game is over",
                state.seats_done
            )
        })?;
        ensure(!is_over || state.stop == STOP_COUNT, || "the game is over before the fourth scoring")?;
        let fits = match state.phase {
            Phase::Draft => !state.is_scoring() && state.seats_done == 0 && !self.pending(state).is_empty(),
            Phase::UseCard => !state.is_scoring(),
            Phase::Activate | Phase::Spore | Phase::Over => true,
            Phase::StopFinished => false,
        };
        ensure(fits, || "the phase does not fit the stop")
    }

    /// Checks that each card is in exactly one place, and that exactly the rounds that have begun have packs.
    fn audit_cards(&self, state: &State) -> CheckResult {
        let mut cards = ComponentTally::<2>::new("card");
        cards.add(state.undealt)?;
        for (round, packs) in (1..).zip(&state.packs) {
            for (number, pack) in (0..).zip(packs.all()) {
                let is_dealt = round <= state.round() && number < self.seats;
                ensure(pack.is_some() == is_dealt, || {
                    format!("round {round}: packs must exist exactly for rounds that have begun")
                })?;
                let Some(pack) = pack else { continue };
                cards.add(pack.map(BiomeId::get))?;
                let age = self.ages[age_of(round)];
                ensure(pack.iter().all(|&card| age.contains(card)), || "a card of another Age was dealt")?;
                let is_sorted = round != state.round() || pack[state.picks()..].is_sorted();
                ensure(is_sorted, || "a pack is not in order")?;
            }
        }
        cards.check_complete(&(1..=CARD_COUNT).collect())
    }

    /// Checks that kept cards were drafted, and that placed cards were drafted and are no longer kept.
    fn audit_kept(&self, state: &State) -> CheckResult {
        let mut done = CardSet::EMPTY;
        for (round, satellite) in self.dealt(state) {
            let picks = if round == state.round() { state.picks() } else { 3 };
            done = done.union(set_of(&state.pack(round, satellite)[..picks]));
        }
        for (number, &kept) in (0..).zip(state.kept.all()) {
            let Some(card) = kept else { continue };
            ensure(number < self.seats, || "an unused seat keeps a card")?;
            let seat = Seat::new(number);
            if state.phase == Phase::Draft {
                let is_in_hand = self.hand(state, seat).contains(&card);
                ensure(is_in_hand, || "a seat has chosen a card that is not in its pack")?;
            }
            done.remove(card);
        }
        if state.phase != Phase::Draft {
            for (place, seat) in (0..).zip(state.first_seat.round(self.seats)) {
                let keeps =
                    place > state.seats_done || place == state.seats_done && state.phase == Phase::UseCard;
                let due = (keeps && !state.is_scoring())
                    .then(|| self.drafted(state, seat, state.round(), state.turn()));
                ensure(state.kept[seat] == due, || "a seat keeps another card than it has drafted")?;
            }
        }
        let is_past = state.placed.difference(done).is_empty();
        ensure(is_past, || "a placed card was not drafted, or is still kept")
    }

    fn audit_board(&self, state: &State, seat: Seat) -> CheckResult {
        let board = &state.boards[seat];
        let cells = board.spores.difference((0..CELL_COUNT).collect());
        ensure(cells.is_empty(), || "a Spore is on no cell")?;
        let entities = board.entities.difference((1..=ENTITY_COUNT).collect::<EntitySet>());
        ensure(entities.is_empty(), || "there is no such Entity")?;
        // The sum of the numbers in a snapshot from outside can overflow a `u16`.
        let points: u32 = board.gained.iter().map(|&points| u32::from(points)).sum();
        let is_small = board.crystals <= self.maxima.crystals && points <= self.maxima.points.into();
        ensure(is_small, || "more crystals or points than there can be")?;
        let mut placed = self.placed_by(state, seat);
        for ((cell, &id), &opening) in (0..).zip(&board.cells).zip(&self.opening_board.cells) {
            let is_shown = id == opening || id.is_card() && placed.remove(id);
            ensure(is_shown, || format!("cell {cell} has a card that this seat did not place"))?;
        }
        Ok(())
    }

    /// Returns the cards that `seat` drafted and placed.
    fn placed_by(&self, state: &State, seat: Seat) -> CardSet {
        let turns = (1..=state.round()).flat_map(|round| {
            let picks = if round == state.round() { state.picks() } else { 3 };
            (1..4).take(picks).map(move |turn| (round, turn))
        });
        turns
            .map(|(round, turn)| self.drafted(state, seat, round, turn))
            .filter(|&card| state.placed.contains(card))
            .collect()
    }

    fn audit_activation(&self, state: &State) -> CheckResult {
        if !matches!(state.phase, Phase::Activate | Phase::Spore) {
            let is_clear = state.activated.is_empty() && state.welcomed.is_empty();
            return ensure(is_clear, || {
                format!("activated and welcomed must be empty in phase {:?}", state.phase)
            });
        }
        let board = &state.boards[self.acting_seat(state)];
        let others = state.activated.without(self.activation_items(state));
        ensure(others.is_empty(), || "activated has a cell or an Entity that is not part of the activation")?;
        let is_held = state.welcomed.difference(board.entities).is_empty();
        ensure(is_held, || "an Entity was welcomed and is not held")?;
        ensure(state.welcomed.is_empty() || !state.is_scoring(), || "an Entity is welcomed in a scoring")?;
        if state.phase == Phase::Spore {
            ensure(!board.cells_without_spore().is_empty(), || "phase is Spore, but every cell has a Spore")
        } else {
            ensure(self.can_activate_something(state), || "nothing is left to activate")
        }
    }
}
