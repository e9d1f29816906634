//! Tests batches over a real connection: leases, tokens, streams, errors.

use std::sync::Arc;
use std::time::{Duration, Instant};

use boardwire_api::v1::batch_service_client::BatchServiceClient;
use boardwire_api::v1::search_service_client::SearchServiceClient;
use boardwire_api::v1::*;
use boardwire_batch::messages::players;
use boardwire_batch::pool::Pool;
use boardwire_batch::registry::Registry;
use boardwire_batch::tables::Tables;
use boardwire_server::batches::{BatchLimits, Batches};
use boardwire_server::edge::Access;
use boardwire_server::matches::{self, Matches};
use boardwire_server::run::{Listener, run};
use tokio::net::TcpListener;
use tonic::transport::Channel;
use tonic::{Code, Request, Status};
use tonic_types::RpcStatusExt as _;

use super::{reason, with_token};

/// How long to wait for a condition.
const DEADLINE: Duration = Duration::from_mins(1);

type Client = BatchServiceClient<Channel>;

struct BatchServer {
    address: String,
    batches: Arc<Batches>,
    pool: Arc<Pool>,
}

impl BatchServer {
    async fn start(limits: BatchLimits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = format!("http://{}", listener.local_addr().expect("the listener is bound"));
        let registry = Registry::standard();
        let pool = Arc::new(Pool::new(2).expect("threads start"));
        let match_limits = matches::MatchLimits::default();
        let matches = Arc::new(Matches::new(Tables::new(registry), match_limits, Arc::clone(&pool)));
        let batches = Arc::new(Batches::new(limits, None, Arc::clone(&pool)));
        let listeners = vec![Listener::Tcp(listener)];
        tokio::spawn(run(
            Access::default(),
            listeners,
            matches,
            Arc::clone(&batches),
            std::future::pending(),
        ));
        Self { address, batches, pool }
    }

    async fn client(&self) -> Client {
        Client::connect(self.address.clone()).await.expect("the server accepts connections")
    }

    /// Waits until a call has queued work in the thread pool, which the test blocks.
    async fn wait_for_queued_work(&self) {
        let reached = async {
            while self.pool.queued() == 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(DEADLINE, reached).await.expect("a call reaches the pool");
    }

    /// Waits until `batches` batches are open.
    async fn wait_for_batches(&self, batches: usize) {
        let reached = async {
            while self.batches.len() != batches {
                tokio::task::yield_now().await;
            }
        };
        let reached = tokio::time::timeout(DEADLINE, reached).await;
        reached.unwrap_or_else(|_| panic!("{} batches, not {batches}", self.batches.len()));
    }
}

fn line_up(names: &[&str]) -> Vec<LineUp> {
    vec![LineUp { players: players(names) }]
}

/// Returns a request for one environment, with changes to its configuration.
fn changed(change: impl FnOnce(&mut BatchConfig)) -> OpenBatchRequest {
    let mut opening = opening(1);
    change(opening.config.as_mut().expect("a configuration"));
    opening
}

fn opening(environments: u32) -> OpenBatchRequest {
    OpenBatchRequest {
        config: Some(BatchConfig {
            game: "faraway".to_owned(),
            line_ups: line_up(&["agent", "random"]),
            environments,
            seed: Some(7),
            ..BatchConfig::default()
        }),
        ..OpenBatchRequest::default()
    }
}

/// An open batch and its owner's token.
struct OwnedBatch {
    client: Client,
    id: String,
    token: String,
}

impl OwnedBatch {
    async fn open(mut client: Client, opening: OpenBatchRequest) -> Self {
        let opened = client.open_batch(opening).await.expect("the batch is opened").into_inner();
        Self { client, id: opened.batch.expect("a batch").id, token: opened.token }
    }

    fn request<T>(&self, message: T) -> Request<T> {
        with_token(message, &self.token)
    }

    async fn reset(&mut self) -> Step {
        let request = self.request(ResetBatchRequest { batch_id: self.id.clone(), ..Default::default() });
        self.client.reset_batch(request).await.expect("the batch is reset").into_inner().step.expect("rows")
    }

    async fn step(&mut self, actions: Vec<u8>) -> Result<Step, Status> {
        let request = self.request(self.step_request(0, 0, &actions));
        Ok(self.client.step_batch(request).await?.into_inner().step.expect("rows"))
    }

