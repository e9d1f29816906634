//! `play`: one match of bots as a readable transcript, or as a page.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use boardwire_batch::tables::Table;
use boardwire_bots::Bot;
use boardwire_kernel::{Seat, Viewer};
use clap::Args;

use crate::replay;
use crate::table::{BotTable, bot_match};
use boardwire_server::page::ReplayPage;

/// Plays one match.
#[derive(Debug, Args)]
pub(super) struct PlayOne {
    #[command(flatten)]
    table: BotTable,
    /// Writes a page that shows every position as each seat saw it, instead of the transcript.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl PlayOne {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let (tables, table) = self.table.set_up(self.table.seats.len())?;
        let bots = self.table.seats.iter().map(|name| tables.bot(&table, name));
        let bots = bots.collect::<Result<Vec<_>, _>>()?;
        if let Some(html) = &self.html {
            return self.page(&table, &bots, html);
        }
        let info = table.rules.info();
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        writeln!(out, "{} with {}, seed {}", info.id, self.table.seats.join(", "), self.table.seed())?;
        let mut owed = 0;
        let end = bot_match(&table, &bots, self.table.seed(), |episode, seat, action| {
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

    fn page(&self, table: &Table, bots: &[Bot], html: &Path) -> anyhow::Result<ExitCode> {
        let (info, about) = (table.rules.info(), format!("seed {}", self.table.seed()));
        let mut film = ReplayPage::new(info, &self.table.seats, about, Viewer::all(info.seats).collect());
        let mut caption = "the deal".to_owned();
        let end = bot_match(table, bots, self.table.seed(), |episode, seat, action| {
            let label = info.actions.label(action).unwrap_or_default();
            let next = replay::decision(seat, &self.table.seats[seat.index()], label);
            let shown = film.show(info, episode, std::mem::replace(&mut caption, next));
            shown.map(|()| true).map_err(std::io::Error::other)
        })?;
        let end = end.expect("nothing stops it");
        film.show(info, &*end, caption).map_err(anyhow::Error::msg)?;
        film.end(&*end);
        replay::write(html, &film)
    }
}
