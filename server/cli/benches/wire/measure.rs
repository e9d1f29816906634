//! Measures one agent against both servers in turn, in alternating blocks of time.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::agent::{BenchAgent, Transport, connect};
use crate::servers::{ServerProcess, Servers};

/// The duration of one block against one server.
const BLOCK: Duration = Duration::from_millis(120);
/// The number of pairs of blocks, after one warm-up pair.
const PAIRS: usize = 31;

/// Measures both transports over both sockets, and prints the results.
pub(crate) fn run(json: bool) -> anyhow::Result<()> {
    let servers = Servers::start()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        for (socket, address) in [("tcp", tcp as fn(&ServerProcess) -> String), ("unix", unix)] {
            for (name, transport) in [("unary", Transport::Unary), ("stream", Transport::Stream)] {
                let real = BenchAgent::start(connect(&address(&servers.real)).await?, transport).await?;
                let echo = BenchAgent::start(connect(&address(&servers.echo)).await?, transport).await?;
                let comparison = Comparison::measure(real, echo).await?;
                comparison.print(&format!("act rust {name} {socket}"), json);
            }
        }
        Ok(())
    })
}

fn tcp(server: &ServerProcess) -> String {
    format!("http://{}", server.tcp)
}

fn unix(server: &ServerProcess) -> String {
    server.unix.clone()
}

/// The round trips per second of each block, and the ratio of times of each pair of blocks.
struct Comparison {
    real: Vec<f64>,
    echo: Vec<f64>,
    ratios: Vec<f64>,
}

impl Comparison {
    async fn measure(mut real: BenchAgent, mut echo: BenchAgent) -> anyhow::Result<Self> {
        let (mut reals, mut echoes, mut ratios) = (vec![], vec![], vec![]);
        // The first pair is the warm-up. The order of the servers alternates.
        for pair in 0..=PAIRS {
            let (real_time, echo_time) = if pair % 2 == 0 {
                let real_time = block(&mut real).await?;
                (real_time, block(&mut echo).await?)
            } else {
                let echo_time = block(&mut echo).await?;
                (block(&mut real).await?, echo_time)
            };
            if pair > 0 {
                reals.push(1.0 / real_time);
                echoes.push(1.0 / echo_time);
                ratios.push(real_time / echo_time);
            }
        }
        Ok(Self { real: reals, echo: echoes, ratios })
    }

    fn print(self, row: &str, json: bool) {
        print(row, self.real, "round trips/s", json);
        print(&format!("{row}, echo"), self.echo, "round trips/s", json);
        print(&format!("{row}, against echo"), self.ratios, "times its time", json);
    }
}

/// Prints the median and the quartiles of samples.
pub(crate) fn print(row: &str, mut samples: Vec<f64>, unit: &str, json: bool) {
    samples.sort_unstable_by(f64::total_cmp);
    let quartile = |number: usize| samples[number * (samples.len() - 1) / 4];
    let (low, figure, high) = (quartile(1), quartile(2), quartile(3));
    if json {
        println!("{}", json!({ "row": row, "figure": figure, "unit": unit, "quartiles": [low, high] }));
    } else {
        println!("{row:48} {figure:10.2} {unit} ({low:.2} to {high:.2})");
    }
}

/// Plays for one block. Returns the mean round-trip time of a decision, in seconds.
async fn block(agent: &mut BenchAgent) -> anyhow::Result<f64> {
    let (start, mut acting, mut acts) = (Instant::now(), Duration::ZERO, 0_u32);
    while acts == 0 || start.elapsed() < BLOCK {
        if agent.is_over() {
            agent.reset().await?;
        } else {
            acting += agent.act(true).await?;
            acts += 1;
        }
    }
    Ok(acting.as_secs_f64() / f64::from(acts))
}
