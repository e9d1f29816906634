//! What can be remembered of the way of every sanctuary, told as deals.
//!
//! A sanctuary begins in the deck, is dealt, is placed or returned, may be dealt again, and so on: its
//! [`Path`] is the set of deals it was in. The deals are numbered in the order of rounds and, within a
//! round, of durations, which is the order in time in which cards could pass from one to the next.

use super::Faraway;
use super::catalogue::SANCTUARIES;
use super::state::{Phase, State};
use super::turn::block_at;

/// The deals a sanctuary was in: bit `6 * (round - 2) + place in the order`; the top bit when it was placed.
pub(super) type Path = u64;

/// The bit of a path that says the sanctuary was placed in its last deal.
pub(super) const PLACED: Path = 1 << 63;

/// The bit of a deal.
pub(super) fn deal_bit(round: u8, place: u8) -> Path {
    1 << (6 * (round - 2) + place)
}

/// The paths of all sanctuaries, by id - 1.
pub(super) type Paths = [Path; SANCTUARIES as usize];

impl Faraway {
    /// The last round whose sanctuaries have been dealt; below 2 when none has.
    pub(super) fn last_dealt(state: &State) -> u8 {
        match state.phase {
            Phase::SetAside | Phase::Explore => state.round - 1,
            Phase::Take | Phase::Place | Phase::Over => state.round,
        }
    }

    /// The seats of all deals in the order of time, with the bit of each.
    pub(super) fn deals(&self, state: &State) -> impl Iterator<Item = (u8, usize, Path)> + use<> {
        let (state, seats) = (*state, self.seats);
        (2..=Self::last_dealt(&state)).flat_map(move |round| {
            let order = state.order_of(round, seats);
            (0..seats)
                .map(move |place| (round, usize::from(order[usize::from(place)]), deal_bit(round, place)))
        })
    }

    /// The path of every sanctuary.
    pub(super) fn paths(&self, state: &State) -> Paths {
        let mut paths = [0; SANCTUARIES as usize];
        for (round, seat, bit) in self.deals(state) {
            let at = usize::from(round - 2);
            for id in state.dealt[seat][at] {
                paths[usize::from(id) - 1] |= bit;
            }
            if let Some(path) =
                state.placed[seat][at].checked_sub(1).and_then(|id| paths.get_mut(usize::from(id)))
            {
                *path |= PLACED;
            }
        }
        paths
    }

    /// Makes what was dealt, and what is left of the front block, as the paths say.
    pub(super) fn follow(&self, state: &mut State, paths: &Paths) {
        for (round, seat, bit) in self.deals(state) {
            state.dealt[seat][usize::from(round - 2)] = ids(paths, |path| path & bit != 0);
        }
        // What is left of the front block went into no deal since.
        let front = match state.front_block {
            0 => 0,
            block => {
                let (round, place) = block_at(block);
                deal_bit(round, place)
            }
        };
        state.front = ids(paths, |path| last_deal(path) == front);
    }
}

/// The bit of the last deal of a card that was not placed; 0 for a card that was never dealt.
pub(super) fn last_deal(path: Path) -> Path {
    match path {
        0 => 0,
        path => 1 << path.ilog2(),
    }
}

fn ids(paths: &Paths, wanted: impl Fn(Path) -> bool) -> super::Sanctuaries {
    (1..).zip(paths).filter(|(_, path)| wanted(**path)).map(|(id, _)| id).collect()
}
