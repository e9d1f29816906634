//! The state, the choices and what they change as text, for people and language models.

mod area;
mod report;

use std::fmt;

use boardwire_kernel::{NameGroup, Seat, Setup, Texts, Turns, Viewer};

use super::catalogue::{BIOMES, REGION_COUNT, SANCTUARY_COUNT, Symbol, WONDERS};
use super::legal::choosable;
use super::memory::last_returned;
use super::state::{MAX_SEATS, Phase, ROUND_COUNT, RegionId, Regions, SanctuaryId, State};
use super::turn::count;
use super::{Action, Faraway};

/// Explains the marks on played cards.
const LEGEND: &str =
    "\"= N\": pays N now. A region counts itself, later regions of its line, all sanctuaries of its seat.";

impl Texts for Faraway {
    fn text(&self, state: &State, viewer: Viewer, out: &mut dyn fmt::Write) -> fmt::Result {
        self.describe_course(state, viewer, out)?;
        if !state.display.is_empty() {
            writeln!(out, "display:")?;
            self.list_regions(state.display, out)?;
        }
        if state.explored() > 0 {
            writeln!(out, "{LEGEND}")?;
        }
        for seat in viewer.first().round(self.seats) {
            writeln!(out, "{}:", Named(seat, viewer))?;
            if viewer.is_seat(seat) {
                self.describe_own_cards(state, seat, out)?;
            } else {
                self.describe_hidden(state, seat, out)?;
            }
            if state.owed[seat] > 0 {
                writeln!(out, "still owed {}, since the deck ran out", sanctuaries(state.owed[seat]))?;
            }
            self.describe_area(state, seat, viewer.is_seat(seat), out)?;
        }
        self.describe_decks(state, viewer, out)
    }

    fn phrase(&self, state: &State, seat: Seat, action: Action, out: &mut dyn fmt::Write) -> fmt::Result {
        match (state.phase, action) {
            (Phase::SetAside, _) => write!(out, "set aside {action}: it goes back into the deck"),
            (Phase::Take, _) => write!(out, "take {action} from the display into your hand"),
            (_, Action::Region(id)) => self.explore_phrase(state, seat, id, out),
            (_, Action::Sanctuary(id)) => {
                let mut others = state.found(seat);
                others.remove(id.get());
                match count(others) {
                    0 => write!(out, "place {action}, the only sanctuary found"),
                    1 => write!(out, "place {action}; {} goes under the deck", listed(codes(others))),
                    number => write!(out, "place {action}; the other {number} go under the deck"),
                }
            }
        }
    }

    fn report(
        &self,
        before: &State,
        choice: (Seat, Action),
        after: &State,
        viewer: Seat,
        out: &mut dyn fmt::Write,
    ) -> fmt::Result {
        self.report_choice([before, after], choice, viewer.into(), out)
    }

    fn names(&self) -> Vec<NameGroup> {
        let regions = (1..=REGION_COUNT).map(|id| Action::Region(RegionId::new(id)).to_string());
        let sanctuaries = (1..=SANCTUARY_COUNT).map(|id| Action::Sanctuary(SanctuaryId::new(id)).to_string());
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        vec![
            NameGroup { kind: "game", names: vec![Self::TYPE.name.to_owned()] },
            NameGroup { kind: "biome", names: owned(&BIOMES) },
            NameGroup { kind: "wonder", names: owned(&WONDERS) },
            NameGroup { kind: "region", names: regions.collect() },
            NameGroup { kind: "sanctuary", names: sanctuaries.collect() },
        ]
    }
}

/// Formats a seat for a viewer: `seat 0 (you)`.
struct Named(Seat, Viewer);

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(seat, viewer) = *self;
        write!(f, "{seat}{}", if viewer.is_seat(seat) { " (you)" } else { "" })
    }
}

/// Returns the items with commas between them.
fn listed(items: impl IntoIterator<Item: fmt::Display>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}

/// Returns the codes of sanctuaries.
fn codes(ids: impl IntoIterator<Item = u8>) -> Vec<Action> {
    ids.into_iter().map(|id| Action::Sanctuary(SanctuaryId::new(id))).collect()
}

/// Returns `1 sanctuary`, or the number with the plural.
fn sanctuaries(number: u8) -> String {
    if number == 1 { "1 sanctuary".to_owned() } else { format!("{number} sanctuaries") }
}

