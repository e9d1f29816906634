//! Replays a recorded game with the game's ordinary actions, and compares every fact.

use boardwire_games::golden_compass::GoldenCompass;
use boardwire_kernel::{Seat, Viewer};
use serde::Serialize;

use super::events::{Event, Setup, Snapshot, Words};
use super::outcomes::{STOLEN_CARDS, STOLEN_TOKENS};
use super::printed::Printed;
use super::table::Table;
use crate::log::{Log, Recorded};
use crate::play::{Compared, Move, Play, bytes, differs, ids, same};

/// The value of an unplaced token of the viewer in the view field `tokens`.
const OWN_TOKEN: u16 = 2;

/// A game that is being replayed, and its record.
pub(super) struct Replay<'a> {
    pub(super) printed: &'a Printed,
    pub(super) play: Play<GoldenCompass>,
    pub(super) table: Table,
    log: Log<'a, Event>,
}

impl<'a> Replay<'a> {
    /// Deals according to the `setup` event.
    pub(super) fn deal(
        game: GoldenCompass,
        printed: &'a Printed,
        log: &'a [Event],
        outcomes: impl IntoIterator<Item = Vec<u8>>,
    ) -> Compared<Self> {
        let mut log = Log::new(log, |number| format!("event {number}"));
        let setup: &Setup = log.take()?;
        let replay = Self { play: Play::deal(game, outcomes)?, table: Table::new(setup), printed, log };
        replay.same("first", &setup.first, &(replay.number("first") - 1))?;
        replay.same_table()?;
        replay.same_deck("deck", &setup.deck)?;
        Ok(replay)
    }

    /// Replays and compares the whole game. Returns the final scores.
    pub(super) fn run(mut self) -> Compared<Vec<i32>> {
        for _ in 0..self.printed.periods.len() {
            self.period()?;
            while !self.turn()? {}
            self.scoring()?;
        }
        let scores = self.final_scores()?;
        self.log.end()?;
        Ok(scores)
    }

