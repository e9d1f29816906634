//! Matches over simulated networks: agents and spectators that are cut off, held up and started again, from a seed.
//!
//! Time and network are simulated, so a run takes a moment and comes out the same each time. Whatever happens to the network, a match
//! ends as it does undisturbed, and whoever watches sees every position once.

use std::io;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use boardwire_api::v1::match_service_client::MatchServiceClient;
use boardwire_api::v1::{ActRequest, Frame, JoinMatchRequest, Observation, ObserveRequest, WatchRequest};
use boardwire_games::Registry;
use boardwire_kernel::{RngStream, Seat, Viewer};
use hyper_util::rt::TokioIo;
use tokio::sync::watch;
use tonic::service::Routes;
use tonic::transport::{Channel, Endpoint, Uri};
use tonic::{Code, Request, Status};
use tower::service_fn;
use turmoil::Sim;

use crate::arbiter::{Arbiter, Clock, OnTimeout, Phase, Player, Settings};
use crate::batches::{self, Batches};
use crate::edge::{self, Accept, Accepted, Access, Edge, Origin};
use crate::health::Health;
use crate::matches::{self, Matches};
use crate::pool::Pool;
use crate::run::add_services;
use crate::tables::Tables;

/// Where the server listens.
const ADDRESS: (&str, u16) = ("server", 50051);
/// How long an agent waits for an answer before it connects again.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long it waits before that.
const BACK_OFF: Duration = Duration::from_millis(200);
/// How long calls under way have once the server stops.
const DRAIN: Duration = Duration::from_secs(5);
/// The most that a match may take, in simulated time.
const LONGEST: Duration = Duration::from_hours(1);

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
struct World {
    matches: Arc<Matches>,
    batches: Arc<Batches>,
    arbiter: Mutex<Option<Arc<Arbiter>>>,
    /// What the spectator has been shown.
    seen: Mutex<Vec<Frame>>,
    /// How long it takes for each of them.
    looks: Duration,
    /// How the spectator's streams have ended.
    told: Mutex<Vec<Status>>,
    /// Tells the server to stop.
    stop: watch::Sender<bool>,
    game: &'static str,
}

impl World {
    fn new(game: &'static str, looks: Duration) -> Rc<Self> {
        let pool = Arc::new(Pool::new(1).expect("a thread starts"));
        let tables = Tables::new(Registry::load(|_| None).expect("the catalogues are valid"));
        let matches = Arc::new(Matches::new(tables, matches::Limits::default(), Arc::clone(&pool)));
        let batches = Arc::new(Batches::new(batches::Limits::default(), None, pool));
        let (arbiter, seen, told) = (Mutex::default(), Mutex::default(), Mutex::default());
        Rc::new(Self { matches, batches, arbiter, seen, looks, told, stop: watch::Sender::new(false), game })
    }

    fn arbiter(&self) -> Option<Arc<Arbiter>> {
        self.arbiter.lock().expect("nobody panics").clone()
    }

    /// Whether all is over, and has been seen.
    fn is_done(&self) -> bool {
        let is_over = self.arbiter().is_some_and(|arbiter| arbiter.phase() == Phase::Over);
        is_over
            && self.seen.lock().expect("nobody panics").last().is_some_and(|frame| frame.outcome.is_some())
    }

