//! `arena`: many matches of bots, with how sure one may be of the result.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use boardwire_bots::Bot;
use boardwire_kernel::RngStream;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::{BotTable, bot_match};
use crate::tables::Table;

/// Plays many matches.
#[derive(Debug, Args)]
pub(super) struct Arena {
    #[command(flatten)]
    table: BotTable,
    /// How many matches. The bots move one seat on after each.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    matches: u64,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

/// What one bot has achieved.
#[derive(Debug, Clone, Copy, Default)]
struct Record {
    matches: u64,
    wins: f64,
    points: f64,
}

impl Arena {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let table = self.table.table()?;
        let progress = ProgressBar::new(self.matches);
        let style = "{bar:40} {pos}/{len} matches, {per_sec}, {eta} left";
        progress.set_style(ProgressStyle::with_template(style)?);
        let begun = Instant::now();
        let (next, plies) = (AtomicU64::new(0), AtomicU64::new(0));
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let records = std::thread::scope(|scope| {
            let work = || self.work(&table, &next, &plies, &progress);
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            workers
                .into_iter()
                .map(|worker| worker.join().expect("a worker does not panic"))
                .fold(anyhow::Ok(vec![Record::default(); self.table.seats.len()]), |sum, part| {
                    Ok(sum?.into_iter().zip(part?).map(|(a, b)| a.plus(b)).collect())
                })
        })?;
        progress.finish_and_clear();
        let rate = float(plies.load(Ordering::Relaxed)) / begun.elapsed().as_secs_f64();
        self.print(&records, rate);
        Ok(ExitCode::SUCCESS)
    }

    /// Plays matches until none is left. Which worker plays which match changes no result.
    fn work(
        &self,
        table: &Table,
        next: &AtomicU64,
        plies: &AtomicU64,
        progress: &ProgressBar,
    ) -> anyhow::Result<Vec<Record>> {
        let bots = &self.table.seats;
        let mut records = vec![Record::default(); bots.len()];
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= self.matches {
                return Ok(records);
            }
            let turn = usize::try_from(number)? % bots.len();
            let mut seated: Vec<Bot> = bots.clone();
            seated.rotate_right(turn);
            let end =
                bot_match(table, &seated, RngStream::new(self.table.seed, number).seed(), |_, _, _| Ok(()))?;
            plies.fetch_add(end.ply().into(), Ordering::Relaxed);
            if let Some(outcome) = end.outcome() {
                let winners: f64 = outcome.ranks().iter().map(|&rank| f64::from(u8::from(rank == 1))).sum();
                for (seat, (&rank, &score)) in outcome.ranks().iter().zip(outcome.scores()).enumerate() {
                    let record = &mut records[(seat + bots.len() - turn) % bots.len()];
                    record.points += f64::from(score);
                    if rank == 1 {
                        record.wins += 1.0 / winners;
                    }
                }
            }
            for record in &mut records {
                record.matches += 1;
            }
            progress.inc(1);
        }
    }

    fn print(&self, records: &[Record], rate: f64) {
        let rows = self.table.seats.iter().zip(records);
        if self.json {
            let row = |(bot, record): (&Bot, &Record)| {
                let (low, high) = record.interval();
                json!({
                    "bot": bot.to_string(),
                    "matches": record.matches,
                    "wins": record.wins,
                    "win_rate": record.rate(),
                    "interval": [low, high],
                    "mean_score": record.mean(),
                })
            };
            let bots: Value = rows.map(row).collect();
            println!(
                "{}",
                json!({
                    "game": self.table.game,
                    "seed": self.table.seed,
                    "matches": self.matches,
                    "decisions_per_second": rate.round(),
                    "bots": bots,
                })
            );
            return;
        }
        println!("{} matches of {}, seed {}", self.matches, self.table.game, self.table.seed);
        println!("{:<16} {:>8} {:>18} {:>12}", "bot", "wins", "95 % interval", "mean score");
        for (bot, record) in rows {
            let (low, high) = record.interval();
            println!(
                "{:<16} {:>7.1}% {:>9.1}% {:>7.1}% {:>12.1}",
                bot.to_string(),
                100.0 * record.rate(),
                100.0 * low,
                100.0 * high,
                record.mean()
            );
        }
        println!("{rate:.0} decisions per second");
    }
}

impl Record {
    fn plus(self, other: Self) -> Self {
        Self {
            matches: self.matches + other.matches,
            wins: self.wins + other.wins,
            points: self.points + other.points,
        }
    }

    /// Matches played, as a float.
    fn played(&self) -> f64 {
        float(self.matches.max(1))
    }

    fn rate(&self) -> f64 {
        self.wins / self.played()
    }

    fn mean(&self) -> f64 {
        self.points / self.played()
    }

    /// The Wilson score interval of the win rate at 95 %.
    fn interval(&self) -> (f64, f64) {
        const Z: f64 = 1.959_964;
        let (n, p) = (self.played(), self.rate());
        let centre = p + Z * Z / (2.0 * n);
        let spread = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
        let scale = 1.0 + Z * Z / n;
        (((centre - spread) / scale).max(0.0), ((centre + spread) / scale).min(1.0))
    }
}

#[expect(clippy::cast_precision_loss, reason = "nobody plays 2^53 matches")]
fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_wilsons() {
        // Worked by hand for 8 of 10: (0.8 + 0.19207 +- 0.28164) / 1.38415.
        let (low, high) = Record { matches: 10, wins: 8.0, points: 0.0 }.interval();
        assert!((low - 0.490_2).abs() < 1e-3 && (high - 0.943_3).abs() < 1e-3, "{low} {high}");
        let sure = Record { matches: 10, wins: 10.0, points: 0.0 }.interval();
        assert!(sure.0 > 0.7 && sure.1 > 0.999, "{sure:?}");
    }
}
