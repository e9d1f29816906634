//! What a viewer saw of a choice and its consequences.
//!
//! Drafts and discarded cards stay hidden; everything else is public. If an activation ends a seat's part of a stop, no
//! view shows what was activated. The report then follows from the crystals and points.

use std::fmt::{self, Write};

use boardwire_kernel::{Seat, Viewer};

use super::{cell_name, name};
use crate::rauha::Rauha;
use crate::rauha::action::Action;
use crate::rauha::catalogue::number;
use crate::rauha::state::{ActivationSet, EntityId, Phase, State};

impl Rauha {
    pub(super) fn write_report(
        &self,
        before: &State,
        (seat, action): (Seat, Action),
        after: &State,
        viewer: Seat,
        out: &mut dyn Write,
    ) -> fmt::Result {
        let is_own = seat == viewer;
        if before.phase == Phase::Draft && !is_own {
            return Ok(());
        }
        write!(out, "{} ", name(seat, viewer.into()))?;
        let discarded = before.kept[seat].filter(|_| is_own).map_or("its card", |card| self.code(card));
        match action {
            Action::Draft { card } => write!(out, "drafts {}", self.code(card))?,
            Action::Place { cell } => self.write_placed(before, (seat, cell), after, viewer.into(), out)?,
            Action::TakeCrystals => {
                let crystals = number(self.catalogue.components.discard, "crystal");
                write!(out, "discards {discarded}: +{crystals}")?;
            }
            Action::TakeSpore { cell } => {
                write!(out, "discards {discarded}: +1 Spore on {}", cell_name(cell))?;
            }
            Action::PutSpore { cell } => write!(out, "puts the bought Spore on {}", cell_name(cell))?,
            Action::ActivateCell { .. } | Action::ActivateEntity { .. } | Action::End => {
                let seen = if is_own { vec![action] } else { self.seen_activations(before, seat, after) };
                let seen =
                    seen.into_iter().filter_map(|action| self.activation(&before.boards[seat], action));
                let seen: Vec<String> = seen.collect();
                match &seen[..] {
                    [] => out.write_str("ends the activation")?,
                    seen => write!(out, "activates {}", seen.join(" or "))?,
                }
            }
        }
        out.write_str("\n")?;
        self.write_consequences(before, after, viewer.into(), out)
    }

    fn write_placed(
        &self,
        before: &State,
        (seat, cell): (Seat, u8),
        after: &State,
        viewer: Viewer,
        out: &mut dyn Write,
    ) -> fmt::Result {
        let (board, card) = (&before.boards[seat], after.boards[seat].at(cell));
        let (code, covered) = (self.code(card), self.biome_name(board, cell));
        write!(out, "places {code} on {} over {covered}", cell_name(cell))?;
        let cost = self.biome(card).cost;
        if cost > 0 {
            write!(out, "; pays {}", number(cost, "crystal"))?;
        }
        let taken = after.boards[seat].entities.difference(board.entities);
        self.write_taken("; takes", before, taken, viewer, out)
    }

    /// Returns the activations that explain what all seats see of an activation or its end; none for the end.
    fn seen_activations(&self, before: &State, seat: Seat, after: &State) -> Vec<Action> {
        if (after.stop, after.seats_done) == (before.stop, before.seats_done) {
            return actions(after.activated.without(before.activated));
        }
        let water =
            if self.scored(before, after).contains(&seat) { self.water_points(after, seat) } else { 0 };
        let [old, new] = [before, after].map(|state| &state.boards[seat]);
        let (points, crystals) = (new.points() - old.points() - water, new.crystals);
        if (points, crystals) == (0, old.crystals) {
            return vec![];
        }
        let explains = |action: &Action| {
            self.effect_of(old, *action).is_some_and(|effect| {
                (self.points_of(old, effect), effect.crystals_after(old.crystals)) == (points, crystals)
            })
        };
        actions(self.activatable(before)).into_iter().filter(explains).collect()
    }

    /// Returns the seats that ended a scoring by the choice or by themselves after it.
    fn scored(&self, before: &State, after: &State) -> Vec<Seat> {
        let scoring = before.stop.next_multiple_of(4);
        let (first, done_before) = if before.stop == scoring {
            (before.first_seat, before.seats_done)
        } else {
            (after.first_seat, 0)
        };
        let done_after = match after.stop.cmp(&scoring) {
            std::cmp::Ordering::Less => 0,
            std::cmp::Ordering::Equal => after.seats_done,
            std::cmp::Ordering::Greater => self.seats,
        };
        (done_before..done_after).map(|done| first.clockwise(done, self.seats)).collect()
    }

    /// Writes the points for Water Sources, and a new leader.
    fn write_consequences(
        &self,
        before: &State,
        after: &State,
        viewer: Viewer,
        out: &mut dyn Write,
    ) -> fmt::Result {
        for seat in self.scored(before, after) {
            let points = self.water_points(after, seat);
            if points > 0 {
                writeln!(out, "{}: +{} for Water Sources", name(seat, viewer), number(points, "point"))?;
            }
        }
        if after.leader != before.leader {
            writeln!(out, "{} leads now", name(after.leader, viewer))?;
        }
        Ok(())
    }
}

/// Returns the actions that activate these cells and Entities.
fn actions(items: ActivationSet) -> Vec<Action> {
    let cells = items.cells.iter().map(|cell| Action::ActivateCell { cell });
    let entities =
        items.entities.iter().map(|entity| Action::ActivateEntity { entity: EntityId::new(entity) });
    cells.chain(entities).collect()
}
