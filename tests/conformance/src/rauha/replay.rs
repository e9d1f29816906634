//! Replays recorded games event by event, with the game's ordinary actions.

use std::sync::Arc;

use boardwire_games::rauha::{Phase, Rauha, State};
use boardwire_kernel::catalogue::{Checked, Small, read, refuse, require};
use boardwire_kernel::{CatalogueError, Choices, Scoring, Seat, Setup, set_up};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::score::top_of;
use super::{Card, Keys, Player, written};
use crate::Components;
use crate::log::{Log, Recorded, events, fields};
use crate::play::{Compared, Move, Play, Replayed, bytes, differs, field, ids, same};

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
    players: Small<2, 5>,
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
        action: Kept,
        taken: Vec<String>,
    }
    Activate {
        step: u8,
        player: u8,
        cells: Vec<u8>,
        entities: Vec<String>,
        action: Used,
        crystals: u16,
        points: u16,
    }
    /// What became of the kept card: one of three.
    Kept { place: Option<u8>, spore: Option<u8>, crystals: Option<bool> }
    /// What was activated: one of three, and the cell of a Spore that it bought.
    Used { cell: Option<u8>, spore: Option<u8>, entity: Option<String>, end: Option<bool> }
    Snapshot { step: u8, players: Vec<Player> }
    Final { points: Vec<i32>, winners: Vec<u8> }
}

/// Replays a record and compares every fact in it.
pub(crate) fn replay(game: &Components<Rauha>, line: &str) -> Checked<Replayed> {
    let record: Record = read(line)?;
    if let Some(op) = record.op.as_ref().filter(|op| *op != "game") {
        return refuse("op", format!("`{op}` is not `game`"));
    }
    let seats = record.players.get();
    let leader = top_of(&record.initial_stack, seats)?.number();
    let deals = record.deals()?;
    let keys = Keys::read(&game.text)?;
    let options = [("side", record.side.as_str())];
    let game = set_up::<Rauha>(Arc::clone(&game.loaded), seats.into(), options)
        .map_err(|error| CatalogueError::new("side", error.to_string()))?;
    let log = Log::new(&record.log, |number| format!("log[{number}]"));
    let play = Play::deal(game, deals.into_iter().chain([vec![leader]]));
    Ok(play.and_then(|play| Replay { play, keys, log }.run()))
}

