//! Compares how often each determinization is drawn with its probability.
//!
//! The test is Pearson's chi-squared statistic, in whole numbers. It has `d` degrees of freedom. For correct
//! frequencies, it exceeds `d + 2 sqrt(d x) + 2 x` with a probability below `e^-x` (Laurent and Massart 2000). For
//! wrong frequencies, let `y` be the number of draws times the sum of (difference of probabilities)² / probability.
//! Then it falls below `d + y - 2 sqrt((d + 2 y) x)` with a probability below `e^-x` (Birgé 2001). A bias that moves a
//! part `b` of all draws between worlds makes `y` at least the number of draws times `(2 b)²`. So the bias to detect
//! determines the number of draws.

use std::collections::BTreeMap;

use super::posterior::{Posterior, bytes};
use crate::testkit::Law;
use crate::{CheckResult, Game, RngStream, Seat, ensure};

/// The bias to detect: one wrong draw in this many, so 2 %. The variable `BOARDWIRE_LAW_BIAS` overrides it.
const DETECTABLE_BIAS: u64 = 50;
/// The `x` above: about one wrong verdict in 160,000 comparisons.
const FALSE_VERDICT_EXPONENT: u64 = 12;
/// Worlds are merged until the expected number of their draws reaches this.
const MIN_EXPECTED: u128 = 16;
/// The number of fractional bits of expected counts.
const SCALE: u32 = 16;

/// The number of draws of each world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frequencies {
    /// The draws of each world, keyed by the bytes of its state.
    counts: BTreeMap<Vec<u8>, u64>,
    draws: u64,
}

impl Frequencies {
    /// Draws `draws` worlds for `viewer`, each from a copy of `state`.
    pub fn of<G: Game>(game: &G, state: &G::State, viewer: Seat, draws: u64, rng: &mut RngStream) -> Self {
        let mut counts = BTreeMap::new();
        for _ in 0..draws {
            let mut sample = *state;
            game.resample(&mut sample, viewer, rng);
            *counts.entry(bytes(&sample)).or_default() += 1;
        }
        Self { counts, draws }
    }

    /// Returns the total variation distance from the probabilities, in parts of 10,000: the part of all draws that should
    /// have been another world.
    ///
    /// Exact frequencies also have a distance, by chance: for `w` worlds about `4,000 sqrt(w / draws)`.
    #[must_use]
    pub fn total_variation<G: Game>(&self, posterior: &Posterior<G>) -> u128 {
        let cells = self.cells(posterior);
        let too_many =
            cells.iter().map(|cell| (cell.drawn << SCALE).saturating_sub(cell.expected)).sum::<u128>();
        let impossible = u128::from(self.draws) - cells.iter().map(|cell| cell.drawn).sum::<u128>();
        10_000 * (too_many + (impossible << SCALE)) / (u128::from(self.draws) << SCALE)
    }

    /// Checks that the frequencies agree with `posterior`.
    ///
    /// # Errors
    /// An impossible world, or the size of the difference.
    pub fn agree<G: Game>(&self, posterior: &Posterior<G>) -> CheckResult {
        let likely: BTreeMap<&[u8], u128> = posterior.weights().collect();
        let impossible = self.counts.keys().find(|bytes| !likely.contains_key(bytes.as_slice()));
        if let Some(bytes) = impossible {
            let sample: Result<G::State, _> = borsh::from_slice(bytes);
            return Err(format!("resample drew an impossible state: {sample:?}"));
        }
        let cells = merge_small_cells(self.cells(posterior));
        let freedom = cells.len() as u64 - 1;
        let squares = cells.iter().map(Cell::square).sum::<u128>() >> SCALE;
        let maximum = u128::from(freedom + chi_squared_margin(freedom));
        ensure(squares <= maximum, || {
            let (states, distance) = (posterior.len(), self.total_variation(posterior));
            let draws = self.draws;
            format!(
                "in {draws} draws of {states} states, chi-squared is {squares}, above {maximum}; \
                 of 10,000 draws {distance} should have been another state"
            )
        })
    }

