//! Measures 1,000 independent agents in matches of two, with and without TLS and a journal. Each agent has its own
//! connection and stream. Also measures the cost of 10,000 open matches.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use tempfile::TempDir;
use tokio::task::JoinSet;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};

use crate::agent::{BenchAgent, Transport, create};
use crate::measure::print;
use crate::servers::ServerProcess;

/// The number of seats that play at the same time, two per match.
const SEATS: usize = 1_000;
/// The pause of slow agents before each decision.
const THINK_TIME: Duration = Duration::from_millis(500);
/// The duration of one sample.
const SAMPLE_TIME: Duration = Duration::from_secs(3);
/// The number of samples, after one warm-up sample.
const SAMPLES: u32 = 5;
/// The number of matches that are open at the same time.
const OPEN: usize = 10_000;
/// The number of connections that create them.
const CONNECTIONS: usize = 50;

/// Measures each case on a new server.
pub(crate) fn run(json: bool) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        for (name, tls, journal) in [
            ("alone", false, None),
            ("with TLS", true, None),
            ("with TLS, journal by interval", true, Some("interval")),
            ("with TLS and journal", true, Some("always")),
        ] {
            for (pace, think_time) in [("", Duration::ZERO), (" that think", THINK_TIME)] {
                let setup = Setup::new(tls, journal)?;
                let server = setup.start()?;
                let agents = setup.join(&server).await?;
                play(agents, think_time, &server, &format!("{SEATS} strangers{pace}, {name}"), json).await?;
            }
        }
        open(json).await
    })
}

/// The files and flags of a server.
struct Setup {
    folder: TempDir,
    arguments: Vec<String>,
    authority: Option<Certificate>,
}

impl Setup {
    fn new(tls: bool, journal: Option<&str>) -> anyhow::Result<Self> {
        let folder = TempDir::with_prefix("boardwire-bench-")?;
        let file = |name: &str| folder.path().join(name).display().to_string();
        let (mut arguments, mut authority) = (vec![], None);
        if tls {
            let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["localhost".to_owned()])?;
            fs::write(file("cert.pem"), cert.pem())?;
            fs::write(file("key.pem"), signing_key.serialize_pem())?;
            arguments.extend([
                "--tls-cert".to_owned(),
                file("cert.pem"),
                "--tls-key".to_owned(),
                file("key.pem"),
            ]);
            authority = Some(Certificate::from_pem(cert.pem()));
        }
        if let Some(sync) = journal {
            let sync = ["--journal-sync".to_owned(), sync.to_owned()];
            arguments.extend(["--journal".to_owned(), file("journal")].into_iter().chain(sync));
        }
        Ok(Self { folder, arguments, authority })
    }

    fn start(&self) -> anyhow::Result<ServerProcess> {
        ServerProcess::serve(self.folder.path(), &self.arguments)
    }

    async fn connect(&self, server: &ServerProcess) -> anyhow::Result<Channel> {
        let scheme = if self.authority.is_some() { "https" } else { "http" };
        let mut endpoint = Endpoint::from_shared(format!("{scheme}://{}", server.tcp))?.tcp_nodelay(true);
        if let Some(authority) = &self.authority {
            let tls = ClientTlsConfig::new().ca_certificate(authority.clone()).domain_name("localhost");
            endpoint = endpoint.tls_config(tls)?;
        }
        Ok(endpoint.connect().await?)
    }

    /// Joins agents to all seats. Each agent has its own connection and stream.
    async fn join(&self, server: &ServerProcess) -> anyhow::Result<Vec<BenchAgent>> {
        let mut agents = Vec::new();
        for _ in 0..SEATS / 2 {
            let first = self.connect(server).await?;
            let created = create(first.clone(), ["agent", "agent"]).await?;
            agents.push(BenchAgent::join(first, Transport::Stream, created.clone(), 0).await?);
            agents.push(BenchAgent::join(self.connect(server).await?, Transport::Stream, created, 1).await?);
        }
        Ok(agents)
    }
}

/// The time at which a decision's round trip ends, and its duration.
type Decision = (Instant, Duration);

