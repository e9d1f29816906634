//! Worlds as agents of `dm_env_rpc` meet them: streams, names, refusals, and what ends with what.

use std::sync::Arc;
use std::time::{Duration, Instant};

use boardwire_api::dm_env_rpc::environment_client::EnvironmentClient;
use boardwire_api::dm_env_rpc::environment_request::Payload as Asked;
use boardwire_api::dm_env_rpc::environment_response::Payload as Answer;
use boardwire_api::dm_env_rpc::*;
use boardwire_batch::pool::Pool;
use boardwire_batch::registry::Registry;
use boardwire_batch::tables::Tables;
use boardwire_server::batches::{Batches, Limits};
use boardwire_server::matches::{self, Matches};
use boardwire_server::run::{Listener, run};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status, Streaming};
use tonic_types::RpcStatusExt as _;

struct Server {
    address: String,
    batches: Arc<Batches>,
    stop: Option<oneshot::Sender<()>>,
}

impl Server {
    async fn start(limits: Limits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = format!("http://{}", listener.local_addr().expect("it is bound"));
        let tables = Tables::new(Registry::standard());
        let pool = Arc::new(Pool::new(1).expect("a thread starts"));
        let matches = Arc::new(Matches::new(tables, matches::Limits::default(), Arc::clone(&pool)));
        let batches = Arc::new(Batches::new(limits, None, pool));
        let (stop, stopped) = oneshot::channel();
        let stopped = async { drop(stopped.await) };
        tokio::spawn(run(vec![Listener::Tcp(listener)], matches, Arc::clone(&batches), stopped));
        Self { address, batches, stop: Some(stop) }
    }

    /// An agent on a connection of its own.
    async fn agent(&self) -> Agent {
        let client = EnvironmentClient::connect(self.address.clone()).await.expect("it serves");
        Agent::on(client).await
    }

    /// Waits until so many worlds are open.
    async fn holds(&self, worlds: usize) {
        let reached = async {
            while self.batches.len() != worlds {
                tokio::task::yield_now().await;
            }
        };
        let reached = tokio::time::timeout(Duration::from_mins(1), reached).await;
        reached.unwrap_or_else(|_| panic!("{} worlds, not {worlds}", self.batches.len()));
    }
}

/// One stream.
struct Agent {
    client: EnvironmentClient<tonic::transport::Channel>,
    asking: mpsc::Sender<EnvironmentRequest>,
    answers: Streaming<EnvironmentResponse>,
}

impl Agent {
    async fn on(mut client: EnvironmentClient<tonic::transport::Channel>) -> Self {
        let (asking, asked) = mpsc::channel(8);
        let answers = client.process(ReceiverStream::new(asked)).await.expect("it streams").into_inner();
        Self { client, asking, answers }
    }

    /// Another stream on the same connection.
    async fn another(&self) -> Self {
        Self::on(self.client.clone()).await
    }

    async fn send(&mut self, payload: Option<Asked>) {
        self.asking.send(EnvironmentRequest { payload }).await.expect("the stream is open");
    }

    async fn answer(&mut self) -> Answer {
        let answer =
            self.answers.message().await.expect("refusals are answers").expect("one for each request");
        answer.payload.expect("it says something")
    }

    async fn ask(&mut self, asked: Asked) -> Answer {
        self.send(Some(asked)).await;
        self.answer().await
    }

    /// The reason for which a request is refused.
    async fn refused(&mut self, asked: Asked) -> String {
        match self.ask(asked).await {
            Answer::Error(refused) => reason(&refused),
            other => panic!("{other:?}"),
        }
    }

    /// The name of a new world.
    async fn create(&mut self) -> String {
        match self.ask(creation("faraway")).await {
            Answer::CreateWorld(made) => made.world_name,
            other => panic!("{other:?}"),
        }
    }

    async fn join(&mut self, name: &str) -> ActionObservationSpecs {
        match self.ask(join(name)).await {
            Answer::JoinWorld(joined) => joined.specs.expect("specs"),
            other => panic!("{other:?}"),
        }
    }

    async fn step(&mut self, asked: StepRequest) -> StepResponse {
        match self.ask(Asked::Step(asked)).await {
            Answer::Step(step) => step,
            other => panic!("{other:?}"),
        }
    }
}

