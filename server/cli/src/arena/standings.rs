//! Standings of the entrants, with confidence intervals and ratings.

use std::f64::consts::LN_10;
use std::time::Duration;

use super::deal::{Deal, UNITS_PER_WIN};

/// The results of one entrant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Standing {
    /// The number of seats played.
    pub(super) seats: u64,
    /// First places per seat played.
    pub(super) share: f64,
    /// The 95 % confidence interval of the share.
    pub(super) interval: (f64, f64),
    /// The mean score of matches with scores, or `None` if there are none.
    pub(super) score: Option<f64>,
    /// A difference of 400 points means odds of 10 to 1. The mean of all entrants is 0.
    pub(super) rating: f64,
    /// The number of seats that forfeited because their time ran out.
    pub(super) timeouts: u64,
    /// The mean time of a decision in milliseconds, or `None` if a server played the matches.
    pub(super) milliseconds: Option<f64>,
}

/// Returns the standings of all entrants. Needs at least one deal.
pub(super) fn standings(deals: &[Deal]) -> Vec<Standing> {
    let entrants = deals[0].tallies.len();
    let ratings = ratings(deals);
    (0..entrants)
        .map(|entrant| {
            let tallies = || deals.iter().map(|deal| deal.tallies[entrant]);
            let seats: u64 = tallies().map(|tally| u64::from(tally.seats)).sum();
            let wins: u64 = tallies().map(|tally| u64::from(tally.wins)).sum();
            let scored = seats - tallies().map(|tally| u64::from(tally.unscored)).sum::<u64>();
            let points: i64 = tallies().map(|tally| tally.points).sum();
            let timed: u64 = tallies().map(|tally| u64::from(tally.timed_decisions)).sum();
            let thinking: Duration = tallies().map(|tally| tally.thinking).sum();
            Standing {
                seats,
                share: u64_to_f64(wins) / u64_to_f64(u64::from(UNITS_PER_WIN) * seats),
                interval: interval(&shares(deals, entrant)),
                score: (scored > 0).then(|| i64_to_f64(points) / u64_to_f64(scored)),
                rating: ratings[entrant],
                timeouts: tallies().map(|tally| u64::from(tally.timeouts)).sum(),
                milliseconds: (timed > 0).then(|| thinking.as_secs_f64() * 1e3 / u64_to_f64(timed)),
            }
        })
        .collect()
}

/// Returns the width of the widest interval. Needs at least one deal.
pub(super) fn width(deals: &[Deal]) -> f64 {
    let intervals = (0..deals[0].tallies.len()).map(|entrant| interval(&shares(deals, entrant)));
    intervals.map(|(low, high)| high - low).fold(0.0, f64::max)
}

/// Returns an entrant's share of first places in each deal.
fn shares(deals: &[Deal], entrant: usize) -> Vec<f64> {
    let tallies = deals.iter().map(|deal| deal.tallies[entrant]);
    tallies.map(|tally| f64::from(tally.wins) / f64::from(UNITS_PER_WIN * tally.seats)).collect()
}

/// Returns the 95 % confidence interval of the mean share. Each deal is one sample, since its matches are dependent.
///
/// Adds one deal that is won and one that is lost, like the method of Agresti and Coull for a proportion. Without them, a
/// few deals with equal results would give an interval of width 0.
fn interval(shares: &[f64]) -> (f64, f64) {
    const Z: f64 = 1.959_964;
    let number = u64_to_f64(shares.len() as u64 + 2);
    let mean = (shares.iter().sum::<f64>() + 1.0) / number;
    let square = |share: f64| (share - mean) * (share - mean);
    let sum = shares.iter().map(|&share| square(share)).sum::<f64>() + square(0.0) + square(1.0);
    let spread = Z * (sum / (number - 1.0) / number).sqrt();
    ((mean - spread).max(0.0), (mean + spread).min(1.0))
}

