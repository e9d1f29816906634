//! Measures the memory of many idle matches, and the fairness between many seats that play at the same time.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::agent::{BenchAgent, Transport, connect};
use crate::measure::print;
use crate::servers::Servers;

/// The number of matches that are created and joined, and then idle.
const IDLE: usize = 10_000;
/// The number of seats that play at the same time, each in its own match.
const SEATS: usize = 1_000;
/// The number of connections that the seats share.
const CONNECTIONS: usize = 50;
/// The duration of one sample.
const SAMPLE_TIME: Duration = Duration::from_secs(1);
/// The number of samples, after one warm-up sample.
const SAMPLES: usize = 5;

/// Measures memory and fairness, each on a new server.
pub(crate) fn run(json: bool) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let memory = runtime.block_on(idle())?;
    print(&format!("{IDLE} idle matches"), vec![memory], "MB resident", json);
    let (medians, p99_ratios) = runtime.block_on(play())?;
    print(&format!("act, {SEATS} seats at once"), medians, "s, median", json);
    print(&format!("act, {SEATS} seats at once, p99"), p99_ratios, "times the median", json);
    Ok(())
}

/// Returns the resident memory of a server with idle matches, in megabytes.
async fn idle() -> anyhow::Result<f64> {
    let servers = Servers::start()?;
    let channel = connect(&servers.real.unix).await?;
    let mut agents = vec![];
    for _ in 0..IDLE {
        agents.push(BenchAgent::start(channel.clone(), Transport::Unary).await?);
    }
    servers.real.resident_memory()
}

/// Returns, for each sample, the median time of a decision, and the 99th percentile as a multiple of it.
async fn play() -> anyhow::Result<(Vec<f64>, Vec<f64>)> {
    let servers = Servers::start()?;
    let mut channels = vec![];
    for _ in 0..CONNECTIONS {
        channels.push(connect(&servers.real.unix).await?);
    }
    let mut agents = vec![];
    for channel in channels.iter().cycle().take(SEATS) {
        agents.push(BenchAgent::start(channel.clone(), Transport::Unary).await?);
    }
    let (mut medians, mut p99_ratios) = (vec![], vec![]);
    // The first sample is the warm-up.
    for sample in 0..=SAMPLES {
        let end = Instant::now() + SAMPLE_TIME;
        let mut playing: JoinSet<_> = agents.drain(..).map(|agent| play_until(agent, end)).collect();
        let mut took = vec![];
        while let Some(played) = playing.join_next().await {
            let (agent, times) = played??;
            agents.push(agent);
            took.extend(times);
        }
        if sample > 0 {
            took.sort_unstable();
            let (median, slow) = (took[took.len() / 2], took[took.len() * 99 / 100]);
            medians.push(median.as_secs_f64());
            p99_ratios.push(slow.as_secs_f64() / median.as_secs_f64());
        }
    }
    Ok((medians, p99_ratios))
}

async fn play_until(mut agent: BenchAgent, end: Instant) -> anyhow::Result<(BenchAgent, Vec<Duration>)> {
    let mut took = vec![];
    while Instant::now() < end {
        if agent.is_over() {
            agent.reset().await?;
        } else {
            took.push(agent.act(true).await?);
        }
    }
    Ok((agent, took))
}