    async fn create(&self) {
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
            ..Settings::of(vec![Player::Remote, bot, Player::Remote])
        };
        let arbiter =
            self.matches.create(None, Origin::Unknown, table, settings).await.expect("there is room");
        *self.arbiter.lock().expect("nobody panics") = Some(arbiter);
    }

    async fn serve(&self) -> turmoil::Result {
        self.create().await;
        let listener = Simulated(turmoil::net::TcpListener::bind(("0.0.0.0", ADDRESS.1)).await?);
        let edge = Arc::new(Edge::new(Access::default()));
        let (_, health) = Health::well().await;
        let service = edge.protect(add_services(Routes::new(health), &self.matches, &self.batches)?);
        let serving = edge::serve(listener, service, edge, Arc::clone(&self.batches), self.stop.subscribe());
        let mut stopping = self.stop.subscribe();
        let drained = async {
            stopping.wait_for(|stops| *stops).await.expect("it is there as long as the server");
            tokio::time::sleep(DRAIN).await;
        };
        tokio::select! {
            () = serving => {}
            () = drained => {}
        }
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
    async fn agent(&self, seat: Seat) -> turmoil::Result {
        let arbiter = self.begun().await;
        let codes = arbiter.invitations();
        let (_, code) = codes.iter().find(|(known, _)| *known == seat).expect("it is remote");
        while let Err(status) = play(arbiter.id(), code).await {
            assert!(is_transient(&status), "{seat}: {status:?}");
            tokio::time::sleep(BACK_OFF).await;
        }
        Ok(())
    }

    /// Watches the match from its first frame, and goes on after the last one it has seen.
    async fn spectator(&self) -> turmoil::Result {
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
        let asked = WatchRequest { match_id: match_id.to_owned(), after: Some(after) };
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
    let request_id: uuid::Uuid = code.parse().expect("a code has as many digits as a UUID");
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

/// Everybody but the server.
const OTHERS: [&str; 3] = ["first", "last", "spectator"];

fn simulated<'a>(world: &Rc<World>, seed: u64) -> Sim<'a> {
    let mut builder = turmoil::Builder::new();
    builder
        .rng_seed(seed)
        .simulation_duration(2 * LONGEST)
        .tick_duration(Duration::from_millis(5))
        .min_message_latency(Duration::from_millis(1))
        .max_message_latency(Duration::from_millis(80))
        .enable_random_order();
    let mut sim = builder.build();
    let served = Rc::clone(world);
    sim.host("server", move || {
        let world = Rc::clone(&served);
        async move { world.serve().await }
    });
    for (name, seat) in [("first", 0), ("last", 2)] {
        let world = Rc::clone(world);
        sim.host(name, move || {
            let world = Rc::clone(&world);
            async move { world.agent(Seat::new(seat)).await }
        });
    }
    let watched = Rc::clone(world);
    sim.host("spectator", move || {
        let world = Rc::clone(&watched);
        async move { world.spectator().await }
    });
    sim
}

/// What a match has come to.
struct Outcome {
    played: Vec<(Seat, u8)>,
    /// What the spectator was shown.
    seen: Vec<Frame>,
    /// How often somebody was cut off, held up or dead.
    befell: u32,
}

/// What a match comes to over a network on which everything happens that follows from a seed; nothing for none.
fn outcome(game: &'static str, chaos: Option<u64>) -> Outcome {
    let world = World::new(game, Duration::ZERO);
    let mut sim = simulated(&world, chaos.unwrap_or_default());
    let mut rng = chaos.map(|seed| RngStream::new(seed, 0));
    let (mut troubles, mut befell) = ([None; 3], 0);
    while !world.is_done() {
        sim.step().unwrap_or_else(|error| panic!("{game}, seed {chaos:?}: {error}"));
        assert!(sim.elapsed() < LONGEST, "{game}, seed {chaos:?}: it does not end");
        if let Some(rng) = &mut rng {
            befell += make_trouble(&mut sim, rng, &mut troubles);
        }
    }
    let arbiter = world.arbiter().expect("it has been created");
    let replay = arbiter.replay(Viewer::Public, None, false).expect("it is kept");
    let played =
        replay.frames.iter().filter_map(|frame| frame.played).map(|played| (played.seat, played.action));
    let seen = std::mem::take(&mut *world.seen.lock().expect("nobody panics"));
    Outcome { played: played.collect(), seen, befell }
}

/// What befalls somebody, until when.
#[derive(Debug, Clone, Copy)]
enum Trouble {
    CutOff(Duration),
    Held(Duration),
    Dead(Duration),
}

/// Every now and then somebody is cut off, held up or dies, and recovers after a while; gives how many just now.
fn make_trouble(sim: &mut Sim<'_>, rng: &mut RngStream, troubles: &mut [Option<Trouble>; 3]) -> u32 {
    let (now, mut befell) = (sim.elapsed(), 0);
    for (name, trouble) in OTHERS.into_iter().zip(troubles) {
        match *trouble {
            Some(Trouble::CutOff(until)) if now > until => sim.repair(name, ADDRESS.0),
            Some(Trouble::Held(until)) if now > until => sim.release(name, ADDRESS.0),
            Some(Trouble::Dead(until)) if now > until => sim.bounce(name),
            Some(_) => continue,
            None if rng.below(400) > 0 => continue,
            None => {
                befell += 1;
                let until = now + Duration::from_millis(u64::from(rng.below(9_000)));
                *trouble = Some(match rng.below(3) {
                    0 => {
                        sim.partition(name, ADDRESS.0);
                        Trouble::CutOff(until)
                    }
                    1 => {
                        sim.hold(name, ADDRESS.0);
                        Trouble::Held(until)
                    }
                    _ => {
                        sim.crash(name);
                        Trouble::Dead(until)
                    }
                });
                continue;
            }
        }
        *trouble = None;
    }
    befell
}

/// More seeds by `BOARDWIRE_SIMULATIONS`.
#[test]
fn a_match_over_a_bad_network_ends_as_it_does_over_a_good_one() {
    crate::held_up::tests::ignore();
    let seeds = std::env::var("BOARDWIRE_SIMULATIONS").map_or(4, |seeds| seeds.parse().expect("a number"));
    for game in Registry::IDS {
        let Outcome { played: undisturbed, seen: all, .. } = outcome(game, None);
        let mut troubles = 0;
        assert!(undisturbed.len() > 20, "{game}: {}", undisturbed.len());
        assert_eq!(all.len(), undisturbed.len() + 1);
        for seed in 0..seeds {
            let Outcome { played, seen, befell } = outcome(game, Some(seed));
            troubles += befell;
            let by = |seat: u8, of: &[(Seat, u8)]| -> Vec<u8> {
                of.iter().filter(|(by, _)| *by == Seat::new(seat)).map(|(_, action)| *action).collect()
            };
            for seat in 0..3 {
                assert_eq!(by(seat, &played), by(seat, &undisturbed), "{game}, seed {seed}, seat {seat}");
            }
            assert_eq!(seen.len(), all.len(), "{game}, seed {seed}");
            assert_eq!(seen.last().map(|frame| &frame.outcome), all.last().map(|frame| &frame.outcome));
        }
        assert!(troubles >= u32::try_from(seeds).expect("few"), "{game}: {troubles} troubles");
    }
}

#[test]
fn a_spectator_that_is_slow_holds_nobody_up_and_sees_everything() {
    crate::held_up::tests::ignore();
    let Outcome { seen: all, .. } = outcome("faraway", None);
    let world = World::new("faraway", Duration::from_secs(4));
    let mut sim = simulated(&world, 0);
    let mut seen_by_then = None;
    while !world.is_done() {
        sim.step().expect("nothing befalls anybody");
        if world.arbiter().is_some_and(|arbiter| arbiter.phase() == Phase::Over) {
            seen_by_then.get_or_insert(world.seen.lock().expect("nobody panics").len());
        }
    }
    assert!(seen_by_then.is_some_and(|seen| seen < all.len() / 2), "{seen_by_then:?} of {}", all.len());
    assert_eq!(world.seen.lock().expect("nobody panics").len(), all.len());
}

#[test]
fn a_server_that_stops_tells_whom_it_reaches_and_waits_for_nobody_else() {
    crate::held_up::tests::ignore();
    for seed in 0..8 {
        let world = World::new("rauha", Duration::ZERO);
        let mut sim = simulated(&world, seed);
        let begins = Duration::from_millis(1_500 + 300 * seed);
        while sim.elapsed() < begins {
            sim.step().expect("nothing befalls anybody");
        }
        // The agents cannot be reached, whatever they are waiting for.
        sim.partition("first", ADDRESS.0);
        sim.hold("last", ADDRESS.0);
        assert!(world.told.lock().expect("nobody panics").is_empty(), "seed {seed}");
        world.matches.stop();
        world.stop.send_replace(true);
        while sim.is_host_running(ADDRESS.0) {
            sim.step().expect("nothing else befalls anybody");
            assert!(sim.elapsed() < begins + DRAIN + Duration::from_secs(1), "seed {seed}: it does not end");
        }
        let told = world.told.lock().expect("nobody panics");
        let told = told.first().map(|status| (status.code(), status.message()));
        assert_eq!(told, Some((Code::Unavailable, "the server is shutting down")), "seed {seed}");
    }
}
