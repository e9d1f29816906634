//! Pages over HTTP/1.1: the watch page for browsers, and the metrics for Prometheus.
//!
//! The server prevents DNS rebinding: a website can let its own host name resolve to this machine, and a browser then treats
//! the server's pages as pages of that website. Browsers send the host name, so the server accepts only addresses,
//! `localhost`, and the names of `--page-host`.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use tonic::body::Body;
use tonic::codegen::Service as _;
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
use super::serve::HttpService;
use crate::page;
use crate::telemetry;

const WRONG_HOST_TEXT: &str = "This host name is not allowed. Use the server's IP address, or start the server with \
    --page-host NAME.\n";
/// The methods that the watch page may call. None of them changes a match.
const WATCH_PAGE_METHODS: &[&str] = &[
    "/boardwire.v1.MatchService/GetMatch",
    "/boardwire.v1.MatchService/ListMatches",
    "/boardwire.v1.MatchService/Watch",
];

/// Returns the service of the watch page and of the methods that it calls.
pub(crate) fn watch_page(edge: &Arc<Edge>) -> impl HttpService<Body> + use<> {
    let (html, policy) = page::watch_page_html();
    let policy = HeaderValue::try_from(policy).expect("the policy is ASCII");
    let html = Bytes::from(html);
    let (edge, grpc) = (Arc::clone(edge), GrpcWebLayer::new().layer(GrpcService(Arc::clone(edge))));
    service_fn(move |request: Request<Incoming>| {
        let path = request.uri().path();
        let is_call = is_allowed(&request, &edge.access.page_hosts) && WATCH_PAGE_METHODS.contains(&path);
        let grpc = is_call.then(|| grpc.clone());
        let body =
            (path == "/").then(|| (html.clone(), HeaderValue::from_static("text/html; charset=utf-8")));
        let mut response = respond(&request, &edge.access.page_hosts, body);
        let headers = response.headers_mut();
        headers.insert(CONTENT_SECURITY_POLICY, policy.clone());
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        async move {
            match grpc {
                Some(mut grpc) => grpc.call(request).await,
                None => Ok(response),
            }
        }
    })
}

/// Returns the service of the page `/metrics`.
pub(crate) fn metrics_page(edge: &Arc<Edge>) -> impl HttpService<Body> + use<> {
    let edge = Arc::clone(edge);
    service_fn(move |request: Request<Incoming>| {
        let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
        let body = (request.uri().path() == "/metrics").then(|| (telemetry::page().into(), kind));
        let response = respond(&request, &edge.access.page_hosts, body);
        async move { Ok(response) }
    })
}

/// Responds with the body and its content type, if the request names one of the server's `hosts`.
fn respond<R>(request: &Request<R>, hosts: &[String], body: Option<(Bytes, HeaderValue)>) -> Response<Body> {
    let (status, text, kind) = match body {
        _ if !is_allowed(request, hosts) => (StatusCode::MISDIRECTED_REQUEST, WRONG_HOST_TEXT.into(), None),
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

/// Returns whether a request names an address, `localhost`, or one of the server's `hosts`.
fn is_allowed<R>(request: &Request<R>, hosts: &[String]) -> bool {
    let header = || Authority::try_from(request.headers().get(HOST)?.as_bytes()).ok();
    let Some(authority) = request.uri().authority().cloned().or_else(header) else { return false };
    let name = authority.host().trim_matches(['[', ']']);
    let is_name = |host: &str| host.eq_ignore_ascii_case(name);
    name.parse::<IpAddr>().is_ok() || is_name("localhost") || hosts.iter().any(|host| is_name(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_servers_host_names_are_allowed() {
        let allows = |uri: &str, host: Option<&str>| {
            let request = Request::builder().uri(uri);
            let request = host.into_iter().fold(request, |request, host| request.header(HOST, host));
            is_allowed(&request.body(()).expect("the request is valid"), &["boards.example".to_owned()])
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
        assert!(!allows("http://evil.example/", Some("localhost")), "the URI overrides the header");
    }
}
