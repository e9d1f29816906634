//! A gRPC proxy between an agent and the server. A [`Gate`] decides what happens to each message.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use boardwire_api::RawCodec;
use bytes::Bytes;
use futures_util::future::{BoxFuture, join, pending};
use futures_util::stream::{BoxStream, unfold};
use futures_util::{FutureExt as _, StreamExt as _};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tonic::codegen::http;
use tonic::server::StreamingService;
use tonic::transport::Channel;
use tonic::{Extensions, Request, Response, Status, Streaming};

use super::gate::Gate;
use super::messages::Call;

/// The largest message in either direction, in bytes.
const MESSAGE_BYTES: usize = 64 << 20;
/// The headers that the proxy does not forward: the agent keeps its deadline, and the proxy does not compress.
const OWN_HEADERS: [&str; 4] = ["grpc-timeout", "grpc-encoding", "grpc-accept-encoding", "content-length"];

/// What the proxy does with a message.
#[derive(Debug)]
pub(super) enum Verdict {
    Pass,
    /// Drops the message, and sends these bytes to the agent.
    Answer(Bytes),
    /// Drops the message, and ends the call with this status.
    End(Status),
    /// Drops the message and closes the connection. The agent's next connection is closed immediately.
    Cut,
    /// Passes the message, and does the same after this time.
    CutAfter(Duration),
    /// Drops the message. From now on, the connection carries no byte and stays open.
    Silence,
}

/// A proxy that forwards calls until it is dropped.
pub(super) struct Proxy {
    /// The address on which the proxy listens, `host:port`.
    pub(super) address: String,
    serving: JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Proxy {
    /// Starts to forward calls to `server`.
    pub(super) async fn start(server: &str, gate: Arc<Gate>) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = SocketAddr::to_string(&listener.local_addr()?);
        let server = boardwire_api::client::connect(server, None)?;
        let refuses_next = Arc::new(AtomicBool::new(false));
        let serving = tokio::spawn(async move {
            while let Ok((agent, _)) = listener.accept().await {
                if refuses_next.swap(false, Ordering::Relaxed) {
                    continue;
                }
                let connection = Arc::new(Connection {
                    gate: Arc::clone(&gate),
                    server: server.clone(),
                    cut: Notify::new(),
                    is_silent: AtomicBool::new(false),
                    refuses_next: Arc::clone(&refuses_next),
                });
                tokio::spawn(connection.serve(agent));
            }
        });
        Ok(Self { address, serving })
    }
}

/// A connection of the agent.
struct Connection {
    gate: Arc<Gate>,
    server: Channel,
    cut: Notify,
    is_silent: AtomicBool,
    refuses_next: Arc<AtomicBool>,
}

impl Connection {
    async fn serve(self: Arc<Self>, agent: TcpStream) {
        let _ = agent.set_nodelay(true);
        let (near, far) = tokio::io::duplex(64 << 10);
        let (from_agent, to_agent) = agent.into_split();
        let (from_proxy, to_proxy) = tokio::io::split(near);
        let service = service_fn(|request: http::Request<hyper::body::Incoming>| {
            let call = Call::new(request.uri().path_and_query(), request.headers());
            let tunnel = Tunnel { connection: Arc::clone(&self), call: Arc::new(call) };
            async move {
                let mut grpc = tonic::server::Grpc::new(RawCodec)
                    .max_decoding_message_size(MESSAGE_BYTES)
                    .max_encoding_message_size(MESSAGE_BYTES);
                Ok::<_, Infallible>(grpc.streaming(tunnel, request).await)
            }
        });
        let calls = http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(far), service);
        let copied = join(self.copy(from_agent, to_proxy), self.copy(from_proxy, to_agent));
        tokio::select! {
            _ = calls => {}
            _ = copied => {}
            () = self.cut.notified() => {}
        }
    }

    /// Copies bytes, or drops them while the connection is silent. Closes the connection at the end.
    async fn copy(&self, mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
        let mut bytes = vec![0; 64 << 10];
        while let Ok(read @ 1..) = from.read(&mut bytes).await {
            if !self.is_silent.load(Ordering::Relaxed) && to.write_all(&bytes[..read]).await.is_err() {
                break;
            }
        }
        self.cut.notify_one();
    }

    /// Closes the connection, and the agent's next one immediately.
    fn cut(&self) {
        self.gate.note_end();
        self.refuses_next.store(true, Ordering::Relaxed);
        self.cut.notify_one();
    }

    /// Does what a verdict says. Returns the message if it passes.
    async fn apply(
        self: &Arc<Self>,
        verdict: Verdict,
        message: Bytes,
        to_agent: &mpsc::Sender<Result<Bytes, Status>>,
    ) -> Option<Bytes> {
        match verdict {
            Verdict::Pass => return Some(message),
            // Sending fails only if the agent has ended the call.
            Verdict::Answer(bytes) => drop(to_agent.send(Ok(bytes)).await),
            Verdict::End(status) => drop(to_agent.send(Err(status)).await),
            Verdict::Cut => {
                self.cut();
                // Otherwise the call could still end, before the connection does.
                pending::<()>().await;
            }
            Verdict::CutAfter(time) => {
                let connection = Arc::clone(self);
                tokio::spawn(async move {
                    tokio::time::sleep(time).await;
                    connection.cut();
                });
                return Some(message);
            }
            Verdict::Silence => {
                self.is_silent.store(true, Ordering::Relaxed);
                pending::<()>().await;
            }
        }
        None
    }
}

