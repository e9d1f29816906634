//! The position as one viewer sees it, as text; phrases of actions; reports of choices.

mod cards;
mod phrase;
mod report;

use std::fmt::{self, Write};

use boardwire_kernel::{NameGroup, Scoring, Seat, Texts, Turns, Viewer};

use super::Rauha;
use super::action::Action;
use super::catalogue::{ANIMALS, CELL_NAMES, Effect, LINE_NAMES, LINES, Stop, TYPES, number};
use super::state::{ActivationSet, BiomeId, Board, CELL_COUNT, CellSet, EntityId, EntitySet, Phase, State};
use super::turn::age_of;
use super::view::Counts;

impl Texts for Rauha {
    fn text(&self, state: &State, viewer: Viewer, out: &mut dyn Write) -> fmt::Result {
        if state.phase == Phase::Over {
            self.write_result(state, viewer, out)?;
        } else {
            self.write_stop(state, out)?;
            self.write_due(state, viewer, out)?;
            self.write_order(state, viewer, out)?;
            self.write_known_cards(state, viewer, out)?;
            self.write_counts(state, out)?;
            self.write_water_scale(out)?;
            self.write_table_entities(state, out)?;
        }
        let spore = if self.has_spores(state) { "* has a Spore; " } else { "" };
        writeln!(out, "Boards ({spore}no code: printed biome):")?;
        for seat in viewer.first().round(self.seats) {
            self.write_board(state, viewer, seat, out)?;
        }
        Ok(())
    }

    fn phrase(&self, state: &State, seat: Seat, action: Action, out: &mut dyn Write) -> fmt::Result {
        self.write_phrase(state, seat, action, out)
    }

    fn report(
        &self,
        before: &State,
        choice: (Seat, Action),
        after: &State,
        viewer: Seat,
        out: &mut dyn Write,
    ) -> fmt::Result {
        self.write_report(before, choice, after, viewer, out)
    }

    fn names(&self) -> Vec<NameGroup> {
        let catalogue = &self.catalogue.components;
        let group = |kind, names: &[&str]| NameGroup {
            kind,
            names: names.iter().map(|&name| name.to_owned()).collect(),
        };
        vec![
            group("title", &["Rauha", "Syntyma"]),
            NameGroup { kind: "card", names: catalogue.codes().to_vec() },
            NameGroup {
                kind: "Entity",
                names: catalogue.entities.iter().map(|entity| entity.name.clone()).collect(),
            },
            group("symbol", &[&TYPES[..], &ANIMALS[..]].concat()),
            group("resource", &["crystal", "Spore", "Water Source"]),
            group("term", &["Avatar", "Satellite", "Black Hole", "Life Energy"]),
        ]
    }
}

/// Returns the name of a seat; the viewer's has `(you)`.
fn name(seat: Seat, viewer: Viewer) -> String {
    if viewer.is_seat(seat) { format!("{seat} (you)") } else { seat.to_string() }
}

/// Returns the names of seats.
fn names(seats: impl Iterator<Item = Seat>, viewer: Viewer) -> String {
    seats.map(|seat| name(seat, viewer)).collect::<Vec<_>>().join(", ")
}

/// Returns the name of a cell.
fn cell_name(cell: u8) -> &'static str {
    CELL_NAMES[usize::from(cell)]
}

/// Returns the names of cells, with a space between two.
fn cell_names(cells: CellSet) -> String {
    cells.iter().map(cell_name).collect::<Vec<_>>().join(" ")
}

/// Returns the name of the row or column that a turn activates, or that a stop is a scoring.
fn stop_name(stop: Stop) -> &'static str {
    let line = LINES.iter().position(|&line| stop.line == line.into_iter().collect());
    line.map_or("scoring", |line| LINE_NAMES[line])
}

impl Rauha {
    fn has_spores(&self, state: &State) -> bool {
        state.boards.of(self.seats).iter().any(|board| !board.spores.is_empty())
    }

