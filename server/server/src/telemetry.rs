//! The metrics for Prometheus. The server measures nothing unless it was started with `--metrics`.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use boardwire_batch::tables::DECISIONS;
use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use crate::stall;

/// The handle of the recorder. Empty unless the server records metrics.
static PROMETHEUS: OnceLock<PrometheusHandle> = OnceLock::new();

/// The time between two samples of the gauges.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);
/// The upper bounds of the histogram's buckets, in seconds.
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
const STALLED: &str = "boardwire_held_up_seconds";

/// Starts to record metrics.
///
/// # Errors
/// The process already records metrics.
pub fn install_recorder() -> anyhow::Result<()> {
    let builder = PrometheusBuilder::new();
    let builder = builder.set_buckets_for_metric(Matcher::Full(REQUESTS.to_owned()), &BUCKETS)?;
    let recorder = builder.build_recorder();
    let handle = recorder.handle();
    metrics::set_global_recorder(recorder).context("metrics cannot be recorded")?;
    describe_counter!(DECISIONS, "Decisions by agents, bots and substitutes");
    describe_histogram!(REQUESTS, "The duration of single requests and of requests on streams");
    describe_counter!(REFUSALS, "Refused requests by reason");
    describe_gauge!(MATCHES, "Open matches");
    describe_gauge!(BATCHES, "Open batches");
    describe_gauge!(ENVIRONMENTS, "Environments of open batches, and slots of searches");
    describe_gauge!(CONNECTIONS, "Open connections");
    describe_gauge!(QUEUE, "Tasks that wait for a pool thread");
    describe_gauge!(JOURNAL, "Journal lines not written yet");
    describe_gauge!(
        STALLED,
        "Total time for which the process was suspended, without CPU time, or waiting for the journal disk"
    );
    PROMETHEUS.get_or_init(|| handle);
    Ok(())
}

/// Returns the metrics in Prometheus' text format.
pub(crate) fn page() -> String {
    PROMETHEUS.get().map(PrometheusHandle::render).unwrap_or_default()
}

pub(crate) fn refused(reason: &'static str) {
    if PROMETHEUS.get().is_some() {
        counter!(REFUSALS, "reason" => reason).increment(1);
    }
}

/// Records the duration of a successful request. `waits`: whether its response may have to wait for another player.
pub(crate) async fn timed<T, E>(
    method: &'static str,
    waits: bool,
    request: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let start = Instant::now();
    let response = request.await;
    if PROMETHEUS.get().is_some() && response.is_ok() {
        let waited = if waits { "true" } else { "false" };
        histogram!(REQUESTS, "method" => method, "waited" => waited).record(start.elapsed());
    }
    response
}

pub(crate) struct GaugeValues {
    pub(crate) matches: usize,
    pub(crate) batches: usize,
    pub(crate) environments: usize,
    pub(crate) connections: usize,
    pub(crate) queued: usize,
    pub(crate) journal_lag: usize,
}

/// Sets the gauges. The first scrape must find them all, so the server calls it before it listens.
pub(crate) fn set_gauges(values: &GaugeValues) {
    for (name, value) in [
        (MATCHES, values.matches),
        (BATCHES, values.batches),
        (ENVIRONMENTS, values.environments),
        (CONNECTIONS, values.connections),
        (QUEUE, values.queued),
        (JOURNAL, values.journal_lag),
    ] {
        gauge!(name).set(f64::from(u32::try_from(value).unwrap_or(u32::MAX)));
    }
    gauge!(STALLED).set(stall::stalled_time().as_secs_f64());
}

/// Sets the gauges to the values from `read`, once a second. Never returns.
pub(crate) async fn sample_gauges(read: impl Fn() -> GaugeValues) {
    let Some(handle) = PROMETHEUS.get() else { return std::future::pending().await };
    let mut interval = tokio::time::interval(SAMPLE_INTERVAL);
    loop {
        interval.tick().await;
        set_gauges(&read());
        handle.run_upkeep();
    }
}