/// Lets all agents play at the same time. Prints the rate, the latencies and the server's CPU time.
async fn play(
    agents: Vec<BenchAgent>,
    think_time: Duration,
    server: &ServerProcess,
    name: &str,
    json: bool,
) -> anyhow::Result<()> {
    let begin = Instant::now() + SAMPLE_TIME;
    let end = begin + SAMPLE_TIME * SAMPLES;
    let mut playing: JoinSet<_> =
        agents.into_iter().map(|agent| play_until(agent, think_time, end)).collect();
    tokio::time::sleep_until(begin.into()).await;
    let cpu_time = server.cpu_time()?;
    tokio::time::sleep_until(end.into()).await;
    let cpu_time = server.cpu_time()? - cpu_time;
    let mut samples = vec![Vec::new(); SAMPLES as usize];
    while let Some(played) = playing.join_next().await {
        for (when, took) in played?? {
            let sample = when.checked_duration_since(begin).map(|since| since.div_duration_f64(SAMPLE_TIME));
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the number is small, not negative, and rounded down"
            )]
            if let Some(sample) = sample.and_then(|sample| samples.get_mut(sample as usize)) {
                sample.push(took.as_secs_f64());
            }
        }
    }
    let all: usize = samples.iter().map(Vec::len).sum();
    let count = |decisions: usize| f64::from(u32::try_from(decisions).unwrap_or(u32::MAX));
    let (mut rates, mut medians, mut p99s) = (vec![], vec![], vec![]);
    for took in &mut samples {
        took.sort_unstable_by(f64::total_cmp);
        let median = took.get(took.len() / 2).context("no decision was made in a sample")?;
        rates.push(count(took.len()) / SAMPLE_TIME.as_secs_f64());
        medians.push(median * 1e3);
        p99s.push(took[took.len() * 99 / 100] / median);
    }
    print(name, rates, "decisions/s", json);
    print(&format!("{name}, median"), medians, "ms", json);
    print(&format!("{name}, p99"), p99s, "times the median", json);
    print(&format!("{name}, server"), vec![cpu_time * 1e6 / count(all)], "us of a core a decision", json);
    Ok(())
}

/// Plays until `end`. Returns every decision.
async fn play_until(
    mut agent: BenchAgent,
    think_time: Duration,
    end: Instant,
) -> anyhow::Result<Vec<Decision>> {
    let mut decisions = vec![];
    while Instant::now() < end {
        if agent.is_over() || agent.observation.mask.iter().all(|byte| *byte == 0) {
            let next = async { if agent.is_over() { agent.reset().await } else { agent.observe().await } };
            match tokio::time::timeout_at(end.into(), next).await {
                Ok(result) => result?,
                // The opponent has stopped.
                Err(_) => break,
            }
            continue;
        }
        tokio::time::sleep(think_time).await;
        let took = agent.act(false).await?;
        decisions.push((Instant::now(), took));
    }
    Ok(decisions)
}

/// Creates matches, kills the server, restarts it, and lets new agents play.
async fn open(json: bool) -> anyhow::Result<()> {
    let setup = Setup::new(true, Some("always"))?;
    let server = setup.start()?;
    let start = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let channel = setup.connect(&server).await?;
        tasks.spawn(create_matches(channel));
    }
    while let Some(result) = tasks.join_next().await {
        result??;
    }
    let opened = start.elapsed().as_secs_f64();
    let count = f64::from(u32::try_from(OPEN).unwrap_or(u32::MAX));
    print(&format!("{OPEN} matches begun and joined"), vec![count / opened], "matches/s", json);
    print(&format!("{OPEN} open matches, memory"), vec![server.resident_memory()?], "MB resident", json);
    let bytes =
        |name: &str| fs::metadata(Path::new(setup.folder.path()).join(name)).map_or(0, |file| file.len());
    let written = bytes("journal") + bytes("journal-wal");
    let megabytes = f64::from(u32::try_from(written / 1_000).unwrap_or(u32::MAX)) / 1e3;
    print(&format!("{OPEN} open matches, journal"), vec![megabytes], "MB", json);
    server.kill()?;
    let start = Instant::now();
    let server = setup.start()?;
    print(&format!("{OPEN} open matches, started again"), vec![start.elapsed().as_secs_f64()], "s", json);
    let agents = setup.join(&server).await?;
    play(agents, Duration::ZERO, &server, &format!("{SEATS} strangers beside {OPEN} open matches"), json)
        .await
}

/// Creates the matches of one connection, and makes one decision in each.
async fn create_matches(channel: Channel) -> anyhow::Result<()> {
    for _ in 0..OPEN / CONNECTIONS {
        let created = create(channel.clone(), ["agent", "agent"]).await?;
        BenchAgent::join(channel.clone(), Transport::Unary, created, 0).await?.act(false).await?;
    }
    Ok(())
}
