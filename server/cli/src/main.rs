//! The program `boardwire`: serves, plays and checks, by the library `boardwire_server`.
//!
//! Results go to stdout, everything else to stderr; exit codes are 0 good, 1 failed, 2 usage.

mod address;
mod agent;
mod agent_check;
mod arena;
mod completions;
mod flags;
mod games;
mod health;
mod json;
mod man;
mod play;
mod policies;
mod proto;
mod replay;
mod serve;
mod table;
mod token;
mod verify;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

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
            Command::Serve(serve) => serve.run(&Self::command()),
            Command::Games(games) => games.run(),
            Command::Play(play) => play.run(),
            Command::Arena(arena) => arena.run(),
            Command::AgentCheck(check) => check.run(),
            Command::Proto(proto) => proto.run(),
            Command::Token(token) => token.run(),
            Command::Replay(replay) => replay.run(),
            Command::Verify(verify) => verify.run(),
            Command::Health(health) => health.run(),
            Command::Completions(completions) => completions.run(Self::command()),
            Command::Man(man) => man.run(Self::command()),
        }
    }
}
