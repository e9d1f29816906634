//! What each seat has played, what it pays, and what others know of its hand.

use std::fmt;

use boardwire_kernel::{Scoring, Seat, Viewer};

use super::{Named, listed, sanctuaries};
use crate::faraway::catalogue::{Card, Kind, SYMBOLS, Symbols, WonderCounts};
use crate::faraway::memory::{hidden_hand, public_hand};
use crate::faraway::state::{Phase, RegionId, State};
use crate::faraway::turn::count;
use crate::faraway::{Action, Faraway};

impl Faraway {
    /// Writes places and final scores. The areas that follow have the sources of the points.
    pub(super) fn describe_end(
        &self,
        state: &State,
        viewer: Viewer,
        out: &mut dyn fmt::Write,
    ) -> fmt::Result {
        writeln!(out, "the game is over; places (ties: the shortest duration in the line is ahead):")?;
        let Some(outcome) = self.outcome(state) else { return Ok(()) };
        let mut seats: Vec<Seat> = Seat::all(self.seats).collect();
        seats.sort_by_key(|seat| outcome.ranks()[seat.index()]);
        seats.into_iter().try_for_each(|seat| {
            let (place, score) = (outcome.ranks()[seat.index()], outcome.scores()[seat.index()]);
            let shortest = RegionId::to_row(state.line(seat).min());
            writeln!(
                out,
                "place {place}: {}, {score} fame, shortest duration {shortest}",
                Named(seat, viewer)
            )
        })
    }

    /// Writes what a seat has played, and what it pays.
    pub(super) fn describe_area(
        &self,
        state: &State,
        seat: Seat,
        is_own: bool,
        out: &mut dyn fmt::Write,
    ) -> fmt::Result {
        let Some(last) = state.line(seat).next_back() else { return Ok(()) };
        writeln!(out, "line, oldest first:")?;
        for (at, id) in state.line(seat).enumerate() {
            let duration = if id == last { format!(" duration {id},") } else { String::new() };
            let played = Played { card: self.region(id), visible: self.visible(state, seat, at) };
            writeln!(out, "{}{duration}{played}", Action::Region(id))?;
        }
        let visible = self.visible(state, seat, 0);
        let mut placed = state.placed[seat].into_iter().flatten().peekable();
        if placed.peek().is_some() {
            writeln!(out, "sanctuaries placed:")?;
        }
        for id in placed {
            writeln!(out, "{}{}", Action::Sanctuary(id), Played { card: self.sanctuary(id), visible })?;
        }
        if is_own {
            writeln!(out, "symbols in area: {}", Totals(visible))?;
        }
        let when = if state.phase == Phase::Over { "final score" } else { "fame now" };
        writeln!(out, "{when}: {}", self.fame(state, seat).total())
    }

    /// Writes what all know of a seat's hand and of the sanctuaries before it.
    pub(super) fn describe_hidden(&self, state: &State, seat: Seat, out: &mut dyn fmt::Write) -> fmt::Result {
        let (known, unknown) = (public_hand(state, seat), count(hidden_hand(state, seat)));
        match (unknown, known.is_empty()) {
            (_, true) => writeln!(out, "hand: {unknown} unknown")?,
            (0, false) => writeln!(out, "hand:")?,
            (_, false) => writeln!(out, "hand: {unknown} unknown and")?,
        }
        self.list_regions(known, out)?;
        match count(state.found(seat)) {
            0 => Ok(()),
            found => writeln!(out, "found {}, one to place", sanctuaries(found)),
        }
    }

    /// Returns the symbols visible to a seat's region at this index of its line. To index 0 all are visible.
    pub(super) fn visible(&self, state: &State, seat: Seat, from: usize) -> Symbols {
        let line = state.line(seat).skip(from).map(|id| self.region(id));
        let placed = state.placed[seat].iter().flatten().map(|&id| self.sanctuary(id));
        line.chain(placed).fold(Symbols::default(), |seen, card| seen.with(&card.symbols))
    }
}

/// Formats a played card and what it pays: ` city; 2 per clue = 6`, or ` city; lacks 1 stone: 2 per clue`.
///
/// A prerequisite that is met stays met (FA-R5), so it is no longer written.
struct Played<'a> {
    card: &'a Card,
    visible: Symbols,
}

impl fmt::Display for Played<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { card: Card { symbols, quest, .. }, visible } = self;
        write!(f, "{symbols}")?;
        if quest.kind == Kind::None {
            return Ok(());
        }
        if !self.card.is_met(visible) {
            let mut lacking = self.card.prerequisite;
            for (need, seen) in lacking.iter_mut().zip(visible.wonders()) {
                *need = need.saturating_sub(*seen);
            }
            return write!(f, "; lacks {}: {quest}", WonderCounts(&lacking));
        }
        write!(f, "; {quest}")?;
        if quest.kind == Kind::Flat { Ok(()) } else { write!(f, " = {}", self.card.fame_for(visible)) }
    }
}

/// Formats the symbols with a count above 0.
struct Totals(Symbols);

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = SYMBOLS.iter().zip(self.0.0).filter(|(_, count)| *count > 0);
        f.write_str(&listed(counted.map(|(name, count)| format!("{count} {name}"))))
    }
}
