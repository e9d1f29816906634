//! The names under which pages are served.
//!
//! A site that a browser visits can let its own name resolve to this machine, and would then be answered as if it were the
//! server's page (DNS rebinding). The browser sends the name, so that only addresses, `localhost`, and the names of
//! `--page-host` are answered.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::IpAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::Either;
use http_body_util::Full;
use tonic::body::Body as Answer;
use tonic::codegen::Service;
use tonic::codegen::http::header::HOST;
use tonic::codegen::http::uri::Authority;
use tonic::codegen::http::{Request, Response, StatusCode};

const REFUSAL: &str =
    "This name is not served: use the server's address, or start it with --page-host and the name.\n";

/// A page that is served under some names only.
#[derive(Clone)]
pub(crate) struct AllowedHosts<S> {
    page: S,
    names: Arc<[String]>,
}

impl<S> AllowedHosts<S> {
    pub(crate) fn new(page: S, names: Arc<[String]>) -> Self {
        Self { page, names }
    }

    fn allows<R>(&self, request: &Request<R>) -> bool {
        let header = || Authority::try_from(request.headers().get(HOST)?.as_bytes()).ok();
        let Some(authority) = request.uri().authority().cloned().or_else(header) else { return false };
        let name = authority.host().trim_matches(['[', ']']);
        let is_name = |own: &str| own.eq_ignore_ascii_case(name);
        name.parse::<IpAddr>().is_ok() || is_name("localhost") || self.names.iter().any(|own| is_name(own))
    }
}

impl<S, R> Service<Request<R>> for AllowedHosts<S>
where
    S: Service<Request<R>, Response = Response<Answer>, Error = Infallible>,
{
    type Response = Response<Answer>;
    type Error = Infallible;
    type Future = Either<Ready<Result<Response<Answer>, Infallible>>, S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.page.poll_ready(context)
    }

    fn call(&mut self, request: Request<R>) -> Self::Future {
        if self.allows(&request) {
            return Either::Right(self.page.call(request));
        }
        let mut response = Response::new(Answer::new(Full::from(REFUSAL)));
        *response.status_mut() = StatusCode::MISDIRECTED_REQUEST;
        Either::Left(ready(Ok(response)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_served_if_it_is_the_servers() {
        let hosts = AllowedHosts::new((), Arc::new(["boards.example".to_owned()]));
        let allows = |uri: &str, host: Option<&str>| {
            let request = Request::builder().uri(uri);
            let request = host.into_iter().fold(request, |request, host| request.header(HOST, host));
            hosts.allows(&request.body(()).expect("it is a request"))
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
