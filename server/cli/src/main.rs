//! The program `boardwire`.

use std::process::ExitCode;

/// Matches make many small, short-lived allocations on several threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    boardwire::main(std::env::args_os()).into()
}