    /// Returns the next event, if there is one.
    pub(super) fn peek(&self) -> Option<&'a Event> {
        self.log.peek()
    }

    /// Takes the next event, which must be a `T`.
    pub(super) fn take<T: Recorded<Event = Event> + 'a>(&mut self) -> Compared<&'a T> {
        self.log.take()
    }

    /// Returns the location of a field of the event that is being compared.
    pub(super) fn at(&self, field: &str) -> String {
        format!("{} {field}", self.log.at()).trim_end().to_owned()
    }

    pub(super) fn differs<T>(
        &self,
        field: &str,
        expected: impl Serialize,
        got: impl Serialize,
    ) -> Compared<T> {
        differs(self.at(field), expected, got)
    }

    /// Compares a recorded fact with the engine's.
    pub(super) fn same<T: Serialize + PartialEq>(&self, field: &str, expected: &T, got: &T) -> Compared {
        same(&self.at(field), expected, got)
    }

    /// Reports that the record has a decision that the engine does not ask for.
    pub(super) fn unasked<T>(&self, wanted: &str) -> Compared<T> {
        self.differs(wanted, wanted, self.asks())
    }

    /// Returns the kind of decision that the engine asks for.
    pub(super) fn asks(&self) -> &str {
        self.play.word("decision")
    }

    /// Returns a public field of one byte. Seats in it are counted from 1, beginning with seat 0.
    pub(super) fn number(&self, field: &str) -> u8 {
        self.play.number(field)
    }

    /// Returns a public field of several bytes, as seat 0 sees it.
    pub(super) fn open(&self, field: &str) -> Vec<u8> {
        bytes(&self.play.field(Seat::FIRST.into(), field))
    }

    /// Returns the ids in a field that only this seat sees.
    pub(super) fn own(&self, seat: Seat, field: &str) -> Vec<u8> {
        ids(&self.play.field(seat.into(), field))
    }

    pub(super) fn seats(&self) -> impl Iterator<Item = Seat> + use<> {
        Seat::all(self.printed.seats)
    }

    /// Returns the seat in a public field, if there is one.
    pub(super) fn seat(&self, field: &str) -> Option<Seat> {
        self.number(field).checked_sub(1).map(Seat::new)
    }

    /// Returns a public number that may exceed a byte.
    pub(super) fn count(&self, field: &str) -> u16 {
        self.play.field(Viewer::Public, field)[0]
    }

    pub(super) fn is_last_period(&self) -> bool {
        usize::from(self.number("period")) == self.printed.periods.len()
    }

    /// Returns the engine's table in the format of a record.
    pub(super) fn snapshot(&self, turn: u32) -> Snapshot {
        let copies = self.open("copies");
        Snapshot {
            turn,
            lyra: self.number("lyra"),
            still: self.count("still"),
            hands: self.seats().map(|seat| self.printed.names(self.own(seat, "hand"))).collect(),
            draw: self.number("draw_pile"),
            discard: copies.iter().fold(0, |sum, &copy| sum + u8::from(copy == 0)),
            compass: self.open("compass"),
            supply: self.open("supply"),
            cities: self.open("lying"),
            tokens: self.seats().map(|seat| self.tokens_of(seat)).collect(),
            laid: self.laid(),
            dust: self.open("dust"),
            dust_supply: self.number("dust_supply"),
            airship: self.seat("airship").map(Seat::number),
        }
    }

    /// Returns the names of the unplaced tokens of a seat, sorted.
    fn tokens_of(&self, seat: Seat) -> Words {
        let places = self.play.field(seat.into(), "tokens");
        let tokens = self.printed.tokens.iter().zip(places).filter(|(_, place)| *place == OWN_TOKEN);
        let mut names: Words = tokens.map(|(token, _)| token.name.clone()).collect();
        names.sort();
        names
    }

    /// Returns the tokens laid out in each of the last two cities, with their seats.
    fn laid(&self) -> Vec<Vec<(u8, String)>> {
        let circles = self.open("circles").len();
        let mut laid = vec![vec![]; circles];
        let first = 2usize << self.printed.seats;
        for (token, place) in self.printed.tokens.iter().zip(self.open("tokens")) {
            if let Some(at) = usize::from(place).checked_sub(first) {
                let seat = u8::try_from(at / circles).expect("few seats");
                laid[at % circles].push((seat, token.name.clone()));
            }
        }
        for circle in &mut laid {
            circle.sort();
        }
        laid
    }

    /// Compares the table according to the record with the engine's.
    pub(super) fn same_table(&self) -> Compared {
        let got = self.snapshot(0);
        self.same("table", &self.table.settled(&got), &got)
    }

    /// Checks that the draw pile has these cards, in any order. It has the cards that are in no hand and not discarded.
    pub(super) fn same_deck(&self, field: &str, deck: &[String]) -> Compared {
        let copies = (1..).zip(&self.printed.cards);
        let types = copies.flat_map(|(row, card)| std::iter::repeat_n(row, card.copies.into()));
        let mut left: Vec<u8> =
            types.zip(self.open("copies")).filter(|(_, at)| *at > 0).map(|(row, _)| row).collect();
        for card in self.seats().flat_map(|seat| self.own(seat, "hand")) {
            let held = left.iter().position(|&row| row == card).expect("a card in a hand is not discarded");
            left.remove(held);
        }
        let mut told = deck.to_vec();
        told.sort();
        self.same(field, &told, &self.printed.names(left))
    }

    /// Returns the legal actions of the seat that has to decide.
    pub(super) fn offered(&self) -> Vec<Move> {
        self.seat("chooser").map_or_else(Vec::new, |seat| self.play.offered(seat))
    }

    /// Returns the rows of its legal actions with this verb.
    pub(super) fn rows(&self, verb: &str) -> Vec<u8> {
        self.offered().into_iter().filter(|choice| choice.0 == verb).map(|choice| choice.1).collect()
    }

    /// Checks that the engine offers exactly `expected` to the seat that has to decide.
    pub(super) fn offers(&self, field: &str, expected: Vec<Move>) -> Compared {
        self.same_choices(field, self.offered(), expected)
    }

    /// Checks that the legal actions of one seat are exactly `expected`.
    pub(super) fn same_choices(
        &self,
        field: &str,
        mut offered: Vec<Move>,
        mut expected: Vec<Move>,
    ) -> Compared {
        for choices in [&mut offered, &mut expected] {
            choices.sort_unstable();
            choices.dedup();
        }
        if offered == expected {
            return Ok(());
        }
        let labels = |choices: &[Move]| {
            let label = |&choice| {
                self.play.index(choice).map_or_else(|| format!("{choice:?}"), |(_, label)| label.into())
            };
            choices.iter().map(label).collect::<Words>()
        };
        self.differs(&format!("{field} (offered)"), labels(&expected), labels(&offered))
    }

    /// Plays `choice` for the seat that has to decide.
    pub(super) fn choose(&mut self, field: &str, choice: Move) -> Compared {
        match self.seat("chooser") {
            Some(seat) => self.choose_for(field, seat, choice),
            None => self.unasked(field),
        }
    }

    pub(super) fn choose_for(&mut self, field: &str, seat: Seat, choice: Move) -> Compared {
        let at = self.at(field);
        self.play.choose(&at, seat, choice)?;
        let left = self.play.episode().chance().words();
        let stolen = left[STOLEN_CARDS] + left[STOLEN_TOKENS];
        if stolen > 0 {
            return self.differs(field, "everything stated is stolen", format!("{stolen} not"));
        }
        Ok(())
    }

    /// Plays all cards due, one by one. Checks that the engine offers every type of card in the hand.
    pub(super) fn pay(&mut self, field: &str, seat: Seat, cards: &[String], decision: &str) -> Compared {
        self.pay_some(field, seat, cards, decision)?;
        if self.asks() == decision {
            return self.differs(field, cards, "more cards are due");
        }
        Ok(())
    }

    /// Plays cards like [`Self::pay`], but the next step may ask for the same kind of cards.
    pub(super) fn pay_some(&mut self, field: &str, seat: Seat, cards: &[String], decision: &str) -> Compared {
        for name in cards {
            if self.asks() != decision {
                return self.unasked(field);
            }
            self.same_table()?;
            let hand = self.table.hand(seat).clone();
            self.offers(field, self.cards(&hand))?;
            self.choose_card(field, name)?;
            self.table.discard(seat, std::slice::from_ref(name));
        }
        Ok(())
    }

    /// Plays the card with this name for the seat that has to decide.
    pub(super) fn choose_card(&mut self, field: &str, name: &str) -> Compared {
        match self.printed.card(name) {
            Ok(card) => self.choose(field, Move("card", card)),
            Err(error) => self.differs(field, name, error.to_string()),
        }
    }

    /// Returns the actions that play cards of these names.
    pub(super) fn cards(&self, names: &[String]) -> Vec<Move> {
        names.iter().filter_map(|name| self.printed.card(name).ok()).map(|card| Move("card", card)).collect()
    }

    /// Returns the opponents that can be chosen, ascending.
    pub(super) fn targets(&self) -> Vec<u8> {
        let chooser = self.seat("chooser");
        chooser.map_or_else(Vec::new, |chooser| self.seats_left_of(chooser, self.rows("opponent")))
    }

    /// Returns the seats at these distances to the left of `seat`, ascending.
    pub(super) fn seats_left_of(&self, seat: Seat, left: Vec<u8>) -> Vec<u8> {
        let seats = left.into_iter().map(|left| seat.clockwise(left, self.printed.seats).number());
        let mut seats: Vec<_> = seats.collect();
        seats.sort_unstable();
        seats
    }
}
