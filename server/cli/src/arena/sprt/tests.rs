use boardwire_kernel::RngStream;

use super::super::deal::Tally;
use super::*;

fn test(elo0: f64, elo1: f64, counts: [u32; RESULTS]) -> Test {
    Test { hypotheses: Hypotheses { elo0, elo1 }, counts }
}

/// Returns the log-likelihood of the most likely distribution with this mean, by a search along each coordinate in turn.
fn slow_log_likelihood(counts: &[f64; RESULTS], mean: f64) -> f64 {
    // The middle three probabilities determine the others.
    let all = |[one, two, three]: [f64; 3]| {
        let last = mean - 0.25 * one - 0.5 * two - 0.75 * three;
        [1.0 - one - two - three - last, one, two, three, last]
    };
    let log_likelihood = |middle: [f64; 3]| -> f64 {
        counts.iter().zip(all(middle)).map(|(count, probability)| count * probability.ln()).sum()
    };
    let mut middle = [0.2 * mean.min(1.0 - mean); 3];
    for coordinate in (0..3).cycle().take(1_500) {
        let with = |value: f64| {
            let mut moved = middle;
            moved[coordinate] = value;
            moved
        };
        let [first, .., last] = all(with(0.0));
        let share = shares()[coordinate + 1];
        let (mut low, mut high) = (0.0, (first / (1.0 - share)).min(last / share));
        for _ in 0..100 {
            let [left, right] = [low + (high - low) / 3.0, high - (high - low) / 3.0];
            if log_likelihood(with(left)) < log_likelihood(with(right)) { low = left } else { high = right }
        }
        middle = with(f64::midpoint(low, high));
    }
    log_likelihood(middle)
}

#[test]
fn the_ratio_is_that_of_fishtest() {
    // Published with commits of Stockfish: https://tests.stockfishchess.org/tests/view/5fe50b9d3932f79192d3973c
    let published = test(-0.25, 1.25, [292, 5905, 28939, 6129, 299]);
    assert!((published.llr() - 2.95).abs() < 0.005, "{}", published.llr());
    // Computed by a short Python program of the formula in fishtest's `LLR_logistic`.
    for (elo0, elo1, counts, expected) in [
        (-5.0, 10.0, [12, 60, 150, 80, 20], 3.252_518_971),
        (0.0, 50.0, [0, 3, 10, 9, 5], 3.516_707_551),
        (0.0, 10.0, [0, 0, 0, 0, 30], 0.851_100_701),
        (0.0, 10.0, [0, 0, 5, 0, 0], -0.140_506_862),
    ] {
        let llr = test(elo0, elo1, counts).llr();
        assert!((llr - expected).abs() < 1e-6, "{counts:?}: {llr}");
    }
    assert!((test(0.0, 10.0, [0; RESULTS]).llr()).abs() < 1e-9);
}

#[test]
fn the_ratio_equals_a_slow_maximization() {
    for (elo0, elo1, counts) in
        [(-5.0, 10.0, [12, 60, 150, 80, 20]), (0.0, 50.0, [1, 3, 10, 9, 5]), (-100.0, 0.0, [40, 10, 3, 7, 2])]
    {
        let fast = test(elo0, elo1, counts).llr();
        let [null, alternative] =
            [elo0, elo1].map(|elo| slow_log_likelihood(&counts.map(f64::from), mean_share(elo)));
        assert!((fast - (alternative - null)).abs() < 1e-4, "{counts:?}: {fast}, {}", alternative - null);
    }
}

#[test]
fn the_error_rates_hold() {
    const RUNS: u32 = 2_000;
    let hypotheses = Hypotheses { elo0: 0.0, elo1: 60.0 };
    let mut rng = RngStream::new(1, 0);
    for (elo, wrong) in [(hypotheses.elo0, Verdict::Accepted), (hypotheses.elo1, Verdict::Rejected)] {
        // Results with the mean 1/2, some of them replaced by wins.
        let wins = 2.0 * mean_share(elo) - 1.0;
        let mut run = || {
            let mut test = Test::new(hypotheses);
            while test.verdict() == Verdict::Undecided {
                let is_win = f64::from(rng.below(1_000_000)) < wins * 1e6;
                let result = [0, 1, 1, 2, 2, 2, 2, 3, 3, 4][rng.below(10) as usize];
                test.counts[if is_win { RESULTS - 1 } else { result }] += 1;
            }
            test.verdict()
        };
        let errors = (0..RUNS).filter(|_| run() == wrong).count();
        assert!((RUNS as usize / 50..RUNS as usize / 16).contains(&errors), "Elo {elo}: {errors}");
    }
    assert!((BOUND - ((1.0 - ERROR_RATE) / ERROR_RATE).ln()).abs() < 1e-12);
}

#[test]
fn a_deal_counts_by_the_points_of_the_first_player() {
    let mut test = Test::new(Hypotheses { elo0: 0.0, elo1: 20.0 });
    // The last deal has a win of the first player, and a match without a winner.
    for (first, second) in [(0, 4), (1, 3), (2, 2), (3, 1), (4, 0), (2, 0)] {
        let tallies =
            [first, second].map(|halves| Tally { wins: halves * UNITS_PER_WIN / 2, ..Tally::default() });
        test.add(&Deal { number: 0, decisions: 1, tallies: tallies.into(), placed_before: vec![] });
    }
    assert_eq!(test.counts, [1, 1, 1, 2, 1]);
}

#[test]
fn hypotheses_are_two_ascending_numbers() {
    assert_eq!("-5,2.5".parse(), Ok(Hypotheses { elo0: -5.0, elo1: 2.5 }));
    for wrong in ["5", "5,5", "5,0", "0,1001", "0,nan", "a,b", "0,1,2"] {
        let error = wrong.parse::<Hypotheses>().expect_err(wrong);
        assert!(error.contains("-1000 <= ELO0 < ELO1 <= 1000"), "{error}");
    }
}
