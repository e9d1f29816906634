//! What the server tells Prometheus of itself. Nothing is counted unless somebody asks for it.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use boardwire_batch::tables::DECISIONS;
use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use crate::held_up;

/// What is counted, if anything is.
static COUNTED: OnceLock<PrometheusHandle> = OnceLock::new();

/// How often it is looked how much there is of what comes and goes.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);
/// What times are told apart by: seconds.
const BUCKETS: [f64; 15] =
    [1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1.0, 5.0, 30.0];

const REQUESTS: &str = "boardwire_request_seconds";
const REFUSALS: &str = "boardwire_refusals_total";
const MATCHES: &str = "boardwire_matches";
const BATCHES: &str = "boardwire_batches";
const ENVIRONMENTS: &str = "boardwire_environments";
const CONNECTIONS: &str = "boardwire_connections";
const QUEUE: &str = "boardwire_pool_queue";
const JOURNAL: &str = "boardwire_journal_lag_lines";
const HELD_UP: &str = "boardwire_held_up_seconds";

/// Begins to count.
///
/// # Errors
/// The metrics of this process are counted already.
pub fn begin() -> anyhow::Result<()> {
    let builder = PrometheusBuilder::new();
    let builder = builder.set_buckets_for_metric(Matcher::Full(REQUESTS.to_owned()), &BUCKETS)?;
    let recorder = builder.build_recorder();
    let handle = recorder.handle();
    metrics::set_global_recorder(recorder).context("metrics cannot be counted")?;
    describe_counter!(DECISIONS, "Decisions that were made, of agents, bots and substitutes");
    describe_histogram!(REQUESTS, "How long requests took, single ones and those of streams");
    describe_counter!(REFUSALS, "Requests that were refused, by reason");
    describe_gauge!(MATCHES, "Open matches");
    describe_gauge!(BATCHES, "Open batches");
    describe_gauge!(ENVIRONMENTS, "Environments, and places of searches");
    describe_gauge!(CONNECTIONS, "Open connections");
    describe_gauge!(QUEUE, "What waits for a thread of the pool");
    describe_gauge!(JOURNAL, "Lines of the journal that have not been written yet");
    describe_gauge!(HELD_UP, "How long the process has been held up altogether");
    COUNTED.get_or_init(|| handle);
    Ok(())
}

/// What has been counted, as Prometheus reads it.
pub(crate) fn page() -> String {
    COUNTED.get().map(PrometheusHandle::render).unwrap_or_default()
}

fn counts() -> bool {
    COUNTED.get().is_some()
}

/// Counts a refusal.
pub(crate) fn refused(reason: &'static str) {
    if counts() {
        counter!(REFUSALS, "reason" => reason).increment(1);
    }
}

/// Measures how long a request takes, if it is answered. A request `waits` if its answer may have to wait for another player.
pub(crate) async fn timed<T, E>(
    method: &'static str,
    waits: bool,
    request: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let began = Instant::now();
    let answer = request.await;
    if counts() && answer.is_ok() {
        let waited = if waits { "true" } else { "false" };
        histogram!(REQUESTS, "method" => method, "waited" => waited).record(began.elapsed());
    }
    answer
}

/// How much there is of what comes and goes.
pub(crate) struct Counts {
    pub(crate) matches: usize,
    pub(crate) batches: usize,
    pub(crate) environments: usize,
    pub(crate) connections: usize,
    pub(crate) queued: usize,
    pub(crate) journal_lag: usize,
}

/// Follows what `count` counts, for ever.
pub(crate) async fn follow(count: impl Fn() -> Counts) {
    let Some(handle) = COUNTED.get() else { return std::future::pending().await };
    let mut often = tokio::time::interval(SAMPLE_INTERVAL);
    loop {
        often.tick().await;
        let counts = count();
        for (name, count) in [
            (MATCHES, counts.matches),
            (BATCHES, counts.batches),
            (ENVIRONMENTS, counts.environments),
            (CONNECTIONS, counts.connections),
            (QUEUE, counts.queued),
            (JOURNAL, counts.journal_lag),
        ] {
            gauge!(name).set(f64::from(u32::try_from(count).unwrap_or(u32::MAX)));
        }
        gauge!(HELD_UP).set(held_up::so_far().as_secs_f64());
        handle.run_upkeep();
    }
}
