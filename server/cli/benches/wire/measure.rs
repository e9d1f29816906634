//! One agent against both servers in turn, block by block.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::agent::{Agent, Way};
use crate::servers::{Server, Servers};

/// How long one block plays against one server.
const BLOCK: Duration = Duration::from_millis(120);
/// The pairs of blocks that count.
const PAIRS: usize = 31;

/// Measures all ways over all sockets, and prints them.
pub(crate) fn run(json: bool) -> anyhow::Result<()> {
    let servers = Servers::start()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        for (socket, address) in [("tcp", tcp as fn(&Server) -> String), ("unix", unix)] {
            for (word, way) in [("unary", Way::Unary), ("stream", Way::Stream)] {
                let real = Agent::join(&address(&servers.real), way).await?;
                let echo = Agent::join(&address(&servers.echo), way).await?;
                let found = Compared::measure(real, echo).await?;
                found.print(&format!("act rust {word} {socket}"), json);
            }
        }
        Ok(())
    })
}

fn tcp(server: &Server) -> String {
    format!("http://{}", server.tcp)
}

fn unix(server: &Server) -> String {
    server.unix.clone()
}

/// Round trips a second by block against each server, and the ratio of times pair by pair.
struct Compared {
    real: Vec<f64>,
    echo: Vec<f64>,
    ratios: Vec<f64>,
}

impl Compared {
    async fn measure(mut real: Agent, mut echo: Agent) -> anyhow::Result<Self> {
        let (mut reals, mut echoes, mut ratios) = (vec![], vec![], vec![]);
        // The first pair warms up; whoever goes first alternates.
        for pair in 0..=PAIRS {
            let (one, other) = if pair % 2 == 0 {
                let one = block(&mut real).await?;
                (one, block(&mut echo).await?)
            } else {
                let other = block(&mut echo).await?;
                (block(&mut real).await?, other)
            };
            if pair > 0 {
                reals.push(1.0 / one);
                echoes.push(1.0 / other);
                ratios.push(one / other);
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

/// Prints a row: the median of the samples and their quartiles.
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

/// The mean time of a decision's round trip over one block, in seconds.
async fn block(agent: &mut Agent) -> anyhow::Result<f64> {
    let (start, mut acting, mut acts) = (Instant::now(), Duration::ZERO, 0_u32);
    while acts == 0 || start.elapsed() < BLOCK {
        if agent.is_over() {
            agent.reset().await?;
        } else {
            acting += agent.act().await?;
            acts += 1;
        }
    }
    Ok(acting.as_secs_f64() / f64::from(acts))
}
