//! Tests non-interference for clients. Two positions differ only in secrets of other seats. In both, a seat gets the same
//! responses in the same sizes and order, and the server writes the same log lines.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use boardwire_api::v1::batch_service_client::BatchServiceClient;
use boardwire_api::v1::create_search_request::Of;
use boardwire_api::v1::match_service_client::MatchServiceClient;
use boardwire_api::v1::search_service_client::SearchServiceClient;
use boardwire_api::v1::{
    ActRequest, BatchColumns, BatchConfig, CloseMatchRequest, CloseSearchRequest, CreateMatchRequest,
    CreateSearchRequest, Extras, GetMatchRequest, IllegalActionPolicy, Invitation, JoinMatchRequest, LineUp,
    ListMatchesRequest, MatchConfig, Observation, ObserveRequest, OpenBatchRequest, PlayRequest,
    PlayResponse, ResetBatchRequest, ResetRequest, RolloutRequest, StepBatchRequest, play_request,
    play_response,
};
use boardwire_batch::batch::Batch;
use boardwire_batch::messages::players;
use boardwire_batch::pool::Pool;
use boardwire_batch::registry::Registry;
use boardwire_batch::tables::Tables;
use boardwire_kernel::{RESAMPLE_STREAM, RngStream, Seat};
use prost::Message as _;
use tokio::net::TcpListener;
use tonic::metadata::MetadataMap;
use tonic::transport::Channel;
use tonic::{Request, Status};
use tracing_subscriber::fmt::MakeWriter;

use crate::arbiter::Arbiter;
use crate::batches::{self, Batches, LeaseGuard};
use crate::edge::Access;
use crate::matches::{self, Matches};
use crate::run::{Listener, run};

/// An observation with every part that a seat can request.
const ALL_EXTRAS: Extras =
    Extras { text: true, explanation: true, actions: true, head: true, history: true, label_seed: Some(3) };

/// A log that keeps lines at `info` and above.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn take(&self) -> String {
        let bytes = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        String::from_utf8(bytes).expect("logs are text")
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// The client of a seat, on a server in this process.
struct SeatClient {
    client: MatchServiceClient<Channel>,
    searches: SearchServiceClient<Channel>,
    match_id: String,
    token: String,
    log: Log,
}

/// Returns the headers of a response, without the date.
fn headers(metadata: &MetadataMap) -> Vec<String> {
    let mut lines: Vec<String> =
        metadata.clone().into_headers().iter().map(|pair| format!("{pair:?}")).collect();
    lines.retain(|line| !line.contains("\"date\""));
    lines.sort_unstable();
    lines
}

/// Returns all that a client receives, as text.
fn to_text<T: std::fmt::Debug>(result: Result<tonic::Response<T>, Status>) -> String {
    match result {
        Ok(response) => format!("{:?} {:?}", headers(response.metadata()), response.get_ref()),
        Err(status) => {
            // The order of a map's entries is random.
            let mut details = status.details().to_vec();
            details.sort_unstable();
            format!("{:?} {} {details:?} {:?}", status.code(), status.message(), headers(status.metadata()))
        }
    }
}

fn request<T>(message: T, token: Option<&str>) -> Request<T> {
    let mut request = Request::new(message);
    let metadata = request.metadata_mut();
    metadata.insert("x-request-id", "1".parse().expect("a header"));
    if let Some(token) = token {
        metadata.insert("authorization", format!("Bearer {token}").parse().expect("a header"));
    }
    request
}

impl SeatClient {
    async fn observe(&self) -> Observation {
        let observe = ObserveRequest { match_id: self.match_id.clone(), ..ObserveRequest::default() };
        let response = self.client.clone().observe(request(observe, Some(&self.token))).await;
        response.expect("observe succeeds").into_inner().observation.expect("an observation")
    }