impl Faraway {
    /// Writes the round, the decision that is due, the seats that decide, and what follows.
    fn describe_course(&self, state: &State, viewer: Viewer, out: &mut dyn fmt::Write) -> fmt::Result {
        if state.phase == Phase::Over {
            return self.describe_end(state, viewer, out);
        }
        let is_last = state.round == ROUND_COUNT;
        let pending = listed(self.pending(state).iter().map(|seat| Named(seat, viewer)));
        let now = match state.phase {
            Phase::SetAside => "set two regions aside, secretly",
            Phase::Explore => "explore a region, secretly",
            Phase::Take => "take a region from the display",
            Phase::Place | Phase::Over => "place a sanctuary",
        };
        writeln!(out, "round {} of {ROUND_COUNT}: {now}; to choose: {pending}", state.round)?;
        match state.phase {
            Phase::SetAside => writeln!(out, "next: the display is revealed, then all explore"),
            Phase::Explore if is_last => {
                writeln!(out, "next: nothing is taken, found sanctuaries are placed, final scoring")
            }
            Phase::Explore => {
                writeln!(out, "next: by ascending duration, seats take a region and place a found sanctuary")
            }
            Phase::Take | Phase::Place | Phase::Over => {
                let order = state.order[..usize::from(self.seats)].iter().map(|&seat| Named(seat, viewer));
                let then = if is_last { ", then final scoring" } else { "" };
                writeln!(out, "order of turns: {}{then}", listed(order))
            }
        }
    }

    /// Writes one region a line, with its duration.
    fn list_regions(&self, ids: Regions, out: &mut dyn fmt::Write) -> fmt::Result {
        ids.iter()
            .map(RegionId::new)
            .try_for_each(|id| writeln!(out, "{} duration {id},{}", Action::Region(id), self.region(id)))
    }

    /// Writes what only this seat knows of regions, and the sanctuaries it has found.
    fn describe_own_cards(&self, state: &State, seat: Seat, out: &mut dyn fmt::Write) -> fmt::Result {
        let chosen: Regions = state.chosen[seat].into_iter().map(RegionId::get).collect();
        writeln!(out, "hand:")?;
        self.list_regions(choosable(state, seat).difference(chosen), out)?;
        if !chosen.is_empty() {
            writeln!(out, "chosen to explore, still secret:")?;
            self.list_regions(chosen, out)?;
        }
        let aside: Regions = state.set_aside[seat].into_iter().flatten().map(RegionId::get).collect();
        let aside = aside.difference(state.revealed);
        if !aside.is_empty() {
            writeln!(out, "set aside into the region deck:")?;
            self.list_regions(aside, out)?;
        }
        if !state.found(seat).is_empty() {
            writeln!(out, "sanctuaries found, one to place:")?;
        }
        state
            .found(seat)
            .iter()
            .map(SanctuaryId::new)
            .try_for_each(|id| writeln!(out, "{}{}", Action::Sanctuary(id), self.sanctuary(id)))
    }

    /// Writes the decks, the regions out of the game, and the sanctuaries that the viewer has returned.
    fn describe_decks(&self, state: &State, viewer: Viewer, out: &mut dyn fmt::Write) -> fmt::Result {
        writeln!(out, "decks: {} regions, {}", state.deck.len(), sanctuaries(state.sanctuary_deck))?;
        let mut left = state.left_over.into_iter().flatten().map(Action::Region).peekable();
        if left.peek().is_some() {
            writeln!(out, "out of the game, by round: {}", listed(left))?;
        }
        let Viewer::Seat(seat) = viewer else { return Ok(()) };
        let mut rounds = [0; SANCTUARY_COUNT as usize];
        last_returned::<MAX_SEATS>(state, seat, &mut rounds);
        for round in 2..=ROUND_COUNT {
            let mut ids = (1..).zip(rounds).filter(|&(_, last)| last == round).map(|(id, _)| id).peekable();
            if ids.peek().is_some() {
                writeln!(out, "you put under the sanctuary deck in round {round}:")?;
            }
            for id in ids.map(SanctuaryId::new) {
                writeln!(out, "{}{}", Action::Sanctuary(id), self.sanctuary(id))?;
            }
        }
        Ok(())
    }

    /// Writes that a seat explores a region, and what it finds.
    fn explore_phrase(
        &self,
        state: &State,
        seat: Seat,
        id: RegionId,
        out: &mut dyn fmt::Write,
    ) -> fmt::Result {
        let action = Action::Region(id);
        let Some(last) = state.line(seat).next_back() else {
            return write!(out, "explore {action}: the first region finds no sanctuary");
        };
        let found = 1 + self.visible(state, seat, 0)[Symbol::Clue] + self.region(id).clues();
        let last_action = Action::Region(last);
        if id > last {
            write!(out, "explore {action}: longer than {last_action}, finds {}", sanctuaries(found))
        } else {
            write!(out, "explore {action}: shorter than {last_action}, finds no sanctuary")
        }
    }
}
