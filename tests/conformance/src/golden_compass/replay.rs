//! Replays a recorded game with the game's ordinary actions, and compares every fact.

use boardwire_games::golden_compass::GoldenCompass;
use boardwire_kernel::{Seat, Viewer};
use serde::Serialize;

use super::components::Components;
use super::events::{Event, Setup, Snapshot, Words};
use super::outcomes::{STOLEN_CARDS, STOLEN_TOKENS};
use super::table::RecordedTable;
use crate::play::{ActionKey, CompareResult, ReplayedEpisode, bytes, compare, ids, mismatch};
use crate::record::{EventKind, RecordCursor};

/// The value of an unplaced token of the viewer in the view field `tokens`.
const OWN_TOKEN: u16 = 2;

/// A game that is being replayed, and its record.
pub(super) struct Replay<'a> {
    pub(super) components: &'a Components,
    pub(super) replayed: ReplayedEpisode<GoldenCompass>,
    pub(super) table: RecordedTable,
    cursor: RecordCursor<'a, Event>,
}

impl<'a> Replay<'a> {
    /// Deals according to the `setup` event.
    pub(super) fn deal(
        game: GoldenCompass,
        components: &'a Components,
        log: &'a [Event],
        outcomes: impl IntoIterator<Item = Vec<u8>>,
    ) -> CompareResult<Self> {
        let mut cursor = RecordCursor::new(log, |number| format!("event {number}"));
        let setup: &Setup = cursor.next_event()?;
        let replay = Self {
            replayed: ReplayedEpisode::deal(game, outcomes)?,
            table: RecordedTable::new(setup),
            components,
            cursor,
        };
        replay.compare("first", &setup.first, &(replay.public_byte("first") - 1))?;
        replay.compare_table()?;
        replay.compare_draw_pile("deck", &setup.deck)?;
        Ok(replay)
    }

    /// Replays and compares the whole game. Returns the final scores.
    pub(super) fn run(mut self) -> CompareResult<Vec<i32>> {
        for _ in 0..self.components.periods.len() {
            self.period()?;
            while !self.turn()? {}
            self.scoring()?;
        }
        let scores = self.final_scores()?;
        self.cursor.end()?;
        Ok(scores)
    }

