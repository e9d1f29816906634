//! What a seat is shown, in words.

use std::fmt::{self, Write};

use boardwire_kernel::Seat;

use super::Rauha;
use super::effects::InWords;
use super::memory::{GONE, PASSED};
use super::pieces::{ALL_CELLS, ANIMALS, CARDS, CELLS, ENTITIES, Effect, TYPES, members};
use super::state::{Phase, State};

impl Rauha {
    pub(super) fn write_text(&self, state: &State, viewer: Seat, out: &mut dyn Write) -> fmt::Result {
        self.write_stop(state, out)?;
        self.write_due(state, viewer, out)?;
        let counts = self.rules.counts(state);
        writeln!(
            out,
            "Undealt: {} of Age 1, {} of Age 2; on each Satellite {}; Black Hole {}.",
            counts.undealt[0], counts.undealt[1], counts.pack, counts.black_hole
        )?;
        write!(out, "Entities:")?;
        for entity in 0..ENTITIES {
            let holder = Seat::all(self.rules.seats)
                .find(|seat| state.boards[seat.index()].entities >> entity & 1 == 1);
            let facts = &self.catalogue.value.entities[usize::from(entity)];
            write!(out, " {} ({}: {})", facts.name, facts.called_by.name(), InWords(facts.effect))?;
            match holder {
                Some(seat) => write!(out, " {seat}")?,
                None => write!(out, " free")?,
            }
            write!(out, "{}", if entity + 1 == ENTITIES { ".\n" } else { ";" })?;
        }
        for seat in viewer.round(self.rules.seats) {
            self.write_board(state, viewer, seat, out)?;
        }
        Ok(())
    }

    fn write_stop(&self, state: &State, out: &mut dyn Write) -> fmt::Result {
        write!(out, "Rauha, stop {} of 16, round {}, ", state.stop, state.round())?;
        if state.is_scoring() {
            write!(out, "scoring: Spores, Entities and water")?;
        } else {
            write!(out, "turn {}: the Avatars activate cells", state.turn())?;
            members(self.rules.stop(state).line).try_for_each(|cell| write!(out, " {cell}"))?;
        }
        writeln!(out, ". The leader is seat {}.", state.leader)
    }

    /// Whose choice it is, and of what.
    fn write_due(&self, state: &State, viewer: Seat, out: &mut dyn Write) -> fmt::Result {
        let actor = self.rules.actor(state);
        match state.phase {
            Phase::Draft => {
                write!(out, "Each seat keeps a card; still to choose:")?;
                self.rules.owing(state).iter().try_for_each(|seat| write!(out, " {}", seat.number()))?;
                writeln!(out, ". Your pack:")?;
                for &card in self.rules.hand(state, viewer) {
                    self.write_card(card, out)?;
                }
            }
            Phase::Main => writeln!(out, "{actor} places or discards its kept card.")?,
            Phase::Activate => {
                write!(out, "{actor} may activate:")?;
                let (cells, entities) = self.rules.activatable(state);
                members(cells).try_for_each(|cell| write!(out, " cell {cell}"))?;
                for entity in members(entities.into()) {
                    write!(out, " {}", self.catalogue.value.entities[usize::from(entity)].name)?;
                }
                writeln!(out, ".")?;
                if state.used_cells != 0 || state.used_entities != 0 {
                    write!(out, "Activated already:")?;
                    members(state.used_cells).try_for_each(|cell| write!(out, " cell {cell}"))?;
                    for entity in members(state.used_entities.into()) {
                        write!(out, " {}", self.catalogue.value.entities[usize::from(entity)].name)?;
                    }
                    writeln!(out, ".")?;
                }
            }
            Phase::Spore => writeln!(out, "{actor} puts the Spore it has bought on a cell without one.")?,
            Phase::Between | Phase::Over => writeln!(out, "The game is over.")?,
        }
        let kept = state.kept[viewer.index()];
        if kept != 0 {
            writeln!(out, "You keep:")?;
            self.write_card(kept, out)?;
        }
        let mut memory = [0; CARDS as usize];
        self.rules.remember(state, viewer, &mut memory);
        self.write_memory("You handed back in this round:", &memory, PASSED, out)?;
        self.write_memory("Known to be out of play:", &memory, GONE, out)
    }

    /// The cards that the viewer knows to be in one place.
    fn write_memory(&self, title: &str, memory: &[u8], place: u8, out: &mut dyn Write) -> fmt::Result {
        let mut cards = (1..).zip(memory).filter(|&(_, &at)| at == place).peekable();
        if cards.peek().is_none() {
            return Ok(());
        }
        write!(out, "{title}")?;
        cards.try_for_each(|(card, _): (usize, _)| write!(out, " {}", self.catalogue.value.codes[card]))?;
        writeln!(out, ".")
    }

    fn write_board(&self, state: &State, viewer: Seat, seat: Seat, out: &mut dyn Write) -> fmt::Result {
        let board = &state.boards[seat.index()];
        writeln!(
            out,
            "{seat}{}: {} points, {} crystals, {} water",
            if seat == viewer { " (you)" } else { "" },
            board.points(),
            board.crystals,
            self.rules.sources(board)
        )?;
        for cell in 0..CELLS {
            let id = board.cells[usize::from(cell)];
            write!(out, " {cell}")?;
            if board.spores >> cell & 1 == 1 {
                write!(out, "*")?;
            }
            write!(out, " {} ", self.catalogue.value.codes[usize::from(id)])?;
            self.write_biome(id, out)?;
            write!(out, "{}", if cell % 3 == 2 { "\n" } else { " |" })?;
        }
        Ok(())
    }

    /// A card with everything printed on it, on a line of its own.
    fn write_card(&self, card: u8, out: &mut dyn Write) -> fmt::Result {
        let biome = &self.rules.biomes[usize::from(card)];
        write!(out, " {}: ", self.catalogue.value.codes[usize::from(card)])?;
        self.write_biome(card, out)?;
        if biome.cells != ALL_CELLS {
            write!(out, "; only on cell")?;
            members(biome.cells).try_for_each(|cell| write!(out, " {cell}"))?;
        } else if biome.cost > 0 {
            write!(out, "; costs {} crystals", biome.cost)?;
        } else {
            write!(out, "; free")?;
        }
        writeln!(out)
    }

    /// Symbols, Water Sources and effect of a biome.
    fn write_biome(&self, id: u8, out: &mut dyn Write) -> fmt::Result {
        let biome = &self.rules.biomes[usize::from(id)];
        let types = members(biome.types.into()).map(|kind| TYPES[usize::from(kind)]);
        let animals = ANIMALS.iter().zip(biome.animals);
        let animals = animals.flat_map(|(&animal, times)| std::iter::repeat_n(animal, times.into()));
        for (index, symbol) in types.chain(animals).enumerate() {
            write!(out, "{}{symbol}", if index == 0 { "" } else { "+" })?;
        }
        if biome.water > 0 {
            write!(out, "+{} water", biome.water)?;
        }
        if biome.effect == Effect::None {
            return Ok(());
        }
        write!(out, ", {}", InWords(biome.effect))
    }
}
