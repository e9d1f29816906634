//! The server, the agents and the spectator of a simulation.

use std::io;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use boardwire_api::v1::match_service_client::MatchServiceClient;
use boardwire_api::v1::{ActRequest, Frame, JoinMatchRequest, Observation, ObserveRequest, WatchRequest};
use boardwire_batch::Player;
use boardwire_batch::pool::Pool;
use boardwire_batch::registry::Registry;
use boardwire_batch::tables::Tables;
use boardwire_kernel::Seat;
use futures_util::FutureExt as _;
use hyper_util::rt::TokioIo;
use tokio::sync::watch;
use tonic::transport::{Channel, Endpoint, Uri};
use tonic::{Code, Request, Status};
use tower::service_fn;

use super::ADDRESS;
use crate::arbiter::{Arbiter, Clock, OnTimeout, Phase, Settings};
use crate::batches::{self, Batches};
use crate::edge::{Accept, Accepted, Access};
use crate::matches::{self, Matches};
use crate::origin::Origin;
use crate::run::{serve_grpc, serve_with};

/// How long an agent waits for a response before it reconnects.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause before a client reconnects.
const RECONNECT_DELAY: Duration = Duration::from_millis(200);

/// A listener on a simulated network.
struct SimulatedListener(turmoil::net::TcpListener);

impl Accept for SimulatedListener {
    type Io = turmoil::net::TcpStream;

    async fn accept(&self) -> io::Result<(Self::Io, Origin)> {
        let (io, address) = self.0.accept().await?;
        Ok((io, Origin::host(address.ip())))
    }
}

impl Accepted for turmoil::net::TcpStream {
    type Io = Self;

    async fn handshake(self) -> io::Result<Self> {
        Ok(self)
    }
}

/// The state that survives crashes of simulated hosts.
pub(super) struct SimulatedMatch {
    matches: Arc<Matches>,
    batches: Arc<Batches>,
    arbiter: Mutex<Option<Arc<Arbiter>>>,
    /// The frames that the spectator received.
    pub(super) frames: Mutex<Vec<Frame>>,
    /// How long the spectator takes for each frame.
    frame_time: Duration,
    /// The errors that ended the spectator's streams.
    pub(super) spectator_errors: Mutex<Vec<Status>>,
    /// Stops the server.
    pub(super) stop: watch::Sender<bool>,
    game: &'static str,
}

impl SimulatedMatch {
    pub(super) fn new(game: &'static str, frame_time: Duration) -> Rc<Self> {
        let pool = Arc::new(Pool::new(1).expect("a thread starts"));
        let tables = Tables::new(Registry::standard());
        let matches = Arc::new(Matches::new(tables, matches::MatchLimits::default(), Arc::clone(&pool)));
        let batches = Arc::new(Batches::new(batches::BatchLimits::default(), None, pool));
        Rc::new(Self {
            matches,
            batches,
            arbiter: Mutex::default(),
            frames: Mutex::default(),
            frame_time,
            spectator_errors: Mutex::default(),
            stop: watch::Sender::new(false),
            game,
        })
    }

    pub(super) fn arbiter(&self) -> Option<Arc<Arbiter>> {
        self.arbiter.lock().expect("no thread panicked").clone()
    }

    /// Returns whether the match is over and the spectator received its last frame.
    pub(super) fn is_done(&self) -> bool {
        let is_over = self.arbiter().is_some_and(|arbiter| arbiter.phase() == Phase::Over);
        is_over
            && self
                .frames
                .lock()
                .expect("no thread panicked")
                .last()
                .is_some_and(|frame| frame.outcome.is_some())
    }

    fn create(&self) {
        let table = self.matches.tables().table(self.game, 3, []).expect("the table can be set up");
        let clock = Clock {
            limit: Duration::from_mins(30),
            bank: Duration::ZERO,
            increment: Duration::ZERO,
            strikes: 0,
            on_timeout: OnTimeout::Forfeit,
        };
        let bot = Player::Bot(boardwire_bots::Bot::Random);
        let settings = Settings {
            seed: Some(7),
            clocks: vec![Some(clock.clone()), None, Some(clock)],
            ..Settings::of(vec![Player::Agent, bot, Player::Agent])
        };
        let mut created = std::pin::pin!(self.matches.create(None, Origin::Unknown, table, settings));
        // The pool deals in real time, while simulated time stands still.
        let arbiter = loop {
            match (&mut created).now_or_never() {
                Some(arbiter) => break arbiter.expect("there is room"),
                None => std::thread::yield_now(),
            }
        };
        *self.arbiter.lock().expect("no thread panicked") = Some(arbiter);
    }

    pub(super) async fn serve(&self) -> turmoil::Result {
        let listener = SimulatedListener(turmoil::net::TcpListener::bind(("0.0.0.0", ADDRESS.1)).await?);
        self.create();
        let (matches, batches) = (Arc::clone(&self.matches), Arc::clone(&self.batches));
        let mut stop = self.stop.subscribe();
        let stopped = async { drop(stop.wait_for(|stops| *stops).await) };
        let serve_all = |edge| std::iter::once(serve_grpc(edge, listener)).collect();
        serve_with(Access::default(), matches, batches, stopped, serve_all).await?;
        Ok(())
    }