    /// Returns one cell for each possible world.
    fn cells<G: Game>(&self, posterior: &Posterior<G>) -> Vec<Cell> {
        let all = posterior.weights().map(|(_, weight)| weight).sum::<u128>();
        let expected = |weight: u128| {
            let scaled = weight.checked_mul(u128::from(self.draws) << SCALE);
            scaled.expect("the scaled weights of a small game fit 128 bits") / all
        };
        let cell = |(bytes, weight)| Cell {
            expected: expected(weight),
            drawn: self.counts.get(bytes).copied().unwrap_or(0).into(),
        };
        posterior.weights().map(cell).collect()
    }
}

/// Draws worlds for the viewer from `state`, and compares the frequencies with `posterior`. Draws enough worlds to detect a
/// bias of one wrong draw in 50, or in `BOARDWIRE_LAW_BIAS` (an environment variable).
///
/// # Panics
/// When they do not agree. The message states the size of the difference.
#[expect(clippy::disallowed_methods, reason = "tests may be asked how precise to be; rules are not")]
pub fn check_frequencies<G: Game>(game: &G, state: &G::State, posterior: &Posterior<G>, rng: &mut RngStream) {
    let bias = std::env::var("BOARDWIRE_LAW_BIAS")
        .ok()
        .and_then(|number| number.parse().ok())
        .unwrap_or(DETECTABLE_BIAS);
    let draws = draws_needed(posterior.len() as u64, bias);
    let frequencies = Frequencies::of(game, state, posterior.viewer(), draws, rng);
    let place = |broken| format!("for {}: {broken}\n{state:?}", posterior.viewer());
    Law::Frequencies.assert_ok(frequencies.agree(posterior).map_err(place));
}

/// One world, or several merged ones.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    /// The expected number of draws, times `2^SCALE`.
    expected: u128,
    drawn: u128,
}

impl Cell {
    /// Returns (drawn - expected)² / expected, times `2^SCALE`.
    fn square(&self) -> u128 {
        let difference = (self.drawn << SCALE).abs_diff(self.expected);
        difference * difference / self.expected
    }

    fn is_large(&self) -> bool {
        self.expected >= MIN_EXPECTED << SCALE
    }

    fn join(&mut self, other: Self) {
        self.expected += other.expected;
        self.drawn += other.drawn;
    }
}

/// Merges small cells until the expected number of draws of each is large enough.
fn merge_small_cells(mut cells: Vec<Cell>) -> Vec<Cell> {
    cells.sort_unstable_by_key(|cell| cell.expected);
    let mut merged: Vec<Cell> = Vec::new();
    let mut open = Cell::default();
    for cell in cells {
        open.join(cell);
        if open.is_large() {
            merged.push(std::mem::take(&mut open));
        }
    }
    match merged.last_mut() {
        Some(last) => last.join(open),
        None => merged.push(open),
    }
    merged
}

/// Returns how far chi-squared may exceed its degrees of freedom.
fn chi_squared_margin(freedom: u64) -> u64 {
    sqrt_rounded_up(4 * freedom * FALSE_VERDICT_EXPONENT) + 2 * FALSE_VERDICT_EXPONENT
}

/// Returns the number of draws that detects a bias of one part in `bias` among `states` worlds.
fn draws_needed(states: u64, bias: u64) -> u64 {
    let freedom = states - 1;
    let mut y = 0;
    while y < sqrt_rounded_up(4 * (freedom + 2 * y) * FALSE_VERDICT_EXPONENT) + chi_squared_margin(freedom) {
        y += 16;
    }
    y * bias * bias / 4
}

/// Returns the square root, rounded up.
fn sqrt_rounded_up(square: u64) -> u64 {
    let root = square.isqrt();
    root + u64::from(root * root < square)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_worlds_need_more_draws() {
        let draws = [1, 2, 100, 1_000].map(|states| draws_needed(states, DETECTABLE_BIAS));
        assert_eq!(draws, [90_000, 100_000, 170_000, 360_000]);
        assert_eq!(draws_needed(100, 10), 170_000 / 25, "a bias of 10 %");
    }

    #[test]
    fn small_cells_are_counted_together() {
        let cell = |expected: u128, drawn| Cell { expected: expected << SCALE, drawn };
        let cells = merge_small_cells(vec![cell(9, 8), cell(100, 99), cell(8, 9), cell(3, 4)]);
        let joined: Vec<_> = cells.iter().map(|cell| (cell.expected >> SCALE, cell.drawn)).collect();
        assert_eq!(joined, [(20, 21), (100, 99)]);
        assert_eq!(cell(100, 110).square(), 1 << SCALE);
    }
}
