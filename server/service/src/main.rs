//! The binary `boardwire`: reads its arguments and calls the library.

use std::process::ExitCode;

use clap::Parser as _;

/// Matches are many small, short-lived allocations on several threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match boardwire_server::cli::Cli::parse().run() {
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
