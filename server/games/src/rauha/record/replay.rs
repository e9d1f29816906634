//! ReplayFormat games, event by event, played through the ordinary actions.

use std::sync::Arc;

use boardwire_kernel::{Chance, Episode, Game, Loaded, Seat, set_up};
use serde_json::{Value, json};

use super::lines;
use super::log::{Event, Record, Use};
use crate::rauha::action::Action;
use crate::rauha::rules::Rules;
use crate::rauha::state::{Phase, State};
use crate::rauha::turn::{Passed, free};
use crate::rauha::{Catalogue, Rauha};
use crate::{Difference, LineError, Replayed};

/// Plays a record and compares every fact it states.
pub(super) fn replay(catalogue: &Arc<Loaded<Catalogue>>, record: &Record) -> Result<Replayed, LineError> {
    let options = [("side", record.side.as_str())];
    let game = set_up::<Rauha>(Arc::clone(catalogue), record.players.into(), options)
        .map_err(|error| LineError(error.to_string()))?;
    let leader = std::iter::once(vec![record.leader]);
    let chance = Chance::scripted(record.deals.iter().cloned().chain(leader));
    let mut replay = Replay {
        catalogue: &catalogue.value,
        episode: Episode::start(Arc::new(game), chance),
        events: &record.log,
        next: 0,
    };
    Ok(match replay.run() {
        Ok(scores) => Replayed::Same { scores },
        Err(difference) => Replayed::Differs(*difference),
    })
}

struct Replay<'a> {
    catalogue: &'a Catalogue,
    episode: Episode<Rauha>,
    events: &'a [Event],
    next: usize,
}

/// A difference is large and rare.
type Step<T> = Result<T, Box<Difference>>;

impl<'a> Replay<'a> {
    fn run(&mut self) -> Step<Vec<i32>> {
        let opening = *self.episode.state();
        self.start(&opening)?;
        while !self.episode.pending().is_empty() {
            self.choice()?;
        }
        if let Some(event) = self.events.get(self.next) {
            return self.differs("", event.kind(), "the end of the record");
        }
        let outcome = self.episode.outcome();
        Ok(outcome.map_or_else(Vec::new, |outcome| outcome.scores().to_vec()))
    }

    fn differs<T>(&self, what: &str, expected: impl Into<Value>, got: impl Into<Value>) -> Step<T> {
        let event = self.events.get(self.next);
        let (kind, step) = event.map_or(("missing", None), |event| (event.kind(), event.step()));
        let place = format!("log[{}] {kind}", self.next);
        let step = step.map(|step| format!("step {step}"));
        let words = [Some(place), step, Some(what.to_owned())].into_iter().flatten();
        let at: Vec<String> = words.filter(|word| !word.is_empty()).collect();
        Err(Box::new(Difference::new(at.join(" "), expected, got)))
    }

    fn same(&self, what: &str, expected: impl Into<Value>, got: impl Into<Value>) -> Step<()> {
        let (expected, got) = (expected.into(), got.into());
        if expected == got { Ok(()) } else { self.differs(what, expected, got) }
    }

