//! Recorded games, event by event, played through the ordinary actions.

use std::sync::Arc;

use boardwire_kernel::record::{Cursor, Difference, LineError, Replayed, same};
use boardwire_kernel::{Loaded, Seat, set_up};
use serde_json::{Value, json};

use super::lines;
use super::log::{Event, Record, Use};
use crate::rauha::action::Action;
use crate::rauha::state::{Phase, State};
use crate::rauha::turn::Step;
use crate::rauha::{Catalogue, Rauha};

/// Plays a record and compares every fact it states.
pub(super) fn replay(catalogue: &Arc<Loaded<Catalogue>>, record: &Record) -> Result<Replayed, LineError> {
    let options = [("side", record.side.as_str())];
    let game = set_up::<Rauha>(Arc::clone(catalogue), record.players.into(), options)
        .map_err(|error| LineError(error.to_string()))?;
    let leader = std::iter::once(vec![record.leader.number()]);
    let cursor = Cursor::deal(Arc::new(game), record.deals.iter().cloned().chain(leader));
    let played = cursor.and_then(|cursor| {
        Replay { catalogue: &catalogue.value, cursor, events: &record.log, next: 0 }.run()
    });
    Ok(played.into())
}

struct Replay<'a> {
    catalogue: &'a Catalogue,
    cursor: Cursor<Rauha>,
    events: &'a [Event],
    /// The event that is due.
    next: usize,
}

type Compared<T = ()> = Result<T, Difference>;

impl<'a> Replay<'a> {
    fn run(&mut self) -> Compared<Vec<i32>> {
        let opening = *self.cursor.state();
        self.compare_start(&opening)?;
        while !self.cursor.episode().pending().is_empty() {
            match self.cursor.state().phase {
                Phase::Draft => self.draft()?,
                Phase::Main => self.main()?,
                Phase::Activate => self.activate()?,
                Phase::Spore | Phase::Between | Phase::Over => unreachable!("an event is played to its end"),
            }
        }
        if let Some(event) = self.events.get(self.next) {
            return self.differs("", event.kind(), "the end of the record");
        }
        let outcome = self.cursor.episode().outcome().expect("nobody owes a choice");
        Ok(outcome.scores().to_vec())
    }

    /// The place of a fact of the event that is due.
    fn at(&self, what: &str) -> String {
        let event = self.events.get(self.next);
        let event_at = format!("log[{}] {}", self.next, event.map_or("missing", Event::kind));
        let step = event.and_then(Event::step).map(|step| format!("step {step}"));
        let words = [Some(event_at), step, Some(what.to_owned()).filter(|what| !what.is_empty())];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    fn differs<T>(&self, what: &str, expected: impl Into<Value>, got: impl Into<Value>) -> Compared<T> {
        Err(Difference::new(self.at(what), expected, got))
    }

    fn same<T: Into<Value> + PartialEq>(&self, what: &str, expected: T, got: T) -> Compared {
        same(self.at(what), expected, got)
    }

    /// The event that is due, which must be of this kind.
    fn event(&self, due: &str) -> Compared<&'a Event> {
        match self.events.get(self.next) {
            Some(event) if event.kind() == due => Ok(event),
            Some(event) => self.differs("", event.kind(), due),
            None => self.differs("", "the end of the record", due),
        }
    }

    fn draft(&mut self) -> Compared {
        let Event::Draft { step, player, satellite, options, pick } = self.event("draft")? else {
            unreachable!("a draft")
        };
        let (game, state) = (self.cursor.game(), self.cursor.state());
        self.same("step", *step, state.stop)?;
        let pending = self.cursor.episode().pending();
        if !pending.contains(*player) {
            let due: Vec<u8> = pending.iter().map(Seat::number).collect();
            return self.differs("player", player.number(), due);
        }
        let read = game.satellite(state.round(), state.turn(), *player);
        self.same("satellite", satellite.number(), read.number())?;
        let hand = game.hand(state, *player);
        let written: Vec<u8> = hand.iter().map(|&card| lines::written(card)).collect();
        self.same("options", options.clone(), written.clone())?;
        match hand.iter().find(|&&card| lines::written(card) == *pick) {
            Some(&card) => self.play(*player, Action::Draft { card }, |_, _| Ok(())),
            None => self.differs("pick", *pick, written),
        }
    }

