//! A server that plays no game: it answers every request with a recorded response of the real server.
//!
//! It serves the same protocol with the same transport settings of tonic. So its time is the cost of gRPC for messages of
//! these sizes.

use std::io::Read as _;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use boardwire_api::v1::match_service_server::{MatchService, MatchServiceServer};
use boardwire_api::v1::{
    ActRequest, ActResponse, CloseMatchRequest, CloseMatchResponse, CreateMatchRequest, CreateMatchResponse,
    GetMatchRequest, GetMatchResponse, GetReplayRequest, GetReplayResponse, InviteRequest, InviteResponse,
    JoinMatchRequest, JoinMatchResponse, ListMatchesRequest, ListMatchesResponse, Observation,
    ObserveRequest, ObserveResponse, OpenDealRequest, OpenDealResponse, PlayRequest, PlayResponse,
    ResetMatchRequest, ResetMatchResponse, ResetRequest, ResetResponse, ResignRequest, ResignResponse,
    WatchRequest, WatchResponse, play_request, play_response,
};
use boardwire_server::edge::{CONNECTION_WINDOW, KEEPALIVE_INTERVAL, STREAM_WINDOW};
use boardwire_server::run::runtime;
use tokio::net::{TcpListener, UnixListener};
use tokio_stream::wrappers::UnixListenerStream;
use tokio_stream::{Stream, StreamExt as _};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status, Streaming};

use crate::agent::{BenchAgent, Transport, connect};
use crate::batch;

/// The number of recorded episodes.
const EPISODES: usize = 16;

/// Records responses of the server `real`, then serves them on a free port and the Unix socket `path` until stdin ends.
pub(crate) fn run(real: &str, path: &str) -> anyhow::Result<()> {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    runtime()?.block_on(async {
        let matches = MatchServiceServer::new(EchoMatches(Arc::new(MatchRecording::record(real).await?)));
        let mut server = Server::builder()
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .http2_keepalive_interval(Some(KEEPALIVE_INTERVAL));
        let router = server.add_service(matches).add_service(batch::service(real));
        let tcp = TcpListener::bind("127.0.0.1:0").await?;
        println!("listening on {}", tcp.local_addr()?);
        let unix = UnixListenerStream::new(UnixListener::bind(path)?);
        println!("listening on unix:{path}");
        let tcp = TcpIncoming::from(tcp).with_nodelay(Some(true));
        tokio::try_join!(router.clone().serve_with_incoming(tcp), router.serve_with_incoming(unix))?;
        Ok(())
    })
}

/// The real server's responses, in order.
struct MatchRecording {
    created: CreateMatchResponse,
    joined: JoinMatchResponse,
    observations: Vec<Observation>,
    next: AtomicUsize,
}

impl MatchRecording {
    /// Records whole episodes, so that the echo server can repeat the recording.
    async fn record(real: &str) -> anyhow::Result<Self> {
        let mut agent = BenchAgent::start(connect(real).await?, Transport::Unary).await?;
        let mut observations = vec![agent.observation.clone()];
        for episode in 0..EPISODES {
            if episode > 0 {
                agent.reset().await?;
                observations.push(agent.observation.clone());
            }
            while !agent.is_over() {
                agent.act(true).await?;
                observations.push(agent.observation.clone());
            }
        }
        Ok(Self { created: agent.created, joined: agent.joined, observations, next: AtomicUsize::new(0) })
    }

    fn next(&self) -> Observation {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        self.observations[index % self.observations.len()].clone()
    }

    fn first(&self) -> Observation {
        self.next.store(0, Ordering::Relaxed);
        self.next()
    }

    fn respond(&self, request: &PlayRequest) -> PlayResponse {
        let answer = match request.request {
            Some(play_request::Request::Observe(_)) => {
                play_response::Answer::Observe(ObserveResponse { observation: Some(self.first()) })
            }
            Some(play_request::Request::Reset(_)) => {
                play_response::Answer::Reset(ResetResponse { observation: Some(self.next()) })
            }
            _ => play_response::Answer::Act(ActResponse { observation: Some(self.next()) }),
        };
        PlayResponse { tag: request.tag, answer: Some(answer) }
    }
}

struct EchoMatches(Arc<MatchRecording>);

pub(crate) type RpcResult<T> = Result<Response<T>, Status>;

fn unimplemented<T>() -> RpcResult<T> {
    Err(Status::unimplemented("an echo server plays no match"))
}

#[tonic::async_trait]
impl MatchService for EchoMatches {
    type WatchStream = Pin<Box<dyn Stream<Item = Result<WatchResponse, Status>> + Send>>;
    type PlayStream = Pin<Box<dyn Stream<Item = Result<PlayResponse, Status>> + Send>>;

    async fn create_match(&self, _: Request<CreateMatchRequest>) -> RpcResult<CreateMatchResponse> {
        Ok(Response::new(self.0.created.clone()))
    }

    async fn join_match(&self, _: Request<JoinMatchRequest>) -> RpcResult<JoinMatchResponse> {
        Ok(Response::new(self.0.joined.clone()))
    }

    async fn observe(&self, _: Request<ObserveRequest>) -> RpcResult<ObserveResponse> {
        Ok(Response::new(ObserveResponse { observation: Some(self.0.first()) }))
    }

    async fn act(&self, _: Request<ActRequest>) -> RpcResult<ActResponse> {
        Ok(Response::new(ActResponse { observation: Some(self.0.next()) }))
    }

    async fn reset(&self, _: Request<ResetRequest>) -> RpcResult<ResetResponse> {
        Ok(Response::new(ResetResponse { observation: Some(self.0.next()) }))
    }

    async fn reset_match(&self, _: Request<ResetMatchRequest>) -> RpcResult<ResetMatchResponse> {
        unimplemented()
    }

    async fn play(&self, request: Request<Streaming<PlayRequest>>) -> RpcResult<Self::PlayStream> {
        let recording = Arc::clone(&self.0);
        let responses = request.into_inner().map(move |request| Ok(recording.respond(&request?)));
        Ok(Response::new(Box::pin(responses)))
    }

    async fn watch(&self, _: Request<WatchRequest>) -> RpcResult<Self::WatchStream> {
        unimplemented()
    }

    async fn get_replay(&self, _: Request<GetReplayRequest>) -> RpcResult<GetReplayResponse> {
        unimplemented()
    }

    async fn invite(&self, _: Request<InviteRequest>) -> RpcResult<InviteResponse> {
        unimplemented()
    }

    async fn open_deal(&self, _: Request<OpenDealRequest>) -> RpcResult<OpenDealResponse> {
        unimplemented()
    }

    async fn get_match(&self, _: Request<GetMatchRequest>) -> RpcResult<GetMatchResponse> {
        unimplemented()
    }

    async fn list_matches(&self, _: Request<ListMatchesRequest>) -> RpcResult<ListMatchesResponse> {
        unimplemented()
    }

    async fn resign(&self, _: Request<ResignRequest>) -> RpcResult<ResignResponse> {
        unimplemented()
    }

    async fn close_match(&self, _: Request<CloseMatchRequest>) -> RpcResult<CloseMatchResponse> {
        unimplemented()
    }
}
