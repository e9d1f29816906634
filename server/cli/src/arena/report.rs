//! The output of an arena: its results as text or JSON, and its progress.

use std::io::Write as _;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::schedule::Schedule;
use super::sprt::{BOUND, ERROR_RATE, Hypotheses, Test};
use super::standings::{Standing, standings, u64_to_f64};
use super::{Arena, Collected, Results};

impl Arena {
    /// Prints the results to stdout. There is at least one deal.
    pub(super) fn report(&self, schedule: &Schedule, results: &Results) -> std::io::Result<()> {
        let standings = standings(&results.collected.deals);
        if self.json {
            writeln!(std::io::stdout(), "{}", self.as_json(schedule, results, &standings))
        } else {
            self.print(schedule, results, &standings)
        }
    }

    fn as_json(&self, schedule: &Schedule, results: &Results, standings: &[Standing]) -> Value {
        let Collected { deals, test, .. } = &results.collected;
        let row = |(bot, standing): (&String, &Standing)| {
            json!({
                "bot": bot,
                "seats": standing.seats,
                "share": standing.share,
                "interval": [standing.interval.0, standing.interval.1],
                "mean_score": standing.score,
                "rating": standing.rating,
                "milliseconds_per_decision": standing.milliseconds,
                "timeouts": standing.timeouts,
                "reported": results.reports.get(bot),
            })
        };
        json!({
            "game": self.table.game,
            "seats": schedule.seats(),
            "seed": self.table.seed(),
            "deals": deals.len(),
            "matches": deals.len() * schedule.line_ups.len(),
            "interrupted": results.interrupted,
            "decisions_per_second": results.decisions_per_second.round(),
            "sprt": test.as_ref().map(test_as_json),
            "bots": schedule.entrants.iter().zip(standings).map(row).collect::<Value>(),
        })
    }

    fn print(&self, schedule: &Schedule, results: &Results, standings: &[Standing]) -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        let (game, seed, seats) = (&self.table.game, self.table.seed(), schedule.seats());
        let (deals, line_ups) = (results.collected.deals.len(), schedule.line_ups.len());
        let matches = deals * line_ups;
        writeln!(
            out,
            "{matches} matches of {game} at {seats} seats, seed {seed}: {deals} deals with {line_ups} line-ups each"
        )?;
        let with_clock = |text: String| if self.clock.is_some() { text } else { String::new() };
        let timeouts = with_clock(" timeouts".to_owned());
        let timed = if standings.iter().any(|standing| standing.milliseconds.is_some()) {
            "  ms/decision"
        } else {
            ""
        };
        writeln!(out, "bot                first       95 % interval  mean score   rating{timed}{timeouts}")?;
        for (bot, standing) in schedule.entrants.iter().zip(standings) {
            let (low, high) = (100.0 * standing.interval.0, 100.0 * standing.interval.1);
            let (share, rating) = (100.0 * standing.share, standing.rating);
            let score = standing.score.map_or_else(|| "none".to_owned(), |score| format!("{score:.1}"));
            let milliseconds = standing.milliseconds.map(|mean| format!("{mean:>13.3}")).unwrap_or_default();
            let timeouts = with_clock(format!(" {:>8}", standing.timeouts));
            writeln!(
                out,
                "{bot:<16} {share:>6.1}% {low:>8.1}% to {high:>5.1}% {score:>11} {rating:>8.0}{milliseconds}{timeouts}"
            )?;
        }
        let (fair_share, rate) = (100.0 / u64_to_f64(seats as u64), results.decisions_per_second);
        writeln!(out, "a fair share is {fair_share:.1} %; {rate:.0} decisions per second")?;
        if let Some(test) = &results.collected.test {
            writeln!(out, "{}", test_as_text(test, schedule))?;
        }
        for (agent, totals) in &results.reports {
            // Up to three decimals.
            let total = |(name, total): (&String, &f64)| format!("{name} {}", (total * 1e3).round() / 1e3);
            let totals: Vec<String> = totals.iter().map(total).collect();
            writeln!(out, "{agent} reported {}", totals.join(", "))?;
        }
        if results.interrupted {
            writeln!(out, "interrupted: with --replays the same command continues")?;
        }
        Ok(())
    }
}

fn test_as_json(test: &Test) -> Value {
    let Hypotheses { elo0, elo1 } = test.hypotheses;
    json!({
        "elo": [elo0, elo1],
        "error_rate": ERROR_RATE,
        "llr": test.llr(),
        "bounds": [-BOUND, BOUND],
        "deals_by_points": test.counts,
        "verdict": test.verdict().as_str(),
    })
}

fn test_as_text(test: &Test, schedule: &Schedule) -> String {
    let ([first, second], Hypotheses { elo0, elo1 }) = (&schedule.entrants[..], test.hypotheses) else {
        unreachable!("the arena checks the number of players")
    };
    let (verdict, llr) = (test.verdict().as_str(), test.llr());
    let counts = test.counts.map(|count| count.to_string()).join(", ");
    format!(
        "SPRT, {first} is {elo1} rather than {elo0} Elo stronger than {second}: {verdict}; LLR {llr:.2}, bounds -{BOUND:.2} \
         and {BOUND:.2}\ndeals by points of {first}, 0 to 2: {counts}"
    )
}

/// Returns the progress bar of an arena. Its message is the state of the test of `--sprt`.
pub(super) fn progress(deal_limit: u64, schedule: &Schedule) -> anyhow::Result<ProgressBar> {
    let (bar, position, time) = if deal_limit == u64::MAX {
        (ProgressBar::new_spinner(), "{spinner} {pos}", "{elapsed}")
    } else {
        (ProgressBar::new(deal_limit), "{bar:40} {pos}/{len}", "{eta} left")
    };
    let matches = schedule.line_ups.len();
    let style = format!("{position} deals of {matches} matches, {{per_sec}}, {time}{{msg}}");
    bar.set_style(ProgressStyle::with_template(&style)?);
    Ok(bar)
}
