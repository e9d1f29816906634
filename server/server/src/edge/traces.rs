//! Calls that are a part of what a caller traces.

use opentelemetry::propagation::{Extractor, TextMapPropagator as _};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tonic::codegen::http::{HeaderMap, HeaderName};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

/// Where a caller says what its call is a part of, as W3C's Trace Context has it.
const PARENT: &str = "traceparent";

struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(HeaderName::as_str).collect()
    }
}

/// Lets a span follow what its caller says that it is a part of.
pub(super) fn follow(span: &Span, headers: &HeaderMap) {
    if headers.contains_key(PARENT) && !span.is_disabled() {
        // It is refused where nobody collects traces.
        let _ = span.set_parent(TraceContextPropagator::new().extract(&Headers(headers)));
    }
}
