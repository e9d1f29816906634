//! The sequential test of `--sprt`: the generalised SPRT of fishtest, with deals as samples.
//!
//! The mean share of points that the first of two players has in a deal is the parameter. The log-likelihood ratio compares
//! the most likely distributions of shares with the two means that the hypotheses state.

use std::str::FromStr;

use super::deal::{Deal, UNITS_PER_WIN};

/// The probability of a false result, if one of the hypotheses is true.
pub(super) const ERROR_RATE: f64 = 0.05;
/// The log-likelihood ratio at which the test accepts. It rejects at the negative value.
pub(super) const BOUND: f64 = 2.944_438_979_166_44;
/// The largest difference in a hypothesis. A player with a difference of 1000 wins 99.7 % of the points.
const MAX_ELO: f64 = 1000.0;
/// The count of results that have not occurred, as in fishtest. It keeps the likelihood of each mean above 0.
const PRIOR: f64 = 1e-3;
/// The number of possible results of a deal.
const RESULTS: usize = 5;

/// The hypotheses: the logistic Elo difference of the first player over the second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Hypotheses {
    /// Rejected at most with [`ERROR_RATE`] if it is true.
    pub(super) elo0: f64,
    /// Greater than `elo0`.
    pub(super) elo1: f64,
}

impl FromStr for Hypotheses {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let elo = |text: &str| text.parse().ok().filter(|elo: &f64| elo.abs() <= MAX_ELO);
        let both = text.split_once(',').and_then(|(elo0, elo1)| Some((elo(elo0)?, elo(elo1)?)));
        let ascending = both.filter(|(elo0, elo1)| elo0 < elo1);
        let (elo0, elo1) = ascending.ok_or_else(|| {
            format!("hypotheses must be ELO0,ELO1 with -{MAX_ELO} <= ELO0 < ELO1 <= {MAX_ELO}, such as 0,20")
        })?;
        Ok(Self { elo0, elo1 })
    }
}

/// The decision of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The data supports `elo1` against `elo0`.
    Accepted,
    /// The data supports `elo0` against `elo1`.
    Rejected,
    /// More deals are needed.
    Undecided,
}

impl Verdict {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
            Self::Undecided => "undecided",
        }
    }
}

/// A test in progress.
#[derive(Debug, Clone)]
pub(super) struct Test {
    pub(super) hypotheses: Hypotheses,
    /// The number of deals by the points of the first player in its two matches: 0, 1/2, 1, 3/2, 2.
    pub(super) counts: [u32; RESULTS],
}

impl Test {
    pub(super) fn new(hypotheses: Hypotheses) -> Self {
        Self { hypotheses, counts: [0; RESULTS] }
    }

    /// Adds a deal of two players with two matches. A match without a winner counts half a point for both.
    pub(super) fn add(&mut self, deal: &Deal) {
        let [first, second] = deal.tallies[..] else {
            unreachable!("the arena checks the number of players")
        };
        let half_points = (2 * UNITS_PER_WIN + first.wins - second.wins) / UNITS_PER_WIN;
        self.counts[half_points as usize] += 1;
    }

    /// Returns the generalised log-likelihood ratio of the hypotheses.
    pub(super) fn llr(&self) -> f64 {
        if self.counts == [0; RESULTS] {
            return 0.0;
        }
        let counts = self.counts.map(|count| if count == 0 { PRIOR } else { count.into() });
        let total: f64 = counts.iter().sum();
        let observed = counts.map(|count| count / total);
        let [null, alternative] = [self.hypotheses.elo0, self.hypotheses.elo1].map(|elo| {
            let mean = mean_share(elo);
            let multiplier = multiplier(&observed, mean);
            // The most likely distribution with this mean is `observed / (1 + multiplier * (share - mean))`.
            shares().map(|share| -(multiplier * (share - mean)).ln_1p())
        });
        counts.iter().zip(alternative).zip(null).map(|((count, one), zero)| count * (one - zero)).sum()
    }

    pub(super) fn verdict(&self) -> Verdict {
        match self.llr() {
            llr if llr >= BOUND => Verdict::Accepted,
            llr if llr <= -BOUND => Verdict::Rejected,
            _ => Verdict::Undecided,
        }
    }
}

/// Returns the possible shares of the points of a deal.
fn shares() -> [f64; RESULTS] {
    [0.0, 0.25, 0.5, 0.75, 1.0]
}

/// Returns the expected share of the points for a difference in Elo.
fn mean_share(elo: f64) -> f64 {
    1.0 / (1.0 + 10_f64.powf(-elo / 400.0))
}

/// Solves `sum of observed * (share - mean) / (1 + x * (share - mean)) = 0` by bisection. The sum decreases in `x`.
fn multiplier(observed: &[f64; RESULTS], mean: f64) -> f64 {
    /// Enough for the precision of the numbers.
    const HALVINGS: usize = 64;
    let sum = |x: f64| -> f64 {
        let term =
            |(probability, share): (&f64, f64)| probability * (share - mean) / (1.0 + x * (share - mean));
        observed.iter().zip(shares()).map(term).sum()
    };
    let (mut low, mut high) = (-1.0 / (1.0 - mean), 1.0 / mean);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if sum(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests;
