//! The edge of the server: what stands between a listener and the services.
//!
//! Connections are [accepted](accept), [counted](connections) and [driven](serve) here. Every call then goes
//! through the layers that [`Edge::protect`] stacks, in one place. All of it is limited by [`Bounds`].

mod accept;
mod accounts;
mod caller;
mod connections;
mod deadline;
mod details;
mod http;
mod limits;
mod methods;
mod panics;
mod preface;
mod room;
mod serve;
mod size;
mod tls;
mod traces;
mod watch_page;

use std::convert::Infallible;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body::Body;
use tonic::Status;
use tonic::codegen::http::header::{AUTHORIZATION, HeaderName};
use tonic::codegen::http::{Request, Response};
use tonic::codegen::{Service, StdError};
use tonic::service::Routes;
use tower::ServiceBuilder;
use tower::layer::layer_fn;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::request_id::{MakeRequestUuid, PropagateRequestIdLayer, RequestId, SetRequestIdLayer};
use tower_http::sensitive_headers::SetSensitiveRequestHeadersLayer;
use tower_http::trace::{DefaultOnFailure, TraceLayer};
use tower_http::validate_request::{ValidateRequest, ValidateRequestHeaderLayer};
use tracing::field::Empty;
use tracing::{Level, Span};

pub use accounts::{Account, Accounts, AccountsError};
pub use caller::{Bearer, Caller, Origin, bearer};
pub use room::Room;
pub use serve::{CONNECTION_WINDOW, KEEPALIVE, STREAM_WINDOW};
pub use tls::{Tls, TlsError, TlsFiles};

#[cfg(test)]
pub(crate) use accept::Accepted;
pub(crate) use accept::{Accept, Socket};
pub(crate) use accounts::{is_name, line};
pub(crate) use room::Budget;
pub(crate) use serve::{Speech, serve};
pub(crate) use tls::Secured;
pub(crate) use watch_page::WatchPage;

use crate::error::ServiceError;
use accounts::TOKEN;
use connections::Connections;
use deadline::Deadline;
use limits::{Held, Limited, Permits, Rates};
use methods::{Method, Methods};
use panics::Caught;

/// What the server takes from its callers. Each limit is a flag of `boardwire serve`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    /// The most connections that may be open at once.
    pub connections: usize,
    /// The most connections that may be open from one origin.
    pub connections_per_caller: usize,
    /// The most calls that may be under way on one connection.
    pub connection_streams: u32,
    /// The most bytes of answers and unfinished messages that one connection may hold.
    pub connection_bytes: usize,
    /// The most of them that all connections may hold.
    pub bytes: usize,
    /// The most calls of one message each way that may be under way.
    pub calls: usize,
    /// The most streams that may be open.
    pub streams: usize,
    /// The most calls a second of one origin; 0 for as many as it likes.
    pub rate: u32,
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
            bytes: 1 << 30,
            calls: 16_384,
            streams: 16_384,
            rate: 100_000,
            handshake_timeout: Duration::from_secs(10),
            drain_timeout: Duration::from_secs(5),
        }
    }
}

/// Who may call, and how much.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// What the server takes from its callers.
    pub bounds: Bounds,
    /// Who may call; without it, whoever can connect.
    pub accounts: Option<Arc<Accounts>>,
}

impl From<Bounds> for Access {
    fn from(bounds: Bounds) -> Self {
        Self { bounds, accounts: None }
    }
}

/// What all listeners of a server share.
pub(crate) struct Edge {
    bounds: Bounds,
    accounts: Option<Arc<Accounts>>,
    connections: Arc<Connections>,
    /// What a new connection may hold.
    budget: Budget,
    permits: Permits,
    rates: Rates,
    methods: Methods,
}

impl Edge {
    pub(crate) fn new(Access { bounds, accounts }: Access) -> Self {
        let connections = Connections::new(bounds.connections, bounds.connections_per_caller);
        Self {
            connections: Arc::new(connections),
            budget: Budget::new(bounds.connection_bytes, bounds.bytes),
            permits: Permits::new(&bounds),
            rates: Rates::new(bounds.rate),
            methods: Methods::served(),
            bounds,
            accounts,
        }
    }

    /// How many connections are open.
    pub(crate) fn connections(&self) -> usize {
        self.connections.len()
    }

