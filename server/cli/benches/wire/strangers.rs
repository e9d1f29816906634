//! Agents that are strangers to each other: a thousand at once in matches of two, each on a stream and a connection
//! of its own, by what the server is asked for besides; and what it takes to keep ten thousand matches open.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use tempfile::TempDir;
use tokio::task::JoinSet;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};

use crate::agent::{Agent, Way, create};
use crate::measure::print;
use crate::servers::Server;

/// Seats that play at once, two a match.
const SEATS: usize = 1_000;
/// How long an agent thinks that thinks.
const THINKS: Duration = Duration::from_millis(500);
/// How long they play for one sample.
const WINDOW: Duration = Duration::from_secs(3);
/// The samples that count; one before them warms up.
const WINDOWS: u32 = 5;
/// Matches that are open at once.
const OPEN: usize = 10_000;
/// How many of them are begun at once.
const AT_ONCE: usize = 50;

/// Measures all, each on a server of its own.
pub(crate) fn run(json: bool) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        for (name, tls, journal) in [
            ("alone", false, None),
            ("with TLS", true, None),
            ("with TLS, journal by interval", true, Some("interval")),
            ("with TLS and journal", true, Some("always")),
        ] {
            for (pace, thinks) in [("", Duration::ZERO), (" that think", THINKS)] {
                let place = Place::new(tls, journal)?;
                let server = place.start()?;
                let agents = place.seat(&server).await?;
                play(agents, thinks, &server, &format!("{SEATS} strangers{pace}, {name}"), json).await?;
            }
        }
        open(json).await
    })
}

/// Where a server keeps what it needs, and what it is started with.
struct Place {
    folder: TempDir,
    arguments: Vec<String>,
    authority: Option<Certificate>,
}

impl Place {
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

    fn start(&self) -> anyhow::Result<Server> {
        Server::serve(self.folder.path(), &self.arguments)
    }

    async fn connect(&self, server: &Server) -> anyhow::Result<Channel> {
        let scheme = if self.authority.is_some() { "https" } else { "http" };
        let mut endpoint = Endpoint::from_shared(format!("{scheme}://{}", server.tcp))?.tcp_nodelay(true);
        if let Some(authority) = &self.authority {
            let tls = ClientTlsConfig::new().ca_certificate(authority.clone()).domain_name("localhost");
            endpoint = endpoint.tls_config(tls)?;
        }
        Ok(endpoint.connect().await?)
    }

    /// Agents at all seats, each with a connection and a stream.
    async fn seat(&self, server: &Server) -> anyhow::Result<Vec<Agent>> {
        let mut agents = Vec::new();
        for _ in 0..SEATS / 2 {
            let first = self.connect(server).await?;
            let created = create(first.clone(), ["agent", "agent"]).await?;
            agents.push(Agent::take(first, Way::Stream, created.clone(), 0).await?);
            agents.push(Agent::take(self.connect(server).await?, Way::Stream, created, 1).await?);
        }
        Ok(agents)
    }
}

/// When a decision was made, and how long it was until it was known to be.
type Made = (Instant, Duration);

