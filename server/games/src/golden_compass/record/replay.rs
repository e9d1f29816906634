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

/// A step of the replay; boxed, since a difference is large.
pub(super) type Step_<T = ()> = Result<T, Box<Difference>>;

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
    ) -> Step_<Self> {
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
    pub(super) fn run(mut self) -> Step_<Vec<i32>> {
        for _ in 0..PERIODS {
            self.period()?;
            while !self.turn()? {}
            self.scoring()?;
        }
        let scores = self.final_scores()?;
        match self.log.get(self.next) {
            None => Ok(scores),
            Some(event) => self.differs_at(format!("event {}", self.next), event.kind(), "end of the log"),
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
    pub(super) fn take<T>(&mut self, kind: &str, pick: impl Fn(&'a Event) -> Option<&'a T>) -> Step_<&'a T> {
        let number = self.next;
        let event = self.peek();
        if let Some(found) = event.and_then(pick) {
            self.at = format!("event {number} {kind}");
            self.next += 1;
            return Ok(found);
        }
        let stated = event.map_or("end of the log", Event::kind);
        self.differs_at(format!("event {number}"), stated, kind)
    }

    fn differs_at<T>(&self, at: String, expected: impl Into<Value>, got: impl Into<Value>) -> Step_<T> {
        Err(Box::new(Difference::new(at, expected, got)))
    }

    pub(super) fn differs<T>(
        &self,
        field: &str,
        expected: impl Into<Value>,
        got: impl Into<Value>,
    ) -> Step_<T> {
        self.differs_at(format!("{} {field}", self.at), expected, got)
    }

    /// A stated fact is the engine's; of objects the first field that differs is named.
    pub(super) fn same<T: Serialize + PartialEq>(&self, field: &str, expected: &T, got: &T) -> Step_ {
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
    pub(super) fn sync(&self) -> Step_ {
        let mut told = self.told.table.clone();
        let got = self.game.snapshot(self.state(), told.turn);
        told.still = got.still;
        self.same("table", &told, &got)
    }

    fn no_fault(&self) -> Step_ {
        match self.episode.chance().fault() {
            None => Ok(()),
            Some(fault) => self.differs("chance", "the outcome stated", fault.to_string()),
        }
    }

    /// Says that the record wants a decision which the engine does not ask for.
    pub(super) fn unasked<T>(&self, wanted: &str) -> Step_<T> {
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

    fn label(&self, action: Action) -> String {
        let label = self.game.info().actions.get(self.game.encode(action));
        label.unwrap_or("").to_owned()
    }

    fn labels(&self, actions: &[Action]) -> Names {
        actions.iter().map(|&action| self.label(action)).collect()
    }

    /// The engine offers exactly `expected`.
    pub(super) fn offers(&self, field: &str, expected: Vec<Action>) -> Step_ {
        self.seat_offers(field, self.offered(), expected)
    }

    fn seat_offers(&self, field: &str, offered: Vec<Action>, mut expected: Vec<Action>) -> Step_ {
        let index = |action: &Action| self.game.encode(*action);
        expected.sort_by_key(index);
        expected.dedup();
        if offered == expected {
            return Ok(());
        }
        self.differs(
            &format!("{field} (offered)"),
            self.labels(&expected),
            self.labels(&offered),
        )
    }

    /// The seat that decides plays `action`.
    pub(super) fn play(&mut self, field: &str, action: Action) -> Step_ {
        match self.chooser() {
            Some(seat) => self.play_for(field, seat, action),
            None => self.unasked(field),
        }
    }

    fn play_for(&mut self, field: &str, seat: Seat, action: Action) -> Step_ {
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
    ) -> Step_ {
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

    /// Allies are kept and shown.
    fn period(&mut self) -> Step_ {
        let period = self.take("period", |event| {
            if let Event::Period(event) = event {
                Some(event)
            } else {
                None
            }
        })?;
        let s = *self.state();
        let name = self.lexicon.catalogue.periods[usize::from(s.period)].clone();
        self.same("period", &period.period, &name)?;
        self.same("first", &period.first, &s.first)?;
        for seat in 0..self.lexicon.seats {
            self.keep(seat)?;
        }
        let allies = self.take("allies", |event| {
            if let Event::Allies(event) = event {
                Some(event)
            } else {
                None
            }
        })?;
        let s = *self.state();
        let seats = 0..self.lexicon.seats;
        let named = |id: fn(&State, u8) -> u8| -> Names {
            seats.clone().map(|seat| self.character(id(&s, seat))).collect()
        };
        self.same("allies", &allies.allies, &named(|s, seat| s.place(seat).ally))?;
        self.same("under", &allies.under, &named(|s, seat| s.place(seat).under))?;
        let values = seats.map(|seat| self.game.magisterium(&s, seat)).collect();
        self.same("magisterium", &allies.magisterium, &values)
    }

    fn character(&self, id: u8) -> String {
        let id = id.checked_sub(1).map(usize::from);
        id.map_or_else(String::new, |id| self.lexicon.catalogue.characters[id].id.clone())
    }

    fn keep(&mut self, seat: u8) -> Step_ {
        let keep = self.take("keep", |event| {
            if let Event::Keep(event) = event {
                Some(event)
            } else {
                None
            }
        })?;
        self.same("player", &keep.player, &seat)?;
        let options: Names = self
            .state()
            .place(seat)
            .dealt
            .iter()
            .map(|&id| self.character(id))
            .collect();
        self.same("options", &keep.options, &options)?;
        let both = vec![Action::Keep(0), Action::Keep(1)];
        self.seat_offers("pick", self.legal(Seat::new(seat)), both)?;
        let Some(which) = options.iter().position(|name| *name == keep.pick) else {
            return self.differs("pick", keep.pick.as_str(), options);
        };
        self.same("passed", &keep.passed, &options[1 - which])?;
        self.play_for("pick", Seat::new(seat), Action::Keep(u8::from(which == 1)))
    }

    /// The holder of the airship, the draft, and what follows.
    fn scoring(&mut self) -> Step_ {
        if self.state().step == Step::Airship {
            self.airship()?;
        }
        let last = usize::from(self.state().period) == PERIODS - 1;
        self.truth(last)?;
        if last { Ok(()) } else { self.cleanup() }
    }

    fn airship(&mut self) -> Step_ {
        let event = self.take("airship", |event| {
            if let Event::Airship(event) = event {
                Some(event)
            } else {
                None
            }
        })?;
        let s = *self.state();
        let holder = s.airship - 1;
        self.same("player", &event.player, &holder)?;
        self.same("cost", &event.cost, &self.game.ransom(&s, holder))?;
        let offered = self.offered();
        let words = [("pay", Action::PayCards), ("tile", Action::GiveTile)];
        let legal: Names = words
            .iter()
            .filter(|(_, action)| offered.contains(action))
            .map(|(word, _)| (*word).to_owned())
            .collect();
        self.same("legal", &event.legal, &legal)?;
        self.sync()?;
        let pays = match event.pick.as_str() {
            "pay" => true,
            "tile" => false,
            other => return self.differs("pick", other, legal),
        };
        self.play("pick", if pays { Action::PayCards } else { Action::GiveTile })?;
        self.pay("cards", holder, &event.cards, |step| {
            matches!(step, Step::Ransom { .. })
        })?;
        if matches!(self.state().step, Step::Ransom { .. }) {
            return self.differs("cards", event.cards.clone(), "more cards are due");
        }
        self.told.table.airship = None;
        Ok(())
    }

    fn cleanup(&mut self) -> Step_ {
        let event = self.take("cleanup", |event| {
            if let Event::Cleanup(event) = event {
                Some(event)
            } else {
                None
            }
        })?;
        let s = *self.state();
        let seats = 0..self.lexicon.seats;
        let count = |value: &dyn Fn(u8) -> u8| seats.clone().map(value).collect::<Vec<_>>();
        self.same("hands", &event.hands, &count(&|seat| s.place(seat).hand.len()))?;
        self.same("supply", &event.supply, &count(&|seat| s.place(seat).supply))?;
        let ones = |mask: u32| u8::try_from(mask.count_ones()).unwrap_or(0);
        self.same(
            "tokens",
            &event.tokens,
            &count(&|seat| ones(s.place(seat).tokens)),
        )?;
        self.same("dust", &event.dust, &count(&|seat| s.place(seat).dust))?;
        self.same("lyra", &event.lyra, &s.lyra)?;
        self.same_deck("deck", &event.deck)?;
        self.told.cleaned_up(&event.deck);
        self.sync()
    }

    /// The draw pile holds the cards told, whatever their order.
    pub(super) fn same_deck(&self, field: &str, deck: &[String]) -> Step_ {
        let mut told = deck.to_vec();
        told.sort();
        let s = self.state();
        let copies = (0u8..)
            .zip(&s.deck)
            .flat_map(|(card, &count)| std::iter::repeat_n(card, count.into()));
        self.same(field, &told, &self.game.names_of(copies))
    }

    fn final_scores(&mut self) -> Step_<Vec<i32>> {
        let event = self.take("final", |event| {
            if let Event::Final(event) = event {
                Some(event)
            } else {
                None
            }
        })?;
        let s = *self.state();
        self.same("turns", &event.turns, &s.turn)?;
        let Some(outcome) = self.episode.outcome() else {
            return self.unasked("the end of the game");
        };
        for (seat, told) in (0u8..).zip(&event.scores) {
            let points = self.game.points(&s, seat);
            let got = super::script::Score {
                truth: points.truth,
                experience: points.experience,
                alethiometer: points.alethiometer,
                passages: points.passages,
                total: outcome.scores()[usize::from(seat)],
            };
            self.same(&format!("scores[{seat}]"), told, &got)?;
        }
        let winners = Seat::all(self.lexicon.seats).filter(|&seat| outcome.is_winner(seat));
        self.same("winners", &event.winners, &winners.map(Seat::number).collect())?;
        Ok(outcome.scores().to_vec())
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
