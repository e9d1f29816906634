//! What the server says of what it does: logs for its operator, and traces for a collector of OpenTelemetry.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use clap::ValueEnum;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use serde::{Deserialize, Serialize};
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::{EnvFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, Registry};

use super::log_lines::LogLines;

/// How long the collector may take for the last traces.
const GOODBYE_TIMEOUT: Duration = Duration::from_secs(5);

/// How to log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum LogFormat {
    /// For people.
    Text,
    /// A JSON object a line.
    Json,
}

/// What is to be told at the end.
pub(super) struct Observing {
    traces: Option<SdkTracerProvider>,
}

impl Observing {
    /// Begins to log, and to send traces to a collector, if one is given.
    ///
    /// # Errors
    /// No such level, no such collector.
    pub(super) fn begin(format: LogFormat, level: &str, collector: Option<&str>) -> anyhow::Result<Self> {
        let traces = collector.map(provider).transpose()?;
        subscriber(format, level, traces.as_ref())?.init();
        Ok(Self { traces })
    }

    /// Sends what has not been sent.
    pub(super) fn end(self) {
        if let Some(Err(error)) = self.traces.map(|traces| traces.shutdown_with_timeout(GOODBYE_TIMEOUT)) {
            tracing::warn!(%error, "the last traces could not be sent");
        }
    }
}

/// What is logged. A word alone has to be a level: the library takes another for a program, and logs nothing of this one.
fn filter(level: &str) -> anyhow::Result<EnvFilter> {
    for word in level.split(',').map(str::trim).filter(|word| !word.is_empty() && !word.contains(['=', '[']))
    {
        let expected =
            || format!("`{word}` is neither off, error, warn, info, debug or trace, nor PROGRAM=LEVEL");
        word.parse::<LevelFilter>().with_context(expected)?;
    }
    Ok(EnvFilter::try_new(level)?)
}

/// What logs, and sends traces if there is whom to send them to.
fn subscriber(
    format: LogFormat,
    level: &str,
    traces: Option<&SdkTracerProvider>,
) -> anyhow::Result<impl Subscriber + Send + Sync> {
    let filter = filter(level).with_context(|| format!("log level `{level}`"))?;
    let logs = tracing_subscriber::fmt::layer().with_writer(LogLines::new(format)).with_ansi(false);
    let logs = match format {
        LogFormat::Text => logs.with_filter(filter).boxed(),
        LogFormat::Json => logs.json().with_filter(filter).boxed(),
    };
    let sent = traces.map(|traces| {
        let ours = ["boardwire_batch", "boardwire_server"].map(|ours| (ours, LevelFilter::DEBUG));
        let ours = Targets::new().with_targets(ours);
        tracing_opentelemetry::layer().with_tracer(traces.tracer("boardwire")).with_filter(ours)
    });
    Ok(Registry::default().with(logs).with(sent))
}

/// What sends traces to a collector; `OTEL_TRACES_SAMPLER` and its like say which.
fn provider(collector: &str) -> anyhow::Result<SdkTracerProvider> {
    ensure!(
        collector.starts_with("http://"),
        "traces cannot be sent to `{collector}`: expected http://HOST:PORT of a collector beside the server"
    );
    let about = || format!("traces cannot be sent to `{collector}`");
    let exporter =
        SpanExporter::builder().with_tonic().with_endpoint(collector).build().with_context(about)?;
    let resource = Resource::builder()
        .with_attribute(opentelemetry::KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
    let resource = match std::env::var_os("OTEL_SERVICE_NAME") {
        Some(_) => resource,
        None => resource.with_service_name("boardwire"),
    };
    Ok(SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource.build()).build())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_made_for_a_collector_alone() {
        let most = |traces| subscriber(LogFormat::Text, "info", traces).expect("a level").max_level_hint();
        assert_eq!(most(None), Some(LevelFilter::INFO));
        assert_eq!(most(Some(&SdkTracerProvider::builder().build())), Some(LevelFilter::DEBUG));
    }

    #[test]
    fn a_word_that_is_no_level_is_refused() {
        for sound in ["info", "WARN,boardwire_server=debug", "error,boardwire_server[call]=trace", "off", ""]
        {
            assert!(filter(sound).is_ok(), "{sound}");
        }
        for wrong in ["foo", "info,boardwire_server", "debug;trace", "boardwire_server=loud"] {
            assert!(filter(wrong).is_err(), "{wrong}");
        }
    }
}
