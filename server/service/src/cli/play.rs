//! `play`: one match of bots as a readable transcript.

use std::io::Write as _;
use std::process::ExitCode;

use boardwire_kernel::{Seat, Viewer};
use clap::Args;

use super::{BotTable, bot_match};

/// Plays one match.
#[derive(Debug, Args)]
pub(super) struct PlayOne {
    #[command(flatten)]
    table: BotTable,
}

impl PlayOne {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let (tables, table) = self.table.set_up(self.table.seats.len())?;
        let bots = self.table.seats.iter().map(|name| tables.bot(&table, name));
        let bots = bots.collect::<Result<Vec<_>, _>>()?;
        let info = table.rules.info();
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        writeln!(out, "{} with {}, seed {}", info.id, self.table.seats.join(", "), self.table.seed)?;
        let mut owed = 0;
        let end = bot_match(&table, &bots, self.table.seed, |episode, seat, action| {
            let now = episode.pending().len();
            if now > owed.max(1) || episode.ply() == 0 {
                write!(out, "\n{}", episode.text(Viewer::Public))?;
            }
            owed = now;
            let label = info.actions.label(action).unwrap_or_default();
            writeln!(out, "{:>4}  {} ({}): {label}", episode.ply() + 1, seat, bots[seat.index()])?;
            Ok(true)
        })?;
        let end = end.expect("nothing stops it");
        write!(out, "\n{}", end.text(Viewer::Public))?;
        match end.outcome() {
            None => writeln!(out, "\nThe match was cut after {} plies.", end.ply())?,
            Some(outcome) => {
                writeln!(out)?;
                for seat in Seat::all(info.seats) {
                    let (place, score) = (outcome.ranks()[seat.index()], outcome.scores()[seat.index()]);
                    writeln!(out, "{seat} ({}): place {place}, {score} points", bots[seat.index()])?;
                    let lines = end.explain(seat);
                    let lines = lines.iter().map(|line| format!("{} {}", line.source, line.points));
                    writeln!(out, "    {}", lines.collect::<Vec<_>>().join(", "))?;
                }
            }
        }
        writeln!(out, "digest {}", end.digest())?;
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}
