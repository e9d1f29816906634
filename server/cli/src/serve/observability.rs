//! Writes logs to stderr, and sends traces to an OpenTelemetry collector.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use clap::ValueEnum;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use serde::{Deserialize, Serialize};
use tracing::level_filters::LevelFilter;
use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::filter::{EnvFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, Registry};

/// How long the collector may take to receive the last traces.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// The most `info` lines per second, since callers cause them. The code that logs warnings and errors limits those itself.
const LINES_PER_SECOND: u32 = 100;
const SECOND: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

pub(super) struct Observability {
    traces: Option<SdkTracerProvider>,
}

impl Observability {
    /// Starts the log. Starts to send traces if there is a collector.
    ///
    /// # Errors
    /// The level or the collector's address is invalid.
    pub(super) fn begin(format: LogFormat, level: &str, collector: Option<&str>) -> anyhow::Result<Self> {
        let traces = collector.map(provider).transpose()?;
        subscriber(format, level, traces.as_ref())?.init();
        Ok(Self { traces })
    }

    /// Sends the remaining traces.
    pub(super) fn end(self) {
        if let Some(Err(error)) = self.traces.map(|traces| traces.shutdown_with_timeout(SHUTDOWN_TIMEOUT)) {
            tracing::warn!(%error, "the last traces could not be sent");
        }
    }
}

/// Parses a filter. A single word must be a level: the library takes any other word for a target, and would log nothing.
fn filter(level: &str) -> anyhow::Result<EnvFilter> {
    for word in level.split(',').map(str::trim).filter(|word| !word.is_empty() && !word.contains(['=', '[']))
    {
        let expected = || format!("`{word}` must be off, error, warn, info, debug, trace or TARGET=LEVEL");
        word.parse::<LevelFilter>().with_context(expected)?;
    }
    Ok(EnvFilter::try_new(level)?)
}

fn subscriber(
    format: LogFormat,
    level: &str,
    traces: Option<&SdkTracerProvider>,
) -> anyhow::Result<impl Subscriber + Send + Sync> {
    let filter = filter(level).with_context(|| format!("log level `{level}`"))?;
    let writer = LogWriter { format, limit: Mutex::default() };
    let logs = tracing_subscriber::fmt::layer().with_writer(writer).with_ansi(false);
    let logs = match format {
        LogFormat::Text => logs.with_filter(filter).boxed(),
        LogFormat::Json => logs.json().with_filter(filter).boxed(),
    };
    let traces = traces.map(|traces| {
        let crates = ["boardwire_batch", "boardwire_server"].map(|name| (name, LevelFilter::DEBUG));
        let filter = Targets::new().with_targets(crates);
        tracing_opentelemetry::layer().with_tracer(traces.tracer("boardwire")).with_filter(filter)
    });
    Ok(Registry::default().with(logs).with(traces))
}

/// Returns a provider that sends traces to a collector. Variables such as `OTEL_TRACES_SAMPLER` select the traces.
fn provider(collector: &str) -> anyhow::Result<SdkTracerProvider> {
    let about = || format!("cannot send traces to `{collector}`");
    ensure!(collector.starts_with("http://"), "{}: expected http://HOST:PORT of a collector", about());
    let exporter =
        SpanExporter::builder().with_tonic().with_endpoint(collector).build().with_context(about)?;
    let version = opentelemetry::KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let resource = Resource::builder().with_attribute(version);
    let resource = match std::env::var_os("OTEL_SERVICE_NAME") {
        Some(_) => resource,
        None => resource.with_service_name("boardwire"),
    };
    Ok(SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource.build()).build())
}

/// Writes log events to stderr, one line each, at a limited rate.
struct LogWriter {
    format: LogFormat,
    limit: Mutex<RateLimit>,
}

/// Counts the lines of the current second.
#[derive(Default)]
struct RateLimit {
    started: Option<Instant>,
    lines: u32,
    dropped: u64,
}

