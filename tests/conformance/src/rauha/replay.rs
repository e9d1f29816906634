//! Replays recorded games event by event, with the game's ordinary actions.

use std::sync::Arc;

use boardwire_games::rauha::{Phase, Rauha, State};
use boardwire_kernel::catalogue::{BoundedU8, CatalogueResult, read, refuse, require};
use boardwire_kernel::{CatalogueError, Choices, Scoring, Seat, Setup, set_up};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::score::top_of;
use super::{Card, EntityKeys, Player, biome_to_number};
use crate::GameCatalogue;
use crate::play::{
    ActionKey, CompareResult, ReplayResult, ReplayedEpisode, bytes, compare, field, ids, mismatch,
};
use crate::record::{EventKind, RecordCursor, events, fields};

/// A recorded game.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    #[serde(rename = "id")]
    _id: Option<IgnoredAny>,
    op: Option<String>,
    #[serde(rename = "source")]
    _source: Option<IgnoredAny>,
    #[serde(rename = "tags")]
    _tags: Option<IgnoredAny>,
    players: BoundedU8<2, 5>,
    side: String,
    initial_stack: Vec<u8>,
    deals: [Vec<[Card; 4]>; 4],
    log: Vec<Event>,
}

events! {
    "start" Start,
    "draft" Draft,
    "main" Main,
    "activate" Activate,
    "snapshot" Snapshot,
    "final" Final,
}

fields! {
    Start { step: u8, first: u8 }
    Draft { step: u8, player: u8, satellite: u8, options: Vec<u8>, pick: u8 }
    Main {
        step: u8,
        player: u8,
        card: u8,
        legal_cells: Vec<u8>,
        spore_cells: Vec<u8>,
        action: MainAction,
        taken: Vec<String>,
    }
    Activate {
        step: u8,
        player: u8,
        cells: Vec<u8>,
        entities: Vec<String>,
        action: ActivateAction,
        crystals: u16,
        points: u16,
    }
    /// What became of the kept card: one of three.
    MainAction { place: Option<u8>, spore: Option<u8>, crystals: Option<bool> }
    /// What was activated: one of three, and the cell of a Spore that it bought.
    ActivateAction { cell: Option<u8>, spore: Option<u8>, entity: Option<String>, end: Option<bool> }
    Snapshot { step: u8, players: Vec<Player> }
    Final { points: Vec<i32>, winners: Vec<u8> }
}

/// Replays a record and compares every fact in it.
pub(crate) fn replay(game: &GameCatalogue<Rauha>, line: &str) -> CatalogueResult<ReplayResult> {
    let record: Record = read(line)?;
    if let Some(op) = record.op.as_ref().filter(|op| *op != "game") {
        return refuse("op", format!("`{op}` is not `game`"));
    }
    let seats = record.players.get();
    let leader = top_of(&record.initial_stack, seats)?.number();
    let deals = record.deals()?;
    let keys = EntityKeys::read(&game.text)?;
    let options = [("side", record.side.as_str())];
    let game = set_up::<Rauha>(Arc::clone(&game.loaded), seats.into(), options)
        .map_err(|error| CatalogueError::new("side", error.to_string()))?;
    let cursor = RecordCursor::new(&record.log, |number| format!("log[{number}]"));
    let replayed = ReplayedEpisode::deal(game, deals.into_iter().chain([vec![leader]]));
    Ok(replayed.and_then(|replayed| Replay { replayed, keys, cursor }.run()))
}