    fn main(&mut self) -> Compared {
        let Event::Main { step, player, card, legal_cells, spore_cells, action, taken } =
            self.event("main")?
        else {
            unreachable!("a main action")
        };
        let (game, state) = (self.cursor.game(), self.cursor.state());
        let seat = game.actor(state);
        let board = &state.boards[seat];
        let kept = state.kept[seat].expect("step 2 begins with a kept card");
        self.same("step", *step, state.stop)?;
        self.same("player", player.number(), seat.number())?;
        self.same("card", *card, lines::written(kept))?;
        self.same("legal_cells", legal_cells.clone(), lines::cells(game.cells_for(board, kept)))?;
        self.same("spore_cells", spore_cells.clone(), lines::cells(board.cells_without_spore()))?;
        self.play(seat, *action, |replay, after| {
            replay.same("taken", taken.clone(), lines::keys(after.welcomed, replay.catalogue))
        })
    }

    fn activate(&mut self) -> Compared {
        let event = self.event("activate")?;
        self.compare_options(event, self.cursor.state())?;
        let Event::Activate { action, .. } = event else { unreachable!("an activation") };
        let seat = self.cursor.game().actor(self.cursor.state());
        let (action, spore) = match *action {
            Use::Cell { cell, spore } => (Action::ActivateCell { cell }, spore),
            Use::Entity { entity, spore } => (Action::ActivateEntity { entity }, spore),
            Use::End => (Action::End, None),
        };
        self.require_legal(seat, action)?;
        let mut after = *self.cursor.state();
        self.cursor.game().choose(&mut after, seat, action);
        let last = match (spore, after.phase == Phase::Spore) {
            (None, false) => action,
            (Some(cell), true) => {
                self.cursor.choose(&self.at("action"), seat, action)?;
                Action::PutSpore { cell }
            }
            (None, true) => {
                let cells = lines::cells(after.boards[seat].cells_without_spore());
                return self.differs("action.spore", Value::Null, cells);
            }
            (Some(cell), false) => return self.differs("action.spore", cell, Value::Null),
        };
        self.play(seat, last, |replay, after| replay.compare_totals(event, after))
    }

    /// Compares who activates and what may be activated.
    fn compare_options(&self, event: &Event, state: &State) -> Compared {
        let Event::Activate { step, player, cells, entities, .. } = event else {
            unreachable!("an activation")
        };
        let game = self.cursor.game();
        let possible = game.activatable(state);
        self.same("step", *step, state.stop)?;
        self.same("player", player.number(), game.actor(state).number())?;
        self.same("cells", cells.clone(), lines::cells(possible.cells))?;
        self.same("entities", entities.clone(), lines::keys(possible.entities, self.catalogue))
    }

    /// Compares the crystals and points the event states for afterwards.
    fn compare_totals(&self, event: &Event, after: &State) -> Compared {
        let Event::Activate { player, crystals, points, .. } = event else { unreachable!("an activation") };
        let board = &after.boards[*player];
        self.same("crystals", *crystals, board.crystals)?;
        self.same("points", *points, board.points())
    }

    fn require_legal(&self, seat: Seat, action: Action) -> Compared {
        let game = self.cursor.game();
        if game.is_legal(self.cursor.state(), seat, action) {
            return Ok(());
        }
        let label = game.info.actions.label(Rauha::encode(action)).expect("every action has a label");
        self.differs("action", label, self.cursor.legal(seat))
    }