fn reason(refused: &tonic_types::pb::Status) -> String {
    refused.get_details_error_info().expect("every refusal has a reason").reason
}

fn creation(game: &str) -> Asked {
    let array = vec![game.to_owned()];
    let payload = Some(tensor::Payload::Strings(tensor::StringArray { array }));
    let settings = [("game".to_owned(), Tensor { shape: vec![], payload })].into();
    Asked::CreateWorld(CreateWorldRequest { settings })
}

fn join(name: &str) -> Asked {
    Asked::JoinWorld(JoinWorldRequest { world_name: name.to_owned(), ..JoinWorldRequest::default() })
}

fn destruction(name: &str) -> Asked {
    Asked::DestroyWorld(DestroyWorldRequest { world_name: name.to_owned() })
}

fn reset_world(name: &str) -> Asked {
    Asked::ResetWorld(ResetWorldRequest { world_name: name.to_owned(), ..ResetWorldRequest::default() })
}

const LEAVE: Asked = Asked::LeaveWorld(LeaveWorldRequest {});

/// The first step of a sequence, or one that does the first thing there is to do.
fn step(action: Option<i32>) -> StepRequest {
    let tensor = |action| {
        let payload = tensor::Payload::Int32s(tensor::Int32Array { array: vec![action] });
        Tensor { shape: vec![], payload: Some(payload) }
    };
    let actions = action.map(|action| (1, tensor(action))).into_iter().collect();
    StepRequest { actions, requested_observations: vec![1, 2] }
}

#[tokio::test]
async fn a_refusal_is_an_answer_and_the_stream_goes_on() {
    let server = Server::start(Limits::default()).await;
    let mut agent = server.agent().await;
    let step_of = |action| Asked::Step(step(action));
    let reset = || Asked::Reset(ResetRequest::default());
    assert_eq!(agent.refused(creation("chess")).await, "GAME_UNKNOWN");
    assert_eq!(agent.refused(step_of(None)).await, "WORLD_NOT_JOINED");
    assert_eq!(agent.refused(reset()).await, "WORLD_NOT_JOINED");
    for unknown in ["", "limbo", "limbo.", ".limbo"] {
        assert_eq!(agent.refused(join(unknown)).await, "WORLD_UNKNOWN");
        assert_eq!(agent.refused(reset_world(unknown)).await, "WORLD_UNKNOWN");
        assert_eq!(agent.refused(destruction(unknown)).await, "WORLD_UNKNOWN");
    }
    let extension = Asked::Extension(prost_types::Any::default());
    assert_eq!(agent.refused(extension).await, "FIELD_INVALID");
    agent.send(None).await;
    let Answer::Error(refused) = agent.answer().await else { panic!("nothing was asked") };
    assert_eq!((refused.code, reason(&refused).as_str()), (Code::InvalidArgument as i32, "FIELD_INVALID"));

    let name = agent.create().await;
    let specs = agent.join(&name).await;
    // All at once: the answers come in the order of the requests.
    for asked in [step_of(None), step_of(None), step_of(Some(-1)), step_of(Some(0)), reset(), LEAVE, LEAVE] {
        agent.send(Some(asked)).await;
    }
    let Answer::Step(begun) = agent.answer().await else { panic!("it begins") };
    assert_eq!((begun.state(), begun.observations.len()), (EnvironmentStateType::Running, 2));
    for _ in 0..2 {
        let Answer::Error(refused) = agent.answer().await else { panic!("an action is due") };
        assert_eq!(reason(&refused), "FIELD_INVALID");
    }
    let Answer::Step(stepped) = agent.answer().await else { panic!("it is played") };
    assert_eq!(stepped.state(), EnvironmentStateType::Running);
    let Answer::Reset(again) = agent.answer().await else { panic!("it is reset") };
    assert_eq!(again.specs, Some(specs));
    for _ in 0..2 {
        assert_eq!(agent.answer().await, Answer::LeaveWorld(LeaveWorldResponse {}));
    }
}

