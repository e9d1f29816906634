//! `play`: plays one match of bots, and shows it as a transcript or as an HTML page.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use boardwire_batch::play::AnyEpisode;
use boardwire_batch::registry::Registry;
use boardwire_batch::tables::Table;
use boardwire_bots::{Bot, Choice};
use boardwire_kernel::{BOT_STREAM, RngStream, Seat, Viewer};
use clap::Args;

use crate::flags::BotTable;
use crate::replay;
use boardwire_server::page::ReplayPage;

/// Plays one match.
#[derive(Debug, Args)]
pub(super) struct PlayOne {
    #[command(flatten)]
    table: BotTable,
    /// Writes an HTML page that shows every position as each seat sees it, instead of the transcript.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl PlayOne {
    pub(super) fn run(self, games: &Registry) -> anyhow::Result<ExitCode> {
        let (tables, table) = self.table.set_up(games, self.table.seats.len())?;
        let bots = self.table.seats.iter().map(|name| tables.bot(&table, name));
        let bots = bots.collect::<Result<Vec<_>, _>>()?;
        match &self.html {
            Some(html) => self.write_page(&table, &bots, html),
            None => self.print_transcript(&table, &bots),
        }
    }

    fn print_transcript(&self, table: &Table, bots: &[Bot]) -> anyhow::Result<ExitCode> {
        let info = table.game.info();
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        writeln!(out, "{} with {}, seed {}", info.id, self.table.seats.join(", "), self.table.seed())?;
        let mut pending_before = 0;
        let end = bot_match(table, bots, self.table.seed(), |episode, seat, action| {
            let pending = episode.pending().len();
            if pending > pending_before.max(1) || episode.ply() == 0 {
                write!(out, "\n{}", episode.text(Viewer::Public))?;
            }
            pending_before = pending;
            let (bot, phrase) = (&bots[seat.index()], episode.phrase(seat, action));
            writeln!(out, "{:>4}  {seat} ({bot}): {phrase}", episode.ply() + 1)?;
            Ok(true)
        })?;
        let end = end.expect("the callback never stops the match").episode;
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

    fn write_page(&self, table: &Table, bots: &[Bot], html: &Path) -> anyhow::Result<ExitCode> {
        let (info, about) = (table.game.info(), format!("seed {}", self.table.seed()));
        let mut page = ReplayPage::new(info, &self.table.seats, about, Viewer::all(info.seats).collect());
        let mut caption = "the deal".to_owned();
        let end = bot_match(table, bots, self.table.seed(), |episode, seat, action| {
            let label = info.actions.label(action).unwrap_or_default();
            let next = replay::decision(seat, &self.table.seats[seat.index()], label);
            let result = page.show(info, episode, std::mem::replace(&mut caption, next));
            result.map(|()| true).map_err(std::io::Error::other)
        })?;
        let end = end.expect("the callback never stops the match").episode;
        page.show(info, &*end, caption).map_err(anyhow::Error::msg)?;
        page.end(&*end);
        replay::write(html, &page)
    }
}

/// A match that bots have played to its end.
pub(crate) struct PlayedMatch {
    pub(crate) episode: Box<dyn AnyEpisode>,
    /// One per seat.
    pub(crate) thinking: Vec<Thinking>,
}

/// The time that a bot took for its decisions.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Thinking {
    pub(crate) decisions: u32,
    pub(crate) elapsed: Duration,
}

/// Plays a match of bots to its end. Calls `on_action` before each action is applied; `false` stops the match.
pub(crate) fn bot_match(
    table: &Table,
    bots: &[Bot],
    seed: u64,
    mut on_action: impl FnMut(&dyn AnyEpisode, Seat, u8) -> std::io::Result<bool>,
) -> anyhow::Result<Option<PlayedMatch>> {
    let mut episode = Arc::clone(&table.game).deal(seed.into());
    let mut rngs: Vec<RngStream> =
        (BOT_STREAM..).zip(bots).map(|(stream, _)| RngStream::new(seed, stream)).collect();
    let mut thinking = vec![Thinking::default(); bots.len()];
    while !episode.pending().is_empty() {
        let bot = |seat: Seat| (seat, bots[seat.index()].clone(), rngs[seat.index()].clone());
        let mut decisions = episode.start_bots(episode.pending().iter().map(bot).collect());
        while let Some(seat) = decisions.seat() {
            let start = Instant::now();
            while decisions.seat() == Some(seat) {
                decisions.advance()?;
            }
            let own = &mut thinking[seat.index()];
            own.decisions += 1;
            own.elapsed += start.elapsed();
        }
        let mut choices = decisions.choices();
        choices.sort_unstable_by_key(|choice| choice.seat);
        for Choice { seat, action, rng } in choices {
            rngs[seat.index()] = rng;
            if !on_action(&*episode, seat, action)? {
                return Ok(None);
            }
            episode.apply(seat, action.into())?;
        }
    }
    Ok(Some(PlayedMatch { episode, thinking }))
}