    /// Writes the scores with their sources, the best first.
    fn write_result(&self, state: &State, viewer: Viewer, out: &mut dyn Write) -> fmt::Result {
        writeln!(out, "Rauha: the game is over. Final scores:")?;
        let Some(outcome) = self.outcome(state) else { return Ok(()) };
        let mut seats: Vec<Seat> = Seat::all(self.seats).collect();
        seats.sort_by_key(|seat| outcome.ranks()[seat.index()]);
        for seat in seats {
            let (place, score) = (outcome.ranks()[seat.index()], outcome.scores()[seat.index()]);
            let sources: Vec<String> = self
                .explain(state, seat)
                .iter()
                .map(|line| format!("{} {}", line.source, line.points))
                .collect();
            writeln!(out, "place {place}: {}, {score} points ({})", name(seat, viewer), sources.join(", "))?;
        }
        Ok(())
    }

    /// Writes the stop of the Avatars, and the stops to come.
    fn write_stop(&self, state: &State, out: &mut dyn Write) -> fmt::Result {
        write!(out, "Rauha, round {} of 4, ", state.round())?;
        if state.is_scoring() {
            writeln!(out, "scoring: cells with a Spore, Entities, then Water Sources.")?;
        } else {
            let stop = self.current_stop(state);
            let cells = cell_names(stop.line);
            writeln!(out, "turn {} of 3: the {} ({cells}) is activated.", state.turn(), stop_name(*stop))?;
        }
        let rounds = self.track[usize::from(state.stop)..].chunk_by(|stop, _| !stop.is_scoring());
        let rounds: Vec<String> = rounds
            .map(|stops| stops.iter().map(|stop| stop_name(*stop)).collect::<Vec<_>>().join(", "))
            .collect();
        if rounds.is_empty() { Ok(()) } else { writeln!(out, "Coming: {}.", rounds.join("; ")) }
    }

    /// Writes which seats decide, and what.
    fn write_due(&self, state: &State, viewer: Viewer, out: &mut dyn Write) -> fmt::Result {
        write!(out, "To choose: {}: ", names(self.pending(state).iter(), viewer))?;
        match state.phase {
            Phase::Draft => writeln!(out, "draft a card, hidden from the others."),
            Phase::UseCard => writeln!(out, "place or discard the kept card."),
            Phase::Activate => {
                write!(out, "activate or end.")?;
                self.write_activation("Possible:", state, out)
            }
            Phase::Spore => {
                write!(out, "put the bought Spore on a cell without one.")?;
                self.write_activation("Possible after it:", state, out)
            }
            Phase::StopFinished | Phase::Over => writeln!(out, "nothing."),
        }
    }

    /// Writes the status of the cells and Entities in the current activation; `title` is for the possible ones. Those
    /// without an effect are left out.
    fn write_activation(&self, title: &str, state: &State, out: &mut dyn Write) -> fmt::Result {
        let (board, unused_items) = (&state.boards[self.acting_seat(state)], self.unused_items(state));
        let possible = self.possible_now(board, unused_items);
        let impossible = unused_items.without(possible);
        let has_effect = |effect: Effect| effect.cost().is_some();
        let effect_of = |cell: u8| self.biome(board.at(cell)).ability.effect;
        let impossible = ActivationSet {
            cells: impossible.cells.iter().filter(|&cell| has_effect(effect_of(cell))).collect(),
            entities: (impossible.entities.iter())
                .filter(|&entity| has_effect(self.ability_of(EntityId::new(entity)).effect))
                .collect(),
        };
        let groups =
            [(title, possible), ("Not possible now:", impossible), ("Activated already:", state.activated)];
        for (title, items) in groups.into_iter().filter(|(_, items)| !items.is_empty()) {
            write!(out, " {title} {}.", self.item_names(items))?;
        }
        out.write_str("\n")
    }

