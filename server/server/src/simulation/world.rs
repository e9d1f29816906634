//! The server of a simulation, its agents and its spectator.

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
use crate::run::{accept, run_serving};

/// How long an agent waits for an answer before it connects again.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long it waits before that.
const BACK_OFF: Duration = Duration::from_millis(200);

/// A listener on a simulated network.
struct Simulated(turmoil::net::TcpListener);

impl Accept for Simulated {
    type Io = turmoil::net::TcpStream;

    async fn accept(&self) -> io::Result<(Self::Io, Origin)> {
        let (io, address) = self.0.accept().await?;
        Ok((io, Origin::host(address.ip())))
    }
}

impl Accepted for turmoil::net::TcpStream {
    type Io = Self;

    async fn open(self) -> io::Result<Self> {
        Ok(self)
    }
}

/// What outlives everybody who is cut off or started again.
pub(super) struct World {
    matches: Arc<Matches>,
    batches: Arc<Batches>,
    arbiter: Mutex<Option<Arc<Arbiter>>>,
    /// What the spectator has been shown.
    pub(super) seen: Mutex<Vec<Frame>>,
    /// How long it takes for each of them.
    looks: Duration,
    /// How the spectator's streams have ended.
    pub(super) told: Mutex<Vec<Status>>,
    /// Tells the server to stop.
    pub(super) stop: watch::Sender<bool>,
    game: &'static str,
}

impl World {
    pub(super) fn new(game: &'static str, looks: Duration) -> Rc<Self> {
        let pool = Arc::new(Pool::new(1).expect("a thread starts"));
        let tables = Tables::new(Registry::standard());
        let matches = Arc::new(Matches::new(tables, matches::MatchLimits::default(), Arc::clone(&pool)));
        let batches = Arc::new(Batches::new(batches::BatchLimits::default(), None, pool));
        let (arbiter, seen, told) = (Mutex::default(), Mutex::default(), Mutex::default());
        Rc::new(Self { matches, batches, arbiter, seen, looks, told, stop: watch::Sender::new(false), game })
    }

    pub(super) fn arbiter(&self) -> Option<Arc<Arbiter>> {
        self.arbiter.lock().expect("nobody panics").clone()
    }

    /// Whether all is over, and has been seen.
    pub(super) fn is_done(&self) -> bool {
        let is_over = self.arbiter().is_some_and(|arbiter| arbiter.phase() == Phase::Over);
        is_over
            && self.seen.lock().expect("nobody panics").last().is_some_and(|frame| frame.outcome.is_some())
    }

    fn create(&self) {
        let table = self.matches.tables().table(self.game, 3, []).expect("it can be set up");
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
        // The pool deals in real time: simulated time stands meanwhile.
        let arbiter = loop {
            match (&mut created).now_or_never() {
                Some(arbiter) => break arbiter.expect("there is room"),
                None => std::thread::yield_now(),
            }
        };
        *self.arbiter.lock().expect("nobody panics") = Some(arbiter);
    }

    pub(super) async fn serve(&self) -> turmoil::Result {
        let listener = Simulated(turmoil::net::TcpListener::bind(("0.0.0.0", ADDRESS.1)).await?);
        self.create();
        let (matches, batches) = (Arc::clone(&self.matches), Arc::clone(&self.batches));
        let mut stop = self.stop.subscribe();
        let stopped = async { drop(stop.wait_for(|stops| *stops).await) };
        let accepting = |edge| std::iter::once(accept(edge, listener)).collect();
        run_serving(Access::default(), matches, batches, stopped, accepting).await?;
        Ok(())
    }

