//! What the viewer knows of cards in packs and hands, and of those out of play.

use std::fmt::{self, Write};

use boardwire_kernel::{Seat, Viewer};

use super::{cell_names, name};
use crate::rauha::Rauha;
use crate::rauha::catalogue::number;
use crate::rauha::memory::{OUT_OF_PLAY, PASSED_ON};
use crate::rauha::state::{BiomeId, CARD_COUNT, CELL_COUNT, CardSet, CellSet, Phase, State};
use crate::rauha::turn::{age_of, set_of};

impl Rauha {
    /// Writes the viewer's pack and kept card, and what it remembers.
    pub(super) fn write_known_cards(
        &self,
        state: &State,
        viewer: Viewer,
        out: &mut dyn Write,
    ) -> fmt::Result {
        if let Viewer::Seat(seat) = viewer {
            self.write_pack(state, seat, out)?;
            if let Some(card) = state.kept[seat] {
                let title = if state.phase == Phase::Draft { "You have drafted" } else { "You keep" };
                self.write_cards(
                    &format!("{title}, hidden from the others:"),
                    set_of(&[card]),
                    state,
                    seat,
                    out,
                )?;
            }
            self.write_passed_on(state, seat, out)?;
        }
        self.write_out_of_play(state, viewer, out)
    }

    /// Writes the pack that the seat drafts from, and where the rest goes.
    fn write_pack(&self, state: &State, seat: Seat, out: &mut dyn Write) -> fmt::Result {
        if state.phase != Phase::Draft {
            return Ok(());
        }
        let [first, second] = self.partners(state, seat);
        let rest = match state.turn() {
            1 => format!("{second} drafts from the rest in turn 2, you from the last two in turn 3"),
            2 => format!("{first} drafts from the last two in turn 3"),
            _ => "the other card leaves play".to_owned(),
        };
        self.write_cards(&format!("Your pack ({rest}):"), set_of(self.hand(state, seat)), state, seat, out)
    }

    /// Returns the seats that share a pack with `seat`: that of its turn 2, and that of its turns 1 and 3.
    fn partners(&self, state: &State, seat: Seat) -> [Seat; 2] {
        let [own, other] = self.satellites(state.round(), seat);
        [self.pack_readers(state.round(), other)[0], self.pack_readers(state.round(), own)[1]]
    }

    /// Writes the cards that the seat has passed on in this round.
    fn write_passed_on(&self, state: &State, seat: Seat, out: &mut dyn Write) -> fmt::Result {
        let [first, second] = self.partners(state, seat);
        let returning: CardSet = self.returning_cards(state, seat).collect();
        let title = match (returning.len(), state.picks()) {
            (3, 1) => {
                format!("You passed on; {second} drafts one in turn 2, you draft from the others in turn 3:")
            }
            (3, _) => {
                format!("You passed on; {second} has drafted one, you draft from the others in turn 3:")
            }
            _ => "You passed on; you draft from these in turn 3:".to_owned(),
        };
        self.write_cards(&title, returning, state, seat, out)?;
        let memory = self.memory(state, seat.into());
        let passed = (1..=CARD_COUNT).filter(|&card| memory[BiomeId::new(card)] == PASSED_ON);
        let passed = passed.collect::<CardSet>().difference(returning);
        let drafts = if state.picks() == 3 { "has drafted" } else { "drafts" };
        let title = format!("You passed on; {first} {drafts} one in turn 3, the other leaves play:");
        self.write_cards(&title, passed, state, seat, out)
    }

    /// Writes cards with everything printed on them, on separate lines after a title.
    fn write_cards(
        &self,
        title: &str,
        cards: CardSet,
        state: &State,
        seat: Seat,
        out: &mut dyn Write,
    ) -> fmt::Result {
        if cards.is_empty() {
            return Ok(());
        }
        writeln!(out, "{title}")?;
        for card in cards.iter().map(BiomeId::new) {
            write!(out, " {}", self.card(card))?;
            let missing = u16::from(self.biome(card).cost).saturating_sub(state.boards[seat].crystals);
            writeln!(
                out,
                "{}",
                if missing > 0 { format!(" ({missing} more than you have)") } else { String::new() }
            )?;
        }
        Ok(())
    }

    /// Returns a card with everything printed on it.
    pub(in crate::rauha) fn card(&self, card: BiomeId) -> String {
        let biome = self.biome(card);
        let condition = if biome.cells != CellSet::below(CELL_COUNT.into()) {
            format!("; only on {}", cell_names(biome.cells))
        } else if biome.cost > 0 {
            format!("; costs {}", number(biome.cost, "crystal"))
        } else {
            String::new()
        };
        format!("{} {}{condition}", self.code(card), self.catalogue.components.description(card))
    }

    /// Writes the cards that cannot return. Those of an earlier Age no longer matter.
    fn write_out_of_play(&self, state: &State, viewer: Viewer, out: &mut dyn Write) -> fmt::Result {
        let (memory, age) = (self.memory(state, viewer), age_of(state.round()));
        let known = self.ages[age].iter().map(BiomeId::new).filter(|&card| memory[card] == OUT_OF_PLAY);
        let known: Vec<&str> = known.map(|card| self.code(card)).collect();
        if known.is_empty() {
            return Ok(());
        }
        writeln!(out, "Known out of play (Age {}): {}.", age + 1, known.join(" "))
    }

    /// Returns the seat that holds an Entity, or the table.
    pub(super) fn holder(&self, state: &State, entity: u8, viewer: Viewer) -> String {
        let holder = Seat::all(self.seats).find(|&seat| state.boards[seat].entities.contains(entity));
        holder.map_or_else(|| "the table".to_owned(), |seat| name(seat, viewer))
    }
}
