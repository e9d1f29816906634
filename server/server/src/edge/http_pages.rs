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
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, CACHE_CONTROL,
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderValue, ORIGIN, REFERRER_POLICY, VARY,
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
/// The methods that pages may call. None of them changes a match.
const PAGE_METHODS: &[&str] = &[
    "/boardwire.v1.CatalogService/GetGame",
    "/boardwire.v1.MatchService/GetMatch",
    "/boardwire.v1.MatchService/ListMatches",
    "/boardwire.v1.MatchService/Watch",
];
/// The headers that a page of another origin may send with a call, and those of the response that it may read.
const REQUEST_HEADERS: &str =
    "authorization, boardwire-token, content-type, grpc-timeout, x-grpc-web, x-user-agent";
const RESPONSE_HEADERS: &str = "grpc-message, grpc-status, grpc-status-details-bin";

/// Returns the service of the watch page and of the methods that it calls.
pub(crate) fn watch_page(edge: &Arc<Edge>) -> impl HttpService<Body> + use<> {
    let (html, policy) = page::watch_page_html();
    let policy = HeaderValue::try_from(policy).expect("the policy is ASCII");
    let html = Bytes::from(html);
    let (edge, grpc) = (Arc::clone(edge), GrpcWebLayer::new().layer(GrpcService(Arc::clone(edge))));
    service_fn(move |request: Request<Incoming>| {
        let path = request.uri().path();
        let is_call = is_allowed(&request, &edge.access.page_hosts) && PAGE_METHODS.contains(&path);
        let origin = allowed_origin(&request, &edge.access.allowed_origins).filter(|_| is_call);
        let is_preflight = request.method() == Method::OPTIONS;
        let grpc = (is_call && !is_preflight).then(|| grpc.clone());
        let body =
            (path == "/").then(|| (html.clone(), HeaderValue::from_static("text/html; charset=utf-8")));
        let mut response = respond(&request, &edge.access.page_hosts, body);
        let headers = response.headers_mut();
        headers.insert(CONTENT_SECURITY_POLICY, policy.clone());
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        async move {
            if let Some(mut grpc) = grpc {
                response = grpc.call(request).await?;
            }
            if let Some(origin) = origin {
                allow_origin(&mut response, origin, is_preflight);
            }
            Ok(response)
        }
    })
}

/// Returns the value of `Access-Control-Allow-Origin` for a page of another origin, if `origins` contains it. Without this
/// header, a browser refuses the page's call.
fn allowed_origin<R>(request: &Request<R>, origins: &[String]) -> Option<HeaderValue> {
    let origin = request.headers().get(ORIGIN)?;
    let allows = |allowed: &&String| *allowed == "*" || allowed.as_bytes() == origin.as_bytes();
    let allowed = origins.iter().find(allows)?;
    HeaderValue::from_str(allowed).ok()
}

/// Lets a page of this origin read the response, or make the call that a preflight request asks for.
fn allow_origin(response: &mut Response<Body>, origin: HeaderValue, is_preflight: bool) {
    if is_preflight {
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(REQUEST_HEADERS));
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(RESPONSE_HEADERS));
    headers.insert(VARY, HeaderValue::from_static("origin"));
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

    #[test]
    fn only_listed_origins_are_allowed() {
        let allowed = |origin: Option<&str>, origins: &[&str]| {
            let request =
                origin.into_iter().fold(Request::builder(), |request, origin| request.header(ORIGIN, origin));
            let origins: Vec<String> = origins.iter().map(|&origin| origin.to_owned()).collect();
            let value = allowed_origin(&request.body(()).expect("the request is valid"), &origins)?;
            Some(value.to_str().expect("the value is text").to_owned())
        };
        let (one, other) = ("https://one.example", "http://other.example:8080");
        assert_eq!(allowed(Some(one), &[]), None);
        assert_eq!(allowed(Some(other), &[one, other]).as_deref(), Some(other));
        assert_eq!(allowed(Some("http://one.example"), &[one, other]), None, "another scheme");
        assert_eq!(allowed(Some("https://one.example.evil.example"), &[one, other]), None);
        assert_eq!(allowed(Some(one), &["*"]).as_deref(), Some("*"));
        assert_eq!(allowed(None, &["*"]), None, "no page calls");
    }
}
