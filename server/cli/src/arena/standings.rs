//! What deals say of the entrants, and how sure it is.

use std::f64::consts::LN_10;

use super::deal::{Deal, WHOLE};

/// How an entrant stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Standing {
    /// How many seats it has played.
    pub(super) seats: u64,
    /// Its share of first places for each seat played.
    pub(super) share: f64,
    /// Where the true share lies, at 95 %.
    pub(super) interval: (f64, f64),
    /// Its mean score, over the matches that were scored, if any was.
    pub(super) score: Option<f64>,
    /// Its rating: 400 points are ten to one against another; the mean of the field is 0.
    pub(super) rating: f64,
}

/// The standings of all entrants after these deals, of which there is at least one.
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
            Standing {
                seats,
                share: float(wins) / float(u64::from(WHOLE) * seats),
                interval: interval(&shares(deals, entrant)),
                score: (scored > 0).then(|| signed(points) / float(scored)),
                rating: ratings[entrant],
            }
        })
        .collect()
}

/// How wide the widest of the intervals is after these deals, of which there is at least one.
pub(super) fn width(deals: &[Deal]) -> f64 {
    let entrants = 0..deals[0].tallies.len();
    let intervals = entrants.map(|entrant| interval(&shares(deals, entrant)));
    intervals.map(|(low, high)| high - low).fold(0.0, f64::max)
}

/// What an entrant has won of each deal, for each seat that it had.
fn shares(deals: &[Deal], entrant: usize) -> Vec<f64> {
    let share = |deal: &Deal| {
        let tally = deal.tallies[entrant];
        f64::from(tally.wins) / f64::from(WHOLE * tally.seats)
    };
    deals.iter().map(share).collect()
}

/// Where the mean of shares lies at 95 %, a share a deal.
///
/// Matches of one deal depend on each other, so deals are what is independent. Two more deals are added, one won by
/// all means and one lost (as Agresti and Coull do for a proportion), since few deals that all ended alike prove little.
fn interval(shares: &[f64]) -> (f64, f64) {
    const Z: f64 = 1.959_964;
    let number = float(shares.len() as u64 + 2);
    let mean = (shares.iter().sum::<f64>() + 1.0) / number;
    let square = |share: f64| (share - mean) * (share - mean);
    let sum = shares.iter().map(|&share| square(share)).sum::<f64>() + square(0.0) + square(1.0);
    let spread = Z * (sum / (number - 1.0) / number).sqrt();
    ((mean - spread).max(0.0), (mean + spread).min(1.0))
}

/// Bradley-Terry ratings, from who was placed before whom: under which that is likeliest, by Newton's method.
///
/// A tenth of a match won and lost against everybody keeps those finite who have always won.
fn ratings(deals: &[Deal]) -> Vec<f64> {
    /// Many more than it takes.
    const ROUNDS: usize = 1_000;
    const PRIOR: f64 = 0.1;
    let entrants = deals[0].tallies.len();
    let ahead = |one: usize, other: usize| {
        let halves: u64 = deals.iter().map(|deal| u64::from(deal.ahead[one][other])).sum();
        float(halves) / 2.0 + PRIOR
    };
    let wins: Vec<Vec<f64>> =
        (0..entrants).map(|one| (0..entrants).map(|other| ahead(one, other)).collect()).collect();
    let mut logs = vec![0.0; entrants];
    for _ in 0..ROUNDS {
        let steps = steps(&wins, &logs);
        let wider = |(low, high): (f64, f64), &step: &f64| (low.min(step), high.max(step));
        let (low, high) = steps.iter().fold((0.0, 0.0), wider);
        // Where no two move by more than 1 against each other, a round never leads away.
        let part = 1.0 / (high - low).max(1.0);
        for (log, step) in logs.iter_mut().zip(&steps) {
            *log += part * step;
        }
        if high - low < 1e-9 {
            break;
        }
    }
    let mean = logs.iter().sum::<f64>() / float(entrants as u64);
    logs.iter().map(|log| 400.0 * (log - mean) / LN_10).collect()
}

/// By how much Newton's method changes the logarithms of strengths. The first stays, since only differences count.
fn steps(wins: &[Vec<f64>], logs: &[f64]) -> Vec<f64> {
    let entrants = logs.len();
    let chance = |one: usize, other: usize| 1.0 / (1.0 + (logs[other] - logs[one]).exp());
    // How the likelihood bends, negated, and how steep it is.
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
        let own = rows[pivot].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|&(number, _)| number != pivot) {
            let factor = row[pivot] / own[pivot];
            for (value, own) in row.iter_mut().zip(&own) {
                *value -= factor * own;
            }
        }
    }
    let step =
        |(number, row): (usize, &Vec<f64>)| if number == 0 { 0.0 } else { row[entrants] / row[number] };
    rows.iter().enumerate().map(step).collect()
}

