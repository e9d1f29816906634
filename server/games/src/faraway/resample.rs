//! Draws anew what a seat cannot know: the cards others hold, the decks, the choices of others.

use boardwire_kernel::{RngStream, Seat};

use super::Faraway;
use super::catalogue::{REGIONS, SANCTUARIES};
use super::memory::{PLACED, Path, Paths, hidden_hand, last_deal, public_hand};
use super::state::{Phase, RegionId, Regions, State};

/// What a seat knows of a sanctuary: cards it knows alike may change places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Known {
    /// The deals of its own in which it saw the card.
    own: Path,
    /// Those of them to which the card came from another seat's turn in the same round: it came late.
    late: Path,
    /// The deal in which the card was placed; 0 when it was not.
    placed: Path,
}

/// How often the walk passes through all deals: enough to forget how the cards really lay.
const ROUNDS_OF_WALK: u32 = 24;
/// Free steps after each pass.
const FREE_STEPS: u32 = 24;

impl Faraway {
    /// Draws anew everything that `viewer` cannot know.
    pub(super) fn resample(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        self.resample_hands(state, viewer, rng);
        self.resample_set_aside(state, viewer, rng);
        for seat in self.others(viewer) {
            if state.chosen[seat].is_some() {
                state.chosen[seat] = RegionId::of_row(rng.draw(&mut state.hands[seat].clone()));
            }
        }
        self.resample_sanctuaries(state, viewer, rng);
    }

    fn others(&self, viewer: Seat) -> impl Iterator<Item = Seat> + use<> {
        viewer.round(self.seats).skip(1)
    }

    /// Hidden hand cards and the deck, but for what the viewer knows it set aside into the deck.
    fn resample_hands(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        let mut own = Regions::EMPTY;
        for id in state.set_aside[viewer].into_iter().flatten() {
            if state.deck.remove(id) {
                own.insert(id);
            }
        }
        for seat in self.others(viewer) {
            state.deck = state.deck.union(hidden_hand(state, seat));
        }
        for seat in self.others(viewer) {
            let mut hand = public_hand(state, seat);
            for _ in 0..hidden_hand(state, seat).len() {
                hand.insert(rng.draw(&mut state.deck));
            }
            state.hands[seat] = hand;
        }
        state.deck = state.deck.union(own);
    }

    /// What others set aside: of their hands while they do it, later whatever was not kept by anybody.
    fn resample_set_aside(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        if !self.advanced {
            return;
        }
        let mut candidates = (1..=REGIONS).collect::<Regions>();
        for seat in Seat::all(self.seats) {
            let kept = state.line(seat).map(RegionId::get).chain(state.hands[seat]);
            for id in kept.filter(|&id| !state.revealed.contains(id)) {
                candidates.remove(id);
            }
        }
        for id in state.set_aside[viewer].into_iter().flatten() {
            candidates.remove(id);
        }
        for seat in self.others(viewer) {
            let mut own = state.hands[seat];
            let (from, count) = match state.phase {
                Phase::SetAside if state.set_aside[seat][1].is_some() => (&mut own, 2),
                // Nobody sees whether one has been set aside: six cases, none or one of five.
                Phase::SetAside => (&mut own, u8::from(rng.below(6) > 0)),
                Phase::Explore | Phase::Take | Phase::Place | Phase::Over => (&mut candidates, 2),
            };
            state.set_aside[seat] = [None; 2];
            for place in 0..usize::from(count) {
                state.set_aside[seat][place] = RegionId::of_row(rng.draw(from));
            }
            if count == 2 {
                state.set_aside[seat].sort_unstable();
            }
        }
    }

    /// The way of every sanctuary, but for what the viewer saw of it.
    ///
    /// Cards that the viewer knows alike exchange their whole paths: this alone is uniform while no
    /// returned card has been dealt again. When some have, the paths also take a random walk whose steps
    /// are as likely forth as back, so that in the long run every history the viewer can believe in is as
    /// likely.
    fn resample_sanctuaries(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        if state.sanctuary_deck == SANCTUARIES {
            return;
        }
        let mut paths = self.paths(state);
        let own = self.deals(state).filter(|deal| deal.seat == viewer).fold(0, |own, deal| own | deal.bit);
        let known = paths.map(|path| Known::of(path, own));
        exchange_alike(&mut paths, &known, 0, Path::MAX, rng);
        if paths.iter().any(|path| (path & !PLACED).count_ones() > 1) {
            for _ in 0..ROUNDS_OF_WALK {
                for deal in self.deals(state) {
                    let earlier = deal.bit - 1;
                    exchange_alike(&mut paths, &known, deal.bit, earlier, rng);
                    exchange_alike(&mut paths, &known, deal.bit, !earlier & !deal.bit, rng);
                }
                for _ in 0..FREE_STEPS {
                    step(&mut paths, &known, own, rng);
                }
                exchange_alike(&mut paths, &known, 0, Path::MAX, rng);
            }
        }
        self.follow(state, &paths);
    }
}

