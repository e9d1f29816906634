//! The state as text, for people and language models.

use std::fmt;

use boardwire_kernel::{Seat, Texts, Turns, Viewer};

use super::Faraway;
use super::catalogue::{SANCTUARY_COUNT, SYMBOLS, Symbols};
use super::legal::choosable;
use super::memory::{hidden_hand, last_returned, public_hand};
use super::state::{MAX_SEATS, Phase, RegionId, State};

impl Texts for Faraway {
    fn text(&self, state: &State, viewer: Viewer, out: &mut dyn fmt::Write) -> fmt::Result {
        self.describe_choice(state, viewer, out)?;
        write!(out, "display:")?;
        self.list_regions(state.display.iter(), out)?;
        write!(out, "\nleft the game:{}", Ids(state.left_over.iter().flatten()))?;
        writeln!(out, "; decks: {} regions, {} sanctuaries", state.deck.len(), state.sanctuary_deck)?;
        if let Viewer::Seat(seat) = viewer {
            self.describe_own(state, seat, out)?;
        }
        for seat in viewer.first().round(self.seats).filter(|&seat| !viewer.is_seat(seat)) {
            self.describe_other(state, seat, out)?;
        }
        Ok(())
    }
}

impl Faraway {
    fn list_regions(&self, ids: impl Iterator<Item = u8>, out: &mut dyn fmt::Write) -> fmt::Result {
        for id in ids {
            write!(out, "\n  {id}: {}", self.region(RegionId::new(id)))?;
        }
        Ok(())
    }

    fn describe_choice(&self, state: &State, viewer: Viewer, out: &mut dyn fmt::Write) -> fmt::Result {
        let what = match state.phase {
            Phase::SetAside => "set two regions aside",
            Phase::Explore => "choose the region to explore",
            Phase::Take => "take a region",
            Phase::Place => "place a sanctuary",
            Phase::Over => "the game is over",
        };
        write!(out, "round {} of 8, ", state.round)?;
        match viewer {
            Viewer::Seat(seat) => write!(out, "you are {seat}: {what}")?,
            Viewer::Public => write!(out, "public view: {what}")?,
        }
        let mut lead = "; to choose:";
        for seat in self.pending(state).iter() {
            write!(out, "{lead} {}", seat.number())?;
            lead = ",";
        }
        if state.phase.has_turns() {
            let order = state.order[..usize::from(self.seats)].iter();
            write!(out, "; order:{}", Ids(order.map(|seat| seat.number())))?;
        }
        writeln!(out)
    }

    fn describe_own(&self, state: &State, seat: Seat, out: &mut dyn fmt::Write) -> fmt::Result {
        write!(out, "your hand:")?;
        let chosen = state.chosen[seat];
        let hand = choosable(state, seat);
        self.list_regions(hand.iter().filter(|&id| chosen != RegionId::from_row(id)), out)?;
        if let Some(chosen) = chosen {
            write!(out, "\nyou have chosen {chosen}")?;
        }
        let aside = state.set_aside[seat].into_iter().flatten();
        let mut aside = aside.filter(|&id| !state.revealed.contains(id)).peekable();
        if aside.peek().is_some() {
            write!(out, "\nyou set aside:{}", Ids(aside))?;
        }
        self.describe_found(state, seat, out)?;
        write!(out, "\nyour line:")?;
        self.list_regions(state.line(seat).map(RegionId::get), out)?;
        write!(out, "\nyour sanctuaries:")?;
        for id in state.placed[seat].into_iter().flatten() {
            write!(out, "\n  {id}: {}", self.sanctuary(id))?;
        }
        writeln!(out, "\nyour symbols:{}", Totals(self.symbols(state, seat)))
    }

    fn describe_found(&self, state: &State, seat: Seat, out: &mut dyn fmt::Write) -> fmt::Result {
        let found = state.found(seat);
        if !found.is_empty() {
            write!(out, "\nsanctuaries before you:")?;
            for id in found {
                write!(out, "\n  {id}: {}", self.cards().sanctuaries[usize::from(id)])?;
            }
        }
        let owed = state.owed[seat];
        if owed > 0 {
            write!(out, "\nsanctuaries owed to you: {owed}")?;
        }
        let mut rounds = [0; SANCTUARY_COUNT as usize];
        last_returned::<MAX_SEATS>(state, seat, &mut rounds);
        let mut returned = (1..).zip(rounds).filter(|&(_, round)| round > 0).peekable();
        if returned.peek().is_some() {
            write!(out, "\nyou put under the deck:")?;
        }
        returned.try_for_each(|(id, round): (u8, u8)| write!(out, " {id} (round {round})"))
    }

    fn describe_other(&self, state: &State, seat: Seat, out: &mut dyn fmt::Write) -> fmt::Result {
        write!(
            out,
            "{seat}: line{}; sanctuaries{}; symbols{}; holds{}",
            Ids(state.line(seat)),
            Ids(state.placed[seat].iter().flatten()),
            Totals(self.symbols(state, seat)),
            Ids(public_hand(state, seat).iter())
        )?;
        write!(out, ", {} unknown", hidden_hand(state, seat).len())?;
        let (found, owed) = (state.found(seat).len(), state.owed[seat]);
        if found > 0 || owed > 0 {
            write!(out, "; {found} sanctuaries before it, {owed} owed")?;
        }
        writeln!(out)
    }

    /// Returns the symbols of a seat's whole area.
    fn symbols(&self, state: &State, seat: Seat) -> Symbols {
        let line = state.line(seat).map(|id| self.region(id));
        let placed = state.placed[seat].iter().flatten().map(|&id| self.sanctuary(id));
        line.chain(placed).fold(Symbols::default(), |seen, card| seen.with(&card.symbols))
    }
}

/// Formats ids with a space before each; a dash for none.
struct Ids<I>(I);

impl<I: Iterator<Item: fmt::Display> + Clone> fmt::Display for Ids<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ids = self.0.clone().peekable();
        if ids.peek().is_none() {
            return f.write_str(" -");
        }
        ids.try_for_each(|id| write!(f, " {id}"))
    }
}

/// Formats the symbols with a count above 0; a dash for none.
struct Totals(Symbols);

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lead = " ";
        for (name, count) in SYMBOLS.iter().zip(self.0.0).filter(|(_, count)| *count > 0) {
            write!(f, "{lead}{count} {name}")?;
            lead = ", ";
        }
        if lead == " " { f.write_str(" -") } else { Ok(()) }
    }
}
