//! A server that only moves bytes: it answers every request with what the real server once answered.
//!
//! It serves the same protocol over tonic's own transport with the same settings, and plays no game: the next answer of its tape is
//! given whatever is asked. So the time against it is what gRPC itself costs for messages of these sizes.

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
use boardwire_server::edge::{CONNECTION_WINDOW, KEEPALIVE, STREAM_WINDOW};
use boardwire_server::run::runtime;
use tokio::net::{TcpListener, UnixListener};
use tokio_stream::wrappers::UnixListenerStream;
use tokio_stream::{Stream, StreamExt as _};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status, Streaming};

use crate::agent::{Agent, Way};
use crate::batch;

/// How many episodes the tape holds.
const EPISODES: usize = 16;

/// Records a tape at the real server `real`, then serves it on a free port and the Unix socket `path` until
/// standard input ends.
pub(crate) fn run(real: &str, path: &str) -> anyhow::Result<()> {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    runtime()?.block_on(async {
        let matches = MatchServiceServer::new(Echo(Arc::new(Tape::record(real).await?)));
        let mut server = Server::builder()
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .http2_keepalive_interval(Some(KEEPALIVE));
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

/// What the real server answered, in order.
struct Tape {
    created: CreateMatchResponse,
    joined: JoinMatchResponse,
    answers: Vec<Observation>,
    next: AtomicUsize,
}

impl Tape {
    /// Plays whole episodes: the first answer follows upon the last as one episode does upon another.
    async fn record(real: &str) -> anyhow::Result<Self> {
        let mut agent = Agent::join(real, Way::Unary).await?;
        let mut answers = vec![agent.seen.clone()];
        for episode in 0..EPISODES {
            if episode > 0 {
                agent.reset().await?;
                answers.push(agent.seen.clone());
            }
            while !agent.is_over() {
                agent.act().await?;
                answers.push(agent.seen.clone());
            }
        }
        Ok(Self { created: agent.created, joined: agent.joined, answers, next: AtomicUsize::new(0) })
    }

    fn next(&self) -> Observation {
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        self.answers[at % self.answers.len()].clone()
    }

    fn first(&self) -> Observation {
        self.next.store(0, Ordering::Relaxed);
        self.next()
    }

    fn answer(&self, asked: &PlayRequest) -> PlayResponse {
        let answer = match asked.request {
            Some(play_request::Request::Observe(_)) => {
                play_response::Answer::Observe(ObserveResponse { observation: Some(self.first()) })
            }
            Some(play_request::Request::Reset(_)) => {
                play_response::Answer::Reset(ResetResponse { observation: Some(self.next()) })
            }
            _ => play_response::Answer::Act(ActResponse { observation: Some(self.next()) }),
        };
        PlayResponse { tag: asked.tag, answer: Some(answer) }
    }
}

struct Echo(Arc<Tape>);

type Answer<T> = Result<Response<T>, Status>;

fn unserved<T>() -> Answer<T> {
    Err(Status::unimplemented("an echo server plays no match"))
}

#[tonic::async_trait]
impl MatchService for Echo {
    type WatchStream = Pin<Box<dyn Stream<Item = Result<WatchResponse, Status>> + Send>>;
    type PlayStream = Pin<Box<dyn Stream<Item = Result<PlayResponse, Status>> + Send>>;

    async fn create_match(&self, _: Request<CreateMatchRequest>) -> Answer<CreateMatchResponse> {
        Ok(Response::new(self.0.created.clone()))
    }

    async fn join_match(&self, _: Request<JoinMatchRequest>) -> Answer<JoinMatchResponse> {
        Ok(Response::new(self.0.joined.clone()))
    }

    async fn observe(&self, _: Request<ObserveRequest>) -> Answer<ObserveResponse> {
        Ok(Response::new(ObserveResponse { observation: Some(self.0.first()) }))
    }

    async fn act(&self, _: Request<ActRequest>) -> Answer<ActResponse> {
        Ok(Response::new(ActResponse { observation: Some(self.0.next()) }))
    }

    async fn reset(&self, _: Request<ResetRequest>) -> Answer<ResetResponse> {
        Ok(Response::new(ResetResponse { observation: Some(self.0.next()) }))
    }

    async fn reset_match(&self, _: Request<ResetMatchRequest>) -> Answer<ResetMatchResponse> {
        unserved()
    }

    async fn play(&self, request: Request<Streaming<PlayRequest>>) -> Answer<Self::PlayStream> {
        let tape = Arc::clone(&self.0);
        let answers = request.into_inner().map(move |asked| Ok(tape.answer(&asked?)));
        Ok(Response::new(Box::pin(answers)))
    }

    async fn watch(&self, _: Request<WatchRequest>) -> Answer<Self::WatchStream> {
        unserved()
    }

    async fn get_replay(&self, _: Request<GetReplayRequest>) -> Answer<GetReplayResponse> {
        unserved()
    }

    async fn invite(&self, _: Request<InviteRequest>) -> Answer<InviteResponse> {
        unserved()
    }

    async fn open_deal(&self, _: Request<OpenDealRequest>) -> Answer<OpenDealResponse> {
        unserved()
    }

    async fn get_match(&self, _: Request<GetMatchRequest>) -> Answer<GetMatchResponse> {
        unserved()
    }

    async fn list_matches(&self, _: Request<ListMatchesRequest>) -> Answer<ListMatchesResponse> {
        unserved()
    }

    async fn resign(&self, _: Request<ResignRequest>) -> Answer<ResignResponse> {
        unserved()
    }

    async fn close_match(&self, _: Request<CloseMatchRequest>) -> Answer<CloseMatchResponse> {
        unserved()
    }
}