/// Returns maximum-likelihood Bradley-Terry ratings, computed with Newton's method.
///
/// The prior adds a tenth of a win and a tenth of a loss between each two entrants, which keeps ratings finite.
fn ratings(deals: &[Deal]) -> Vec<f64> {
    /// The maximum number of iterations. Newton's method needs far fewer.
    const ROUNDS: usize = 1_000;
    const PRIOR: f64 = 0.1;
    let entrants = deals[0].tallies.len();
    let placed_before = |one: usize, other: usize| {
        let halves: u64 = deals.iter().map(|deal| u64::from(deal.placed_before[one][other])).sum();
        u64_to_f64(halves) / 2.0 + PRIOR
    };
    let wins: Vec<Vec<f64>> =
        (0..entrants).map(|one| (0..entrants).map(|other| placed_before(one, other)).collect()).collect();
    let mut logs = vec![0.0; entrants];
    for _ in 0..ROUNDS {
        let steps = steps(&wins, &logs);
        let wider = |(low, high): (f64, f64), &step: &f64| (low.min(step), high.max(step));
        let (low, high) = steps.iter().fold((0.0, 0.0), wider);
        // The method converges if no difference changes by more than 1 per iteration.
        let scale = 1.0 / (high - low).max(1.0);
        for (log, step) in logs.iter_mut().zip(&steps) {
            *log += scale * step;
        }
        if high - low < 1e-9 {
            break;
        }
    }
    let mean = logs.iter().sum::<f64>() / u64_to_f64(entrants as u64);
    logs.iter().map(|log| 400.0 * (log - mean) / LN_10).collect()
}

/// Returns a Newton step for the logarithms of strengths. The first value stays 0, since only differences count.
fn steps(wins: &[Vec<f64>], logs: &[f64]) -> Vec<f64> {
    let entrants = logs.len();
    let chance = |one: usize, other: usize| 1.0 / (1.0 + (logs[other] - logs[one]).exp());
    // Each row has the negated second derivatives of the log-likelihood, then the first derivative.
    let row = |one: usize| {
        let mut row = vec![0.0; entrants + 1];
        for other in (0..entrants).filter(|&other| other != one) {
            let (wins, losses) = (wins[one][other], wins[other][one]);
            let curvature = (wins + losses) * chance(one, other) * chance(other, one);
            row[one] += curvature;
            row[other] -= curvature;
            row[entrants] += wins * chance(other, one) - losses * chance(one, other);
        }
        row
    };
    let mut rows: Vec<Vec<f64>> = (0..entrants).map(row).collect();
    for pivot in 1..entrants {
        let pivot_row = rows[pivot].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|&(number, _)| number != pivot) {
            let factor = row[pivot] / pivot_row[pivot];
            for (value, pivot_value) in row.iter_mut().zip(&pivot_row) {
                *value -= factor * pivot_value;
            }
        }
    }
    let step =
        |(number, row): (usize, &Vec<f64>)| if number == 0 { 0.0 } else { row[entrants] / row[number] };
    rows.iter().enumerate().map(step).collect()
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
pub(super) fn u64_to_f64(count: u64) -> f64 {
    count as f64
}

#[expect(clippy::cast_precision_loss, reason = "scores stay far below 2^53")]
fn i64_to_f64(points: i64) -> f64 {
    points as f64
}

#[cfg(test)]
mod tests {
    use super::super::deal::Tally;
    use super::*;

    const HALF: u32 = UNITS_PER_WIN / 2;

    /// Makes deals of two entrants and two matches. `won` has the wins of the first entrant, in half matches.
    fn deals(won: &[u32]) -> Vec<Deal> {
        let deal = |(number, &won): (u64, &u32)| {
            let (won, lost) = (won * HALF, (4 - won) * HALF);
            let tally = |wins| Tally { seats: 2, wins, points: i64::from(wins / HALF), ..Tally::default() };
            let placed_before = |wins| wins / HALF;
            Deal {
                number,
                decisions: 1,
                tallies: vec![tally(won), tally(lost)],
                placed_before: vec![vec![0, placed_before(won)], vec![placed_before(lost), 0]],
            }
        };
        (0..).zip(won).map(deal).collect()
    }