impl Record {
    /// Returns the cards of each Age in the order of dealing. No card may occur twice or in the wrong Age.
    fn deals(&self) -> CatalogueResult<[Vec<u8>; 2]> {
        let mut ages = [vec![], vec![]];
        for (round, packs) in self.deals.iter().enumerate() {
            let place = format!("deals[{round}]");
            let (actual, required) = (packs.len(), usize::from(self.players.get()));
            require(actual == required, place, || format!("must have {required} Satellites; got {actual}"))?;
            for (satellite, pack) in packs.iter().enumerate() {
                for (index, card) in pack.iter().map(|card| card.get()).enumerate() {
                    let place = format!("deals[{round}][{satellite}][{index}]");
                    let age = usize::from(card / 40);
                    require(age == round / 2, &*place, || format!("card {card} is of Age {}", age + 1))?;
                    require(!ages[age].contains(&(card + 1)), place, || {
                        format!("card {card} is dealt twice")
                    })?;
                    ages[age].push(card + 1);
                }
            }
        }
        Ok(ages)
    }
}

impl MainAction {
    fn choice(&self) -> Option<ActionKey> {
        match (self.place, self.spore, self.crystals) {
            (Some(cell), None, None) => Some(ActionKey("place", cell)),
            (None, Some(cell), None) => Some(ActionKey("take_spore", cell)),
            (None, None, Some(true)) => Some(ActionKey("take_crystals", 0)),
            _ => None,
        }
    }
}

impl ActivateAction {
    fn choice(&self, keys: &EntityKeys) -> Option<ActionKey> {
        match (self.cell, &self.entity, self.end) {
            (Some(cell), None, None) => Some(ActionKey("activate_cell", cell)),
            (None, Some(key), None) => Some(ActionKey("activate_entity", keys.id("entity", key).ok()?)),
            (None, None, Some(true)) if self.spore.is_none() => Some(ActionKey("end", 0)),
            _ => None,
        }
    }
}

struct Replay<'a> {
    replayed: ReplayedEpisode<Rauha>,
    keys: EntityKeys,
    cursor: RecordCursor<'a, Event>,
}

impl<'a> Replay<'a> {
    fn run(mut self) -> CompareResult<Vec<i32>> {
        self.start(&self.state())?;
        while !self.replayed.episode().pending().is_empty() {
            match self.replayed.category_name("phase") {
                "draft" => self.draft()?,
                "place or discard" => self.main()?,
                "activate" => self.activate()?,
                phase => unreachable!("the replay stopped within an event, in phase {phase}"),
            }
        }
        self.cursor.end()?;
        self.replayed.scores("scores")
    }

    fn state(&self) -> State {
        *self.replayed.episode().state()
    }

    /// Returns the values of a public field, as seat 0 sees it.
    fn public_field(&self, state: &State, name: &str) -> Vec<u16> {
        field(&**self.replayed.episode().game(), state, Seat::FIRST.into(), name)
    }

    fn public_byte(&self, state: &State, name: &str) -> u8 {
        bytes(&self.public_field(state, name))[0]
    }

    /// Returns the value of a public field for a seat.
    fn public_value_of(&self, state: &State, name: &str, seat: Seat) -> u16 {
        self.public_field(state, name)[seat.index()]
    }

    /// Returns the Entities that a seat holds.
    fn held(&self, state: &State, seat: Seat) -> Vec<u8> {
        let holders = self.public_field(state, "entities");
        let holders = (1..).zip(holders).filter(|(_, holder)| *holder == u16::from(seat.number()) + 1);
        holders.map(|(entity, _)| entity).collect()
    }

    /// Returns the rows of a seat's legal actions with this verb in `state`.
    fn rows(&self, state: &State, seat: Seat, verb: &str) -> Vec<u8> {
        let game = self.replayed.episode().game();
        let legal = game.legal(state, seat);
        let legal = legal.iter().map(|index| &game.info().actions.all()[usize::from(index)]);
        legal.filter(|action| action.verb == verb).map(|action| action.row).collect()
    }

    /// Takes the next event, which must be a `T`.
    fn next_event<T: EventKind<Event = Event> + 'a>(&mut self) -> CompareResult<&'a T> {
        self.cursor.next_event()
    }

    fn location(&self, step: u8, what: &str) -> String {
        format!("{} step {step} {what}", self.cursor.location()).trim_end().to_owned()
    }

