//! The command line of `boardwire`. It serves, plays and checks games with the library `boardwire_server`. A
//! program with other games calls [`main`] too.
//!
//! Results go to stdout, everything else to stderr. Exit codes: 0 success, 1 failure, 2 usage error.

mod address;
mod agent;
mod agent_check;
mod arena;
mod completions;
mod export_efg;
mod flags;
mod games;
mod health;
mod json;
mod local_server;
mod man;
mod new_game;
mod play;
mod proto;
mod replay;
mod serve;
mod token;
mod verify;

use std::ffi::OsString;
use std::process::ExitCode;

pub use boardwire_batch::registry::Registry;
use clap::{CommandFactory as _, Parser, Subcommand};

/// Matches make many small, short-lived allocations on several threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs the program with these games and the arguments of this process.
///
/// A program with a game of your own is a crate with these lines, and `with::<MyGame>()` for a type that implements
/// [`Estimate`](boardwire_kernel::Estimate):
///
/// ```no_run
/// use boardwire::Registry;
///
/// fn main() -> std::process::ExitCode {
///     boardwire::main(Registry::standard())
/// }
/// ```
///
/// Exits the process after `--help` and usage errors.
#[must_use]
#[expect(clippy::needless_pass_by_value, reason = "a program makes its registry for this call")]
pub fn main(games: Registry) -> ExitCode {
    run(&games, std::env::args_os()).into()
}

/// Runs a command line with these games and returns its exit code. The first argument is the program's name.
///
/// Exits the process after `--help` and usage errors.
#[must_use]
pub fn run(games: &Registry, arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let result = match Cli::parse_from(arguments).command {
        Command::Serve(serve) => serve.run(games, &Cli::command()),
        Command::Games(list) => list.run(games),
        Command::Play(play) => play.run(games),
        Command::Arena(arena) => arena.run(games),
        Command::AgentCheck(check) => check.run(games),
        Command::ExportEfg(export) => export.run(games),
        Command::NewGame(new_game) => new_game.run(),
        Command::Proto(proto) => proto.run(),
        Command::Token(token) => token.run(),
        Command::Replay(replay) => replay.run(games),
        Command::Verify(verify) => verify.run(games),
        Command::Health(health) => health.run(),
        Command::Completions(completions) => completions.run(Cli::command()),
        Command::Man(man) => man.run(Cli::command()),
    };
    match result {
        Ok(code) => u8::from(code != ExitCode::SUCCESS),
        Err(error) => match error.downcast::<clap::Error>() {
            Ok(usage_error) => usage_error.exit(),
            Err(error) => {
                eprintln!("boardwire: {error:#}");
                1
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
    /// Lists the games; for one game, shows its actions, view fields and options.
    Games(games::Games),
    /// Plays one match of bots and prints a readable transcript.
    Play(play::PlayOne),
    Arena(Box<arena::Arena>),
    AgentCheck(agent_check::AgentCheck),
    ExportEfg(export_efg::ExportEfg),
    NewGame(new_game::NewGame),
    Proto(proto::Proto),
    Token(token::Token),
    Replay(replay::Replay),
    Verify(verify::Verify),
    Health(health::Health),
    Completions(completions::Completions),
    Man(man::Man),
}
