//! How long an innocent client waits beside others that ask for much: health checks and decisions, quiet, beside
//! a large batch whose bots think, and beside many matches of bots that think long.

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
use tonic::Request;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use crate::agent::{Agent, Way, connect};
use crate::batch::legal_action;
use crate::measure::print;
use crate::servers::Servers;

/// The environments of the batch.
const ENVIRONMENTS: u32 = 4_096;
/// The matches, and who plays them.
const MATCHES: usize = 200;
const THINKERS: [&str; 5] = ["greedy:1024"; 5];
/// How long the client asks for one sample, and how often.
const WINDOW: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(2);
/// The samples that count.
const WINDOWS: usize = 5;

/// Measures all, each on a server of its own.
pub(crate) fn run(json: bool) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let quiet = runtime.block_on(ask(None))?;
    quiet.print("quiet", json);
    for (load, name) in [
        ("batch", format!("beside {ENVIRONMENTS} environments against greedy")),
        ("thinkers", format!("beside {MATCHES} matches of greedy:1024")),
    ] {
        let beside = runtime.block_on(ask(Some(load)))?;
        beside.print(&name, json);
        let above = |slow: &[f64], still: &[f64]| {
            let mut still = still.to_vec();
            still.sort_unstable_by(f64::total_cmp);
            slow.iter().map(|slow| slow - still[still.len() / 2]).collect()
        };
        print(
            &format!("health check {name}, p99 above quiet"),
            above(&beside.health.slow, &quiet.health.slow),
            "ms",
            json,
        );
        print(&format!("act {name}, p99 above quiet"), above(&beside.act.slow, &quiet.act.slow), "ms", json);
    }
    Ok(())
}

/// Milliseconds by window: the median, and what one in a hundred exceeds.
#[derive(Default)]
struct Times {
    median: Vec<f64>,
    slow: Vec<f64>,
}

impl Times {
    fn add(&mut self, mut took: Vec<Duration>) {
        took.sort_unstable();
        self.median.push(took[took.len() / 2].as_secs_f64() * 1e3);
        self.slow.push(took[took.len() * 99 / 100].as_secs_f64() * 1e3);
    }
}

/// What an innocent client has waited.
#[derive(Default)]
struct Waited {
    health: Times,
    act: Times,
}

impl Waited {
    fn print(&self, beside: &str, json: bool) {
        for (what, times) in [("health check", &self.health), ("act", &self.act)] {
            print(&format!("{what} {beside}, p50"), times.median.clone(), "ms", json);
            print(&format!("{what} {beside}, p99"), times.slow.clone(), "ms", json);
        }
    }
}

/// Asks a server, beside a process that loads it.
async fn ask(load: Option<&str>) -> anyhow::Result<Waited> {
    let servers = Servers::start()?;
    let address = format!("http://{}", servers.real.tcp);
    let mut agent = Agent::join(&address, Way::Unary).await?;
    let mut health = HealthClient::new(connect(&address).await?);
    let _load = load.map(|load| Load::start(load, &address)).transpose()?;
    let mut waited = Waited::default();
    // The first window warms up.
    for window in 0..=WINDOWS {
        let (end, mut checks, mut acts) = (Instant::now() + WINDOW, vec![], vec![]);
        while Instant::now() < end {
            let start = Instant::now();
            health.check(HealthCheckRequest::default()).await?;
            checks.push(start.elapsed());
            if agent.is_over() {
                agent.reset().await?;
            }
            acts.push(agent.act().await?);
            tokio::time::sleep(PAUSE).await;
        }
        if window > 0 {
            waited.health.add(checks);
            waited.act.add(acts);
        }
    }
    Ok(waited)
}

/// A process that loads the server until it is dropped.
struct Load(Child);

impl Load {
    fn start(load: &str, address: &str) -> anyhow::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["load", load, address]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn()?;
        let out = process.stdout.take().context("it is piped")?;
        let loaded = Self(process);
        BufReader::new(out).lines().next().context("it ended before it had begun")??;
        Ok(loaded)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// What the process does: says when it has begun, and goes on until its standard input ends.
pub(crate) fn load(load: &str, address: &str) -> anyhow::Result<()> {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match load {
            "batch" => batch(address).await,
            "thinkers" => thinkers(address).await,
            _ => anyhow::bail!("no load is called {load}"),
        }
    })
}

/// Steps a batch against greedy, for ever.
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
    let mut reset = Request::new(ResetBatchRequest { batch_id: batch_id.clone(), ..Default::default() });
    reset.metadata_mut().insert("authorization", bearer.clone());
    let mut shown = client.reset_batch(reset).await?.into_inner().step.context("rows")?;
    println!("loaded");
    let mut rng = RngStream::new(0, BOT_STREAM);
    loop {
        let masks = shown.mask.chunks_exact(shown.mask.len() / shown.seat.len());
        let actions: Vec<u8> = masks.map(|mask| legal_action(mask, &mut rng)).collect();
        let step =
            StepBatchRequest { batch_id: batch_id.clone(), actions: actions.into(), ..Default::default() };
        let mut step = Request::new(step);
        step.metadata_mut().insert("authorization", bearer.clone());
        shown = client.step_batch(step).await?.into_inner().step.context("rows")?;
    }
}

/// Lets bots play among themselves: each match takes seconds of a core.
async fn thinkers(address: &str) -> anyhow::Result<()> {
    let mut client = MatchServiceClient::new(connect(address).await?);
    for _ in 0..MATCHES {
        let create = CreateMatchRequest {
            config: Some(MatchConfig {
                game: "faraway".to_owned(),
                players: players(&THINKERS),
                ..MatchConfig::default()
            }),
            ..CreateMatchRequest::default()
        };
        client.create_match(create).await?;
    }
    println!("loaded");
    std::future::pending().await
}