impl Record {
    /// Returns the cards of each Age in the order of dealing. No card may occur twice or in the wrong Age.
    fn deals(&self) -> Checked<[Vec<u8>; 2]> {
        let mut ages = [vec![], vec![]];
        for (round, packs) in self.deals.iter().enumerate() {
            let place = format!("deals[{round}]");
            let (given, due) = (packs.len(), usize::from(self.players.get()));
            require(given == due, place, || format!("{given} Satellites, not {due}"))?;
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

impl Kept {
    fn choice(&self) -> Option<Move> {
        match (self.place, self.spore, self.crystals) {
            (Some(cell), None, None) => Some(Move("place", cell)),
            (None, Some(cell), None) => Some(Move("take_spore", cell)),
            (None, None, Some(true)) => Some(Move("take_crystals", 0)),
            _ => None,
        }
    }
}

impl Used {
    fn choice(&self, keys: &Keys) -> Option<Move> {
        match (self.cell, &self.entity, self.end) {
            (Some(cell), None, None) => Some(Move("activate_cell", cell)),
            (None, Some(key), None) => Some(Move("activate_entity", keys.id("entity", key).ok()?)),
            (None, None, Some(true)) if self.spore.is_none() => Some(Move("end", 0)),
            _ => None,
        }
    }
}

struct Replay<'a> {
    play: Play<Rauha>,
    keys: Keys,
    log: Log<'a, Event>,
}

impl<'a> Replay<'a> {
    fn run(mut self) -> Compared<Vec<i32>> {
        self.start(&self.state())?;
        while !self.play.episode().pending().is_empty() {
            match self.play.word("phase") {
                "draft" => self.draft()?,
                "place or discard" => self.main()?,
                "activate" => self.activate()?,
                phase => unreachable!("{phase}: an event is played to its end"),
            }
        }
        self.log.end()?;
        self.play.scores("scores")
    }

    fn state(&self) -> State {
        *self.play.episode().state()
    }

    /// Returns the values of a public field, as seat 0 sees it.
    fn fact(&self, state: &State, name: &str) -> Vec<u16> {
        field(&**self.play.episode().game(), state, Seat::FIRST.into(), name)
    }

    fn byte(&self, state: &State, name: &str) -> u8 {
        bytes(&self.fact(state, name))[0]
    }

    /// Returns the value of a public field for a seat.
    fn of(&self, state: &State, name: &str, seat: Seat) -> u16 {
        self.fact(state, name)[seat.index()]
    }

    /// Returns the Entities that a seat holds.
    fn held(&self, state: &State, seat: Seat) -> Vec<u8> {
        let holders = self.fact(state, "entities");
        let holders = (1..).zip(holders).filter(|(_, holder)| *holder == u16::from(seat.number()) + 1);
        holders.map(|(entity, _)| entity).collect()
    }

    /// Returns the rows of a seat's legal actions with this verb in `state`.
    fn rows(&self, state: &State, seat: Seat, verb: &str) -> Vec<u8> {
        let game = self.play.episode().game();
        let legal = game.legal(state, seat);
        let legal = legal.iter().map(|index| &game.info().actions.all()[usize::from(index)]);
        legal.filter(|action| action.verb == verb).map(|action| action.row).collect()
    }

    /// Takes the next event, which must be a `T`.
    fn take<T: Recorded<Event = Event> + 'a>(&mut self) -> Compared<&'a T> {
        self.log.take()
    }

    fn at(&self, step: u8, what: &str) -> String {
        format!("{} step {step} {what}", self.log.at()).trim_end().to_owned()
    }

    /// Plays a choice. Returns the states through which it leads.
    fn act(&mut self, at: &str, seat: Seat, choice: Move) -> Compared<Vec<State>> {
        let (state, mut chance) = (self.state(), self.play.episode().chance().clone());
        self.play.choose(at, seat, choice)?;
        let game = self.play.episode().game();
        let action = self.play.index(choice).and_then(|(index, _)| game.decode(index));
        Ok(game.course(&state, seat, action.expect("it was chosen"), &mut chance))
    }

    fn draft(&mut self) -> Compared {
        let stated: &Draft = self.take()?;
        let (state, at) = (self.state(), self.at(stated.step, ""));
        let pending = self.play.episode().pending();
        let Some(seat) = pending.iter().find(|seat| seat.number() == stated.player) else {
            let due: Vec<u8> = pending.iter().map(Seat::number).collect();
            return differs(format!("{at} player"), stated.player, due);
        };
        let (stop, game) = (self.byte(&state, "stop"), self.play.episode().game());
        let pack = ids(&self.play.field(seat.into(), "pack"));
        let got = Draft {
            step: stop,
            satellite: game.satellite((stop - 1) / 4 + 1, (stop - 1) % 4 + 1, seat).number(),
            options: pack.into_iter().map(written).collect(),
            ..stated.clone()
        };
        same(&at, stated, &got)?;
        if !got.options.contains(&stated.pick) {
            return differs(format!("{at} pick"), stated.pick, got.options);
        }
        let positions = self.act(&at, seat, Move("draft", stated.pick + 1))?;
        self.follow(&positions)
    }

    fn main(&mut self) -> Compared {
        let stated: &Main = self.take()?;
        let (state, at) = (self.state(), self.at(stated.step, ""));
        let seat = self.acting(&state);
        let kept = bytes(&self.play.field(seat.into(), "kept"))[0];
        let got = Main {
            step: self.byte(&state, "stop"),
            player: seat.number(),
            card: written(kept),
            legal_cells: self.rows(&state, seat, "place"),
            spore_cells: self.rows(&state, seat, "take_spore"),
            ..stated.clone()
        };
        same(&at, stated, &got)?;
        let Some(choice) = stated.action.choice() else {
            return differs(format!("{at} action"), &stated.action, self.play.legal_labels(seat));
        };
        let positions = self.act(&format!("{at} action"), seat, choice)?;
        let held = self.held(&state, seat);
        let taken = self.held(&positions[0], seat).into_iter().filter(|entity| !held.contains(entity));
        same(&format!("{at} taken"), &stated.taken, &self.keys.of(taken))?;
        self.follow(&positions)
    }

    /// Returns the seat whose turn it is.
    fn acting(&self, state: &State) -> Seat {
        Seat::new(self.byte(state, "acting") - 1)
    }

    fn activate(&mut self) -> Compared {
        let stated: &Activate = self.take()?;
        let (state, at) = (self.state(), self.at(stated.step, "action"));
        let seat = self.acting(&state);
        let Some(choice) = stated.action.choice(&self.keys) else {
            return differs(at, &stated.action, self.play.legal_labels(seat));
        };
        self.compare_activation(stated, &state, None)?;
        let mut positions = self.act(&at, seat, choice)?;
        match (stated.action.spore, self.play.word("phase") == "spore") {
            (None, false) => {}
            (Some(cell), true) => positions = self.act(&at, seat, Move("put_spore", cell))?,
            (None, true) => {
                return differs(format!("{at}.spore"), Value::Null, self.play.rows(seat, "put_spore"));
            }
            (Some(cell), false) => return differs(format!("{at}.spore"), cell, Value::Null),
        }
        self.compare_activation(stated, &state, Some(&positions[0]))?;
        self.follow(&positions)
    }

    /// Compares the seat and what it may activate. With `after`, compares the totals after the activation too.
    fn compare_activation(&self, stated: &Activate, before: &State, after: Option<&State>) -> Compared {
        let seat = self.acting(before);
        let total = |name, stated| after.map_or(stated, |after| self.of(after, name, seat));
        let got = Activate {
            step: self.byte(before, "stop"),
            player: seat.number(),
            cells: self.rows(before, seat, "activate_cell"),
            entities: self.keys.of(self.rows(before, seat, "activate_entity")),
            action: stated.action.clone(),
            crystals: total("crystals", stated.crystals),
            points: total("points", stated.points),
        };
        same(&self.at(stated.step, ""), stated, &got)
    }

    /// Compares the events that follow a choice without further choices.
    fn follow(&mut self, positions: &[State]) -> Compared {
        self.snapshot(&positions[0])?;
        for pair in positions.windows(2) {
            let [before, after] = pair else { unreachable!("two positions") };
            if before.stop != after.stop {
                self.start(after)?;
            } else if self.play.episode().game().outcome(after).is_some() {
                self.end(after)?;
            } else if before.phase != Phase::Draft {
                let stated: &Activate = self.take()?;
                if stated.action.end != Some(true) || stated.action.choice(&self.keys).is_none() {
                    return differs(self.at(stated.step, "action"), &stated.action, json!({ "end": true }));
                }
                self.compare_activation(stated, before, Some(after))?;
                self.snapshot(after)?;
            }
        }
        Ok(())
    }

    fn start(&mut self, state: &State) -> Compared {
        let stated: &Start = self.take()?;
        let got = Start { step: self.byte(state, "stop"), first: self.byte(state, "first") - 1 };
        same(&self.at(stated.step, ""), stated, &got)
    }

    /// Compares the boards, if all seats have finished at a stop.
    fn snapshot(&mut self, state: &State) -> Compared {
        if state.phase != Phase::Between {
            return Ok(());
        }
        let stated: &Snapshot = self.take()?;
        same(&self.at(stated.step, "step"), &stated.step, &self.byte(state, "stop"))?;
        let seats = self.play.episode().game().info().seats;
        same(&self.at(stated.step, "players"), &stated.players.len(), &seats.into())?;
        let (cells, spores) = (bytes(&self.fact(state, "cells")), bytes(&self.fact(state, "spores")));
        for (seat, player) in Seat::all(seats).zip(&stated.players) {
            let nine = |of: &[u8]| <[u8; 9]>::try_from(&of[9 * seat.index()..][..9]).expect("nine cells");
            let got = Player {
                cells: nine(&cells).map(written),
                spores: nine(&spores),
                crystals: self.of(state, "crystals", seat),
                points: self.of(state, "points", seat),
                entities: self.keys.of(self.held(state, seat)),
                fresh: None,
                hand: None,
            };
            same(&self.at(stated.step, &format!("players[{}].", seat.number())), player, &got)?;
        }
        Ok(())
    }

    fn end(&mut self, state: &State) -> Compared {
        let stated: &Final = self.take()?;
        let outcome = self.play.episode().game().outcome(state).expect("the game has ended");
        let points = outcome.scores().to_vec();
        let winners = (0..).take(points.len()).filter(|&seat| outcome.is_winner(Seat::new(seat)));
        same(&self.log.at(), stated, &Final { winners: winners.collect(), points })
    }
}