    /// Returns the responses to all requests that change nothing: with and without a token, by single calls and on a stream.
    async fn responses(&self, observation: &Observation) -> Vec<String> {
        self.log.take();
        let mut client = self.client.clone();
        let token = Some(self.token.as_str());
        let match_id = || self.match_id.clone();
        let observe = ObserveRequest { match_id: match_id(), wait: false, extras: Some(ALL_EXTRAS) };
        let reset = ResetRequest { match_id: match_id(), seed: Some(1), ..ResetRequest::default() };
        let act = |decision: u32, action: u32| ActRequest {
            match_id: match_id(),
            episode: observation.episode,
            decision,
            action,
            ..ActRequest::default()
        };
        let bit = |at: &u32| observation.mask[(at / 8) as usize] >> (at % 8) & 1 == 1;
        let bits = u32::try_from(8 * observation.mask.len()).expect("the number fits u32");
        let illegal = (0..bits).filter(|at| !bit(at)).step_by(7);
        let mut acts: Vec<ActRequest> = illegal.map(|action| act(observation.decision, action)).collect();
        acts.extend([act(observation.decision, 1_000), act(observation.decision + 1, 0)]);

        let mut responses = vec![
            to_text(client.observe(request(observe.clone(), token)).await),
            to_text(client.reset(request(reset.clone(), token)).await),
        ];
        for token in [token, None] {
            let get = GetMatchRequest { match_id: match_id(), ..GetMatchRequest::default() };
            responses.push(to_text(client.get_match(request(get, token)).await));
            let list = ListMatchesRequest::default();
            responses.push(to_text(client.list_matches(request(list, token)).await));
            let close = CloseMatchRequest { match_id: match_id() };
            responses.push(to_text(client.close_match(request(close, token)).await));
        }
        for act in &acts {
            responses.push(to_text(client.act(request(act.clone(), token)).await));
        }
        let mut requests: Vec<PlayRequest> = acts
            .into_iter()
            .map(play_request::Request::Act)
            .chain([play_request::Request::Observe(observe), play_request::Request::Reset(reset)])
            .map(|request| PlayRequest { tag: 7, request: Some(request) })
            .collect();
        requests.push(PlayRequest { tag: 0, request: None });
        let stream = client.play(request(tokio_stream::iter(requests), token)).await.expect("a stream");
        responses.push(format!("{:?}", headers(stream.metadata())));
        let mut stream = stream.into_inner();
        while let Some(PlayResponse { tag, answer }) = stream.message().await.expect("a response") {
            responses.push(match answer {
                Some(play_response::Answer::Error(error)) => to_text::<()>(Err(Status::with_details(
                    error.code.into(),
                    error.message.clone(),
                    error.encode_to_vec().into(),
                ))),
                answer => format!("{tag} {answer:?}"),
            });
        }
        responses.extend(self.search_responses().await);
        responses.push(self.log.take());
        responses
    }

    /// Plays a random legal action if `seat` owes a decision. Returns whether it did.
    async fn move_at_random(&self, seat: Seat, rng: &mut RngStream) -> bool {
        let observation = self.observe().await;
        if !observation.pending.contains(&seat.number().into()) {
            return false;
        }
        let legal: Vec<u32> = (0..u32::try_from(8 * observation.mask.len()).expect("the number fits u32"))
            .filter(|at| observation.mask[(at / 8) as usize] >> (at % 8) & 1 == 1)
            .collect();
        let pick = rng.below(u32::try_from(legal.len()).expect("the number fits u32")) as usize;
        let act = ActRequest {
            match_id: self.match_id.clone(),
            episode: observation.episode,
            decision: observation.decision,
            action: legal[pick],
            ..ActRequest::default()
        };
        self.client.clone().act(request(act, Some(&self.token))).await.expect("the action is legal");
        true
    }

    /// Returns the responses to a search in three determinizations, or the error if the seat may not search.
    async fn search_responses(&self) -> Vec<String> {
        let (mut client, token) = (self.searches.clone(), Some(self.token.as_str()));
        let of = Some(Of::MatchId(self.match_id.clone()));
        let determinize =
            CreateSearchRequest { of, worlds: 3, seed: Some(1), ..CreateSearchRequest::default() };
        let created = match client.create_search(request(determinize, token)).await {
            Ok(created) => created.into_inner(),
            error => return vec![to_text(error)],
        };
        let search_id = created.search.expect("a search").id;
        let worlds: Vec<u8> = (0..3u32).flat_map(u32::to_le_bytes).collect();
        let rollout = RolloutRequest {
            search_id: search_id.clone(),
            worlds: worlds.into(),
            seed: Some(1),
            ..RolloutRequest::default()
        };
        let rollout = to_text(client.rollout(request(rollout, token)).await);
        let closed = to_text(client.close_search(request(CloseSearchRequest { search_id }, token)).await);
        vec![format!("{:?}", created.step), rollout, closed]
    }
}

/// Plays a match on `matches` at random. At every ply it compares the responses to each seat with the responses in a
/// position that differs only in secrets of other seats.
async fn compare(matches: &Matches, log: &Log, address: &str, game: &str, seats: &[&str], skip_forced: bool) {
    let channel = Channel::from_shared(address.to_owned())
        .expect("an address")
        .connect()
        .await
        .expect("the server runs");
    let mut client = MatchServiceClient::new(channel.clone());
    let create = CreateMatchRequest {
        config: Some(MatchConfig {
            game: game.to_owned(),
            players: players(seats),
            skip_forced,
            ..MatchConfig::default()
        }),
        ..CreateMatchRequest::default()
    };
    let created = client.create_match(create).await.expect("the match is created").into_inner();
    let match_id = created.r#match.expect("a match").id;
    let arbiter: Arc<Arbiter> = matches.find(&match_id).expect("the match exists");
    let mut clients = vec![];
    for Invitation { seat, code } in created.invitations {
        let join = JoinMatchRequest { code, ..JoinMatchRequest::default() };
        let token = client.join_match(join).await.expect("the seat is joined").into_inner().token;
        let (client, match_id, log) = (client.clone(), match_id.clone(), log.clone());
        let searches = SearchServiceClient::new(channel.clone());
        let seat = Seat::new(u8::try_from(seat).expect("the number fits u8"));
        clients.push((seat, SeatClient { client, searches, match_id, token, log }));
    }
    let mut rng = RngStream::new(seats.len() as u64, RESAMPLE_STREAM);
    loop {
        let mut moved = false;
        for (seat, client) in &clients {
            let observation = client.observe().await;
            let expected = client.responses(&observation).await;
            let original = arbiter.replace_by_determinization(*seat, &mut rng);
            let responses = client.responses(&observation).await;
            arbiter.restore_state(original);
            for (response, expected) in responses.iter().zip(&expected) {
                assert_eq!(
                    response, expected,
                    "{game} {seats:?}: {seat} learns a secret at ply {}",
                    observation.ply
                );
            }
            assert_eq!(responses.len(), expected.len());
        }
        for (seat, client) in &clients {
            if client.move_at_random(*seat, &mut rng).await {
                moved = true;
                break;
            }
        }
        if !moved {
            return;
        }
    }
}

