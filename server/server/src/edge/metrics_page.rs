//! What Prometheus reads.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll};

use http_body_util::Full;
use tonic::body::Body as Answer;
use tonic::codegen::Service;
use tonic::codegen::http::header::{CONTENT_TYPE, HeaderValue};
use tonic::codegen::http::{Method, Request, Response, StatusCode};

use crate::telemetry;

/// The page `/metrics`.
#[derive(Clone)]
pub(crate) struct MetricsPage;

impl<R> Service<Request<R>> for MetricsPage {
    type Response = Response<Answer>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Answer>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<R>) -> Self::Future {
        let (status, text) = match (request.method(), request.uri().path()) {
            (&Method::GET, "/metrics") => (StatusCode::OK, telemetry::page()),
            (_, "/metrics") => (StatusCode::METHOD_NOT_ALLOWED, String::new()),
            _ => (StatusCode::NOT_FOUND, String::new()),
        };
        let mut response = Response::new(Answer::new(Full::from(text)));
        *response.status_mut() = status;
        let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
        response.headers_mut().insert(CONTENT_TYPE, kind);
        ready(Ok(response))
    }
}
