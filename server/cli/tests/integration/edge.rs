//! Tests the server's edge over real connections: limits, invalid requests, TLS and accounts.

mod accounts;
mod connections;
mod limits;
mod statuses;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use boardwire_api::v1::match_service_client::MatchServiceClient;
use boardwire_api::v1::*;
use boardwire_batch::messages::players;
use boardwire_batch::pool::Pool;
use boardwire_batch::registry::Registry;
use boardwire_batch::tables::Tables;
use boardwire_server::batches::{BatchLimits, Batches};
use boardwire_server::edge::{Access, Bounds, UnixSocket};
use boardwire_server::matches::{self, Matches};
use boardwire_server::run::{Listener, run};
use bytes::{BufMut as _, Bytes, BytesMut};
use hyper::http::request::Builder;
use hyper::http::{HeaderMap, HeaderValue, Request, StatusCode};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::transport::Channel;
use tonic::{Code, Status};
use tonic_types::{RpcStatusExt as _, StatusExt as _};

use super::{reason, with_token};

/// Returns bounds whose drain timeout is so long that a test fails if the stopping server waits for a call.
fn long_drain() -> Bounds {
    Bounds { drain_timeout: Duration::from_hours(1), ..Bounds::default() }
}

/// A server on a free port.
struct EdgeServer {
    address: String,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<anyhow::Result<()>>,
}

impl EdgeServer {
    async fn start(access: impl Into<Access>) -> Self {
        Self::start_on(access, Listener::Tcp).await
    }

    async fn start_on(access: impl Into<Access>, secure: impl FnOnce(TcpListener) -> Listener) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("the listener is bound").to_string();
        let registry = Registry::standard();
        let pool = Arc::new(Pool::new(2).expect("threads start"));
        let limits = matches::MatchLimits::default();
        let matches = Arc::new(Matches::new(Tables::new(registry), limits, Arc::clone(&pool)));
        let batches = Arc::new(Batches::new(BatchLimits::default(), None, pool));
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(run(access.into(), vec![secure(listener)], matches, batches, async {
            let _ = stopped.await;
        }));
        Self { address, stop, serving }
    }

    async fn channel(&self) -> Channel {
        let endpoint = Channel::from_shared(format!("http://{}", self.address)).expect("an address");
        endpoint.connect().await.expect("the server accepts connections")
    }

    async fn tcp(&self) -> TcpStream {
        TcpStream::connect(&self.address).await.expect("the server listens")
    }

    async fn raw(&self) -> RawClient {
        RawClient::connect(self.tcp().await).await
    }

    /// Stops the server, and waits until it has ended.
    async fn stop(self) {
        self.stop.send(()).expect("the server runs");
        let ended = tokio::time::timeout(Duration::from_mins(1), self.serving).await;
        ended
            .expect("the server stops in time")
            .expect("no panic")
            .expect("the server stops without an error");
    }
}

/// A client that can send arbitrary HTTP/2 requests.
struct RawClient(h2::client::SendRequest<Bytes>);

struct RawResponse {
    http: StatusCode,
    /// Headers and trailers.
    headers: HeaderMap,
}

impl RawResponse {
    fn status(&self) -> Status {
        Status::from_header_map(&self.headers).expect("a status")
    }

    fn code_and_reason(&self) -> (Code, String) {
        let status = self.status();
        (status.code(), reason(&status))
    }
}

impl RawClient {
    async fn connect(io: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Self {
        let (sender, connection) = h2::client::handshake(io).await.expect("the server speaks HTTP/2");
        tokio::spawn(connection);
        Self(sender)
    }

    /// Sends a request with a body, and waits for the end of the response.
    async fn send(&mut self, request: Builder, body: Bytes) -> RawResponse {
        self.0 = self.0.clone().ready().await.expect("the connection is open");
        let request = request.body(()).expect("a request");
        let (response, mut sending) = self.0.send_request(request, false).expect("the request is sent");
        // The server may respond before it has read everything.
        let _ = sending.send_data(body, true);
        let response = response.await.expect("a response");
        let (parts, mut body) = response.into_parts();
        while let Some(data) = body.data().await {
            let data = data.expect("the response continues");
            body.flow_control().release_capacity(data.len()).expect("the data was received");
        }
        let mut headers = parts.headers;
        headers.extend(body.trailers().await.expect("the response ends well").unwrap_or_default());
        RawResponse { http: parts.status, headers }
    }

    async fn call(&mut self, path: &str, message: &[u8]) -> RawResponse {
        self.send(request(path), framed(0, message)).await
    }
}

fn request(path: &str) -> Builder {
    let uri = format!("http://localhost{path}");
    Request::post(uri).header("content-type", "application/grpc").header("te", "trailers")
}

/// Returns a gRPC frame.
fn framed(compressed: u8, message: &[u8]) -> Bytes {
    let mut framed = BytesMut::new();
    framed.put_u8(compressed);
    framed.put_u32(u32::try_from(message.len()).expect("the message is small"));
    framed.put_slice(message);
    framed.freeze()
}

/// The first seat of a match of two agents. It has made its decision; the second seat never does.
struct Seat {
    client: MatchServiceClient<Channel>,
    match_id: String,
    token: String,
}

impl Seat {
    async fn join(channel: Channel) -> Self {
        let mut client = MatchServiceClient::new(channel);
        let create = CreateMatchRequest {
            config: Some(MatchConfig {
                game: "faraway".to_owned(),
                players: players(&["agent"; 2]),
                ..MatchConfig::default()
            }),
            ..CreateMatchRequest::default()
        };
        let created = client.create_match(create).await.expect("the match is created").into_inner();
        let match_id = created.r#match.expect("a match").id;
        let mut tokens = vec![];
        for invited in created.invitations {
            let join = JoinMatchRequest { code: invited.code, ..JoinMatchRequest::default() };
            tokens.push(client.join_match(join).await.expect("the seat is joined").into_inner().token);
        }
        let mut seat = Self { client, match_id, token: tokens.swap_remove(0) };
        let observation = seat
            .observe(false)
            .await
            .expect("the observation is returned")
            .observation
            .expect("an observation");
        let action = (0..8 * observation.mask.len())
            .find(|at| observation.mask[at / 8] >> (at % 8) & 1 == 1)
            .expect("a legal action");
        let act = ActRequest {
            match_id: seat.match_id.clone(),
            action: u32::try_from(action).expect("few actions"),
            ..ActRequest::default()
        };
        let act = with_token(act, &seat.token);
        seat.client.act(act).await.expect("the action is legal");
        seat
    }

    async fn observe(&mut self, wait: bool) -> Result<ObserveResponse, Status> {
        let observe = ObserveRequest { match_id: self.match_id.clone(), wait, ..ObserveRequest::default() };
        let observe = with_token(observe, &self.token);
        self.client.observe(observe).await.map(tonic::Response::into_inner)
    }

    /// Starts a call that waits for the second seat's decision.
    fn wait(&self) -> JoinHandle<Result<ObserveResponse, Status>> {
        let mut seat =
            Self { client: self.client.clone(), match_id: self.match_id.clone(), token: self.token.clone() };
        tokio::spawn(async move { seat.observe(true).await })
    }
}

async fn wait_until(mut condition: impl AsyncFnMut() -> bool) {
    let reached = async { while !condition().await {} };
    tokio::time::timeout(Duration::from_mins(1), reached).await.expect("the condition becomes true");
}
