//! The position in words, for people and language models.

use std::fmt;

use boardwire_kernel::Seat;

use super::Faraway;
use super::card::{Card, LANES};
use super::catalogue::SANCTUARIES;
use super::scoring::with;
use super::state::{Phase, Sanctuaries, State};
use super::view::{known_hand, unknown_hand, write_returned};

impl Faraway {
    /// Writes what `viewer` may know.
    pub(super) fn describe(&self, state: &State, viewer: Seat, out: &mut dyn fmt::Write) -> fmt::Result {
        self.describe_choice(state, viewer, out)?;
        write!(out, "display:")?;
        self.list_regions(state.display.iter(), out)?;
        write!(out, "\nleft the game:{}", Ids(known_ids(&state.left_over)))?;
        writeln!(out, "; decks: {} regions, {} sanctuaries", state.deck.len(), state.sanctuary_deck)?;
        let at = viewer.index();
        write!(out, "your hand:")?;
        let hidden = |id: &u8| *id != state.chosen[at] && !self.is_being_set_aside(state, at, *id);
        self.list_regions(state.hands[at].iter().filter(hidden), out)?;
        describe_own_choices(state, at, out)?;
        self.describe_found(state, at, out)?;
        write!(out, "\nyour line:")?;
        self.list_regions(state.line(at).iter().copied(), out)?;
        write!(out, "\nyour sanctuaries:")?;
        for id in known_ids(&state.placed[at]) {
            write!(out, "\n  {id}: {}", self.sanctuary(id))?;
        }
        writeln!(out, "\nyour symbols:{}", Totals(self.symbols(state, at)))?;
        for seat in viewer.round(self.seats).skip(1) {
            self.describe_other(state, seat, out)?;
        }
        Ok(())
    }

    fn list_regions(&self, ids: impl Iterator<Item = u8>, out: &mut dyn fmt::Write) -> fmt::Result {
        for id in ids {
            write!(out, "\n  {id}: {}", self.region(id))?;
        }
        Ok(())
    }

    fn describe_choice(&self, state: &State, viewer: Seat, out: &mut dyn fmt::Write) -> fmt::Result {
        let what = match state.phase {
            Phase::SetAside => "set two regions aside",
            Phase::Explore => "choose the region to explore",
            Phase::Take => "take a region",
            Phase::Place => "place a sanctuary",
            Phase::Over => "the game is over",
        };
        write!(out, "round {} of 8, you are {viewer}: {what}", state.round)?;
        let mut lead = "; to choose:";
        for seat in self.owing(state).iter() {
            write!(out, "{lead} {}", seat.number())?;
            lead = ",";
        }
        if state.active().is_some() {
            write!(out, "; order:{}", Ids(state.order[..usize::from(self.seats)].iter().copied()))?;
        }
        writeln!(out)
    }

    fn describe_found(&self, state: &State, at: usize, out: &mut dyn fmt::Write) -> fmt::Result {
        let found = state.before(at);
        if !found.is_empty() {
            write!(out, "\nsanctuaries before you:")?;
            for id in found {
                write!(out, "\n  {id}: {}", self.sanctuary(id))?;
            }
        }
        let mut rounds = [0; SANCTUARIES as usize];
        write_returned(state, usize::from(self.seats), at, &mut rounds);
        let returned = (1..).zip(rounds).filter(|(_, round)| *round > 0).map(|(id, _)| id);
        let returned: Sanctuaries = returned.collect();
        if !returned.is_empty() {
            write!(out, "\nyou put under the deck:")?;
            for id in returned {
                write!(out, " {id} (round {})", rounds[usize::from(id) - 1])?;
            }
        }
        Ok(())
    }

    fn describe_other(&self, state: &State, seat: Seat, out: &mut dyn fmt::Write) -> fmt::Result {
        let at = seat.index();
        write!(
            out,
            "{seat}: line{}; sanctuaries{}; symbols{}; holds{}",
            Ids(state.line(at).iter().copied()),
            Ids(known_ids(&state.placed[at])),
            Totals(self.symbols(state, at)),
            Ids(known_hand(state, seat).iter())
        )?;
        write!(out, ", {} unknown", unknown_hand(state, seat).len())?;
        let found = state.before(at).len();
        if found > 0 || state.owed[at] > 0 {
            write!(out, "; {found} sanctuaries before it, {} owed", state.owed[at])?;
        }
        writeln!(out)
    }

    /// The symbols of a seat's whole area.
    fn symbols(&self, state: &State, at: usize) -> [u8; 9] {
        let line = state.line(at).iter().map(|&id| self.region(id));
        let placed = known_ids(&state.placed[at]).map(|id| self.sanctuary(id));
        line.chain(placed).fold([0; 9], |seen, card: &Card| with(seen, card))
    }

    /// Whether a seat is setting this card of its hand aside.
    pub(super) fn is_being_set_aside(&self, state: &State, at: usize, id: u8) -> bool {
        self.advanced && state.phase == Phase::SetAside && state.aside[at].contains(&id)
    }
}

fn describe_own_choices(state: &State, at: usize, out: &mut dyn fmt::Write) -> fmt::Result {
    if state.chosen[at] > 0 {
        write!(out, "\nyou have chosen {}", state.chosen[at])?;
    }
    let aside = known_ids(&state.aside[at]).filter(|id| !state.shown.contains(*id));
    if aside.clone().next().is_some() {
        write!(out, "\nyou set aside:{}", Ids(aside))?;
    }
    Ok(())
}

/// The ids of a list that are not 0.
fn known_ids(ids: &[u8]) -> impl Iterator<Item = u8> + Clone + '_ {
    ids.iter().copied().filter(|&id| id > 0)
}

/// Ids with a space before each; a dash for none.
struct Ids<I>(I);

impl<I: Iterator<Item = u8> + Clone> fmt::Display for Ids<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ids = self.0.clone().peekable();
        if ids.peek().is_none() {
            return f.write_str(" -");
        }
        ids.try_for_each(|id| write!(f, " {id}"))
    }
}

/// The symbols that are there, with their number; a dash for none.
struct Totals([u8; 9]);

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lead = " ";
        for (name, &count) in LANES.iter().zip(&self.0).filter(|(_, count)| **count > 0) {
            write!(f, "{lead}{count} {name}")?;
            lead = ", ";
        }
        if lead == " " { f.write_str(" -") } else { Ok(()) }
    }
}
