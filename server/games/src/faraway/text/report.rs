//! What a viewer saw of a choice.

use std::fmt;

use boardwire_kernel::{Seat, Viewer};

use super::{Named, codes, listed, sanctuaries};
use crate::faraway::state::{Phase, SanctuaryId, State};
use crate::faraway::turn::count;
use crate::faraway::{Action, Faraway};

impl Faraway {
    /// Writes what `viewer` saw of a choice that led from the first to the second state.
    pub(super) fn report_choice(
        &self,
        states: [&State; 2],
        (seat, action): (Seat, Action),
        viewer: Viewer,
        out: &mut dyn fmt::Write,
    ) -> fmt::Result {
        let [before, after] = states;
        let name = Named(seat, viewer);
        match before.phase {
            // FA-3.1: all regions are revealed after the last choice.
            Phase::Explore if after.explored() == before.round => {
                return self.report_exploration(before.round, after, viewer, out);
            }
            Phase::SetAside | Phase::Explore if !viewer.is_seat(seat) => return Ok(()),
            Phase::SetAside => write!(out, "{name} set {action} aside")?,
            Phase::Explore => write!(out, "{name} chose {action} to explore")?,
            Phase::Take => write!(out, "{name} took {action}")?,
            Phase::Place | Phase::Over => {
                write!(out, "{name} placed {action}")?;
                let placed = after.placed[seat][usize::from(before.round - 2)];
                let mut others = before.found(seat);
                others.remove(SanctuaryId::to_row(placed));
                let returned =
                    if viewer.is_seat(seat) { listed(codes(others)) } else { sanctuaries(count(others)) };
                if !others.is_empty() {
                    write!(out, " and put {returned} under the deck")?;
                }
            }
        }
        let left = after.left_over.into_iter().flatten().last().filter(|_| after.round > before.round);
        match left.map(Action::Region) {
            Some(left) => writeln!(out, "; {left} was left over and is out of the game")?,
            None => writeln!(out)?,
        }
        self.report_owed(states, viewer, out)
    }

    /// Writes the regions that all seats have explored, in the order of turns, and how many sanctuaries they found.
    fn report_exploration(
        &self,
        round: u8,
        after: &State,
        viewer: Viewer,
        out: &mut dyn fmt::Write,
    ) -> fmt::Result {
        for &seat in &after.order_of(round, self.seats)[..usize::from(self.seats)] {
            let Some(id) = after.line(seat).next_back() else { continue };
            write!(out, "{} explored {}", Named(seat, viewer), Action::Region(id))?;
            match self.due(after, seat, round) {
                0 if round == 1 => {}
                0 => write!(out, " and found no sanctuary")?,
                due => write!(out, " and found {}", sanctuaries(due))?,
            }
            let found = after.found(seat);
            if viewer.is_seat(seat) && !found.is_empty() {
                write!(out, ": {}", listed(codes(found)))?;
            }
            if after.owed[seat] > 0 {
                write!(out, "; {} still owed", after.owed[seat])?;
            }
            writeln!(out)?;
        }
        Ok(())
    }

    /// FA-R2: writes the sanctuaries that seats were owed and that they have found since.
    fn report_owed(&self, states: [&State; 2], viewer: Viewer, out: &mut dyn fmt::Write) -> fmt::Result {
        let [before, after] = states;
        for seat in Seat::all(self.seats).filter(|&seat| before.owed[seat] > 0) {
            let found = after.found(seat).difference(before.found(seat));
            if found.is_empty() {
                continue;
            }
            write!(out, "{} found {} it was owed", Named(seat, viewer), sanctuaries(count(found)))?;
            if viewer.is_seat(seat) {
                write!(out, ": {}", listed(codes(found)))?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}