/// Lets all play at once, and prints how fast that is, how long decisions take, and what they cost the server.
async fn play(
    agents: Vec<Agent>,
    thinks: Duration,
    server: &Server,
    name: &str,
    json: bool,
) -> anyhow::Result<()> {
    let begin = Instant::now() + WINDOW;
    let end = begin + WINDOW * WINDOWS;
    let mut playing: JoinSet<_> = agents.into_iter().map(|agent| play_until(agent, thinks, end)).collect();
    tokio::time::sleep_until(begin.into()).await;
    let used = server.used()?;
    tokio::time::sleep_until(end.into()).await;
    let used = server.used()? - used;
    let mut windows = vec![Vec::new(); WINDOWS as usize];
    while let Some(played) = playing.join_next().await {
        // An error of any of them ends it all.
        for (when, took) in played?? {
            let window = when.checked_duration_since(begin).map(|since| since.div_duration_f64(WINDOW));
            // It is cut off towards zero.
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it is small and not negative"
            )]
            if let Some(window) = window.and_then(|window| windows.get_mut(window as usize)) {
                window.push(took.as_secs_f64());
            }
        }
    }
    let all: usize = windows.iter().map(Vec::len).sum();
    let count = |decisions: usize| f64::from(u32::try_from(decisions).unwrap_or(u32::MAX));
    let (mut rate, mut median, mut slow) = (vec![], vec![], vec![]);
    for took in &mut windows {
        took.sort_unstable_by(f64::total_cmp);
        let (middle, late) = (took.len() / 2, took.len() * 99 / 100);
        let (middle, late) = (took.get(middle).context("nobody plays")?, took[late]);
        rate.push(count(took.len()) / WINDOW.as_secs_f64());
        median.push(middle * 1e3);
        slow.push(late / middle);
    }
    print(name, rate, "decisions/s", json);
    print(&format!("{name}, median"), median, "ms", json);
    print(&format!("{name}, p99"), slow, "times the median", json);
    print(&format!("{name}, server"), vec![used * 1e6 / count(all)], "us of a core a decision", json);
    Ok(())
}

/// Plays until it is time; gives every decision.
async fn play_until(mut agent: Agent, thinks: Duration, end: Instant) -> anyhow::Result<Vec<Made>> {
    let mut made = vec![];
    while Instant::now() < end {
        if agent.is_over() || agent.seen.mask.iter().all(|byte| *byte == 0) {
            let waits = async { if agent.is_over() { agent.reset().await } else { agent.look().await } };
            match tokio::time::timeout_at(end.into(), waits).await {
                Ok(waited) => waited?,
                // The other has stopped.
                Err(_) => break,
            }
            continue;
        }
        tokio::time::sleep(thinks).await;
        let took = agent.decide(false).await?;
        made.push((Instant::now(), took));
    }
    Ok(made)
}

/// Begins matches and leaves them alone; kills the server, and starts it again.
async fn open(json: bool) -> anyhow::Result<()> {
    let place = Place::new(true, Some("always"))?;
    let server = place.start()?;
    let start = Instant::now();
    let mut beginning = JoinSet::new();
    for _ in 0..AT_ONCE {
        let channel = place.connect(&server).await?;
        beginning.spawn(begin(channel));
    }
    while let Some(begun) = beginning.join_next().await {
        begun??;
    }
    let opened = start.elapsed().as_secs_f64();
    let count = f64::from(u32::try_from(OPEN).unwrap_or(u32::MAX));
    print(&format!("{OPEN} matches begun and joined"), vec![count / opened], "matches/s", json);
    print(&format!("{OPEN} open matches, memory"), vec![server.resident()?], "MB resident", json);
    let bytes =
        |name: &str| fs::metadata(Path::new(place.folder.path()).join(name)).map_or(0, |file| file.len());
    let written = bytes("journal") + bytes("journal-wal");
    print(&format!("{OPEN} open matches, journal"), vec![mega(written)], "MB", json);
    server.kill()?;
    let start = Instant::now();
    let server = place.start()?;
    print(&format!("{OPEN} open matches, started again"), vec![start.elapsed().as_secs_f64()], "s", json);
    let agents = place.seat(&server).await?;
    play(agents, Duration::ZERO, &server, &format!("{SEATS} strangers beside {OPEN} open matches"), json)
        .await
}

fn mega(bytes: u64) -> f64 {
    f64::from(u32::try_from(bytes / 1_000).unwrap_or(u32::MAX)) / 1e3
}

/// Begins a share of the open matches: one decision is made in each.
async fn begin(channel: Channel) -> anyhow::Result<()> {
    for _ in 0..OPEN / AT_ONCE {
        let created = create(channel.clone(), ["agent", "agent"]).await?;
        Agent::take(channel.clone(), Way::Unary, created, 0).await?.decide(false).await?;
    }
    Ok(())
}
