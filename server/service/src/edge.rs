//! The edge of the server: what stands between a listener and the services.
//!
//! Connections are [accepted](accept), [counted](connections) and [driven](serve) here. Every call then goes
//! through the layers that [`Edge::protect`] stacks, in one place. All of it is limited by [`Bounds`].

mod accept;
mod caller;
mod connections;
mod preface;
mod serve;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming as Received;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::codegen::http::{Request, Response};
use tonic::service::Routes;
use tower::ServiceBuilder;
use tower_http::validate_request::ValidateRequestHeaderLayer;

pub use caller::{Bearer, Caller, Origin, bearer};
pub use serve::{CONNECTION_WINDOW, KEEPALIVE, STREAM_WINDOW};

pub(crate) use serve::serve;

use crate::error::ServiceError;
use connections::Connections;

/// What the server takes from its callers. Each limit is a flag of `boardwire serve`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    /// The most connections that may be open at once.
    pub connections: usize,
    /// The most connections that may be open from one origin.
    pub connections_per_caller: usize,
    /// The most calls that may be under way on one connection.
    pub connection_streams: u32,
    /// The most bytes of answers that may wait to be read on one connection.
    pub connection_bytes: usize,
    /// How long a connection may take until its HTTP/2 preface has come.
    pub handshake_timeout: Duration,
    /// How long calls under way may take to end once the server stops.
    pub drain_timeout: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connections: 4_096,
            connections_per_caller: 1_024,
            connection_streams: 1_024,
            connection_bytes: 128 << 20,
            handshake_timeout: Duration::from_secs(10),
            drain_timeout: Duration::from_secs(5),
        }
    }
}

/// What all listeners of a server share.
pub(crate) struct Edge {
    bounds: Bounds,
    connections: Arc<Connections>,
}

impl Edge {
    pub(crate) fn new(bounds: Bounds) -> Self {
        let connections = Connections::new(bounds.connections, bounds.connections_per_caller);
        Self { bounds, connections: Arc::new(connections) }
    }
}

impl Edge {
    /// The services with all layers, the outermost first.
    pub(crate) fn protect(
        routes: Routes,
    ) -> impl Service<Request<Received>, Response = Response<Body>, Error = Infallible, Future: Send>
    + Clone
    + Send
    + 'static {
        ServiceBuilder::new().layer(ValidateRequestHeaderLayer::custom(caller::read_token)).service(routes)
    }
}

/// The response that refuses a call.
fn refuse<B: Default>(error: ServiceError) -> Response<B> {
    Status::from(error).into_http()
}