    /// Plays a choice. Returns the states through which it leads.
    fn act(&mut self, location: &str, seat: Seat, choice: ActionKey) -> CompareResult<Vec<State>> {
        let (state, mut chance) = (self.state(), self.replayed.episode().random_source().clone());
        self.replayed.choose(location, seat, choice)?;
        let game = self.replayed.episode().game();
        let action = self.replayed.index(choice).and_then(|(index, _)| game.decode(index));
        Ok(game.intermediate_states(&state, seat, action.expect("the action was applied"), &mut chance))
    }

    fn draft(&mut self) -> CompareResult {
        let recorded: &Draft = self.next_event()?;
        let (state, location) = (self.state(), self.location(recorded.step, ""));
        let pending = self.replayed.episode().pending();
        let Some(seat) = pending.iter().find(|seat| seat.number() == recorded.player) else {
            let required: Vec<u8> = pending.iter().map(Seat::number).collect();
            return mismatch(format!("{location} player"), recorded.player, required);
        };
        let (stop, game) = (self.public_byte(&state, "stop"), self.replayed.episode().game());
        let pack = ids(&self.replayed.field(seat.into(), "pack"));
        let actual = Draft {
            step: stop,
            satellite: game.satellite((stop - 1) / 4 + 1, (stop - 1) % 4 + 1, seat).number(),
            options: pack.into_iter().map(biome_to_number).collect(),
            ..recorded.clone()
        };
        compare(&location, recorded, &actual)?;
        if !actual.options.contains(&recorded.pick) {
            return mismatch(format!("{location} pick"), recorded.pick, actual.options);
        }
        let positions = self.act(&location, seat, ActionKey("draft", recorded.pick + 1))?;
        self.compare_automatic_events(&positions)
    }

    fn main(&mut self) -> CompareResult {
        let recorded: &Main = self.next_event()?;
        let (state, location) = (self.state(), self.location(recorded.step, ""));
        let seat = self.acting(&state);
        let kept = bytes(&self.replayed.field(seat.into(), "kept"))[0];
        let actual = Main {
            step: self.public_byte(&state, "stop"),
            player: seat.number(),
            card: biome_to_number(kept),
            legal_cells: self.rows(&state, seat, "place"),
            spore_cells: self.rows(&state, seat, "take_spore"),
            ..recorded.clone()
        };
        compare(&location, recorded, &actual)?;
        let Some(choice) = recorded.action.choice() else {
            return mismatch(
                format!("{location} action"),
                &recorded.action,
                self.replayed.legal_labels(seat),
            );
        };
        let positions = self.act(&format!("{location} action"), seat, choice)?;
        let held = self.held(&state, seat);
        let taken = self.held(&positions[0], seat).into_iter().filter(|entity| !held.contains(entity));
        compare(&format!("{location} taken"), &recorded.taken, &self.keys.sorted_keys(taken))?;
        self.compare_automatic_events(&positions)
    }

    /// Returns the seat whose turn it is.
    fn acting(&self, state: &State) -> Seat {
        Seat::new(self.public_byte(state, "acting") - 1)
    }

    fn activate(&mut self) -> CompareResult {
        let recorded: &Activate = self.next_event()?;
        let (state, location) = (self.state(), self.location(recorded.step, "action"));
        let seat = self.acting(&state);
        let Some(choice) = recorded.action.choice(&self.keys) else {
            return mismatch(location, &recorded.action, self.replayed.legal_labels(seat));
        };
        self.compare_activation(recorded, &state, None)?;
        let mut positions = self.act(&location, seat, choice)?;
        match (recorded.action.spore, self.replayed.category_name("phase") == "spore") {
            (None, false) => {}
            (Some(cell), true) => positions = self.act(&location, seat, ActionKey("put_spore", cell))?,
            (None, true) => {
                return mismatch(
                    format!("{location}.spore"),
                    Value::Null,
                    self.replayed.rows(seat, "put_spore"),
                );
            }
            (Some(cell), false) => return mismatch(format!("{location}.spore"), cell, Value::Null),
        }
        self.compare_activation(recorded, &state, Some(&positions[0]))?;
        self.compare_automatic_events(&positions)
    }