#[tokio::test]
async fn a_world_has_one_agent_and_an_agent_one_world() {
    let server = Server::start(Limits::default()).await;
    let (mut host, mut agent) = (server.agent().await, server.agent().await);
    let (one, two) = (host.create().await, host.create().await);
    // Whoever knows its name may join it.
    agent.join(&one).await;
    assert_eq!(agent.refused(join(&one)).await, "WORLD_JOINED");
    assert_eq!(agent.refused(join(&two)).await, "WORLD_JOINED");
    assert_eq!(host.refused(join(&one)).await, "WORLD_JOINED");
    let (id, _) = one.split_once('.').expect("an id and a secret");
    assert_eq!(host.refused(join(id)).await, "WORLD_UNKNOWN");
    assert_eq!(host.refused(join(&format!("{id}.{}", "0".repeat(32)))).await, "WORLD_UNKNOWN");
    agent.ask(LEAVE).await;
    host.join(&one).await;
    // A stream that ends leaves its world.
    drop(host.asking);
    assert!(host.answers.message().await.expect("it ends well").is_none());
    agent.join(&one).await;
}

#[tokio::test]
async fn a_reset_of_a_world_is_told_to_the_agent_in_it() {
    let server = Server::start(Limits::default()).await;
    let mut agent = server.agent().await;
    let mut host = agent.another().await;
    let name = host.create().await;
    assert_eq!(host.ask(reset_world(&name)).await, Answer::ResetWorld(ResetWorldResponse {}));
    agent.join(&name).await;
    let begun = agent.step(step(None)).await;
    host.ask(reset_world(&name)).await;
    let cut = agent.step(step(None)).await;
    assert_eq!((cut.state(), cut.observations), (EnvironmentStateType::Interrupted, begun.observations));
    assert_eq!(agent.step(step(None)).await.state(), EnvironmentStateType::Running);
    // Its own it knows of.
    agent.ask(reset_world(&name)).await;
    assert_eq!(agent.step(step(None)).await.state(), EnvironmentStateType::Running);
}

#[tokio::test]
async fn a_world_ends_when_it_is_destroyed_and_with_its_connection() {
    let server = Server::start(Limits::default()).await;
    let (mut host, mut agent) = (server.agent().await, server.agent().await);
    let (one, two) = (host.create().await, host.create().await);
    server.holds(2).await;
    agent.join(&one).await;
    agent.step(step(None)).await;
    assert_eq!(agent.refused(destruction(&one)).await, "WORLD_JOINED");
    assert_eq!(host.ask(destruction(&one)).await, Answer::DestroyWorld(DestroyWorldResponse {}));
    server.holds(1).await;
    assert_eq!(agent.refused(Asked::Step(step(Some(0)))).await, "WORLD_UNKNOWN");
    assert_eq!(agent.refused(Asked::Reset(ResetRequest::default())).await, "WORLD_UNKNOWN");
    assert_eq!(host.refused(destruction(&one)).await, "WORLD_UNKNOWN");
    agent.ask(LEAVE).await;
    agent.join(&two).await;
    drop(host);
    server.holds(0).await;
    assert_eq!(agent.refused(Asked::Step(step(None))).await, "WORLD_UNKNOWN");
}

#[tokio::test]
async fn worlds_are_counted_as_environments_and_expire() {
    let idle = Duration::from_hours(1);
    let server = Server::start(Limits { environments: 2, idle, ..Limits::default() }).await;
    let mut agent = server.agent().await;
    let name = agent.create().await;
    agent.create().await;
    assert_eq!(agent.refused(creation("rauha")).await, "ENVIRONMENTS_FULL");
    agent.join(&name).await;
    // One is used after this, the other is not.
    let between = Instant::now();
    agent.step(step(Some(0))).await;
    server.batches.expire(between + idle);
    server.holds(1).await;
    agent.step(step(Some(0))).await;
    server.batches.expire(Instant::now() + idle);
    server.holds(0).await;
    assert_eq!(agent.refused(Asked::Step(step(Some(0)))).await, "WORLD_UNKNOWN");
}

#[tokio::test]
async fn a_server_that_stops_ends_the_stream() {
    let mut server = Server::start(Limits::default()).await;
    let mut agent = server.agent().await;
    let name = agent.create().await;
    agent.join(&name).await;
    agent.step(step(None)).await;
    server.stop.take().expect("once").send(()).expect("it runs");
    let last: Result<Option<EnvironmentResponse>, Status> = agent.answers.message().await;
    assert_eq!(last.expect("it ends well"), None);
    assert!(server.batches.is_empty());
}