    fn step_request(&self, first: u32, count: u32, actions: &[u8]) -> StepBatchRequest {
        let actions = actions.to_vec().into();
        StepBatchRequest { batch_id: self.id.clone(), actions, first, count, ..StepBatchRequest::default() }
    }
}

/// Returns the lowest legal action of every row, or 0 if there is none.
fn lowest(step: &Step) -> Vec<u8> {
    let bytes = step.mask.len() / step.seat.len();
    let of = |mask: &[u8]| {
        let bit = |at: &u8| mask[usize::from(at / 8)] >> (at % 8) & 1 == 1;
        (0..u8::try_from(8 * bytes - 1).unwrap_or(u8::MAX)).find(bit).unwrap_or(0)
    };
    step.mask.chunks(bytes).map(of).collect()
}

#[tokio::test]
async fn a_stream_in_two_halves_equals_single_calls() {
    let server = BatchServer::start(BatchLimits::default()).await;
    let mut single = OwnedBatch::open(server.client().await, opening(300)).await;
    let mut streamed = OwnedBatch::open(server.client().await, opening(300)).await;
    let mut latest = single.reset().await;
    assert_eq!(latest, streamed.reset().await);
    let (sender, requests) = tokio::sync::mpsc::channel(2);
    let requests = streamed.request(tokio_stream::wrappers::ReceiverStream::new(requests));
    let mut responses = streamed.client.run_batch(requests).await.expect("the stream opens").into_inner();
    for _ in 0..50 {
        let actions = lowest(&latest);
        // Send both halves before reading the first response.
        for (first, half) in [(0, &actions[..150]), (150, &actions[150..])] {
            let step = run_batch_request::Request::Step(streamed.step_request(first, 150, half));
            sender
                .send(RunBatchRequest { tag: first, request: Some(step) })
                .await
                .expect("the stream is open");
        }
        latest = single.step(actions).await.expect("legal");
        for (first, rows) in [(0, 0..150), (150, 150..300)] {
            let answer = responses.message().await.expect("the stream is open").expect("an answer");
            let Some(run_batch_response::Answer::Step(half)) = answer.answer else { panic!("{answer:?}") };
            let bytes = latest.view.len() / 300;
            assert_eq!((answer.tag, half.first), (first, first));
            assert_eq!(half.view, latest.view[rows.start * bytes..rows.end * bytes]);
            assert_eq!(half.reward, latest.reward[rows.start * 8..rows.end * 8]);
        }
    }
}

#[tokio::test]
async fn an_error_on_a_stream_is_a_response_and_the_stream_continues() {
    let server = BatchServer::start(BatchLimits::default()).await;
    let mut owned = OwnedBatch::open(server.client().await, opening(2)).await;
    let reset = ResetBatchRequest { batch_id: owned.id.clone(), ..ResetBatchRequest::default() };
    let requests = [
        None,
        Some(run_batch_request::Request::Step(owned.step_request(0, 0, &[255; 2]))),
        Some(run_batch_request::Request::Step(owned.step_request(9, 0, &[]))),
        Some(run_batch_request::Request::Reset(reset)),
    ];
    let requests: Vec<_> =
        (0..).zip(requests).map(|(tag, request)| RunBatchRequest { tag, request }).collect();
    let requests = owned.request(tokio_stream::iter(requests));
    let mut responses = owned.client.run_batch(requests).await.expect("the stream opens").into_inner();
    let mut reasons = Vec::new();
    while let Some(answer) = responses.message().await.expect("the stream does not fail") {
        assert_eq!(answer.tag as usize, reasons.len(), "responses come in order");
        reasons.push(match answer.answer.expect("an answer") {
            run_batch_response::Answer::Error(error) => {
                error.get_details_error_info().expect("a reason").reason
            }
            run_batch_response::Answer::Step(step) => format!("{} rows", step.seat.len()),
        });
    }
    assert_eq!(reasons, ["FIELD_INVALID", "BATCH_ACTION_OUT_OF_RANGE", "FIELD_INVALID", "2 rows"]);
}

#[tokio::test]
async fn only_the_owner_may_use_a_batch() {
    let server = BatchServer::start(BatchLimits::default()).await;
    let mut owned = OwnedBatch::open(server.client().await, opening(2)).await;
    let close = CloseBatchRequest { batch_id: owned.id.clone() };
    let refused = owned.client.close_batch(close.clone()).await.expect_err("no token");
    assert_eq!((refused.code(), reason(&refused).as_str()), (Code::Unauthenticated, "TOKEN_MISSING"));
    let refused =
        owned.client.close_batch(with_token(close.clone(), "x")).await.expect_err("the token is wrong");
    assert_eq!((refused.code(), reason(&refused).as_str()), (Code::PermissionDenied, "BATCH_OWNER_ONLY"));
    let latest = owned.reset().await;
    let save = owned.request(SaveBatchRequest { batch_id: owned.id.clone(), ..Default::default() });
    let snapshot = owned.client.save_batch(save).await.expect("the batch is saved").into_inner().snapshot;
    owned.step(lowest(&latest)).await.expect("legal");
    let load = LoadBatchRequest { batch_id: owned.id.clone(), snapshot, ..Default::default() };
    let load = owned.request(load);
    let loaded = owned.client.load_batch(load).await.expect("the snapshot is loaded").into_inner().step;
    assert_eq!(loaded, Some(Step { sequence: 3, ..latest }));
    owned
        .client
        .close_batch(with_token(close.clone(), &owned.token))
        .await
        .expect("the owner closes the batch");
    let refused =
        owned.client.close_batch(with_token(close, &owned.token)).await.expect_err("the batch is closed");
    assert_eq!((refused.code(), reason(&refused).as_str()), (Code::NotFound, "BATCH_UNKNOWN"));
}

#[tokio::test]
async fn an_environment_is_described_as_a_seat_may_know_it() {
    let server = BatchServer::start(BatchLimits::default()).await;
    let mut owned = OwnedBatch::open(server.client().await, opening(2)).await;
    owned.reset().await;
    let describe = |environment, seat| {
        let batch_id = owned.id.clone();
        with_token(DescribeEnvironmentRequest { batch_id, environment, seat, label_seed: None }, &owned.token)
    };
    let asked = [describe(1, 0), describe(1, 1), describe(0, 1)];
    let mut texts = vec![];
    for request in asked {
        let answer =
            owned.client.describe_environment(request).await.expect("the environment and the seat exist");
        texts.push(answer.into_inner().text);
    }
    assert_ne!(texts[0], texts[1], "each seat knows its own hand");
    assert_ne!(texts[1], texts[2], "each environment has its own deal");
    let mut reasons = vec![];
    for (environment, seat) in [(2, 0), (0, 2), (0, 256)] {
        let batch_id = owned.id.clone();
        let request = DescribeEnvironmentRequest { batch_id, environment, seat, label_seed: None };
        let refused = owned.client.describe_environment(with_token(request, &owned.token)).await;
        reasons.push(reason(&refused.expect_err("the environment or the seat does not exist")));
    }
    assert_eq!(reasons, ["FIELD_INVALID"; 3]);
}

#[tokio::test]
async fn a_lease_ends_with_its_connection_unless_keep_is_set() {
    let server = BatchServer::start(BatchLimits::default()).await;
    let (mut one, mut two) = (server.client().await, server.client().await);
    one.open_batch(opening(2)).await.expect("the batch is opened");
    one.open_batch(OpenBatchRequest { keep: true, ..opening(2) }).await.expect("the batch is opened");
    two.open_batch(opening(2)).await.expect("the batch is opened");
    server.wait_for_batches(3).await;
    drop(one);
    server.wait_for_batches(2).await;
    drop(two);
    server.wait_for_batches(1).await;
}

#[tokio::test]
async fn an_idle_lease_ends() {
    let server =
        BatchServer::start(BatchLimits { idle: Duration::from_hours(1), ..BatchLimits::default() }).await;
    let mut owned = OwnedBatch::open(server.client().await, opening(2)).await;
    server.batches.expire(Instant::now() + Duration::from_mins(50));
    owned.reset().await;
    server.batches.expire(Instant::now() + Duration::from_secs(3601));
    let refused = owned.step(vec![0; 2]).await.expect_err("the batch has expired");
    assert_eq!(reason(&refused), "BATCH_UNKNOWN");
    server.wait_for_batches(0).await;
}

#[tokio::test]
async fn a_lease_is_not_idle_during_a_call() {
    let server =
        BatchServer::start(BatchLimits { idle: Duration::from_hours(1), ..BatchLimits::default() }).await;
    let slow = OpenBatchRequest {
        config: Some(BatchConfig {
            line_ups: line_up(&["agent", "greedy:1024"]),
            ..opening(900).config.unwrap_or_default()
        }),
        ..opening(900)
    };
    let mut owned = OwnedBatch::open(server.client().await, slow).await;
    let actions = lowest(&owned.reset().await);
    let (mut client, request) = (owned.client.clone(), owned.request(owned.step_request(0, 0, &actions)));
    let hold = server.pool.block_threads();
    let step = tokio::spawn(async move { client.step_batch(request).await });
    server.wait_for_queued_work().await;
    let expire = || server.batches.expire(Instant::now() + Duration::from_hours(2));
    expire();
    assert_eq!(server.batches.len(), 1, "a step uses the batch");
    step.abort();
    let ended = async {
        while !server.batches.is_empty() {
            expire();
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, ended).await.expect("the batch is idle after the call");
    drop(hold);
}

#[tokio::test]
async fn a_full_server_refuses_until_a_batch_is_closed() {
    let limits = BatchLimits { batches: 2, environments: 100, ..BatchLimits::default() };
    let server = BatchServer::start(limits).await;
    let mut client = server.client().await;
    let first = client.open_batch(opening(90)).await.expect("the batch is opened").into_inner();
    let full = client.open_batch(opening(11)).await.expect_err("too many environments");
    assert_eq!((full.code(), reason(&full).as_str()), (Code::ResourceExhausted, "ENVIRONMENTS_FULL"));
    client.open_batch(opening(10)).await.expect("the batch fits the limit");
    let full = client.open_batch(opening(1)).await.expect_err("too many batches");
    assert_eq!((full.code(), reason(&full).as_str()), (Code::ResourceExhausted, "BATCHES_FULL"));
    let close = CloseBatchRequest { batch_id: first.batch.expect("a batch").id };
    client.close_batch(with_token(close, &first.token)).await.expect("the batch is closed");
    client.open_batch(opening(90)).await.expect("there is room again");
}

#[tokio::test]
async fn invalid_openings_are_refused() {
    let server = BatchServer::start(BatchLimits { environments: usize::MAX, ..BatchLimits::default() }).await;
    let mut client = server.client().await;
    let many = std::iter::repeat_n(line_up(&["agent", "random"]), 1_025).flatten().collect();
    let uneven = [line_up(&["agent", "random"]), line_up(&["agent", "random", "random"])].concat();
    let openings = [
        (changed(|config| config.game = "chess".to_owned()), "GAME_UNKNOWN"),
        (changed(|config| config.line_ups = line_up(&["agent"])), "SEATS_OUT_OF_RANGE"),
        (changed(|config| config.line_ups = line_up(&["random", "random"])), "FIELD_INVALID"),
        (changed(|config| config.line_ups = line_up(&["agent", "clever"])), "BOT_UNKNOWN"),
        (changed(|config| config.line_ups = vec![]), "FIELD_INVALID"),
        (changed(|config| config.line_ups = uneven), "FIELD_INVALID"),
        (changed(|config| config.line_ups = many), "FIELD_INVALID"),
        (OpenBatchRequest { max_message_bytes: 1_000, ..opening(1) }, "FIELD_INVALID"),
        (OpenBatchRequest { max_message_bytes: 20_000, ..opening(200) }, "FIELD_INVALID"),
        (opening(0), "FIELD_INVALID"),
        (opening(u32::MAX), "FIELD_INVALID"),
        (changed(|config| config.autoreset = 9), "FIELD_INVALID"),
    ];
    for (opening, expected) in openings {
        assert_eq!(reason(&client.open_batch(opening).await.expect_err(expected)), expected);
    }
    assert!(server.batches.is_empty());
}

#[tokio::test]
async fn a_repeated_request_opens_one_batch() {
    let server = BatchServer::start(BatchLimits::default()).await;
    let mut client = server.client().await;
    let request =
        OpenBatchRequest { request_id: "67e55044-10b1-426f-9247-bb680e5fe0c8".to_owned(), ..opening(2) };
    let one = client.open_batch(request.clone()).await.expect("the batch is opened").into_inner();
    let two = client.open_batch(request).await.expect("the repeated request is answered").into_inner();
    assert_eq!(one, two);
    server.wait_for_batches(1).await;
}

/// A search waits for other calls before it copies environments. A refusal must not wait.
#[tokio::test]
async fn an_invalid_search_is_refused_before_environments_are_copied() {
    let server = BatchServer::start(BatchLimits { environments: 1_000, ..BatchLimits::default() }).await;
    let channel = Channel::from_shared(server.address.clone()).expect("an address");
    let channel = channel.connect().await.expect("the server accepts connections");
    let slow = OpenBatchRequest {
        config: Some(BatchConfig {
            line_ups: line_up(&["agent", "greedy:1024"]),
            ..opening(900).config.unwrap_or_default()
        }),
        ..opening(900)
    };
    let mut owned = OwnedBatch::open(Client::new(channel.clone()), slow).await;
    let actions = lowest(&owned.reset().await);
    let (mut client, request) = (owned.client.clone(), owned.request(owned.step_request(0, 0, &actions)));
    let hold = server.pool.block_threads();
    let step = tokio::spawn(async move { client.step_batch(request).await });
    server.wait_for_queued_work().await;
    let mut search = SearchServiceClient::new(channel);
    let of = || Some(create_search_request::Of::BatchId(owned.id.clone()));
    for (request, expected) in [
        (CreateSearchRequest { of: of(), worlds: u32::MAX, ..Default::default() }, "FIELD_INVALID"),
        (CreateSearchRequest { of: of(), mask: vec![1].into(), ..Default::default() }, "FIELD_INVALID"),
        (CreateSearchRequest { of: of(), ..Default::default() }, "ENVIRONMENTS_FULL"),
    ] {
        let refused = search.create_search(owned.request(request)).await.expect_err(expected);
        assert_eq!(reason(&refused), expected);
    }
    drop(hold);
    step.await.expect("the step ends").expect("the step is not refused");
}
