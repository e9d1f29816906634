//! The page that follows matches, and what it may call.

use std::convert::Infallible;
use std::fmt::Display;
use std::future::{Ready, ready};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::future::Either;
use http_body::Body;
use tonic::body::Body as Answer;
use tonic::codegen::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use tonic::codegen::http::{Method, Request, Response, StatusCode};
use tonic::codegen::{Service, StdError};
use tonic_web::{GrpcWebLayer, GrpcWebService};
use tower::Layer as _;

use crate::page;

/// What the page calls: to look at matches, and to change nothing.
const CALLS: &[&str] = &[
    "/boardwire.v1.MatchService/GetMatch",
    "/boardwire.v1.MatchService/ListMatches",
    "/boardwire.v1.MatchService/Watch",
];

/// The page, and the services as far as it calls them.
#[derive(Clone)]
pub(crate) struct WatchPage<S> {
    services: GrpcWebService<S>,
    html: Bytes,
    policy: HeaderValue,
}

impl<S> WatchPage<S> {
    /// Before these services.
    pub(crate) fn new(services: S) -> Self {
        let (html, policy) = page::watch();
        let policy = HeaderValue::try_from(policy).expect("letters, and hashes in base 64");
        Self { services: GrpcWebLayer::new().layer(services), html: html.into(), policy }
    }

    fn page(&self) -> Response<Answer> {
        let html = http_body_util::Full::new(self.html.clone());
        let mut response = Response::new(Answer::new(html));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        headers.insert(CONTENT_SECURITY_POLICY, self.policy.clone());
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        response
    }
}

impl<S, R, B> Service<Request<R>> for WatchPage<S>
where
    S: Service<Request<Answer>, Response = Response<B>, Error = Infallible>,
    R: Body<Data = Bytes> + Send + 'static,
    R::Error: Into<StdError> + Display,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<StdError> + Display,
{
    type Response = Response<Answer>;
    type Error = Infallible;
    type Future = Either<
        Ready<Result<Response<Answer>, Infallible>>,
        <GrpcWebService<S> as Service<Request<R>>>::Future,
    >;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Service::<Request<R>>::poll_ready(&mut self.services, context)
    }

    fn call(&mut self, request: Request<R>) -> Self::Future {
        let empty = |status| {
            let mut response = Response::new(Answer::empty());
            *response.status_mut() = status;
            Either::Left(ready(Ok(response)))
        };
        match (request.method(), request.uri().path()) {
            (&Method::GET, "/") => Either::Left(ready(Ok(self.page()))),
            (_, "/") => empty(StatusCode::METHOD_NOT_ALLOWED),
            (_, path) if CALLS.contains(&path) => Either::Right(self.services.call(request)),
            _ => empty(StatusCode::NOT_FOUND),
        }
    }
}