    /// Compares the seat and what it may activate. With `after`, compares the totals after the activation too.
    fn compare_activation(
        &self,
        recorded: &Activate,
        before: &State,
        after: Option<&State>,
    ) -> CompareResult {
        let seat = self.acting(before);
        let total = |name, recorded| after.map_or(recorded, |after| self.public_value_of(after, name, seat));
        let actual = Activate {
            step: self.public_byte(before, "stop"),
            player: seat.number(),
            cells: self.rows(before, seat, "activate_cell"),
            entities: self.keys.sorted_keys(self.rows(before, seat, "activate_entity")),
            action: recorded.action.clone(),
            crystals: total("crystals", recorded.crystals),
            points: total("points", recorded.points),
        };
        compare(&self.location(recorded.step, ""), recorded, &actual)
    }

    /// Compares the events that follow a choice without further choices.
    fn compare_automatic_events(&mut self, positions: &[State]) -> CompareResult {
        self.snapshot(&positions[0])?;
        for pair in positions.windows(2) {
            let [before, after] = pair else { unreachable!("two positions") };
            if before.stop != after.stop {
                self.start(after)?;
            } else if self.replayed.episode().game().outcome(after).is_some() {
                self.end(after)?;
            } else if before.phase != Phase::Draft {
                let recorded: &Activate = self.next_event()?;
                if recorded.action.end != Some(true) || recorded.action.choice(&self.keys).is_none() {
                    return mismatch(
                        self.location(recorded.step, "action"),
                        &recorded.action,
                        json!({ "end": true }),
                    );
                }
                self.compare_activation(recorded, before, Some(after))?;
                self.snapshot(after)?;
            }
        }
        Ok(())
    }

    fn start(&mut self, state: &State) -> CompareResult {
        let recorded: &Start = self.next_event()?;
        let actual =
            Start { step: self.public_byte(state, "stop"), first: self.public_byte(state, "first") - 1 };
        compare(&self.location(recorded.step, ""), recorded, &actual)
    }

    /// Compares the boards, if all seats have finished at a stop.
    fn snapshot(&mut self, state: &State) -> CompareResult {
        if state.phase != Phase::StopFinished {
            return Ok(());
        }
        let recorded: &Snapshot = self.next_event()?;
        compare(&self.location(recorded.step, "step"), &recorded.step, &self.public_byte(state, "stop"))?;
        let seats = self.replayed.episode().game().info().seats;
        compare(&self.location(recorded.step, "players"), &recorded.players.len(), &seats.into())?;
        let (cells, spores) =
            (bytes(&self.public_field(state, "cells")), bytes(&self.public_field(state, "spores")));
        for (seat, player) in Seat::all(seats).zip(&recorded.players) {
            let nine = |of: &[u8]| <[u8; 9]>::try_from(&of[9 * seat.index()..][..9]).expect("nine cells");
            let actual = Player {
                cells: nine(&cells).map(biome_to_number),
                spores: nine(&spores),
                crystals: self.public_value_of(state, "crystals", seat),
                points: self.public_value_of(state, "points", seat),
                entities: self.keys.sorted_keys(self.held(state, seat)),
                fresh: None,
                hand: None,
            };
            compare(&self.location(recorded.step, &format!("players[{}].", seat.number())), player, &actual)?;
        }
        Ok(())
    }

    fn end(&mut self, state: &State) -> CompareResult {
        let recorded: &Final = self.next_event()?;
        let outcome = self.replayed.episode().game().outcome(state).expect("the game has ended");
        let points = outcome.scores().to_vec();
        let winners = (0..).take(points.len()).filter(|&seat| outcome.is_winner(Seat::new(seat)));
        compare(&self.cursor.location(), recorded, &Final { winners: winners.collect(), points })
    }
}