    /// Waits until the match exists, and returns it.
    async fn created(&self) -> Arc<Arbiter> {
        loop {
            match self.arbiter() {
                Some(arbiter) => return arbiter,
                None => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    }

    /// Plays at a seat, and reconnects after each error.
    pub(super) async fn agent(&self, seat: Seat) -> turmoil::Result {
        let arbiter = self.created().await;
        let codes = arbiter.invitations();
        let (_, code) = codes.iter().find(|(of, _)| *of == seat).expect("the seat is an agent's");
        while let Err(status) = play(arbiter.id(), code).await {
            assert!(is_transient(&status), "{seat}: {status:?}");
            tokio::time::sleep(RECONNECT_DELAY).await;
        }
        Ok(())
    }

    /// Watches the match from its first frame. After an error it continues after the last frame received.
    pub(super) async fn spectator(&self) -> turmoil::Result {
        let arbiter = self.created().await;
        while !self.is_done() {
            if let Err(status) = self.watch(arbiter.id()).await {
                assert!(is_transient(&status), "spectator: {status:?}");
                self.spectator_errors.lock().expect("no thread panicked").push(status);
                tokio::time::sleep(RECONNECT_DELAY).await;
            }
        }
        Ok(())
    }

    async fn watch(&self, match_id: &str) -> Result<(), Status> {
        let mut client = connected().await?;
        let after = self.frames.lock().expect("no thread panicked").last().map_or(0, |frame| frame.sequence);
        let request = WatchRequest { match_id: match_id.to_owned(), after: Some(after), depict: false };
        let mut responses = within_timeout(client.watch(request)).await?.into_inner();
        while let Some(response) = within_timeout(responses.message()).await? {
            let frame = response.frame.expect("there is a frame");
            tokio::time::sleep(self.frame_time).await;
            let mut frames = self.frames.lock().expect("no thread panicked");
            assert_eq!(frame.sequence, frames.last().map_or(0, |frame| frame.sequence) + 1);
            frames.push(frame);
        }
        Ok(())
    }
}

/// Returns whether a client reconnects after this error: the network failed, or the response to an earlier call was lost.
fn is_transient(status: &Status) -> bool {
    use Code::{Aborted, Cancelled, DeadlineExceeded, Internal, Unavailable, Unknown};
    matches!(status.code(), Unavailable | Unknown | Internal | Cancelled | Aborted | DeadlineExceeded)
}

async fn within_timeout<T>(response: impl Future<Output = Result<T, Status>>) -> Result<T, Status> {
    let late = |_| Status::deadline_exceeded("no response");
    tokio::time::timeout(RESPONSE_TIMEOUT, response).await.map_err(late)?
}

async fn connected() -> Result<MatchServiceClient<Channel>, Status> {
    let connector =
        service_fn(|_: Uri| async { turmoil::net::TcpStream::connect(ADDRESS).await.map(TokioIo::new) });
    let endpoint = Endpoint::from_static("http://server:50051").connect_timeout(RESPONSE_TIMEOUT);
    let connecting = async {
        let unavailable = |error: tonic::transport::Error| Status::unavailable(error.to_string());
        endpoint.connect_with_connector(connector).await.map_err(unavailable)
    };
    within_timeout(connecting).await.map(MatchServiceClient::new)
}

/// Plays the lowest legal action over one connection until the episode is over.
async fn play(match_id: &str, code: &str) -> Result<(), Status> {
    let mut client = connected().await?;
    // The id is the same each time: if a response was lost, the retry gets the same seat.
    let random: uuid::Uuid = code.parse().expect("a code has as many digits as a UUID");
    let request_id = uuid::Builder::from_random_bytes(*random.as_bytes()).into_uuid();
    let join =
        JoinMatchRequest { code: code.to_owned(), request_id: request_id.to_string(), ..Default::default() };
    let token = within_timeout(client.join_match(join)).await?.into_inner().token;
    let observe = ObserveRequest { match_id: match_id.to_owned(), wait: false, ..Default::default() };
    loop {
        let response =
            within_timeout(client.observe(with_token(observe.clone(), &token))).await?.into_inner();
        let observation = response.observation.expect("an observation");
        if observation.terminated {
            return Ok(());
        }
        match lowest(&observation) {
            None => tokio::time::sleep(Duration::from_millis(100)).await,
            Some(action) => {
                let Observation { episode, decision, .. } = observation;
                let act = ActRequest {
                    match_id: match_id.to_owned(),
                    episode,
                    decision,
                    action,
                    ..Default::default()
                };
                within_timeout(client.act(with_token(act, &token))).await?;
            }
        }
    }
}

fn with_token<T>(message: T, token: &str) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().expect("a header"));
    request
}

fn lowest(observation: &Observation) -> Option<u32> {
    let mask = &observation.mask;
    (0..).take(8 * mask.len()).find(|at| mask[*at as usize / 8] >> (at % 8) & 1 == 1)
}