/// Starts a server in this process.
pub(super) async fn serve() -> (String, Arc<Matches>, Arc<Batches>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = format!("http://{}", listener.local_addr().expect("the listener is bound"));
    let registry = Registry::standard();
    let pool = Arc::new(Pool::new(1).expect("a thread starts"));
    let limits = matches::MatchLimits::default();
    let matches = Arc::new(Matches::new(Tables::new(registry), limits, Arc::clone(&pool)));
    let batches = Arc::new(Batches::new(batches::BatchLimits::default(), None, pool));
    let listeners = vec![Listener::Tcp(listener)];
    tokio::spawn(run(
        Access::default(),
        listeners,
        Arc::clone(&matches),
        Arc::clone(&batches),
        std::future::pending(),
    ));
    (address, matches, batches)
}

#[tokio::test]
async fn no_call_and_no_log_line_reveals_a_secret_to_a_seat() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_writer(log.clone()).without_time().finish();
    let _logging = tracing::subscriber::set_default(subscriber);
    let (address, matches, _) = serve().await;
    for game in boardwire_games::IDS {
        let lineups: [(&[&str], bool); 3] = [
            (&["agent", "agent"], false),
            (&["agent", "random", "agent"], false),
            // The server can skip forced choices only if one agent plays.
            (&["random", "agent", "random"], true),
        ];
        for (seats, skip_forced) in lineups {
            compare(&matches, &log, &address, game, seats, skip_forced).await;
        }
    }
}

/// Returns the current rows of a batch without their sequence number, from a reset of no environment.
async fn rows(client: &mut BatchServiceClient<Channel>, batch_id: &str, token: &str) -> String {
    let none =
        ResetBatchRequest { batch_id: batch_id.to_owned(), mask: vec![0].into(), ..Default::default() };
    let mut response = client.reset_batch(request(none, Some(token))).await.expect("the batch is reset");
    response.get_mut().step.as_mut().expect("the response has rows").sequence = 0;
    to_text(Ok(response))
}

#[tokio::test]
async fn a_batch_reveals_secrets_only_in_the_oracle_column() {
    let (address, _, batches) = serve().await;
    let mut client = BatchServiceClient::connect(address).await.expect("the server runs");
    for (game, oracle) in boardwire_games::IDS.iter().flat_map(|&game| [(game, false), (game, true)]) {
        let players = players(&["agent", "random", "agent"]);
        let columns = BatchColumns { oracle, ..BatchColumns::default() };
        let opening = OpenBatchRequest {
            config: Some(BatchConfig {
                game: game.to_owned(),
                line_ups: vec![LineUp { players }],
                environments: 4,
                seed: Some(7),
                illegal_actions: IllegalActionPolicy::FirstLegal.into(),
                columns: Some(columns),
                ..BatchConfig::default()
            }),
            ..OpenBatchRequest::default()
        };
        let opened = client.open_batch(opening).await.expect("the batch is opened").into_inner();
        let (batch_id, token) = (opened.batch.expect("a batch").id, opened.token.as_str());
        let batch: LeaseGuard<Batch> = batches.find(&batch_id, Some(token)).expect("the batch is open");
        let (mut rng, mut differed) = (RngStream::new(3, RESAMPLE_STREAM), false);
        for _ in 0..40 {
            let expected = rows(&mut client, &batch_id, token).await;
            let original = batch.determinize(&mut rng).await;
            let actual = rows(&mut client, &batch_id, token).await;
            batch.restore_blocks(original).await;
            assert!(oracle || actual == expected, "{game}: {actual} reveals more than {expected}");
            differed |= actual != expected;
            // The batch replaces illegal actions by the first legal one.
            let actions = vec![0; 4].into();
            let step =
                StepBatchRequest { batch_id: batch_id.clone(), actions, ..StepBatchRequest::default() };
            client.step_batch(request(step, Some(token))).await.expect("the batch is stepped");
        }
        assert_eq!(differed, oracle, "{game}");
    }
}