    /// Plays the event's action, compares what the event states for afterwards, and then, step by step,
    /// every event that follows without a choice.
    fn play(
        &mut self,
        seat: Seat,
        action: Action,
        compare: impl FnOnce(&Self, &State) -> Compared,
    ) -> Compared {
        let (mut state, mut chance) = (*self.cursor.state(), self.cursor.episode().chance().clone());
        self.cursor.choose(&self.at("action"), seat, action)?;
        let game = Arc::clone(self.cursor.episode().game());
        game.choose(&mut state, seat, action);
        compare(self, &state)?;
        self.next += 1;
        self.compare_snapshot(&state)?;
        loop {
            let before = state;
            match game.follow(&mut state, &mut chance) {
                None => return Ok(()),
                Some(Step::PicksTaken) => {}
                Some(Step::ActivationEnded) => {
                    self.compare_automatic_end(&before, &state)?;
                    self.compare_snapshot(&state)?;
                }
                Some(Step::StopBegan) => self.compare_start(&state)?,
                Some(Step::GameEnded) => self.compare_final(&game, &state)?,
            }
        }
    }

    fn compare_start(&mut self, state: &State) -> Compared {
        let Event::Start { step, first } = self.event("start")? else { unreachable!("a start") };
        self.same("step", *step, state.stop)?;
        self.same("first", first.number(), state.first.number())?;
        self.next += 1;
        Ok(())
    }

    fn compare_automatic_end(&mut self, before: &State, after: &State) -> Compared {
        let event = self.event("activate")?;
        self.compare_options(event, before)?;
        let Event::Activate { action, .. } = event else { unreachable!("an activation") };
        if *action != Use::End {
            return self.differs("action", action.to_json(self.catalogue), json!({ "end": true }));
        }
        self.compare_totals(event, after)?;
        self.next += 1;
        Ok(())
    }

    /// Compares the boards, once all seats have finished.
    fn compare_snapshot(&mut self, state: &State) -> Compared {
        if state.phase != Phase::Between {
            return Ok(());
        }
        let Event::Snapshot { step, players } = self.event("snapshot")? else { unreachable!("a snapshot") };
        self.same("step", *step, state.stop)?;
        for (seat, (row, board)) in players.iter().zip(state.boards.all()).enumerate() {
            let at = |field: &str| format!("players[{seat}].{field}");
            let numbers = |values: Vec<u8>| values.into_iter().map(i64::from).collect();
            self.same(&at("cells"), row.cells.clone(), numbers(board.cells.map(lines::written).into()))?;
            self.same(&at("spores"), row.spores.clone(), numbers(lines::spores(board)))?;
            self.same(&at("crystals"), row.crystals, board.crystals.into())?;
            self.same(&at("points"), row.points, board.points().into())?;
            let held = lines::keys(board.entities, self.catalogue);
            self.same(&at("entities"), row.entities.clone(), held)?;
        }
        self.next += 1;
        Ok(())
    }

    fn compare_final(&mut self, game: &Rauha, state: &State) -> Compared {
        let Event::Final { points, winners } = self.event("final")? else { unreachable!("the end") };
        let outcome = game.outcome(state).expect("the game has ended");
        let scores = outcome.scores().iter().copied().map(i64::from).collect();
        self.same("points", points.clone(), scores)?;
        let numbers = |seats: &mut dyn Iterator<Item = Seat>| seats.map(Seat::number).collect::<Vec<_>>();
        let mut won = Seat::all(game.seats).filter(|&seat| outcome.is_winner(seat));
        self.same("winners", numbers(&mut winners.iter().copied()), numbers(&mut won))?;
        self.next += 1;
        Ok(())
    }
}

impl Use {
    fn to_json(self, catalogue: &Catalogue) -> Value {
        let key = |entity| &catalogue.entity(entity).key;
        match self {
            Self::Cell { cell, spore: None } => json!({ "cell": cell }),
            Self::Cell { cell, spore } => json!({ "cell": cell, "spore": spore }),
            Self::Entity { entity, spore: None } => json!({ "entity": key(entity) }),
            Self::Entity { entity, spore } => json!({ "entity": key(entity), "spore": spore }),
            Self::End => json!({ "end": true }),
        }
    }
}