impl RateLimit {
    /// Returns whether a line may be written at `now`, and the number of lines dropped in the second that has just ended.
    fn admit(&mut self, now: Instant, is_limited: bool) -> (bool, u64) {
        let mut dropped = 0;
        if self.started.is_none_or(|started| now.saturating_duration_since(started) >= SECOND) {
            dropped = self.dropped;
            *self = Self { started: Some(now), ..Self::default() };
        }
        self.lines += u32::from(is_limited && self.lines < u32::MAX);
        let is_admitted = !is_limited || self.lines <= LINES_PER_SECOND;
        self.dropped += u64::from(!is_admitted);
        (is_admitted, dropped)
    }
}

struct EventWriter<'a> {
    log: &'a LogWriter,
    is_limited: bool,
}

impl<'a> MakeWriter<'a> for LogWriter {
    type Writer = EventWriter<'a>;

    fn make_writer(&'a self) -> EventWriter<'a> {
        EventWriter { log: self, is_limited: false }
    }

    fn make_writer_for(&'a self, about: &Metadata<'_>) -> EventWriter<'a> {
        EventWriter { log: self, is_limited: *about.level() == Level::INFO }
    }
}

impl Write for EventWriter<'_> {
    /// Writes one event: the subscriber passes whole events.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let mut limit = self.log.limit.lock().unwrap_or_else(PoisonError::into_inner);
        let (is_admitted, dropped) = limit.admit(Instant::now(), self.is_limited);
        drop(limit);
        let mut stderr = io::stderr().lock();
        if dropped > 0 {
            match self.log.format {
                LogFormat::Text => writeln!(
                    stderr,
                    " WARN {dropped} log lines were dropped (limit {LINES_PER_SECOND} per second)"
                )?,
                LogFormat::Json => {
                    let message = format!("log lines were dropped (limit {LINES_PER_SECOND} per second)");
                    let fields = serde_json::json!({"message": message, "lines": dropped});
                    writeln!(stderr, "{}", serde_json::json!({"level": "WARN", "fields": fields}))?;
                }
            }
        }
        if is_admitted {
            let text = String::from_utf8_lossy(event);
            writeln!(stderr, "{}", escape_controls(text.strip_suffix('\n').unwrap_or(&text)))?;
        }
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Escapes control characters, so that text from a caller can neither start a new line nor control the terminal.
fn escape_controls(line: &str) -> Cow<'_, str> {
    if !line.contains(char::is_control) {
        return line.into();
    }
    let escape = |char: char| {
        if char.is_control() { char.escape_default().to_string() } else { char.to_string() }
    };
    line.chars().map(escape).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_spans_exist_only_with_a_collector() {
        let level = |traces| subscriber(LogFormat::Text, "info", traces).expect("a level").max_level_hint();
        assert_eq!(level(None), Some(LevelFilter::INFO));
        assert_eq!(level(Some(&SdkTracerProvider::builder().build())), Some(LevelFilter::DEBUG));
    }

    #[test]
    fn an_unknown_level_is_an_error() {
        for valid in ["info", "WARN,boardwire_server=debug", "error,boardwire_server[call]=trace", "off", ""]
        {
            assert!(filter(valid).is_ok(), "{valid}");
        }
        for wrong in ["foo", "info,boardwire_server", "debug;trace", "boardwire_server=loud"] {
            assert!(filter(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(
            escape_controls("one\ntwo\r\u{8}\u{9b}1m\u{1b}[32m"),
            r"one\ntwo\r\u{8}\u{9b}1m\u{1b}[32m"
        );
        assert_eq!(escape_controls("Ä sound line"), "Ä sound line");
    }

    #[test]
    fn lines_are_limited_by_second_and_dropped_lines_are_counted() {
        let (mut limit, start) = (RateLimit::default(), Instant::now());
        let admitted = (0..150).filter(|_| limit.admit(start, true).0).count();
        assert_eq!(admitted, 100);
        assert_eq!(limit.admit(start + SECOND / 2, true), (false, 0));
        assert_eq!(limit.admit(start + SECOND / 2, false), (true, 0), "warnings are not limited");
        assert_eq!(limit.admit(start + SECOND, false), (true, 51));
        assert_eq!(limit.admit(start + 2 * SECOND, true), (true, 0));
    }
}