    #[test]
    fn standings_equal_a_calculation_by_hand() {
        let deals = deals(&[4, 2, 2, 0]);
        let [first, second] = standings(&deals)[..] else { panic!("two entrants") };
        assert!((first.share - 0.5).abs() < 1e-9 && (second.share - 0.5).abs() < 1e-9);
        assert_eq!((first.seats, second.seats), (8, 8));
        assert!(first.score.is_some_and(|score| (score - 1.0).abs() < 1e-9));
        // Shares 1, 1/2, 1/2, 0 and two added deals. The variance is 4 * 1/4 / 5, and a sixth of it for the mean.
        let spread = 1.959_964 * (0.2_f64 / 6.0).sqrt();
        assert!((first.interval.0 - (0.5 - spread)).abs() < 1e-9, "{first:?}");
        assert!((width(&deals) - 2.0 * spread).abs() < 1e-9);
        assert!(first.rating.abs() < 1e-6 && second.rating.abs() < 1e-6);
    }

    #[test]
    fn a_mean_score_counts_only_matches_with_scores() {
        let mut deals = deals(&[4, 0]);
        deals[0].tallies[0] = Tally { points: 30, unscored: 1, ..deals[0].tallies[0] };
        deals[1].tallies[0] = Tally { points: 0, unscored: 2, ..deals[1].tallies[0] };
        let score = standings(&deals)[0].score.expect("one seat has a score");
        assert!((score - 30.0).abs() < 1e-9, "{score}");
        deals[0].tallies[0].unscored = 2;
        assert_eq!(standings(&deals)[0].score, None);
    }

    #[test]
    fn the_time_of_a_decision_is_a_mean_over_all_deals() {
        let mut deals = deals(&[4, 0]);
        assert_eq!(standings(&deals)[0].milliseconds, None);
        for (deal, timed_decisions, seconds) in [(0, 1, 3), (1, 3, 1)] {
            let thinking = Duration::from_secs(seconds);
            deals[deal].tallies[0] = Tally { timed_decisions, thinking, ..deals[deal].tallies[0] };
        }
        let mean = standings(&deals)[0].milliseconds.expect("it was measured");
        assert!((mean - 1_000.0).abs() < 1e-9, "{mean}");
    }

    #[test]
    fn few_deals_with_the_same_result_give_a_wide_interval() {
        let [all, none] = standings(&deals(&[4; 3]))[..] else { panic!("two entrants") };
        assert!(all.interval.0 < 0.6 && none.interval.1 > 0.4, "{all:?} {none:?}");
        let [all, _] = standings(&deals(&[4; 200]))[..] else { panic!("two entrants") };
        assert!(all.interval.0 > 0.97, "{all:?}");
    }

    #[test]
    fn winning_three_of_four_is_worth_191_points() {
        let [first, second] = standings(&deals(&[4, 2].repeat(500)))[..] else { panic!("two entrants") };
        // 400 * log10(3)
        assert!((first.rating - second.rating - 190.8).abs() < 0.5, "{first:?} {second:?}");
        assert!((first.rating + second.rating).abs() < 1e-6);
    }

    #[test]
    fn ratings_maximize_the_likelihood() {
        // Two equally weak entrants never beat the other two. There are 10,000 matches per pair, counted in halves.
        let placed_before =
            [[0, 10_000, 0, 0], [10_000, 0, 0, 0], [20_000, 20_000, 0, 4_000], [20_000, 20_000, 16_000, 0]];
        let (tallies, placed_before) = (vec![Tally::default(); 4], placed_before.map(Vec::from).to_vec());
        let ratings = ratings(&[Deal { number: 0, decisions: 1, tallies, placed_before }]);
        for (rating, expected) in ratings.iter().zip([-1019.380, -1019.380, 898.977, 1139.782]) {
            assert!((rating - expected).abs() < 1e-3, "{ratings:?}");
        }
    }
}
