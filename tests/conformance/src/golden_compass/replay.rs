//! Plays a recorded game through the ordinary actions and compares every fact.

use boardwire_games::golden_compass::GoldenCompass;
use boardwire_kernel::{Seat, Viewer};
use serde::Serialize;

use super::events::{Event, Setup, Snapshot, Words};
use super::outcomes::{STOLEN_CARDS, STOLEN_TOKENS};
use super::printed::Printed;
use super::table::Table;
use crate::log::{Log, Recorded};
use crate::play::{Compared, Move, Play, bytes, differs, ids, same};

/// The value of a token that the viewer has, in its field `tokens`.
const OWN_TOKEN: u16 = 2;

/// A game under way beside its record.
pub(super) struct Replay<'a> {
    pub(super) printed: &'a Printed,
    pub(super) play: Play<GoldenCompass>,
    pub(super) table: Table,
    log: Log<'a, Event>,
}

impl<'a> Replay<'a> {
    /// Deals as the set-up says.
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

    /// Plays and compares to the end: the final scores.
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

    /// The event due, if there is one.
    pub(super) fn peek(&self) -> Option<&'a Event> {
        self.log.peek()
    }

    /// Takes the next event, which must be of this kind.
    pub(super) fn take<T: Recorded<Event = Event> + 'a>(&mut self) -> Compared<&'a T> {
        self.log.take()
    }

    /// The place of a field of the event being compared.
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

    /// A stated fact is the engine's.
    pub(super) fn same<T: Serialize + PartialEq>(&self, field: &str, expected: &T, got: &T) -> Compared {
        same(&self.at(field), expected, got)
    }

    /// Says that the record wants a decision which the engine does not ask for.
    pub(super) fn unasked<T>(&self, wanted: &str) -> Compared<T> {
        self.differs(wanted, wanted, self.asks())
    }

    /// What is to be decided.
    pub(super) fn asks(&self) -> &str {
        self.play.word("decision")
    }

    /// An open fact of one value; seats are those of the table, counted from 1.
    pub(super) fn number(&self, field: &str) -> u8 {
        self.play.number(field)
    }

    /// An open fact of several values.
    pub(super) fn open(&self, field: &str) -> Vec<u8> {
        bytes(&self.play.field(Seat::FIRST.into(), field))
    }

    /// What a seat alone is shown.
    pub(super) fn own(&self, seat: Seat, field: &str) -> Vec<u8> {
        ids(&self.play.field(seat.into(), field))
    }

    /// All seats.
    pub(super) fn seats(&self) -> impl Iterator<Item = Seat> + use<> {
        Seat::all(self.printed.seats)
    }

    /// The seat that an open fact names.
    pub(super) fn seat(&self, field: &str) -> Option<Seat> {
        self.number(field).checked_sub(1).map(Seat::new)
    }

    /// A small number beyond a byte.
    pub(super) fn count(&self, field: &str) -> u16 {
        self.play.field(Viewer::Public, field)[0]
    }

    pub(super) fn is_last_period(&self) -> bool {
        usize::from(self.number("period")) == self.printed.periods.len()
    }

    /// The engine's table in the words of a recorded game.
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

    /// The names of the unplaced tokens of a seat, sorted.
    fn tokens_of(&self, seat: Seat) -> Words {
        let places = self.play.field(seat.into(), "tokens");
        let tokens = self.printed.tokens.iter().zip(places).filter(|(_, place)| *place == OWN_TOKEN);
        let mut names: Words = tokens.map(|(token, _)| token.name.clone()).collect();
        names.sort();
        names
    }

    /// Who has laid out what in each of the last two cities.
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

    /// The table as told is the engine's.
    pub(super) fn same_table(&self) -> Compared {
        let got = self.snapshot(0);
        self.same("table", &self.table.settled(&got), &got)
    }

    /// The draw pile holds the cards told, whatever their order: those that are in no hand and not discarded.
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

    /// What the seat that decides may choose.
    pub(super) fn offered(&self) -> Vec<Move> {
        self.seat("chooser").map_or_else(Vec::new, |seat| self.play.offered(seat))
    }

    /// The rows to which it may do what `verb` says.
    pub(super) fn rows(&self, verb: &str) -> Vec<u8> {
        self.offered().into_iter().filter(|choice| choice.0 == verb).map(|choice| choice.1).collect()
    }

    /// The engine offers the seat that decides exactly `expected`.
    pub(super) fn offers(&self, field: &str, expected: Vec<Move>) -> Compared {
        self.same_choices(field, self.offered(), expected)
    }

    /// The engine offers one seat exactly `expected`.
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

    /// The seat that decides plays `choice`.
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

    /// Plays the cards due, all of them, one by one: every type of the hand told is on offer.
    pub(super) fn pay(&mut self, field: &str, seat: Seat, cards: &[String], decision: &str) -> Compared {
        self.pay_some(field, seat, cards, decision)?;
        if self.asks() == decision {
            return self.differs(field, cards, "more cards are due");
        }
        Ok(())
    }

    /// The same, when the next step may ask for cards again.
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

    /// The seat that decides plays a card of this name.
    pub(super) fn choose_card(&mut self, field: &str, name: &str) -> Compared {
        match self.printed.card(name) {
            Ok(card) => self.choose(field, Move("card", card)),
            Err(error) => self.differs(field, name, error.to_string()),
        }
    }

    /// The choices of cards of these names.
    pub(super) fn cards(&self, names: &[String]) -> Vec<Move> {
        names.iter().filter_map(|name| self.printed.card(name).ok()).map(|card| Move("card", card)).collect()
    }

    /// The opponents that may be named, ascending.
    pub(super) fn targets(&self) -> Vec<u8> {
        let chooser = self.seat("chooser");
        chooser.map_or_else(Vec::new, |chooser| self.seats_left_of(chooser, self.rows("opponent")))
    }

    /// The seats so many places to the left of one, ascending.
    pub(super) fn seats_left_of(&self, seat: Seat, left: Vec<u8>) -> Vec<u8> {
        let seats = left.into_iter().map(|left| seat.clockwise(left, self.printed.seats).number());
        let mut seats: Vec<_> = seats.collect();
        seats.sort_unstable();
        seats
    }
}
