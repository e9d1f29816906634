//! Plays a recorded game through the ordinary actions and compares every fact.

use std::collections::BTreeMap;
use std::sync::Arc;

use boardwire_kernel::{Chance, Episode, Game as _, Seat};
use serde::Serialize;
use serde_json::{Value, json};

use super::super::action::Action;
use super::super::limits::PERIODS;
use super::super::state::{Aim, State, Step};
use super::super::view::decision_words;
use super::super::{GoldenCompass, streams};
use super::names::Lexicon;
use super::script::{Event, Names, Snapshot};
use super::told::Told;
use crate::Difference;

/// What was compared is as told, or the first difference; boxed, since it is large.
pub(super) type Compared<T = ()> = Result<T, Box<Difference>>;

/// A game under way beside its record.
pub(super) struct Replayer<'a> {
    pub(super) game: Arc<GoldenCompass>,
    pub(super) lexicon: Lexicon<'a>,
    pub(super) episode: Episode<GoldenCompass>,
    pub(super) told: Told<'a>,
    log: &'a [Event],
    next: usize,
    /// The event being compared, for reports.
    at: String,
}

impl<'a> Replayer<'a> {
    /// Deals as the set-up says.
    pub(super) fn new(
        game: Arc<GoldenCompass>,
        lexicon: Lexicon<'a>,
        log: &'a [Event],
        chance: Chance,
    ) -> Compared<Self> {
        let Some(Event::Setup(setup)) = log.first() else {
            let kind = log.first().map_or("end of the log", Event::kind);
            return Err(Box::new(Difference::new("event 0", kind, "setup")));
        };
        let replayer = Self {
            episode: Episode::start(Arc::clone(&game), chance),
            told: Told::new(lexicon, setup),
            game,
            lexicon,
            log,
            next: 1,
            at: "event 0 setup".into(),
        };
        let s = *replayer.state();
        replayer.same("dust_supply", &setup.dust_supply, &s.dust)?;
        replayer.same("lyra", &setup.lyra, &s.lyra)?;
        replayer.same("first", &setup.first, &s.first)?;
        replayer.no_fault()?;
        replayer.sync()?;
        Ok(replayer)
    }

    /// Plays and compares to the end: the final scores.
    pub(super) fn run(mut self) -> Compared<Vec<i32>> {
        for _ in 0..PERIODS {
            self.period()?;
            while !self.turn()? {}
            self.scoring()?;
        }
        let scores = self.final_scores()?;
        match self.log.get(self.next) {
            None => Ok(scores),
            Some(event) => Self::differs_at(format!("event {}", self.next), event.kind(), "end of the log"),
        }
    }

    pub(super) fn state(&self) -> &State {
        self.episode.state()
    }

