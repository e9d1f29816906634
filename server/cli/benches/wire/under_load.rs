//! Measures how long a client waits for health checks and decisions. The server is idle, or steps a large batch with bots,
//! or plays many matches of slow bots.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use boardwire_api::MAX_MESSAGE_BYTES;
use boardwire_api::v1::batch_service_client::BatchServiceClient;
use boardwire_api::v1::match_service_client::MatchServiceClient;
use boardwire_api::v1::{
    BatchConfig, CreateMatchRequest, LineUp, MatchConfig, OpenBatchRequest, ResetBatchRequest,
    StepBatchRequest,
};
use boardwire_batch::messages::players;
use boardwire_kernel::{BOT_STREAM, RngStream};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use crate::agent::{BenchAgent, Transport, connect, with_token};
use crate::batch::legal_action;
use crate::measure::print;
use crate::servers::Servers;

/// The number of environments of the batch.
const ENVIRONMENTS: u32 = 4_096;
/// The number of matches of slow bots.
const MATCHES: usize = 200;
const SLOW_BOTS: [&str; 5] = ["greedy:1024"; 5];
/// The duration of one sample, and the pause between calls.
const SAMPLE_TIME: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(2);
/// The number of samples, after one warm-up sample.
const SAMPLES: usize = 5;

/// Measures each load on a new server.
pub(crate) fn run(json: bool) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let idle_server = runtime.block_on(measure(None))?;
    idle_server.print("quiet", json);
    for (load, name) in [
        ("batch", format!("beside {ENVIRONMENTS} environments against greedy")),
        ("matches", format!("beside {MATCHES} matches of greedy:1024")),
    ] {
        let loaded = runtime.block_on(measure(Some(load)))?;
        loaded.print(&name, json);
        for (call, loaded, idle_server) in
            [("health check", &loaded.health, &idle_server.health), ("act", &loaded.act, &idle_server.act)]
        {
            let mut idle_server = idle_server.p99.clone();
            idle_server.sort_unstable_by(f64::total_cmp);
            let above = loaded.p99.iter().map(|p99| p99 - idle_server[idle_server.len() / 2]).collect();
            print(&format!("{call} {name}, p99 above quiet"), above, "ms", json);
        }
    }
    Ok(())
}

/// Latencies in milliseconds, one value per sample.
#[derive(Default)]
struct Times {
    median: Vec<f64>,
    p99: Vec<f64>,
}

impl Times {
    fn add(&mut self, mut took: Vec<Duration>) {
        took.sort_unstable();
        self.median.push(took[took.len() / 2].as_secs_f64() * 1e3);
        self.p99.push(took[took.len() * 99 / 100].as_secs_f64() * 1e3);
    }
}

#[derive(Default)]
struct Latencies {
    health: Times,
    act: Times,
}

impl Latencies {
    fn print(&self, load: &str, json: bool) {
        for (call, times) in [("health check", &self.health), ("act", &self.act)] {
            print(&format!("{call} {load}, p50"), times.median.clone(), "ms", json);
            print(&format!("{call} {load}, p99"), times.p99.clone(), "ms", json);
        }
    }
}

/// Measures a new server while another process loads it.
async fn measure(load: Option<&str>) -> anyhow::Result<Latencies> {
    let servers = Servers::start()?;
    let address = format!("http://{}", servers.real.tcp);
    let mut agent = BenchAgent::start(connect(&address).await?, Transport::Unary).await?;
    let mut health = HealthClient::new(connect(&address).await?);
    let _load = load.map(|load| Load::start(load, &address)).transpose()?;
    let mut latencies = Latencies::default();
    // The first sample is the warm-up.
    for sample in 0..=SAMPLES {
        let (end, mut checks, mut acts) = (Instant::now() + SAMPLE_TIME, vec![], vec![]);
        while Instant::now() < end {
            let start = Instant::now();
            health.check(HealthCheckRequest::default()).await?;
            checks.push(start.elapsed());
            if agent.is_over() {
                agent.reset().await?;
            }
            acts.push(agent.act(true).await?);
            tokio::time::sleep(PAUSE).await;
        }
        if sample > 0 {
            latencies.health.add(checks);
            latencies.act.add(acts);
        }
    }
    Ok(latencies)
}

/// A child process that loads the server until this value is dropped.
struct Load(Child);

impl Load {
    fn start(load: &str, address: &str) -> anyhow::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["load", load, address]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn()?;
        let out = process.stdout.take().context("the child's stdout is piped")?;
        let loaded = Self(process);
        BufReader::new(out).lines().next().context("the child process ended before it printed a line")??;
        Ok(loaded)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Runs the child process. It prints a line when the load has started, and ends when stdin ends.
pub(crate) fn load(load: &str, address: &str) -> anyhow::Result<()> {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match load {
            "batch" => batch(address).await,
            "matches" => matches(address).await,
            _ => anyhow::bail!("unknown load {load}"),
        }
    })
}

/// Steps a batch with greedy opponents forever.
async fn batch(address: &str) -> anyhow::Result<()> {
    let mut client =
        BatchServiceClient::new(connect(address).await?).max_decoding_message_size(MAX_MESSAGE_BYTES);
    let open = OpenBatchRequest {
        config: Some(BatchConfig {
            game: "faraway".to_owned(),
            line_ups: vec![LineUp { players: players(&["agent", "greedy"]) }],
            environments: ENVIRONMENTS,
            ..BatchConfig::default()
        }),
        ..OpenBatchRequest::default()
    };
    let opened = client.open_batch(open).await?.into_inner();
    let bearer: tonic::metadata::MetadataValue<_> = format!("Bearer {}", opened.token).parse()?;
    let batch_id = opened.batch.context("a batch")?.id;
    let reset = ResetBatchRequest { batch_id: batch_id.clone(), ..Default::default() };
    let reset = with_token(reset, &bearer);
    let mut latest = client.reset_batch(reset).await?.into_inner().step.context("rows")?;
    println!("loaded");
    let mut rng = RngStream::new(0, BOT_STREAM);
    loop {
        let masks = latest.mask.chunks_exact(latest.mask.len() / latest.seat.len());
        let actions: Vec<u8> = masks.map(|mask| legal_action(mask, &mut rng)).collect();
        let step =
            StepBatchRequest { batch_id: batch_id.clone(), actions: actions.into(), ..Default::default() };
        latest = client.step_batch(with_token(step, &bearer)).await?.into_inner().step.context("rows")?;
    }
}

/// Creates matches of bots. Each match needs seconds of one core.
async fn matches(address: &str) -> anyhow::Result<()> {
    let mut client = MatchServiceClient::new(connect(address).await?);
    for _ in 0..MATCHES {
        let create = CreateMatchRequest {
            config: Some(MatchConfig {
                game: "faraway".to_owned(),
                players: players(&SLOW_BOTS),
                ..MatchConfig::default()
            }),
            ..CreateMatchRequest::default()
        };
        client.create_match(create).await?;
    }
    println!("loaded");
    std::future::pending().await
}
