//! Samples a determinization for a seat: hands of other seats, decks and hidden choices that it cannot know.

use boardwire_kernel::{Hidden, RngStream, Seat};

use super::Faraway;
use super::catalogue::{REGION_COUNT, SANCTUARY_COUNT};
use super::memory::{PLACED, Path, Paths, hidden_hand, last_deal, public_hand};
use super::paths::MAX_GUESSES;
use super::state::{Phase, RegionId, Regions, Sanctuaries, SanctuaryId, State};

/// What the viewer knows of a sanctuary. Cards with equal knowledge are interchangeable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CardKnowledge {
    /// The viewer's own deals in which it saw the card.
    pub(super) own: Path,
    /// The deals of `own` in which the card arrived late: another seat returned it earlier in the same round.
    pub(super) late: Path,
    /// The deal in which the card was placed, plus [`PLACED`]; 0 if it was not placed.
    pub(super) placed: Path,
}

/// The number of passes of the random walk over all deals: enough to be independent of the initial paths.
const WALK_PASSES: u32 = 24;
/// The number of steps after each pass that are not tied to a deal.
const STEPS_PER_PASS: u32 = 24;

impl Hidden for Faraway {
    fn resample(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        self.resample_hands(state, viewer, rng);
        self.resample_set_aside(state, viewer, rng);
        for seat in self.others(viewer) {
            if state.chosen[seat].is_some() {
                state.chosen[seat] = RegionId::from_row(rng.draw(&mut state.hands[seat].clone()));
            }
        }
        self.resample_sanctuaries(state, viewer, rng);
    }
}

impl Faraway {
    fn others(&self, viewer: Seat) -> impl Iterator<Item = Seat> + use<> {
        viewer.round(self.seats).skip(1)
    }

    /// Resamples hidden hand cards and the deck, without the cards the viewer itself set aside into the deck.
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

    /// Resamples what other seats set aside: from their hands during that phase, later from all cards that no seat kept.
    fn resample_set_aside(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        if !self.advanced {
            return;
        }
        let mut candidates = (1..=REGION_COUNT).collect::<Regions>();
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
            // A seat that is still setting aside may have chosen its first region. The count is public: every observation
            // counts the choices made.
            let count = state.set_aside[seat].iter().flatten().count();
            let from = match state.phase {
                Phase::SetAside => &mut own,
                Phase::Explore | Phase::Take | Phase::Place | Phase::Over => &mut candidates,
            };
            let drawn: Regions = (0..count).map(|_| rng.draw(from)).collect();
            let mut drawn = drawn.iter();
            state.set_aside[seat] = std::array::from_fn(|_| drawn.next().and_then(RegionId::from_row));
        }
    }

    /// Resamples the path of every sanctuary, consistent with what the viewer saw.
    ///
    /// While no returned card has been dealt again, one deal suffices. Otherwise paths consistent with the viewer's
    /// knowledge take a random walk with symmetric steps (equally likely forward and backward). In the long run all
    /// such histories are equally likely.
    fn resample_sanctuaries(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        if state.sanctuary_deck == SANCTUARY_COUNT {
            return;
        }
        if state.front_block == 0 {
            return self.resample_first_deals(state, viewer, rng);
        }
        let deals: Vec<_> = self.deals(state).collect();
        let own = deals.iter().filter(|deal| deal.seat == viewer).map(|deal| deal.bit).sum();
        let known = self.paths(state).map(|path| CardKnowledge::of(path, own));
        let mut paths = self.sample_initial_paths(state, own, &known, MAX_GUESSES, rng);
        for _ in 0..WALK_PASSES {
            for deal in &deals {
                for part in [Part::Before, Part::After] {
                    shuffle_path_parts(&mut paths, &known, deal.bit, part, rng);
                }
            }
            for _ in 0..STEPS_PER_PASS {
                walk_step(&mut paths, &known, own, rng);
            }
        }
        self.set_deals_from_paths(state, &paths);
    }

    /// Does the same while no returned card has been dealt again. Each card was in one deal at most, so no paths are needed.
    fn resample_first_deals(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        let rounds = usize::from(state.explored() - 1);
        let mut unseen = state.front;
        for seat in self.others(viewer) {
            for at in 0..rounds {
                unseen = unseen.union(cards_not_placed(state.dealt[seat][at], state.placed[seat][at]));
            }
        }
        for seat in self.others(viewer) {
            for at in 0..rounds {
                let hidden = cards_not_placed(state.dealt[seat][at], state.placed[seat][at]).len();
                let mut dealt = state.placed[seat][at].map_or(Sanctuaries::EMPTY, Sanctuaries::single);
                (0..hidden).for_each(|_| dealt.insert(rng.draw(&mut unseen)));
                state.dealt[seat][at] = dealt;
            }
        }
        state.front = unseen;
    }
}

