//! The state of the table according to a record, to compare with the engine's.

use boardwire_kernel::Seat;

use super::events::{Reshuffle, Setup, Snapshot, Words};

/// The table after the events so far. Only snapshots say which tokens lie in cities and circles.
pub(super) struct RecordedTable {
    /// The fields of a snapshot, unsorted. [`RecordedTable::to_snapshot`] counts the piles and sorts the lists.
    pub(super) snapshot: Snapshot,
    /// The draw pile, in order.
    pub(super) deck: Words,
    discard: Words,
}

/// Removes one `name` from `list`, if it is there.
pub(super) fn remove_one(list: &mut Words, name: &str) {
    if let Some(index) = list.iter().position(|one| one == name) {
        list.remove(index);
    }
}

/// Returns `names` without `others`, which are removed once each.
pub(super) fn without(names: &[String], others: &[String]) -> Words {
    let mut remaining = names.to_vec();
    for other in others {
        remove_one(&mut remaining, other);
    }
    remaining
}

fn count(words: &[String]) -> u8 {
    u8::try_from(words.len()).unwrap_or(u8::MAX)
}

impl RecordedTable {
    pub(super) fn new(setup: &Setup) -> Self {
        let seats = setup.hands.len();
        let snapshot = Snapshot {
            turn: 0,
            lyra: setup.lyra,
            still: 0,
            hands: setup.hands.clone(),
            draw: 0,
            discard: 0,
            compass: vec![0; seats],
            supply: setup.supply.clone(),
            cities: vec![],
            tokens: vec![vec![]; seats],
            laid: vec![],
            dust: vec![0; seats],
            dust_supply: setup.dust_supply,
            airship: None,
        };
        Self { snapshot, deck: setup.deck.clone(), discard: vec![] }
    }

    /// Returns the table so far as a snapshot, to compare with the engine's. Some fields are recorded only in snapshots:
    /// these are copied from the engine's snapshot.
    pub(super) fn to_snapshot(&self, actual: &Snapshot) -> Snapshot {
        let mut snapshot = self.snapshot.clone();
        snapshot.hands.iter_mut().chain(&mut snapshot.tokens).for_each(|words| words.sort());
        let (draw, discard) = (count(&self.deck), count(&self.discard));
        let (cities, laid) = (actual.cities.clone(), actual.laid.clone());
        Snapshot { turn: actual.turn, still: actual.still, draw, discard, cities, laid, ..snapshot }
    }

    pub(super) fn hand(&mut self, seat: Seat) -> &mut Words {
        &mut self.snapshot.hands[seat.index()]
    }

    pub(super) fn tokens(&mut self, seat: Seat) -> &mut Words {
        &mut self.snapshot.tokens[seat.index()]
    }

    /// Draws cards into a hand. Returns them, and the reshuffle of the discard pile if the draw needed one.
    pub(super) fn draw(
        &mut self,
        seat: Seat,
        number: u8,
        recorded: Option<&Reshuffle>,
    ) -> (Words, Option<Reshuffle>) {
        let available = self.deck.len();
        let mut drawn: Words = self.deck.drain(..usize::from(number).min(available)).collect();
        let mut returned = None;
        if drawn.len() < number.into() && !self.discard.is_empty() {
            // The order of the cards is random. That there is a reshuffle is a fact to compare.
            let order = recorded.map(|reshuffle| reshuffle.order.clone()).unwrap_or_default();
            let mut cards = order.clone();
            cards.sort();
            self.discard.sort();
            let discard = std::mem::take(&mut self.discard);
            self.deck = if cards == discard { order } else { discard };
            let after = u8::try_from(available).unwrap_or(u8::MAX);
            returned = Some(Reshuffle { after, order: self.deck.clone() });
            let more = (usize::from(number) - drawn.len()).min(self.deck.len());
            drawn.extend(self.deck.drain(..more));
        }
        self.hand(seat).extend(drawn.iter().cloned());
        (drawn, returned)
    }

    pub(super) fn discard(&mut self, seat: Seat, cards: &[String]) {
        for card in cards {
            remove_one(self.hand(seat), card);
            self.discard.push(card.clone());
        }
    }

    /// Moves compass tiles from the supply to the objective.
    pub(super) fn lay_compass(&mut self, seat: Seat, tiles: u8) {
        let (compass, supply) =
            (&mut self.snapshot.compass[seat.index()], &mut self.snapshot.supply[seat.index()]);
        (*compass, *supply) = (compass.saturating_add(tiles), supply.saturating_sub(tiles));
    }

    /// Moves compass tiles from the objective to the supply.
    pub(super) fn remove_compass(&mut self, seat: Seat, tiles: u8) {
        let (compass, supply) =
            (&mut self.snapshot.compass[seat.index()], &mut self.snapshot.supply[seat.index()]);
        (*compass, *supply) = (compass.saturating_sub(tiles), supply.saturating_add(tiles));
    }

    /// Gives `seat` a dust tile of the seat `from`, or else of the supply.
    pub(super) fn take_dust(&mut self, seat: Seat, from: Option<Seat>) {
        let source = match from {
            Some(victim) => &mut self.snapshot.dust[victim.index()],
            None => &mut self.snapshot.dust_supply,
        };
        *source = source.saturating_sub(1);
        self.snapshot.dust[seat.index()] += 1;
    }

    pub(super) fn lay_token(&mut self, seat: Seat, token: &str) {
        remove_one(self.tokens(seat), token);
        let supply = &mut self.snapshot.supply[seat.index()];
        *supply = supply.saturating_sub(1);
    }

    /// Moves all compass tiles to the supplies, and all discarded cards to the draw pile, whose order is `deck`.
    pub(super) fn clean_up(&mut self, deck: &[String]) {
        for (compass, supply) in self.snapshot.compass.iter_mut().zip(&mut self.snapshot.supply) {
            *supply += std::mem::take(compass);
        }
        self.deck = deck.to_vec();
        self.discard.clear();
    }
}
