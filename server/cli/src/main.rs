//! The program `boardwire`: serves, plays and checks, by the library `boardwire_server`.
//!
//! Results go to stdout, everything else to stderr; exit codes are 0 good, 1 failed, 2 usage.

mod address;
mod agent;
mod agent_check;
mod arena;
mod completions;
mod games;
mod health;
mod json;
mod man;
mod play;
mod policies;
mod proto;
mod replay;
mod serve;
mod token;
mod verify;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use boardwire_batch::play::Play;
use boardwire_batch::registry::Registry;
use boardwire_batch::tables::{Table, Tables};
use boardwire_bots::{Bot, Choice, UnknownBot};
use boardwire_kernel::{BOT_STREAM, RngStream, Seat};
use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};

use policies::PolicyFiles;

/// Matches are many small, short-lived allocations on several threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(code) => code,
        Err(error) => match error.downcast::<clap::Error>() {
            Ok(usage) => usage.exit(),
            Err(error) => {
                eprintln!("boardwire: {error:#}");
                ExitCode::FAILURE
            }
        },
    }
}

/// A headless engine for modern board games, served over gRPC.
#[derive(Debug, Parser)]
#[command(name = "boardwire", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serves matches over gRPC until interrupted.
    Serve(Box<serve::Serve>),
    /// Shows what is served; with a game, its actions, fields and options.
    Games(games::Games),
    /// Plays one match of bots and prints a readable transcript.
    Play(play::PlayOne),
    Arena(arena::Arena),
    AgentCheck(agent_check::AgentCheck),
    Proto(proto::Proto),
    Token(token::Token),
    Replay(replay::Replay),
    Verify(verify::Verify),
    Health(health::Health),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Cli {
    /// Does what the command line asks for.
    ///
    /// # Errors
    /// What went wrong, for stderr.
    fn run(self) -> anyhow::Result<ExitCode> {
        match self.command {
            Command::Serve(serve) => serve.run(),
            Command::Games(games) => games.run(),
            Command::Play(play) => play.run(),
            Command::Arena(arena) => arena.run(),
            Command::AgentCheck(check) => check.run(),
            Command::Proto(proto) => proto.run(),
            Command::Token(token) => token.run(),
            Command::Replay(replay) => replay.run(),
            Command::Verify(verify) => verify.run(),
            Command::Health(health) => health.run(),
            Command::Completions(completions) => completions.run(),
            Command::Man(man) => man.run(),
        }
    }
}

/// Catalogues that take the place of those compiled in.
#[derive(Debug, Clone, Default, Args)]
struct Catalogues {
    /// Plays a game with the components of a file instead of those built in; may be repeated.
    #[arg(long = "catalogue", value_name = "GAME=FILE", value_parser = pair)]
    catalogues: Vec<(String, String)>,
}

impl Catalogues {
    /// The games with these catalogues.
    fn load(&self) -> anyhow::Result<Registry> {
        let mut registry = Registry::standard();
        for (game, file) in &self.catalogues {
            let is_known = registry.game_type(game).is_some();
            anyhow::ensure!(is_known, "there is no game `{game}`: known are {}", registry.known());
            let text = std::fs::read_to_string(file).with_context(|| format!("catalogue {file}"))?;
            let replaced = registry.replace_catalogue(game, &text);
            replaced.with_context(|| format!("{file} is no catalogue of {game}"))?;
        }
        Ok(registry)
    }
}

/// What says that flags were given that cannot be: `main` ends with exit code 2, as where they cannot be read.
fn usage(problem: &str) -> anyhow::Error {
    clap::Error::raw(ErrorKind::ValueValidation, format!("{problem}\n")).into()
}

/// Splits `NAME=VALUE`.
fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("`{text}` is not NAME=VALUE"))?;
    Ok((name.to_owned(), value.to_owned()))
}

/// A table of bots: what `play` and `arena` have in common.
#[derive(Debug, Args)]
struct BotTable {
    /// The game's id.
    game: String,
    /// A bot for every seat.
    #[arg(long, value_delimiter = ',', default_value = "greedy,random", value_parser = bot_name)]
    seats: Vec<String>,
    /// The seed; the same seed gives the same matches. [default: 0, but drawn where agents play]
    #[arg(long)]
    seed: Option<u64>,
    /// Sets an option of the game; may be repeated.
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = pair)]
    options: Vec<(String, String)>,
    #[command(flatten)]
    catalogues: Catalogues,
    #[command(flatten)]
    policies: PolicyFiles,
}

impl BotTable {
    fn seed(&self) -> u64 {
        self.seed.unwrap_or_default()
    }

    /// Sets up the table for so many seats, among the tables that know who could sit there.
    fn set_up(&self, seats: usize) -> anyhow::Result<(Tables, Arc<Table>)> {
        let options = self.options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let tables = Tables::new(self.catalogues.load()?).with_policies(self.policies.load()?);
        let table = tables.table(&self.game, u32::try_from(seats)?, options)?;
        Ok((tables, table))
    }
}

/// Checks a bot's name, and shortens it where it says what goes without saying. Policies and agents are looked up later.
fn bot_name(name: &str) -> Result<String, UnknownBot> {
    if name.starts_with("policy:") || name.starts_with("agent:") {
        Ok(name.to_owned())
    } else {
        name.parse().map(|bot: Bot| bot.to_string())
    }
}

/// Plays a match of bots to its end; `each` sees every action before it is applied, and says whether to go on.
fn bot_match(
    table: &Table,
    bots: &[Bot],
    seed: u64,
    mut each: impl FnMut(&dyn Play, Seat, u8) -> std::io::Result<bool>,
) -> anyhow::Result<Option<Box<dyn Play>>> {
    let mut episode = Arc::clone(&table.rules).deal(seed.into());
    let mut rng: Vec<RngStream> =
        (BOT_STREAM..).zip(bots).map(|(stream, _)| RngStream::new(seed, stream)).collect();
    while !episode.pending().is_empty() {
        let due = |seat: Seat| (seat, bots[seat.index()].clone(), rng[seat.index()].clone());
        let due = episode.pending().iter().map(due);
        let mut round = episode.round(due.collect());
        while !round.advance()? {}
        let mut choices = round.choices();
        choices.sort_unstable_by_key(|choice| choice.seat);
        for Choice { seat, action, rng: used } in choices {
            rng[seat.index()] = used;
            if !each(&*episode, seat, action)? {
                return Ok(None);
            }
            episode.apply(seat, action.into())?;
        }
    }
    Ok(Some(episode))
}