/// Returns the cards dealt without the one placed.
fn cards_not_placed(dealt: Sanctuaries, placed: Option<SanctuaryId>) -> Sanctuaries {
    placed.map_or(dealt, |id| dealt.difference(Sanctuaries::single(id)))
}

impl CardKnowledge {
    pub(super) fn of(path: Path, own: Path) -> Self {
        let seen = path & own;
        Self {
            own: seen,
            late: late_deals(path, seen),
            placed: if path & PLACED == 0 { 0 } else { PLACED + last_deal(path - PLACED) },
        }
    }
}

/// Returns the deals in `seen` before which the card was already dealt in the same round.
fn late_deals(path: Path, seen: Path) -> Path {
    let mut late = 0;
    let mut left = seen;
    while left != 0 {
        let bit = left & left.wrapping_neg();
        left ^= bit;
        let round = 0b11_1111 << (bit.trailing_zeros() / 6 * 6);
        if path & round & (bit - 1) != 0 {
            late += bit;
        }
    }
    late
}

/// A part of a path: before a deal, or after it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    Before,
    After,
}

/// Shuffles one part of the paths among the cards of a deal, within groups that the viewer cannot distinguish there.
pub(super) fn shuffle_path_parts(
    paths: &mut Paths,
    known: &[CardKnowledge],
    deal: Path,
    part: Part,
    rng: &mut RngStream,
) {
    let before = deal - 1;
    let after = !before - deal;
    // Whether a card is late in a deal depends on the part before it.
    let (part, late) = match part {
        Part::Before => (before, before + deal),
        Part::After => (after, after),
    };
    let is_alike = |one: usize, other: usize| {
        let (one, other) = (known[one], known[other]);
        (one.own ^ other.own | one.placed ^ other.placed) & part | (one.late ^ other.late) & late == 0
    };
    let mut members = [0; SANCTUARY_COUNT as usize];
    let mut count = 0;
    for (at, path) in paths.iter().enumerate() {
        members[count] = at;
        count += usize::from(path & deal != 0);
    }
    let mut left = &members[..count];
    while let [one, rest @ ..] = left {
        // The card itself is one of them.
        let mut alike = left.iter().filter(|&&other| is_alike(*one, other));
        let count = u32::try_from(alike.clone().count()).expect("there are 45 cards");
        let other = *alike.nth(rng.below(count) as usize).expect("below(count) is a rank");
        let swapped = (paths[*one] ^ paths[other]) & part;
        paths[*one] ^= swapped;
        paths[other] ^= swapped;
        left = rest;
    }
}

/// Does one step of the walk: one to three exchanges, undone if the result contradicts the viewer's knowledge.
pub(super) fn walk_step(paths: &mut Paths, known: &[CardKnowledge], own: Path, rng: &mut RngStream) {
    let before = *paths;
    let mut touched = [0; 6];
    let touched = &mut touched[..2 + 2 * rng.below(3) as usize];
    touched.fill_with(|| rng.below(SANCTUARY_COUNT.into()) as usize);
    for pair in touched.chunks(2) {
        let (first, second) = (pair[0], pair[1]);
        let apart = differing_stretches(paths[first], paths[second]);
        let count = u32::try_from(apart.clone().count()).expect("at most 64");
        if count > 0 {
            let swapped = apart.clone().nth(rng.below(count) as usize).expect("below(count) is a rank");
            paths[first] ^= swapped;
            paths[second] ^= swapped;
        }
    }
    if touched.iter().any(|&at| CardKnowledge::of(paths[at], own) != known[at]) {
        *paths = before;
    }
}

/// Splits two paths at the deals they share. Returns for each stretch between the differing bits, which can be exchanged.
pub(super) fn differing_stretches(one: Path, other: Path) -> impl Iterator<Item = Path> + Clone {
    let mut together = one & other & !PLACED;
    let mut begin = Some(0);
    std::iter::from_fn(move || {
        let from = begin?;
        let until = together.trailing_zeros();
        begin = (until < 64).then_some(until);
        together &= together.wrapping_sub(1);
        Some((one ^ other) & bits_below(until) & !bits_below(from))
    })
    .filter(|apart| *apart != 0)
}

/// Returns a path with all bits below `bit` set.
fn bits_below(bit: u32) -> Path {
    1u64.checked_shl(bit).map_or(Path::MAX, |bit| bit - 1)
}
