//! The observation of a viewer as text.

use std::fmt::{self, Write};

use boardwire_kernel::{Seat, Texts, Turns, Viewer};

use super::Rauha;
use super::catalogue::ENTITY_COUNT;
use super::memory::{Memory, OUT_OF_PLAY, PASSED_ON};
use super::state::{ActivationSet, BiomeId, CARD_COUNT, CELL_COUNT, CellSet, EntityId, Phase, State};

impl Texts for Rauha {
    fn text(&self, state: &State, viewer: Viewer, out: &mut dyn Write) -> fmt::Result {
        self.write_stop(state, out)?;
        self.write_due(state, viewer, out)?;
        let counts = self.counts(state);
        let packs = if state.phase == Phase::Draft { "in each hand" } else { "on each Satellite" };
        writeln!(
            out,
            "Undealt: {} of Age 1, {} of Age 2; {packs} {}; Black Hole {}.",
            counts.undealt[0], counts.undealt[1], counts.pack, counts.black_hole
        )?;
        self.write_entities(state, out)?;
        for seat in viewer.first().round(self.seats) {
            self.write_board(state, viewer, seat, out)?;
        }
        Ok(())
    }
}

impl Rauha {
    fn write_stop(&self, state: &State, out: &mut dyn Write) -> fmt::Result {
        write!(out, "Rauha, stop {} of 16, round {}, ", state.stop, state.round())?;
        if state.is_scoring() {
            write!(out, "scoring: Spores, Entities and water")?;
        } else {
            write!(out, "turn {}: the Avatars activate cells", state.turn())?;
            self.current_stop(state).line.iter().try_for_each(|cell| write!(out, " {cell}"))?;
        }
        writeln!(out, ". The leader is {}; {} goes first.", state.leader, state.first_seat)
    }

    /// Writes whose decision is due, its kind, and what the viewer knows of the cards.
    fn write_due(&self, state: &State, viewer: Viewer, out: &mut dyn Write) -> fmt::Result {
        let acting_seat = self.acting_seat(state);
        match state.phase {
            Phase::Draft => {
                write!(out, "Each seat keeps a card; still to choose:")?;
                self.pending(state).iter().try_for_each(|seat| write!(out, " {}", seat.number()))?;
                writeln!(out, "{}", if viewer == Viewer::Public { "." } else { ". Your pack:" })?;
                let hand = viewer.seat().map_or(&[][..], |seat| self.hand(state, seat));
                hand.iter().try_for_each(|&card| self.write_card(card, out))?;
            }
            Phase::UseCard => writeln!(out, "{acting_seat} places or discards its kept card.")?,
            Phase::Activate => self.write_activation(&format!("{acting_seat} may activate:"), state, out)?,
            Phase::Spore => {
                writeln!(out, "{acting_seat} puts the Spore it has bought on a cell without one.")?;
                self.write_activation("Otherwise possible:", state, out)?;
            }
            Phase::StopFinished | Phase::Over => writeln!(out, "The game is over.")?,
        }
        if let Some(card) = viewer.seat().and_then(|seat| state.kept[seat]) {
            writeln!(out, "You keep:")?;
            self.write_card(card, out)?;
        }
        let memory = self.memory(state, viewer);
        self.write_memory("You handed back in this round:", &memory, PASSED_ON, out)?;
        self.write_memory("Known to be out of play:", &memory, OUT_OF_PLAY, out)
    }

    /// Writes the status of the cells and Entities in the current activation; `title` is for the possible ones.
    fn write_activation(&self, title: &str, state: &State, out: &mut dyn Write) -> fmt::Result {
        let unused_items = self.unused_items(state);
        let possible = self.possible_now(&state.boards[self.acting_seat(state)], unused_items);
        self.write_items(title, possible, out)?;
        self.write_items("Not possible now:", unused_items.without(possible), out)?;
        self.write_items("Activated already:", state.activated, out)
    }

    fn write_items(&self, title: &str, items: ActivationSet, out: &mut dyn Write) -> fmt::Result {
        if items.is_empty() {
            return Ok(());
        }
        write!(out, "{title}")?;
        items.cells.iter().try_for_each(|cell| write!(out, " cell {cell}"))?;
        for entity in items.entities {
            write!(out, " {}", self.catalogue.components.entity(EntityId::new(entity)).name)?;
        }
        writeln!(out, ".")
    }

    /// Writes the cards that the viewer knows to be in one place.
    fn write_memory(&self, title: &str, memory: &Memory, place: u8, out: &mut dyn Write) -> fmt::Result {
        let mut cards = (1..).zip(memory.up_to(CARD_COUNT)).filter(|&(_, &at)| at == place).peekable();
        if cards.peek().is_none() {
            return Ok(());
        }
        write!(out, "{title}")?;
        cards.try_for_each(|(card, _)| {
            write!(out, " {}", self.catalogue.components.code(BiomeId::new(card)))
        })?;
        writeln!(out, ".")
    }

    fn write_entities(&self, state: &State, out: &mut dyn Write) -> fmt::Result {
        write!(out, "Entities:")?;
        for (number, entity) in (1..).zip(&self.catalogue.components.entities) {
            write!(out, " {} ({}: {})", entity.name, entity.called_by.name(), entity.effect)?;
            match Seat::all(self.seats).find(|&seat| state.boards[seat].entities.contains(number)) {
                Some(seat) => write!(out, " {seat}")?,
                None => write!(out, " free")?,
            }
            write!(out, "{}", if number == ENTITY_COUNT { ".\n" } else { ";" })?;
        }
        Ok(())
    }

    fn write_board(&self, state: &State, viewer: Viewer, seat: Seat, out: &mut dyn Write) -> fmt::Result {
        let board = &state.boards[seat];
        let you = if viewer.is_seat(seat) { " (you)" } else { "" };
        let (points, crystals, water) = (board.points(), board.crystals, self.water(board));
        writeln!(out, "{seat}{you}: {points} points, {crystals} crystals, {water} water")?;
        for cell in 0..CELL_COUNT {
            let spore = if board.spores.contains(cell) { "*" } else { "" };
            write!(out, " {cell}{spore} ")?;
            out.write_str(self.catalogue.components.code(board.at(cell)))?;
            out.write_str(" ")?;
            out.write_str(self.catalogue.components.description(board.at(cell)))?;
            out.write_str(if cell % 3 == 2 { "\n" } else { " |" })?;
        }
        Ok(())
    }

    /// Writes a card with everything printed on it, on a separate line.
    fn write_card(&self, card: BiomeId, out: &mut dyn Write) -> fmt::Result {
        let biome = self.biome(card);
        write!(
            out,
            " {}: {}",
            self.catalogue.components.code(card),
            self.catalogue.components.description(card)
        )?;
        if biome.cells != CellSet::below(CELL_COUNT.into()) {
            write!(out, "; only on cell")?;
            biome.cells.iter().try_for_each(|cell| write!(out, " {cell}"))?;
        } else if biome.cost > 0 {
            write!(out, "; costs {} crystals", biome.cost)?;
        } else {
            write!(out, "; free")?;
        }
        writeln!(out)
    }
}
