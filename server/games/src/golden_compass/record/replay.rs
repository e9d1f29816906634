//! Plays a recorded game through the ordinary actions and compares every fact.

use std::collections::BTreeMap;
use std::sync::Arc;

use boardwire_kernel::record::{Cursor, Difference};
use boardwire_kernel::{Game as _, Seat, SeatSet};
use serde::Serialize;
use serde_json::{Value, json};

use super::super::action::Action;
use super::super::catalogue::CardId;
use super::super::catalogue::limits::PERIODS;
use super::super::state::{Aim, State, Step};
use super::super::view::decision_words;
use super::super::{GoldenCompass, streams};
use super::events::{Event, Recorded};
use super::names::Names;
use super::outcomes::Streams;
use super::table::Table;

/// What was compared is as told, or the first difference.
pub(super) type Compared<T = ()> = Result<T, Difference>;

/// A game under way beside its record.
pub(super) struct Replay<'a> {
    pub(super) game: Arc<GoldenCompass>,
    pub(super) names: Names<'a>,
    pub(super) cursor: Cursor<GoldenCompass>,
    pub(super) table: Table<'a>,
    log: &'a [Event],
    next: usize,
    /// The event being compared, for reports.
    at: String,
}

impl<'a> Replay<'a> {
    /// Deals as the set-up says.
    pub(super) fn deal(
        game: Arc<GoldenCompass>,
        names: Names<'a>,
        log: &'a [Event],
        outcomes: Streams,
    ) -> Compared<Self> {
        let Some(Event::Setup(setup)) = log.first() else {
            let kind = log.first().map_or("end of the log", Event::kind);
            return Err(Difference::new("event 0", kind, "setup"));
        };
        let replay = Self {
            cursor: Cursor::deal(Arc::clone(&game), outcomes)?,
            table: Table::new(names, setup),
            game,
            names,
            log,
            next: 1,
            at: "event 0 setup".into(),
        };
        replay.same("first", &setup.first, &replay.state().first.number())?;
        replay.same_table()?;
        Ok(replay)
    }

    /// Plays and compares to the end: the final scores.
    pub(super) fn run(mut self) -> Compared<Vec<i32>> {
        for _ in 0..PERIODS {
            self.period()?;
            while !self.turn()? {}
            self.scoring()?;
        }
        let scores = self.final_scores()?;
        match self.peek() {
            None => Ok(scores),
            Some(event) => {
                Err(Difference::new(format!("event {}", self.next), event.kind(), "end of the log"))
            }
        }
    }

    pub(super) fn state(&self) -> &State {
        self.cursor.state()
    }