    /// The match, once there is one.
    async fn begun(&self) -> Arc<Arbiter> {
        loop {
            match self.arbiter() {
                Some(arbiter) => return arbiter,
                None => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    }

    /// Plays at a seat, and connects again as often as it has to.
    pub(super) async fn agent(&self, seat: Seat) -> turmoil::Result {
        let arbiter = self.begun().await;
        let codes = arbiter.invitations();
        let (_, code) = codes.iter().find(|(known, _)| *known == seat).expect("it is an agent's");
        while let Err(status) = play(arbiter.id(), code).await {
            assert!(is_transient(&status), "{seat}: {status:?}");
            tokio::time::sleep(BACK_OFF).await;
        }
        Ok(())
    }

    /// Watches the match from its first frame, and goes on after the last one it has seen.
    pub(super) async fn spectator(&self) -> turmoil::Result {
        let arbiter = self.begun().await;
        while !self.is_done() {
            if let Err(status) = self.watch(arbiter.id()).await {
                assert!(is_transient(&status), "spectator: {status:?}");
                self.told.lock().expect("nobody panics").push(status);
                tokio::time::sleep(BACK_OFF).await;
            }
        }
        Ok(())
    }

    async fn watch(&self, match_id: &str) -> Result<(), Status> {
        let mut client = connected().await?;
        let after = self.seen.lock().expect("nobody panics").last().map_or(0, |frame| frame.sequence);
        let asked = WatchRequest { match_id: match_id.to_owned(), after: Some(after), depict: false };
        let mut frames = patient(client.watch(asked)).await?.into_inner();
        while let Some(shown) = patient(frames.message()).await? {
            let frame = shown.frame.expect("a frame");
            tokio::time::sleep(self.looks).await;
            let mut seen = self.seen.lock().expect("nobody panics");
            assert_eq!(frame.sequence, seen.last().map_or(0, |frame| frame.sequence) + 1);
            seen.push(frame);
        }
        Ok(())
    }
}

/// Whether an agent goes on after this: the network, or a decision that has been made by a call whose answer was lost.
fn is_transient(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::Unavailable | Code::Unknown | Code::Internal | Code::Cancelled | Code::Aborted
    ) || status.code() == Code::DeadlineExceeded
}

/// Gives up after a while.
async fn patient<T>(answer: impl Future<Output = Result<T, Status>>) -> Result<T, Status> {
    let late = |_| Status::deadline_exceeded("no answer");
    tokio::time::timeout(PATIENCE, answer).await.map_err(late)?
}

async fn connected() -> Result<MatchServiceClient<Channel>, Status> {
    let connector =
        service_fn(|_: Uri| async { turmoil::net::TcpStream::connect(ADDRESS).await.map(TokioIo::new) });
    let endpoint = Endpoint::from_static("http://server:50051").connect_timeout(PATIENCE);
    let connecting = async {
        let unavailable = |error: tonic::transport::Error| Status::unavailable(error.to_string());
        endpoint.connect_with_connector(connector).await.map_err(unavailable)
    };
    patient(connecting).await.map(MatchServiceClient::new)
}

/// Plays the lowest legal action over one connection until the episode is over.
async fn play(match_id: &str, code: &str) -> Result<(), Status> {
    let mut client = connected().await?;
    // The same request, so that the seat stays the agent's whose answer was lost.
    let random: uuid::Uuid = code.parse().expect("a code has as many digits as a UUID");
    let request_id = uuid::Builder::from_random_bytes(*random.as_bytes()).into_uuid();
    let join =
        JoinMatchRequest { code: code.to_owned(), request_id: request_id.to_string(), ..Default::default() };
    let token = patient(client.join_match(join)).await?.into_inner().token;
    let own = |message| -> Request<_> { with_token(message, &token) };
    let observe = ObserveRequest { match_id: match_id.to_owned(), wait: false, ..Default::default() };
    loop {
        let seen = patient(client.observe(with_token(observe.clone(), &token))).await?.into_inner();
        let seen = seen.observation.expect("an observation");
        if seen.terminated {
            return Ok(());
        }
        match lowest(&seen) {
            None => tokio::time::sleep(Duration::from_millis(100)).await,
            Some(action) => {
                let Observation { episode, decision, .. } = seen;
                let act = ActRequest {
                    match_id: match_id.to_owned(),
                    episode,
                    decision,
                    action,
                    ..Default::default()
                };
                patient(client.act(own(act))).await?;
            }
        }
    }
}

fn with_token<T>(message: T, token: &str) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().expect("a header"));
    request
}

fn lowest(seen: &Observation) -> Option<u32> {
    (0..).take(8 * seen.mask.len()).find(|at| seen.mask[*at as usize / 8] >> (at % 8) & 1 == 1)
}