    /// The services behind all layers. A call goes through them from the first to the last, its response
    /// from the last to the first.
    pub(crate) fn protect<B>(
        &self,
        routes: Routes,
    ) -> impl Service<
        Request<B>,
        Response = Response<impl Body<Data = Bytes, Error: Into<StdError> + Display> + Send + use<B>>,
        Error = Infallible,
        Future: Send,
    > + Clone
    + Send
    + use<B>
    where
        B: Body<Data = Bytes> + Unpin + Send + 'static,
        B::Error: Into<StdError>,
    {
        let (known, methods, permits) = (self.methods.clone(), self.methods.clone(), self.permits.clone());
        let (accounts, rates) = (self.accounts.clone(), self.rates.clone());
        ServiceBuilder::new()
            .map_request(http::proper_id)
            .layer(SetRequestIdLayer::x_request_id(MakeRequestUuid))
            .layer(SetSensitiveRequestHeadersLayer::new([AUTHORIZATION, HeaderName::from_static(TOKEN)]))
            .layer(TraceLayer::new_for_grpc().make_span_with(span).on_failure(on_failure()))
            .layer(PropagateRequestIdLayer::x_request_id())
            .map_response(details::add)
            .layer(CatchPanicLayer::custom(panics::respond))
            .layer(ValidateRequestHeaderLayer::custom(http::only_grpc))
            .map_request(move |request: Request<B>| known.look_up(request))
            .layer(check(move |request| admit(accounts.as_deref(), &rates, request)))
            .layer(check(move |request| methods.check(request)))
            .layer(check(caller::read_token))
            .layer(layer_fn(Deadline))
            .layer(layer_fn(move |inner| Limited::new(inner, permits.clone())))
            .map_request(size::limit)
            .map_response(|response: Response<_>| response.map(Caught::new))
            .service(routes)
    }
}

/// Finds out whose call it is, and lets it through unless that is nobody or calls too often. Who is nobody may not find that
/// out more often than others call.
fn admit<B>(
    accounts: Option<&Accounts>,
    rates: &Rates,
    request: &mut Request<B>,
) -> Result<(), ServiceError> {
    let identified = match accounts {
        Some(accounts) if !request.extensions().get::<Method>().is_some_and(|method| method.is_open) => {
            accounts.identify(request.headers_mut()).map(|account| {
                Span::current().record("account", account.name());
                if let Some(caller) = request.extensions_mut().get_mut::<Caller>() {
                    *caller = caller.of(account);
                }
            })
        }
        _ => Ok(()),
    };
    rates.check(request)?;
    identified
}

/// A layer that refuses calls with the error that `check` gives.
fn check<B, F>(check: F) -> ValidateRequestHeaderLayer<Check<F>>
where
    F: FnMut(&mut Request<B>) -> Result<(), ServiceError>,
{
    ValidateRequestHeaderLayer::custom(Check(check))
}

#[derive(Clone)]
struct Check<F>(F);

impl<B, F> ValidateRequest<B> for Check<F>
where
    F: FnMut(&mut Request<B>) -> Result<(), ServiceError>,
{
    type ResponseBody = Held<Caught<tonic::body::Body>>;

    fn validate(&mut self, request: &mut Request<B>) -> Result<(), Response<Self::ResponseBody>> {
        (self.0)(request).map_err(refuse)
    }
}

/// What a call is traced as. It tells nothing that anybody at a table may not know.
fn span<B>(request: &Request<B>) -> Span {
    let id = request.extensions().get::<RequestId>().and_then(|id| id.header_value().to_str().ok());
    let peer = request.extensions().get::<Caller>().map(|caller| caller.peer().0);
    let method = request.uri().path();
    let name = method.trim_start_matches('/');
    let span = tracing::debug_span!(
        "call",
        otel.name = name,
        otel.kind = "server",
        method,
        id,
        peer,
        account = Empty
    );
    traces::follow(&span, request.headers());
    span
}

/// Failures are for callers to see: those that are ours are logged where they happen.
fn on_failure() -> DefaultOnFailure {
    DefaultOnFailure::new().level(Level::DEBUG)
}

/// The response that refuses a call.
fn refuse<B: Default>(error: ServiceError) -> Response<B> {
    Status::from(error).into_http()
}

#[cfg(test)]
mod tests;