    /// Returns the names of cells and Entities.
    fn item_names(&self, items: ActivationSet) -> String {
        let entities = self.entity_names(items.entities);
        let parts = [cell_names(items.cells), entities];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// Returns the names of Entities, with a space between two.
    fn entity_names(&self, entities: EntitySet) -> String {
        let name = |entity| self.catalogue.components.entity(EntityId::new(entity)).name.as_str();
        entities.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    fn write_order(&self, state: &State, viewer: Viewer, out: &mut dyn Write) -> fmt::Result {
        let order = names(state.first_seat.round(self.seats), viewer);
        writeln!(out, "Order: {order}. Leader (begins the next stop): {}.", name(state.leader, viewer))
    }

    fn write_counts(&self, state: &State, out: &mut dyn Write) -> fmt::Result {
        let Counts { pack, undealt: [first, second], black_hole } = self.counts(state);
        // No card of Age 1 is dealt any more in rounds 3 and 4.
        let first = if age_of(state.round()) == 0 { format!("{first} of Age 1, ") } else { String::new() };
        let undealt = format!("{first}{second} of Age 2");
        writeln!(
            out,
            "Cards: {pack} in each pack; not dealt: {undealt}; Black Hole (discarded or left over): {black_hole}."
        )
    }

    /// Writes the points for Water Sources.
    fn write_water_scale(&self, out: &mut dyn Write) -> fmt::Result {
        let points = self.catalogue.components.water.map(|points| points.to_string());
        writeln!(
            out,
            "A scoring gives {} points for 1/2/3/4/5+ Water Sources above the fewest of any seat.",
            points[1..].join("/")
        )
    }

    fn write_table_entities(&self, state: &State, out: &mut dyn Write) -> fmt::Result {
        let all: EntitySet =
            (1..).zip(&self.catalogue.components.entities).map(|(number, _)| number).collect();
        let held = state.boards.of(self.seats).iter().map(|board| board.entities);
        let on_table = held.fold(all, EntitySet::difference);
        if on_table.is_empty() {
            return Ok(());
        }
        write!(out, "Entities on the table")?;
        self.write_entities(on_table, out)
    }

    /// Writes Entities with their symbols and effects.
    fn write_entities(&self, entities: EntitySet, out: &mut dyn Write) -> fmt::Result {
        for (index, entity) in entities.iter().enumerate() {
            let entity = self.catalogue.components.entity(EntityId::new(entity));
            let separator = if index == 0 { ": " } else { "; " };
            write!(out, "{separator}{} ({}) {}", entity.name, entity.called_by.name(), entity.effect)?;
        }
        out.write_str("\n")
    }

    fn write_board(&self, state: &State, viewer: Viewer, seat: Seat, out: &mut dyn Write) -> fmt::Result {
        let board = &state.boards[seat];
        let (points, crystals) = (number(board.points(), "point"), number(board.crystals, "crystal"));
        write!(out, "{}: {points}, {crystals}, ", name(seat, viewer))?;
        write!(out, "{}", number(self.water(board), "Water Source"))?;
        let water_points = self.water_points(state, seat);
        if water_points > 0 && state.phase != Phase::Over {
            write!(out, " (+{water_points} in a scoring now)")?;
        }
        let animals = ANIMALS.into_iter().zip(self.symbols(board).animals());
        let animals =
            animals.filter(|(_, times)| *times > 0).map(|(animal, times)| format!("{times} {animal}"));
        let animals: Vec<String> = animals.collect();
        if viewer.is_seat(seat) && !animals.is_empty() {
            write!(out, "; animals: {}", animals.join(", "))?;
        }
        if board.entities.is_empty() {
            out.write_str("\n")?;
        } else {
            write!(out, "; holds")?;
            self.write_entities(board.entities, out)?;
        }
        for cell in 0..CELL_COUNT {
            self.write_cell(board, cell, out)?;
            out.write_str(if cell % 3 == 2 { "\n" } else { " |" })?;
        }
        Ok(())
    }

    /// Writes the biome on a cell, and whether the cell has a Spore.
    fn write_cell(&self, board: &Board, cell: u8, out: &mut dyn Write) -> fmt::Result {
        let (biome, spore) = (board.at(cell), if board.spores.contains(cell) { "*" } else { "" });
        write!(out, " {}{spore} ", cell_name(cell))?;
        if biome.is_card() {
            write!(out, "{} ", self.code(biome))?;
        }
        out.write_str(self.catalogue.components.description(biome))
    }

    /// Returns the code of a card.
    fn code(&self, card: BiomeId) -> &str {
        self.catalogue.components.code(card)
    }
}