    /// The event due: `due` says in a word what the game expects.
    fn event(&self, due: &str) -> Step<&'a Event> {
        let events: &'a [Event] = self.events;
        match events.get(self.next) {
            Some(event) if event.kind() == due => Ok(event),
            Some(event) => self.differs("", event.kind(), due),
            None => self.differs("", "the end of the record", due),
        }
    }

    fn start(&mut self, state: &State) -> Step<()> {
        if let Event::Start { step, first } = self.event("start")? {
            self.same("step", *step, state.stop)?;
            self.same("first", *first, state.first)?;
        }
        self.next += 1;
        Ok(())
    }

    fn choice(&mut self) -> Step<()> {
        match self.episode.state().phase {
            Phase::Draft => self.draft(),
            Phase::Main => self.main(),
            _ => self.activate(),
        }
    }

    fn draft(&mut self) -> Step<()> {
        let state = *self.episode.state();
        let Event::Draft { step, player, satellite, options, pick } = self.event("draft")? else {
            return Ok(());
        };
        self.same("step", *step, state.stop)?;
        let seat = Seat::new(*player);
        if !self.episode.pending().contains(seat) {
            let due: Vec<u8> = self.episode.pending().iter().map(Seat::number).collect();
            return self.differs("player", *player, due);
        }
        let rules = &self.episode.game().rules;
        let read = Rules::satellite(seat, rules.stop(&state).side, rules.seats);
        self.same("satellite", *satellite, read)?;
        let hand: Vec<u8> = rules.hand(&state, seat).iter().map(|&card| lines::written(card)).collect();
        self.same("options", options.clone(), hand.clone())?;
        if !hand.contains(pick) {
            return self.differs("pick", *pick, hand);
        }
        self.play(seat, Action::Draft { card: pick + 1 }, |_, _| Ok(()))
    }

    fn main(&mut self) -> Step<()> {
        let state = *self.episode.state();
        let Event::Main { step, player, card, legal_cells, spore_cells, action, taken } =
            self.event("main")?
        else {
            return Ok(());
        };
        let rules = &self.episode.game().rules;
        let seat = rules.actor(&state);
        let board = &state.boards[seat.index()];
        let kept = state.kept[seat.index()];
        self.same("step", *step, state.stop)?;
        self.same("player", *player, seat.number())?;
        self.same("card", *card, lines::written(kept))?;
        self.same("legal_cells", legal_cells.clone(), lines::cells(rules.fitting(board, kept)))?;
        self.same("spore_cells", spore_cells.clone(), lines::cells(free(board)))?;
        self.play(seat, *action, |replay, after| {
            replay.same("taken", taken.clone(), lines::keys(after.fresh, replay.catalogue))
        })
    }

    fn activate(&mut self) -> Step<()> {
        let state = *self.episode.state();
        let event = self.event("activate")?;
        self.options(event, &state)?;
        let Event::Activate { action, .. } = event else {
            return Ok(());
        };
        let seat = self.episode.game().rules.actor(&state);
        match *action {
            Use::Cell { cell, spore } => {
                self.legal(seat, Action::ActivateCell { cell })?;
                self.activate_with_spore(seat, Action::ActivateCell { cell }, spore)
            }
            Use::Entity { entity, spore } => {
                self.legal(seat, Action::ActivateEntity { entity })?;
                self.activate_with_spore(seat, Action::ActivateEntity { entity }, spore)
            }
            Use::End => self.play(seat, Action::End, |replay, after| replay.totals(event, after)),
        }
    }

    /// An activation and, where it buys one, its Spore.
    fn activate_with_spore(&mut self, seat: Seat, action: Action, spore: Option<u8>) -> Step<()> {
        let event = self.event("activate")?;
        let mut after = *self.episode.state();
        self.episode.game().rules.choose(&mut after, seat, action);
        match (spore, after.phase == Phase::Spore) {
            (None, false) => self.play(seat, action, |replay, after| replay.totals(event, after)),
            (Some(cell), true) => {
                self.apply(seat, action)?;
                let put = Action::PutSpore { cell };
                self.play(seat, put, |replay, after| replay.totals(event, after))
            }
            (given, _) => {
                let board = &after.boards[seat.index()];
                let due = if given.is_none() { json!(lines::cells(free(board))) } else { Value::Null };
                self.differs("action.spore", given, due)
            }
        }
    }

    /// Compares who activates and what may be activated.
    fn options(&self, event: &Event, state: &State) -> Step<()> {
        let Event::Activate { step, player, cells, entities, .. } = event else {
            return Ok(());
        };
        let rules = &self.episode.game().rules;
        let possible = rules.activatable(state);
        self.same("step", *step, state.stop)?;
        self.same("player", *player, rules.actor(state).number())?;
        self.same("cells", cells.clone(), lines::cells(possible.0))?;
        self.same("entities", entities.clone(), lines::keys(possible.1, self.catalogue))
    }

    /// Compares the crystals and points the event states for afterwards.
    fn totals(&self, event: &Event, after: &State) -> Step<()> {
        let Event::Activate { player, crystals, points, .. } = event else {
            return Ok(());
        };
        let board = &after.boards[usize::from(*player)];
        self.same("crystals", *crystals, board.crystals)?;
        self.same("points", *points, board.points())
    }

    fn legal(&self, seat: Seat, action: Action) -> Step<()> {
        let game = self.episode.game();
        let legal = game.legal(self.episode.state(), seat);
        if legal.contains(game.encode(action)) {
            return Ok(());
        }
        let label = |index| game.info().actions.get(index).unwrap_or_default().to_owned();
        let labels: Vec<String> = legal.iter().map(label).collect();
        self.differs("action", label(game.encode(action)), labels)
    }

    fn apply(&mut self, seat: Seat, action: Action) -> Step<()> {
        self.legal(seat, action)?;
        let index = self.episode.game().encode(action);
        if let Err(refused) = self.episode.apply(seat, index.into()) {
            return self.differs("action", "legal", refused.to_string());
        }
        Ok(())
    }

    /// Plays the event's action, compares what the event states for afterwards, and then, step by step,
    /// every event that follows without a choice.
    fn play(
        &mut self,
        seat: Seat,
        action: Action,
        compare: impl FnOnce(&Self, &State) -> Step<()>,
    ) -> Step<()> {
        let (mut state, mut chance) = (*self.episode.state(), self.episode.chance().clone());
        self.apply(seat, action)?;
        let game = Arc::clone(self.episode.game());
        game.rules.choose(&mut state, seat, action);
        compare(self, &state)?;
        self.next += 1;
        self.snapshot_if_all_have_finished(&state)?;
        loop {
            let acting = state;
            match game.rules.proceed(&mut state, &mut chance) {
                None => return Ok(()),
                Some(Passed::Drafted) => {}
                Some(Passed::Ended) => self.automatic_end(&acting, &state)?,
                Some(Passed::Began) => self.start(&state)?,
                Some(Passed::Finished) => self.finish(&state)?,
            }
            if state.phase == Phase::Between {
                self.snapshot_if_all_have_finished(&state)?;
            }
        }
    }

    fn automatic_end(&mut self, before: &State, after: &State) -> Step<()> {
        let event = self.event("activate")?;
        self.options(event, before)?;
        if let Event::Activate { action, .. } = event
            && *action != Use::End
        {
            return self.differs("action", action.to_json(self.catalogue), json!({ "end": true }));
        }
        self.totals(event, after)?;
        self.next += 1;
        Ok(())
    }

    fn snapshot_if_all_have_finished(&mut self, state: &State) -> Step<()> {
        if state.phase != Phase::Between {
            return Ok(());
        }
        let Event::Snapshot { step, players } = self.event("snapshot")? else {
            return Ok(());
        };
        self.same("step", *step, state.stop)?;
        for (seat, (row, board)) in players.iter().zip(&state.boards).enumerate() {
            let at = |field: &str| format!("players[{seat}].{field}");
            self.same(&at("cells"), row.cells.clone(), board.cells.map(lines::written).to_vec())?;
            self.same(&at("spores"), row.spores.clone(), lines::spores(board))?;
            self.same(&at("crystals"), row.crystals, board.crystals)?;
            self.same(&at("points"), row.points, board.points())?;
            let held = lines::keys(board.entities, self.catalogue);
            self.same(&at("entities"), row.entities.clone(), held)?;
        }
        self.next += 1;
        Ok(())
    }

    fn finish(&mut self, state: &State) -> Step<()> {
        let Event::Final { points, winners } = self.event("final")? else {
            return Ok(());
        };
        let outcome = self.episode.game().rules.result(state);
        if let Some(outcome) = outcome {
            self.same("points", points.clone(), outcome.scores().to_vec())?;
            let won: Vec<u8> = Seat::all(self.episode.game().rules.seats)
                .filter(|&seat| outcome.is_winner(seat))
                .map(Seat::number)
                .collect();
            self.same("winners", winners.clone(), won)?;
        }
        self.next += 1;
        Ok(())
    }
}

impl Use {
    fn to_json(self, catalogue: &Catalogue) -> Value {
        let key = |entity: u8| &catalogue.entities[usize::from(entity)].key;
        match self {
            Self::Cell { cell, spore: None } => json!({ "cell": cell }),
            Self::Cell { cell, spore } => json!({ "cell": cell, "spore": spore }),
            Self::Entity { entity, spore: None } => json!({ "entity": key(entity) }),
            Self::Entity { entity, spore } => json!({ "entity": key(entity), "spore": spore }),
            Self::End => json!({ "end": true }),
        }
    }
}