    /// The event due, if it is next.
    pub(super) fn peek(&self) -> Option<&'a Event> {
        self.log.get(self.next)
    }

    /// Takes the next event, which `pick` must know.
    pub(super) fn take<T>(
        &mut self,
        kind: &str,
        pick: impl Fn(&'a Event) -> Option<&'a T>,
    ) -> Compared<&'a T> {
        let number = self.next;
        let event = self.peek();
        if let Some(found) = event.and_then(pick) {
            self.at = format!("event {number} {kind}");
            self.next += 1;
            return Ok(found);
        }
        let stated = event.map_or("end of the log", Event::kind);
        Self::differs_at(format!("event {number}"), stated, kind)
    }

    fn differs_at<T>(at: String, expected: impl Into<Value>, got: impl Into<Value>) -> Compared<T> {
        Err(Box::new(Difference::new(at, expected, got)))
    }

    pub(super) fn differs<T>(
        &self,
        field: &str,
        expected: impl Into<Value>,
        got: impl Into<Value>,
    ) -> Compared<T> {
        Self::differs_at(format!("{} {field}", self.at), expected, got)
    }

    /// A stated fact is the engine's; of objects the first field that differs is named.
    pub(super) fn same<T: Serialize + PartialEq>(&self, field: &str, expected: &T, got: &T) -> Compared {
        if expected == got {
            return Ok(());
        }
        let (expected, got) = (json!(expected), json!(got));
        if let (Value::Object(left), Value::Object(right)) = (&expected, &got) {
            let keys = left.keys().chain(right.keys());
            for key in keys {
                let (expected, got) = (left.get(key), right.get(key));
                if expected != got {
                    let value = |value: Option<&Value>| value.cloned().unwrap_or(Value::Null);
                    let field = format!("{field} {key}");
                    return self.differs(field.trim_start(), value(expected), value(got));
                }
            }
        }
        self.differs(field, expected, got)
    }

    /// The table as told is the engine's.
    pub(super) fn sync(&self) -> Compared {
        let mut told = self.told.table.clone();
        let got = self.game.snapshot(self.state(), told.turn);
        told.still = got.still;
        self.same("table", &told, &got)
    }

    fn no_fault(&self) -> Compared {
        match self.episode.chance().fault() {
            None => Ok(()),
            Some(fault) => self.differs("chance", "the outcome stated", fault.to_string()),
        }
    }

    /// Says that the record wants a decision which the engine does not ask for.
    pub(super) fn unasked<T>(&self, wanted: &str) -> Compared<T> {
        self.differs(wanted, wanted, decision_words(self.state().step))
    }

    /// The seat that decides; while allies are kept, any.
    fn chooser(&self) -> Option<Seat> {
        self.state().chooser().map(Seat::new)
    }

    pub(super) fn legal(&self, seat: Seat) -> Vec<Action> {
        let legal = self.game.legal(self.state(), seat);
        legal.iter().filter_map(|index| self.game.decode(index)).collect()
    }

    /// What the seat that decides may choose.
    pub(super) fn offered(&self) -> Vec<Action> {
        self.chooser().map_or_else(Vec::new, |seat| self.legal(seat))
    }

    pub(super) fn label(&self, action: Action) -> String {
        let label = self.game.info().actions.get(self.game.encode(action));
        label.unwrap_or("").to_owned()
    }

    pub(super) fn labels(&self, actions: &[Action]) -> Names {
        actions.iter().map(|&action| self.label(action)).collect()
    }

    /// The engine offers exactly `expected`.
    pub(super) fn offers(&self, field: &str, expected: Vec<Action>) -> Compared {
        self.seat_offers(field, &self.offered(), expected)
    }

    pub(super) fn seat_offers(&self, field: &str, offered: &[Action], mut expected: Vec<Action>) -> Compared {
        let index = |action: &Action| self.game.encode(*action);
        expected.sort_by_key(index);
        expected.dedup();
        if offered == expected {
            return Ok(());
        }
        self.differs(&format!("{field} (offered)"), self.labels(&expected), self.labels(offered))
    }

    /// The seat that decides plays `action`.
    pub(super) fn play(&mut self, field: &str, action: Action) -> Compared {
        match self.chooser() {
            Some(seat) => self.play_for(field, seat, action),
            None => self.unasked(field),
        }
    }

    pub(super) fn play_for(&mut self, field: &str, seat: Seat, action: Action) -> Compared {
        if !self.legal(seat).contains(&action) {
            let offered = self.legal(seat);
            return self.differs(field, self.label(action), self.labels(&offered));
        }
        let index = self.game.encode(action);
        if let Err(refused) = self.episode.apply(seat, index.into()) {
            return self.differs(field, self.label(action), refused.to_string());
        }
        self.no_fault()?;
        let left = self.episode.chance().words();
        let stolen = left[streams::STOLEN_CARDS] + left[streams::STOLEN_TOKENS];
        if stolen > 0 {
            return self.differs(field, "everything stated is stolen", format!("{stolen} not"));
        }
        Ok(())
    }

    /// Plays cards one by one: for a limit, a cost or the airship every type in hand is on offer.
    pub(super) fn pay(
        &mut self,
        field: &str,
        seat: u8,
        cards: &[String],
        due: impl Fn(Step) -> bool,
    ) -> Compared {
        for name in cards {
            if !due(self.state().step) {
                return self.unasked(field);
            }
            self.sync()?;
            let hand = &self.told.table.hands[usize::from(seat)];
            let types = hand.iter().filter_map(|name| self.lexicon.card(name).ok());
            self.offers(field, types.map(Action::Card).collect())?;
            let Ok(card) = self.lexicon.card(name) else {
                continue;
            };
            self.play(field, Action::Card(card))?;
            self.told.discard(seat, std::slice::from_ref(name));
        }
        Ok(())
    }

    /// The draw pile holds the cards told, whatever their order.
    pub(super) fn same_deck(&self, field: &str, deck: &[String]) -> Compared {
        let mut told = deck.to_vec();
        told.sort();
        let s = self.state();
        let copies = (0u8..).zip(&s.deck).flat_map(|(card, &count)| std::iter::repeat_n(card, count.into()));
        self.same(field, &told, &self.game.names_of(copies))
    }

    /// The seats that may be hit, ascending.
    pub(super) fn targets(&self, aim: Aim) -> Vec<u8> {
        self.game.targets(self.state(), aim).iter().collect()
    }

    /// The light-blue actions on offer with their targets.
    pub(super) fn blue_options(&self) -> BTreeMap<String, Vec<u8>> {
        let mut legal = BTreeMap::new();
        for action in self.offered() {
            let (word, targets) = match action {
                Action::Alethiometer => ("alethiometer", vec![]),
                Action::Magisterium => ("magisterium", self.targets(Aim::Airship)),
                Action::Ally => ("ally", vec![]),
                Action::Dust => ("dust", self.targets(Aim::Dust)),
                _ => continue,
            };
            legal.insert(word.to_owned(), targets);
        }
        legal
    }

    /// The engine's table after the turn told last.
    pub(super) fn engine_snapshot(&self) -> Snapshot {
        self.game.snapshot(self.state(), self.told.table.turn)
    }
}