    /// The event due, if it is next.
    pub(super) fn peek(&self) -> Option<&'a Event> {
        self.log.get(self.next)
    }

    /// Takes the next event, which must be of this kind.
    pub(super) fn take<T: Recorded>(&mut self) -> Compared<&'a T> {
        let (event, number) = (self.peek(), self.next);
        if let Some(found) = event.and_then(T::of) {
            self.at = format!("event {number} {}", T::KIND);
            self.next += 1;
            return Ok(found);
        }
        let stated = event.map_or("end of the log", Event::kind);
        Err(Difference::new(format!("event {number}"), stated, T::KIND))
    }

    pub(super) fn differs<T>(
        &self,
        field: &str,
        expected: impl Into<Value>,
        got: impl Into<Value>,
    ) -> Compared<T> {
        Err(Difference::new(format!("{} {field}", self.at), expected, got))
    }

    /// A stated fact is the engine's; of objects the first field that differs is named.
    pub(super) fn same<T: Serialize + PartialEq>(&self, field: &str, expected: &T, got: &T) -> Compared {
        if expected == got {
            return Ok(());
        }
        let (expected, got) = (json!(expected), json!(got));
        let fields = expected.as_object().zip(got.as_object());
        let differing = fields.and_then(|(stated, got)| {
            stated.iter().map(|(key, value)| (key, value, &got[key])).find(|(_, stated, got)| stated != got)
        });
        match differing {
            Some((key, expected, got)) => {
                self.differs(format!("{field} {key}").trim_start(), expected.clone(), got.clone())
            }
            None => self.differs(field, expected, got),
        }
    }

    /// The table as told is the engine's.
    pub(super) fn same_table(&self) -> Compared {
        let told = self.table.settled(self.state().idle_turns);
        self.same("table", &told, &self.game.snapshot(self.state(), told.turn))
    }

    /// The draw pile holds the cards told, whatever their order.
    pub(super) fn same_deck(&self, field: &str, deck: &[String]) -> Compared {
        let mut told = deck.to_vec();
        told.sort();
        let deck = (0u8..).zip(self.state().deck.counts());
        let cards = deck.flat_map(|(card, &count)| std::iter::repeat_n(card, count.into()));
        self.same(field, &told, &self.game.names_of(cards.map(CardId::new)))
    }

    /// Says that the record wants a decision which the engine does not ask for.
    pub(super) fn unasked<T>(&self, wanted: &str) -> Compared<T> {
        self.differs(wanted, wanted, decision_words(self.state().step))
    }

    /// What `seat` may choose.
    fn legal(&self, seat: Seat) -> Vec<Action> {
        let legal = self.game.legal(self.state(), seat);
        legal.iter().filter_map(|index| self.game.decode(index)).collect()
    }

    /// What the seat that decides may choose.
    pub(super) fn offered(&self) -> Vec<Action> {
        self.state().chooser().map_or_else(Vec::new, |seat| self.legal(seat))
    }

    /// The engine offers the seat that decides exactly `expected`.
    pub(super) fn offers(&self, field: &str, expected: Vec<Action>) -> Compared {
        self.same_actions(field, &self.offered(), expected)
    }

    /// The engine offers `seat` exactly `expected`.
    pub(super) fn offers_to(&self, field: &str, seat: Seat, expected: Vec<Action>) -> Compared {
        self.same_actions(field, &self.legal(seat), expected)
    }

    fn same_actions(&self, field: &str, offered: &[Action], mut expected: Vec<Action>) -> Compared {
        expected.sort_by_key(|&action| self.game.encode(action));
        expected.dedup();
        if offered == expected {
            return Ok(());
        }
        let label = |&action: &Action| self.game.info().actions.label(self.game.encode(action));
        let labels = |actions: &[Action]| actions.iter().filter_map(label).collect::<Value>();
        self.differs(&format!("{field} (offered)"), labels(&expected), labels(offered))
    }

    /// The seat that decides plays `action`.
    pub(super) fn play(&mut self, field: &str, action: Action) -> Compared {
        match self.state().chooser() {
            Some(seat) => self.play_for(field, seat, action),
            None => self.unasked(field),
        }
    }

    pub(super) fn play_for(&mut self, field: &str, seat: Seat, action: Action) -> Compared {
        let at = format!("{} {field}", self.at);
        self.cursor.choose(&at, seat, action)?;
        let left = self.cursor.episode().chance().words();
        let stolen = left[streams::STOLEN_CARDS] + left[streams::STOLEN_TOKENS];
        if stolen > 0 {
            return self.differs(field, "everything stated is stolen", format!("{stolen} not"));
        }
        Ok(())
    }

    /// Plays the cards due, all of them, one by one: every type of the hand told is on offer.
    pub(super) fn pay(
        &mut self,
        field: &str,
        seat: Seat,
        cards: &[String],
        due: impl Fn(Step) -> bool,
    ) -> Compared {
        self.pay_some(field, seat, cards, &due)?;
        if due(self.state().step) {
            return self.differs(field, cards.to_vec(), "more cards are due");
        }
        Ok(())
    }

    /// The same, when the next step may ask for cards again.
    pub(super) fn pay_some(
        &mut self,
        field: &str,
        seat: Seat,
        cards: &[String],
        due: impl Fn(Step) -> bool,
    ) -> Compared {
        for name in cards {
            if !due(self.state().step) {
                return self.unasked(field);
            }
            self.same_table()?;
            let hand = self.table.hand(seat).clone();
            self.offers(field, self.card_actions(&hand))?;
            self.play(field, Action::Card(self.known(self.names.card(name))?))?;
            self.table.discard(seat, std::slice::from_ref(name));
        }
        Ok(())
    }

    /// The actions with cards of these names.
    pub(super) fn card_actions(&self, names: &[String]) -> Vec<Action> {
        names.iter().filter_map(|name| self.names.card(name).ok()).map(Action::Card).collect()
    }

    /// What a name stands for; all were looked up when the line was read.
    pub(super) fn known<T, E: std::fmt::Display>(&self, found: Result<T, E>) -> Compared<T> {
        found.or_else(|error| self.differs("", error.to_string(), Value::Null))
    }

    /// The opponents that may be named.
    pub(super) fn targets(&self, aim: Aim) -> SeatSet {
        self.game.targets(self.state(), aim)
    }

    /// The light-blue actions on offer with their targets.
    pub(super) fn blue_options(&self) -> BTreeMap<String, Vec<u8>> {
        let mut legal = BTreeMap::new();
        for action in self.offered() {
            let (word, targets) = match action {
                Action::Alethiometer => ("alethiometer", vec![]),
                Action::Magisterium => ("magisterium", numbers(self.targets(Aim::Airship))),
                Action::Ally => ("ally", vec![]),
                Action::Dust => ("dust", numbers(self.targets(Aim::Dust))),
                _ => continue,
            };
            legal.insert(word.to_owned(), targets);
        }
        legal
    }
}

/// The numbers of seats, ascending.
pub(super) fn numbers(seats: SeatSet) -> Vec<u8> {
    seats.iter().map(Seat::number).collect()
}
