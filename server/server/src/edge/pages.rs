//! Pages over HTTP/1.1: the one that follows matches, for browsers, and the metrics, for Prometheus.
//!
//! A site that a browser visits can let its own name resolve to this machine, and would then be answered as if it were the
//! server's page (DNS rebinding). The browser sends the name, so that only addresses, `localhost`, and the names of
//! `--page-host` are answered.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::codegen::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use tonic::codegen::http::uri::Authority;
use tonic::codegen::http::{Method, Request, Response, StatusCode};
use tonic_web::GrpcWebLayer;
use tower::{Layer as _, service_fn};

use super::Edge;
use super::call::GrpcService;
use crate::{page, telemetry};

const WRONG_NAME: &str =
    "This name is not served: use the server's address, or start it with --page-host and the name.\n";
/// What the page that follows matches calls: to look at matches, and to change nothing.
const CALLS: &[&str] = &[
    "/boardwire.v1.MatchService/GetMatch",
    "/boardwire.v1.MatchService/ListMatches",
    "/boardwire.v1.MatchService/Watch",
];

/// What answers the requests of a browser.
pub(crate) trait PageService:
    Service<Request<Incoming>, Response = Response<Body>, Error = Infallible, Future: Send>
    + Clone
    + Send
    + 'static
{
}

impl<S> PageService for S where
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible, Future: Send>
        + Clone
        + Send
        + 'static
{
}

/// The page that follows matches, and the services as far as it calls them.
pub(crate) fn watch_page(edge: &Arc<Edge>) -> impl PageService + use<> {
    let (html, policy) = page::watch();
    let policy = HeaderValue::try_from(policy).expect("letters, and hashes in base 64");
    let html = Bytes::from(html);
    let (edge, services) = (Arc::clone(edge), GrpcWebLayer::new().layer(GrpcService(Arc::clone(edge))));
    service_fn(move |request: Request<Incoming>| {
        let path = request.uri().path();
        let called = (is_allowed(&request, &edge.access.page_hosts) && CALLS.contains(&path))
            .then(|| services.clone());
        let found =
            (path == "/").then(|| (html.clone(), HeaderValue::from_static("text/html; charset=utf-8")));
        let mut response = answer(&request, &edge.access.page_hosts, found);
        let headers = response.headers_mut();
        headers.insert(CONTENT_SECURITY_POLICY, policy.clone());
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        async move {
            match called {
                Some(mut services) => services.call(request).await,
                None => Ok(response),
            }
        }
    })
}

/// What Prometheus reads: the page `/metrics`.
pub(crate) fn metrics_page(edge: &Arc<Edge>) -> impl PageService + use<> {
    let edge = Arc::clone(edge);
    service_fn(move |request: Request<Incoming>| {
        let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
        let found = (request.uri().path() == "/metrics").then(|| (telemetry::page().into(), kind));
        let response = answer(&request, &edge.access.page_hosts, found);
        async move { Ok(response) }
    })
}

/// Answers with what was found where the request asks, if it asks under one of the server's `names`.
fn answer<R>(request: &Request<R>, names: &[String], found: Option<(Bytes, HeaderValue)>) -> Response<Body> {
    let (status, text, kind) = match found {
        _ if !is_allowed(request, names) => (StatusCode::MISDIRECTED_REQUEST, WRONG_NAME.into(), None),
        Some((text, kind)) if request.method() == Method::GET => (StatusCode::OK, text, Some(kind)),
        Some(_) => (StatusCode::METHOD_NOT_ALLOWED, Bytes::new(), None),
        None => (StatusCode::NOT_FOUND, Bytes::new(), None),
    };
    let mut response = Response::new(Body::new(Full::new(text)));
    *response.status_mut() = status;
    if let Some(kind) = kind {
        response.headers_mut().insert(CONTENT_TYPE, kind);
    }
    response
}

/// Whether a request asks for an address, `localhost`, or one of the server's `names`.
fn is_allowed<R>(request: &Request<R>, names: &[String]) -> bool {
    let header = || Authority::try_from(request.headers().get(HOST)?.as_bytes()).ok();
    let Some(authority) = request.uri().authority().cloned().or_else(header) else { return false };
    let name = authority.host().trim_matches(['[', ']']);
    let is_name = |own: &str| own.eq_ignore_ascii_case(name);
    name.parse::<IpAddr>().is_ok() || is_name("localhost") || names.iter().any(|own| is_name(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_served_if_it_is_the_servers() {
        let allows = |uri: &str, host: Option<&str>| {
            let request = Request::builder().uri(uri);
            let request = host.into_iter().fold(request, |request, host| request.header(HOST, host));
            is_allowed(&request.body(()).expect("it is a request"), &["boards.example".to_owned()])
        };
        for host in ["localhost", "LocalHost:50051", "127.0.0.1", "192.0.2.1:80", "[::1]:9", "Boards.Example"]
        {
            assert!(allows("/", Some(host)), "{host}");
        }
        for host in
            ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "boards.example.", ""]
        {
            assert!(!allows("/", Some(host)), "{host}");
        }
        assert!(!allows("/", None));
        assert!(!allows("http://evil.example/", Some("localhost")), "the address that is asked for counts");
    }
}