/// A count as a float.
#[expect(clippy::cast_precision_loss, reason = "nobody makes 2^53 decisions")]
pub(super) fn float(count: u64) -> f64 {
    count as f64
}

#[expect(clippy::cast_precision_loss, reason = "nobody scores 2^53 points")]
fn signed(points: i64) -> f64 {
    points as f64
}

#[cfg(test)]
mod tests {
    use super::super::deal::Tally;
    use super::*;

    const HALF: u32 = WHOLE / 2;

    /// Deals of two entrants, one match from each seat: how much of them the first has won, in half matches.
    fn deals(won: &[u32]) -> Vec<Deal> {
        let deal = |(number, &won): (u64, &u32)| {
            let (won, lost) = (won * HALF, (4 - won) * HALF);
            let tally = |wins| Tally { seats: 2, wins, points: i64::from(wins / HALF), unscored: 0 };
            let ahead = |wins| wins / HALF;
            Deal {
                number,
                decisions: 1,
                tallies: vec![tally(won), tally(lost)],
                ahead: vec![vec![0, ahead(won)], vec![ahead(lost), 0]],
            }
        };
        (0..).zip(won).map(deal).collect()
    }

    #[test]
    fn standings_are_worked_out_by_hand() {
        let deals = deals(&[4, 2, 2, 0]);
        let [first, second] = standings(&deals)[..] else { panic!("two entrants") };
        assert!((first.share - 0.5).abs() < 1e-9 && (second.share - 0.5).abs() < 1e-9);
        assert_eq!((first.seats, second.seats), (8, 8));
        assert!(first.score.is_some_and(|score| (score - 1.0).abs() < 1e-9));
        // Shares 1, 1/2, 1/2, 0 and the two added: variance 4 * 1/4 / 5, of the mean a sixth of it.
        let spread = 1.959_964 * (0.2_f64 / 6.0).sqrt();
        assert!((first.interval.0 - (0.5 - spread)).abs() < 1e-9, "{first:?}");
        assert!((width(&deals) - 2.0 * spread).abs() < 1e-9);
        assert!(first.rating.abs() < 1e-6 && second.rating.abs() < 1e-6);
    }

    #[test]
    fn a_mean_score_is_that_of_matches_that_were_scored() {
        let mut deals = deals(&[4, 0]);
        deals[0].tallies[0] = Tally { points: 30, unscored: 1, ..deals[0].tallies[0] };
        deals[1].tallies[0] = Tally { points: 0, unscored: 2, ..deals[1].tallies[0] };
        let score = standings(&deals)[0].score.expect("one seat has a score");
        assert!((score - 30.0).abs() < 1e-9, "{score}");
        deals[0].tallies[0].unscored = 2;
        assert_eq!(standings(&deals)[0].score, None);
    }

    #[test]
    fn few_deals_that_ended_alike_prove_little() {
        let [all, none] = standings(&deals(&[4; 3]))[..] else { panic!("two entrants") };
        assert!(all.interval.0 < 0.6 && none.interval.1 > 0.4, "{all:?} {none:?}");
        let [all, _] = standings(&deals(&[4; 200]))[..] else { panic!("two entrants") };
        assert!(all.interval.0 > 0.97, "{all:?}");
    }

    #[test]
    fn three_of_four_are_191_points() {
        let [first, second] = standings(&deals(&[4, 2].repeat(500)))[..] else { panic!("two entrants") };
        // 400 * log10(3)
        assert!((first.rating - second.rating - 190.8).abs() < 0.5, "{first:?} {second:?}");
        assert!((first.rating + second.rating).abs() < 1e-6);
    }

    #[test]
    fn ratings_are_those_that_make_the_deals_likeliest() {
        // Two that are equally weak, and never beat the other two; 10,000 matches a pair, in halves.
        let ahead =
            [[0, 10_000, 0, 0], [10_000, 0, 0, 0], [20_000, 20_000, 0, 4_000], [20_000, 20_000, 16_000, 0]];
        let (tallies, ahead) = (vec![Tally::default(); 4], ahead.map(Vec::from).to_vec());
        let ratings = ratings(&[Deal { number: 0, decisions: 1, tallies, ahead }]);
        for (rating, expected) in ratings.iter().zip([-1019.380, -1019.380, 898.977, 1139.782]) {
            assert!((rating - expected).abs() < 1e-3, "{ratings:?}");
        }
    }
}
