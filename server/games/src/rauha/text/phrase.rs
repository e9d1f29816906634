//! What an action does now.

use std::fmt::{self, Write};

use boardwire_kernel::{Seat, Viewer};

use super::cell_name;
use crate::rauha::Rauha;
use crate::rauha::action::Action;
use crate::rauha::catalogue::{Effect, TYPES, number};
use crate::rauha::state::{Board, EntityId, EntitySet, State};

impl Rauha {
    pub(super) fn write_phrase(
        &self,
        state: &State,
        seat: Seat,
        action: Action,
        out: &mut dyn Write,
    ) -> fmt::Result {
        let board = &state.boards[seat];
        let kept = state.kept[seat].map_or("", |card| self.code(card));
        match action {
            Action::Draft { card } => write!(out, "draft {}", self.card(card)),
            Action::Place { cell } => self.write_placing(state, seat, cell, out),
            Action::TakeCrystals => {
                let crystals = self.catalogue.components.discard;
                write!(out, "discard {kept}: +{}", number(crystals, "crystal"))
            }
            Action::TakeSpore { cell } => {
                write!(out, "discard {kept}: +1 Spore on {}", self.cell_with_biome(board, cell))
            }
            Action::ActivateCell { .. } | Action::ActivateEntity { .. } => {
                write!(out, "activate {}", self.activation(board, action).unwrap_or_default())
            }
            Action::PutSpore { cell } => {
                write!(out, "put the bought Spore on {}", self.cell_with_biome(board, cell))
            }
            Action::End => self.write_ending(state, seat, out),
        }
    }

    /// Writes the placing of the kept card with its price, its place and the Entities it takes.
    fn write_placing(&self, state: &State, seat: Seat, cell: u8, out: &mut dyn Write) -> fmt::Result {
        let Some(card) = state.kept[seat] else { return out.write_str("place the kept card") };
        let mut board = state.boards[seat];
        write!(
            out,
            "place {} on {} over {}",
            self.code(card),
            cell_name(cell),
            self.biome_name(&board, cell)
        )?;
        out.write_str(if board.spores.contains(cell) { "; a Spore is there" } else { "" })?;
        let cost = self.biome(card).cost;
        if cost > 0 {
            write!(out, "; pay {}", number(cost, "crystal"))?;
        }
        board.cells[usize::from(cell)] = card;
        let taken = self.entities_called_by(&board, cell).difference(board.entities);
        self.write_taken("; take", state, taken, seat.into(), out)?;
        let is_in_line = self.current_stop(state).line.contains(cell);
        out.write_str(if is_in_line { "; in this turn's line" } else { "" })
    }

    /// Writes Entities and from where they are taken; nothing if there are none.
    pub(super) fn write_taken(
        &self,
        verb: &str,
        before: &State,
        taken: EntitySet,
        viewer: Viewer,
        out: &mut dyn Write,
    ) -> fmt::Result {
        taken.iter().try_for_each(|entity| {
            let name = &self.catalogue.components.entity(EntityId::new(entity)).name;
            write!(out, "{verb} {name} from {}", self.holder(before, entity, viewer))
        })
    }

    /// Writes that the activation ends: what stays unused, and in a scoring the points for Water Sources.
    fn write_ending(&self, state: &State, seat: Seat, out: &mut dyn Write) -> fmt::Result {
        write!(out, "end the activation without {}", self.item_names(self.activatable(state)))?;
        let points = self.water_points(state, seat);
        if state.is_scoring() && points > 0 {
            write!(out, "; then +{} for Water Sources", number(points, "point"))?;
        }
        Ok(())
    }

    /// Returns the effect that an action activates, if it activates one.
    pub(super) fn effect_of(&self, board: &Board, action: Action) -> Option<Effect> {
        match action {
            Action::ActivateCell { cell } => Some(self.biome(board.at(cell)).ability.effect),
            Action::ActivateEntity { entity } => Some(self.ability_of(entity).effect),
            Action::Draft { .. }
            | Action::Place { .. }
            | Action::TakeCrystals
            | Action::TakeSpore { .. }
            | Action::PutSpore { .. }
            | Action::End => None,
        }
    }

    /// Returns the cell or Entity that an action activates, and what it gives now.
    pub(super) fn activation(&self, board: &Board, action: Action) -> Option<String> {
        let effect = self.effect_of(board, action)?;
        let item = match action {
            Action::ActivateEntity { entity } => self.catalogue.components.entity(entity).name.clone(),
            Action::ActivateCell { cell } if board.at(cell).is_card() => {
                format!("{} ({})", cell_name(cell), self.code(board.at(cell)))
            }
            Action::ActivateCell { cell } => cell_name(cell).to_owned(),
            _ => return None,
        };
        let now = number(self.points_of(board, effect), "point");
        Some(match effect {
            Effect::PointsPer(..) => format!("{item}: +{now} ({effect})"),
            _ => format!("{item}: {effect}"),
        })
    }

    /// Returns the name of a cell, with the biome on it.
    fn cell_with_biome(&self, board: &Board, cell: u8) -> String {
        let description = self.catalogue.components.description(board.at(cell));
        let code = if board.at(cell).is_card() { self.code(board.at(cell)) } else { "printed" };
        format!("{} ({code} {description})", cell_name(cell))
    }

    /// Returns the code of the card on a cell, or the types of the biome printed there.
    pub(super) fn biome_name(&self, board: &Board, cell: u8) -> String {
        if board.at(cell).is_card() {
            return self.code(board.at(cell)).to_owned();
        }
        let types = TYPES.into_iter().zip(self.biome(board.at(cell)).types);
        let types: Vec<&str> = types.filter(|(_, is_shown)| *is_shown).map(|(kind, _)| kind).collect();
        format!("the printed {}", types.join(" and "))
    }
}
