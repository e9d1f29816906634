//! What seats can remember: all seats of hands, and each seat of the sanctuaries it was dealt.
//!
//! A sanctuary starts in the deck, is dealt, is placed or returned, may be dealt again, and so on. Its [`Path`] is
//! the set of deals it was in. Deals are numbered by round and, within a round, by ascending duration. This is the
//! order in time in which a card can pass from one deal to the next.

use boardwire_kernel::Seat;

use super::Faraway;
use super::catalogue::SANCTUARY_COUNT;
use super::state::{Regions, Sanctuaries, SanctuaryId, State};
use super::turn::block_round_and_index;

/// Returns what a seat took from the display and still holds. All seats know it.
#[inline]
pub(super) fn public_hand(state: &State, seat: Seat) -> Regions {
    state.hands[seat].intersection(state.revealed)
}

/// Returns what a seat was dealt and has not shown. Only that seat knows it.
#[inline]
pub(super) fn hidden_hand(state: &State, seat: Seat) -> Regions {
    state.hands[seat].difference(state.revealed)
}

/// Writes for each sanctuary the last round in which `seat` returned it, unless the seat has seen it again since.
/// The table has at most `N` seats, and `rounds` must be all zero.
#[inline]
pub(super) fn last_returned<const N: usize>(state: &State, seat: Seat, rounds: &mut [u8]) {
    // Nothing is dealt in the first round.
    let dealt = usize::from(state.explored().saturating_sub(1)).min(7);
    let mut known_elsewhere = state.found(seat);
    for placed in &state.placed.all()[..N] {
        for &id in &placed[..dealt] {
            // Id 0 means no card; no sanctuary has this id.
            known_elsewhere.insert(SanctuaryId::to_row(id));
        }
    }
    // A card that was dealt and is not known to be elsewhere has been returned.
    for (round, dealt) in (2..).zip(&state.dealt[seat][..dealt]) {
        dealt.difference(known_elsewhere).iter().for_each(|id| rounds[usize::from(id) - 1] = round);
    }
}

/// The deals a sanctuary was in: bit `6 * (round - 2) + index in the order`, and the top bit if it was placed.
pub(super) type Path = u64;

/// The bit of a path that is set if the sanctuary was placed by the seat of the path's last deal.
pub(super) const PLACED: Path = 1 << 63;

fn deal_bit(round: u8, order_index: u8) -> Path {
    1 << (6 * (round - 2) + order_index)
}

/// The paths of all sanctuaries, by `id - 1`.
pub(super) type Paths = [Path; SANCTUARY_COUNT as usize];

/// One deal of sanctuaries to a seat.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deal {
    pub(super) round: u8,
    pub(super) seat: Seat,
    /// The bit of a sanctuary's [`Path`] that is set if this deal contained the sanctuary.
    pub(super) bit: Path,
}

impl Faraway {
    /// Returns all deals in the order of time.
    pub(super) fn deals(&self, state: &State) -> impl Iterator<Item = Deal> + use<> {
        let (state, seats) = (*state, self.seats);
        (2..=state.explored()).flat_map(move |round| {
            let order = state.order_of(round, seats);
            (0..seats).map(move |order_index| Deal {
                round,
                seat: order[usize::from(order_index)],
                bit: deal_bit(round, order_index),
            })
        })
    }

    /// Returns the path of every sanctuary.
    pub(super) fn paths(&self, state: &State) -> Paths {
        let mut paths = [0; SANCTUARY_COUNT as usize];
        for deal in self.deals(state) {
            let at = usize::from(deal.round - 2);
            for id in state.dealt[deal.seat][at] {
                paths[usize::from(id) - 1] |= deal.bit;
            }
            if let Some(id) = state.placed[deal.seat][at] {
                paths[id.index() - 1] |= PLACED;
            }
        }
        paths
    }

    /// Sets `dealt` and `front` of the state from the paths.
    pub(super) fn set_deals_from_paths(&self, state: &mut State, paths: &Paths) {
        for deal in self.deals(state) {
            state.dealt[deal.seat][usize::from(deal.round - 2)] = ids(paths, |path| path & deal.bit != 0);
        }
        // The cards left in the front block were in no later deal.
        let front = match state.front_block {
            0 => 0,
            block => {
                let (round, order_index) = block_round_and_index(block);
                deal_bit(round, order_index)
            }
        };
        state.front = ids(paths, |path| last_deal(path) == front);
    }
}

/// Returns the bit of the last deal of a card that was not placed; 0 for a card that was never dealt.
pub(super) fn last_deal(path: Path) -> Path {
    match path {
        0 => 0,
        path => 1 << path.ilog2(),
    }
}

fn ids(paths: &Paths, wanted: impl Fn(Path) -> bool) -> Sanctuaries {
    (1u8..).zip(paths).filter(|(_, path)| wanted(**path)).map(|(id, _)| id).collect()
}
