//! What playing over the wire costs, against a server that does nothing but move the same bytes.
//!
//! `wire` starts the real binary and an [echo server](echo), each a process of its own on a TCP and a Unix
//! socket, and one agent that makes one decision at a time against each in turn: by single calls and on a
//! stream. What counts is the ratio of neighbouring blocks, since machines are noisy. `--json` prints a row a
//! line, for `bench/run`. `wire hold` starts the two servers, prints where they listen, and keeps them until
//! its standard input ends: for agents in other languages. `wire steps [WORD]` measures batches without a
//! wire, `wire crowd` many matches at once, `wire strangers` many agents over TLS whose matches are kept,
//! `wire beside` how long an innocent client waits beside others.

mod agent;
mod batch;
mod beside;
mod crowd;
mod echo;
mod in_process;
mod measure;
mod servers;
mod strangers;

use std::io::Read as _;

use servers::Servers;

/// As the binary has it, so that the servers differ in nothing but their work.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["echo", real, path] => echo::run(real, path),
        ["hold", ..] => hold(),
        ["beside", ..] => beside::run(words.contains(&"--json")),
        ["load", load, address] => beside::load(load, address),
        ["strangers", ..] => strangers::run(words.contains(&"--json")),
        ["crowd", ..] => crowd::run(words.contains(&"--json")),
        ["steps", ref rest @ ..] => in_process::run(
            words.contains(&"--json"),
            rest.first().filter(|word| **word != "--json").unwrap_or(&""),
        ),
        _ => measure::run(words.contains(&"--json")),
    }
}

/// Keeps the servers until standard input ends.
fn hold() -> anyhow::Result<()> {
    let servers = Servers::start()?;
    println!("{}", servers.addresses());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