    /// Returns the next event, if there is one.
    pub(super) fn peek(&self) -> Option<&'a Event> {
        self.cursor.peek()
    }

    /// Takes the next event, which must be a `T`.
    pub(super) fn next_event<T: EventKind<Event = Event> + 'a>(&mut self) -> CompareResult<&'a T> {
        self.cursor.next_event()
    }

    /// Returns the location of a field of the event that is being compared.
    pub(super) fn location(&self, field: &str) -> String {
        format!("{} {field}", self.cursor.location()).trim_end().to_owned()
    }

    pub(super) fn mismatch<T>(
        &self,
        field: &str,
        expected: impl Serialize,
        actual: impl Serialize,
    ) -> CompareResult<T> {
        mismatch(self.location(field), expected, actual)
    }

    /// Compares a recorded fact with the engine's.
    pub(super) fn compare<T: Serialize + PartialEq>(
        &self,
        field: &str,
        expected: &T,
        actual: &T,
    ) -> CompareResult {
        compare(&self.location(field), expected, actual)
    }

    /// Reports that the record has a decision that the engine does not ask for.
    pub(super) fn unexpected_decision<T>(&self, wanted: &str) -> CompareResult<T> {
        self.mismatch(wanted, wanted, self.pending_decision())
    }

    /// Returns the kind of decision that the engine asks for.
    pub(super) fn pending_decision(&self) -> &str {
        self.replayed.category_name("decision")
    }

    /// Returns a public field of one byte. Seats in it are counted from 1, beginning with seat 0.
    pub(super) fn public_byte(&self, field: &str) -> u8 {
        self.replayed.public_byte(field)
    }

    /// Returns a public field of several bytes, as seat 0 sees it.
    pub(super) fn public_field(&self, field: &str) -> Vec<u8> {
        bytes(&self.replayed.field(Seat::FIRST.into(), field))
    }

    /// Returns the ids in a field that only this seat sees.
    pub(super) fn private_ids(&self, seat: Seat, field: &str) -> Vec<u8> {
        ids(&self.replayed.field(seat.into(), field))
    }

    pub(super) fn seats(&self) -> impl Iterator<Item = Seat> + use<> {
        Seat::all(self.components.seats)
    }

    /// Returns the seat in a public field, if there is one.
    pub(super) fn seat(&self, field: &str) -> Option<Seat> {
        self.public_byte(field).checked_sub(1).map(Seat::new)
    }

    /// Returns a public number that may exceed a byte.
    pub(super) fn public_u16(&self, field: &str) -> u16 {
        self.replayed.field(Viewer::Public, field)[0]
    }

    pub(super) fn is_last_period(&self) -> bool {
        usize::from(self.public_byte("period")) == self.components.periods.len()
    }

    /// Returns the engine's table in the format of a record.
    pub(super) fn snapshot(&self, turn: u32) -> Snapshot {
        let copies = self.public_field("copies");
        Snapshot {
            turn,
            lyra: self.public_byte("lyra"),
            still: self.public_u16("still"),
            hands: self.seats().map(|seat| self.components.names(self.private_ids(seat, "hand"))).collect(),
            draw: self.public_byte("draw_pile"),
            discard: copies.iter().fold(0, |sum, &copy| sum + u8::from(copy == 0)),
            compass: self.public_field("compass"),
            supply: self.public_field("supply"),
            cities: self.public_field("lying"),
            tokens: self.seats().map(|seat| self.tokens_of(seat)).collect(),
            laid: self.laid(),
            dust: self.public_field("dust"),
            dust_supply: self.public_byte("dust_supply"),
            airship: self.seat("airship").map(Seat::number),
        }
    }

    /// Returns the names of the unplaced tokens of a seat, sorted.
    fn tokens_of(&self, seat: Seat) -> Words {
        let places = self.replayed.field(seat.into(), "tokens");
        let tokens = self.components.tokens.iter().zip(places).filter(|(_, place)| *place == OWN_TOKEN);
        let mut names: Words = tokens.map(|(token, _)| token.name.clone()).collect();
        names.sort();
        names
    }

    /// Returns the tokens laid out in each of the last two cities, with their seats.
    fn laid(&self) -> Vec<Vec<(u8, String)>> {
        let circles = self.public_field("circles").len();
        let mut laid = vec![vec![]; circles];
        let first = 2usize << self.components.seats;
        for (token, place) in self.components.tokens.iter().zip(self.public_field("tokens")) {
            if let Some(index) = usize::from(place).checked_sub(first) {
                let seat = u8::try_from(index / circles).expect("a game has few seats");
                laid[index % circles].push((seat, token.name.clone()));
            }
        }
        for circle in &mut laid {
            circle.sort();
        }
        laid
    }

    /// Compares the table according to the record with the engine's.
    pub(super) fn compare_table(&self) -> CompareResult {
        let actual = self.snapshot(0);
        self.compare("table", &self.table.to_snapshot(&actual), &actual)
    }

    /// Checks that the draw pile has these cards, in any order. It has the cards that are in no hand and not discarded.
    pub(super) fn compare_draw_pile(&self, field: &str, deck: &[String]) -> CompareResult {
        let copies = (1..).zip(&self.components.cards);
        let types = copies.flat_map(|(row, card)| std::iter::repeat_n(row, card.copies.into()));
        let mut remaining: Vec<u8> = types
            .zip(self.public_field("copies"))
            .filter(|(_, place)| *place > 0)
            .map(|(row, _)| row)
            .collect();
        for card in self.seats().flat_map(|seat| self.private_ids(seat, "hand")) {
            let held =
                remaining.iter().position(|&row| row == card).expect("a card in a hand is not discarded");
            remaining.remove(held);
        }
        let mut recorded = deck.to_vec();
        recorded.sort();
        self.compare(field, &recorded, &self.components.names(remaining))
    }

    /// Returns the legal actions of the seat that has to decide.
    pub(super) fn legal_actions(&self) -> Vec<ActionKey> {
        self.seat("chooser").map_or_else(Vec::new, |seat| self.replayed.legal_actions(seat))
    }

    /// Returns the rows of its legal actions with this verb.
    pub(super) fn rows(&self, verb: &str) -> Vec<u8> {
        self.legal_actions().into_iter().filter(|choice| choice.0 == verb).map(|choice| choice.1).collect()
    }

    /// Checks that the engine offers exactly `expected` to the seat that has to decide.
    pub(super) fn check_legal_actions(&self, field: &str, expected: Vec<ActionKey>) -> CompareResult {
        self.check_actions_equal(field, self.legal_actions(), expected)
    }

    /// Checks that the legal actions of one seat are exactly `expected`.
    pub(super) fn check_actions_equal(
        &self,
        field: &str,
        mut actual: Vec<ActionKey>,
        mut expected: Vec<ActionKey>,
    ) -> CompareResult {
        for choices in [&mut actual, &mut expected] {
            choices.sort_unstable();
            choices.dedup();
        }
        if actual == expected {
            return Ok(());
        }
        let labels = |choices: &[ActionKey]| {
            let label = |&choice| {
                self.replayed.index(choice).map_or_else(|| format!("{choice:?}"), |(_, label)| label.into())
            };
            choices.iter().map(label).collect::<Words>()
        };
        self.mismatch(&format!("{field} (offered)"), labels(&expected), labels(&actual))
    }

    /// Plays `choice` for the seat that has to decide.
    pub(super) fn choose(&mut self, field: &str, choice: ActionKey) -> CompareResult {
        match self.seat("chooser") {
            Some(seat) => self.choose_as(field, seat, choice),
            None => self.unexpected_decision(field),
        }
    }

    pub(super) fn choose_as(&mut self, field: &str, seat: Seat, choice: ActionKey) -> CompareResult {
        let location = self.location(field);
        self.replayed.choose(&location, seat, choice)?;
        let unused = self.replayed.episode().random_source().usage();
        let not_stolen = unused[STOLEN_CARDS] + unused[STOLEN_TOKENS];
        if not_stolen > 0 {
            return self.mismatch(
                field,
                "all recorded cards and tokens are stolen",
                format!("{not_stolen} not"),
            );
        }
        Ok(())
    }

    /// Plays all cards due, one by one. Checks that the engine offers every type of card in the hand.
    pub(super) fn pay(&mut self, field: &str, seat: Seat, cards: &[String], decision: &str) -> CompareResult {
        self.pay_some(field, seat, cards, decision)?;
        if self.pending_decision() == decision {
            return self.mismatch(field, cards, "more cards are due");
        }
        Ok(())
    }

    /// Plays cards like [`Self::pay`], but the next step may ask for the same kind of cards.
    pub(super) fn pay_some(
        &mut self,
        field: &str,
        seat: Seat,
        cards: &[String],
        decision: &str,
    ) -> CompareResult {
        for name in cards {
            if self.pending_decision() != decision {
                return self.unexpected_decision(field);
            }
            self.compare_table()?;
            let hand = self.table.hand(seat).clone();
            self.check_legal_actions(field, self.cards(&hand))?;
            self.choose_card(field, name)?;
            self.table.discard(seat, std::slice::from_ref(name));
        }
        Ok(())
    }

    /// Plays the card with this name for the seat that has to decide.
    pub(super) fn choose_card(&mut self, field: &str, name: &str) -> CompareResult {
        match self.components.card(name) {
            Ok(card) => self.choose(field, ActionKey("card", card)),
            Err(error) => self.mismatch(field, name, error.to_string()),
        }
    }

    /// Returns the actions that play cards of these names.
    pub(super) fn cards(&self, names: &[String]) -> Vec<ActionKey> {
        names
            .iter()
            .filter_map(|name| self.components.card(name).ok())
            .map(|card| ActionKey("card", card))
            .collect()
    }

    /// Returns the opponents that can be chosen, ascending.
    pub(super) fn targets(&self) -> Vec<u8> {
        let chooser = self.seat("chooser");
        chooser.map_or_else(Vec::new, |chooser| self.seats_left_of(chooser, self.rows("opponent")))
    }

    /// Returns the seats at these distances to the left of `seat`, ascending.
    pub(super) fn seats_left_of(&self, seat: Seat, distances: Vec<u8>) -> Vec<u8> {
        let seats =
            distances.into_iter().map(|distance| seat.clockwise(distance, self.components.seats).number());
        let mut seats: Vec<_> = seats.collect();
        seats.sort_unstable();
        seats
    }
}