impl Known {
    fn of(path: Path, own: Path) -> Self {
        let seen = path & own;
        Self {
            own: seen,
            late: if seen == 0 { 0 } else { late(path, seen) },
            placed: if path & PLACED == 0 { 0 } else { last_deal(path & !PLACED) },
        }
    }
}

/// The deals in `seen` before which the card was already dealt in the same round.
fn late(path: Path, seen: Path) -> Path {
    let mut late = 0;
    let mut left = seen;
    while left != 0 {
        let bit = left & left.wrapping_neg();
        left ^= bit;
        let round = 0b11_1111 << (bit.trailing_zeros() / 6 * 6);
        if path & round & (bit - 1) != 0 {
            late |= bit;
        }
    }
    late
}

/// Shuffles one part of the paths, what came before a deal or what came after it, among the cards of that
/// deal which the viewer knows alike in that part; without a deal, whole paths among all cards.
fn exchange_alike(paths: &mut Paths, known: &[Known], deal: Path, part: Path, rng: &mut RngStream) {
    let mut members = [0; SANCTUARIES as usize];
    let mut count = 0;
    for (at, path) in paths.iter().enumerate() {
        if path & deal == deal {
            members[count] = at;
            count += 1;
        }
    }
    // Whether a card came late to a deal is decided before it.
    let late = if part < deal { part | deal } else { part };
    let key = |at: usize| {
        let known = &known[at];
        (known.own & part, known.late & late, if part & PLACED == 0 { 0 } else { known.placed })
    };
    let members = &members[..count];
    for (from, &one) in members.iter().enumerate() {
        let wanted = key(one);
        let alike = members[from..].iter().filter(|&&at| key(at) == wanted);
        let count = u32::try_from(alike.clone().count()).unwrap_or(1);
        if count > 1 {
            let other = alike.clone().nth(rng.below(count) as usize).copied().unwrap_or(one);
            let swapped = (paths[one] ^ paths[other]) & part;
            paths[one] ^= swapped;
            paths[other] ^= swapped;
        }
    }
}

/// One step of the walk: one to three exchanges, taken back unless the viewer can believe in the result.
fn step(paths: &mut Paths, known: &[Known], own: Path, rng: &mut RngStream) {
    let before = *paths;
    let mut believable = true;
    let mut touched = [0; 6];
    let exchanges = 1 + rng.below(3) as usize;
    for pair in touched.chunks_mut(2).take(exchanges) {
        let first = rng.below(SANCTUARIES.into()) as usize;
        let second = (first + 1 + rng.below(u32::from(SANCTUARIES) - 1) as usize) % paths.len();
        pair.copy_from_slice(&[first, second]);
        let apart = segments(paths[first], paths[second]);
        let count = u32::try_from(apart.clone().count()).unwrap_or(0);
        if count > 0 {
            let swapped = apart.clone().nth(rng.below(count) as usize).unwrap_or(0);
            paths[first] ^= swapped;
            paths[second] ^= swapped;
        }
    }
    for at in &touched[..2 * exchanges] {
        believable &= Known::of(paths[*at], own) == known[*at];
    }
    if !believable {
        *paths = before;
    }
}

/// Where two cards went apart between being together: what they exchange in each such stretch.
fn segments(one: Path, other: Path) -> impl Iterator<Item = Path> + Clone {
    let mut together = one & other & !PLACED;
    let mut begin = Some(0);
    std::iter::from_fn(move || {
        let from = begin?;
        let until = together.trailing_zeros();
        begin = (until < 64).then_some(until + 1);
        together &= together.wrapping_sub(1);
        Some((one ^ other) & below(until) & !below(from))
    })
    .filter(|apart| *apart != 0)
}

fn below(bit: u32) -> Path {
    1u64.checked_shl(bit).map_or(Path::MAX, |bit| bit - 1)
}
