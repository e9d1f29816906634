//! Measures the cost of playing over gRPC, compared with a server that only sends recorded bytes.
//!
//! `wire` starts the real binary and an [echo server](echo), each as a process with a TCP and a Unix socket. One agent
//! plays against both in turn, with single calls and on a stream. The result is the ratio of neighbouring blocks of time,
//! since the speed of a machine varies. `--json` prints one row per line, for `bench/run`.
//!
//! - `wire hold` starts the two servers and prints their addresses, for agents in other languages. It ends when stdin ends.
//! - `wire steps [NAME]` measures batches without a network.
//! - `wire many-matches` measures many matches at the same time.
//! - `wire many-agents` measures many agents over TLS, with a journal.
//! - `wire under-load` measures how long a client waits while other clients load the server.

mod agent;
mod batch;
mod echo;
mod in_process;
mod many_agents;
mod many_matches;
mod measure;
mod servers;
mod under_load;

use std::io::Read as _;

use servers::Servers;

/// The same allocator as in the binary, so that the servers differ only in their work.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let json = arguments.contains(&"--json");
    match arguments[..] {
        ["echo", real, path] => echo::run(real, path),
        ["hold", ..] => hold(),
        ["under-load", ..] => under_load::run(json),
        ["load", load, address] => under_load::load(load, address),
        ["many-agents", ..] => many_agents::run(json),
        ["many-matches", ..] => many_matches::run(json),
        ["steps", name, ..] if name != "--json" => in_process::run(json, name),
        ["steps", ..] => in_process::run(json, ""),
        _ => measure::run(json),
    }
}

/// Runs both servers until stdin ends.
fn hold() -> anyhow::Result<()> {
    let servers = Servers::start()?;
    println!("{}", servers.addresses());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
