//! The program `boardwire`.

use std::process::ExitCode;

fn main() -> ExitCode {
    boardwire::main(boardwire::Registry::standard())
}