/// One call: a stream of messages in both directions. A single call has one message in each.
struct Tunnel {
    connection: Arc<Connection>,
    call: Arc<Call>,
}

impl StreamingService<Bytes> for Tunnel {
    type Response = Bytes;
    type ResponseStream = BoxStream<'static, Result<Bytes, Status>>;
    type Future = BoxFuture<'static, Result<Response<Self::ResponseStream>, Status>>;

    fn call(&mut self, request: Request<Streaming<Bytes>>) -> Self::Future {
        let (connection, call) = (Arc::clone(&self.connection), Arc::clone(&self.call));
        async move {
            connection.gate.open(&call);
            let (to_agent, responses) = mpsc::channel(1);
            tokio::spawn(async move {
                tokio::select! {
                    () = to_agent.closed() => {}
                    () = connection.forward(&call, request, &to_agent) => {}
                }
            });
            Ok(Response::new(stream_of(responses)))
        }
        .boxed()
    }
}

impl Connection {
    /// Forwards a call in both directions until the server has ended it.
    async fn forward(
        self: &Arc<Self>,
        call: &Call,
        request: Request<Streaming<Bytes>>,
        to_agent: &mpsc::Sender<Result<Bytes, Status>>,
    ) {
        let (mut metadata, _, mut requests) = request.into_parts();
        for header in OWN_HEADERS {
            metadata.remove(header);
        }
        let (to_server, received) = mpsc::channel(1);
        let forward_requests = async move {
            while let Ok(Some(message)) = requests.message().await {
                let verdict = self.gate.judge_request(call, &message).await;
                if let Some(message) = self.apply(verdict, message, to_agent).await {
                    let _ = to_server.send(message).await;
                }
            }
        };
        let forward_responses = async {
            let request = Request::from_parts(metadata, Extensions::default(), stream_of(received));
            let status = match self.ask(call, request).await {
                Ok(mut responses) => loop {
                    match responses.message().await {
                        Ok(Some(message)) => {
                            let verdict = self.gate.judge_response(call, &message).await;
                            if let Some(message) = self.apply(verdict, message, to_agent).await {
                                let _ = to_agent.send(Ok(message)).await;
                            }
                        }
                        Ok(None) => return,
                        Err(status) => break status,
                    }
                },
                Err(status) => status,
            };
            self.gate.note_end();
            let _ = to_agent.send(Err(status)).await;
        };
        join(forward_requests, forward_responses).await;
    }

    /// Calls the server.
    async fn ask(
        &self,
        call: &Call,
        request: Request<BoxStream<'static, Bytes>>,
    ) -> Result<Streaming<Bytes>, Status> {
        let mut client = tonic::client::Grpc::new(self.server.clone())
            .max_decoding_message_size(MESSAGE_BYTES)
            .max_encoding_message_size(MESSAGE_BYTES);
        client.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
        Ok(client.streaming(request, call.path.clone(), RawCodec).await?.into_inner())
    }
}

/// Returns what a channel receives, as a stream.
fn stream_of<T: Send + 'static>(receiver: mpsc::Receiver<T>) -> BoxStream<'static, T> {
    unfold(receiver, async |mut receiver| Some((receiver.recv().await?, receiver))).boxed()
}
