//! Non-interference, as a client meets it: whatever a seat asks, over whatever call, two positions that differ
//! only in what it may not know give it the same answers, sizes, order and log lines.

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
use crate::batches::{self, Batches, InUse};
use crate::edge::Access;
use crate::matches::{self, Matches};
use crate::run::{Listener, run};

/// What has been logged at `info` and above.
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

/// A seat of a match on a server in this process.
struct Asker {
    client: MatchServiceClient<Channel>,
    searches: SearchServiceClient<Channel>,
    match_id: String,
    token: String,
    log: Log,
}

/// All that comes with a message but for the time.
fn headers(metadata: &MetadataMap) -> Vec<String> {
    let mut lines: Vec<String> =
        metadata.clone().into_headers().iter().map(|pair| format!("{pair:?}")).collect();
    lines.retain(|line| !line.contains("\"date\""));
    lines.sort_unstable();
    lines
}

fn told<T: std::fmt::Debug>(answer: Result<tonic::Response<T>, Status>) -> String {
    match answer {
        Ok(shown) => format!("{:?} {:?}", headers(shown.metadata()), shown.get_ref()),
        Err(status) => {
            // The entries of a map come in any order.
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

impl Asker {
    async fn look(&self) -> Observation {
        let observe = ObserveRequest { match_id: self.match_id.clone(), ..ObserveRequest::default() };
        let shown = self.client.clone().observe(request(observe, Some(&self.token))).await;
        shown.expect("it is shown").into_inner().observation.expect("an observation")
    }

    /// Everything that can be asked without moving: as the seat, as anybody, by single calls and on a stream.
    async fn answers(&self, seen: &Observation) -> Vec<String> {
        self.log.take();
        let mut client = self.client.clone();
        let own = Some(self.token.as_str());
        let match_id = || self.match_id.clone();
        let extras = Some(Extras { text: true, explanation: true, actions: true, head: true });
        let observe = ObserveRequest { match_id: match_id(), wait: false, extras };
        let reset = ResetRequest { match_id: match_id(), seed: Some(1), ..ResetRequest::default() };
        let act = |decision: u32, action: u32| ActRequest {
            match_id: match_id(),
            episode: seen.episode,
            decision,
            action,
            ..ActRequest::default()
        };
        let bit = |at: &u32| seen.mask[(at / 8) as usize] >> (at % 8) & 1 == 1;
        let bits = u32::try_from(8 * seen.mask.len()).expect("few");
        let illegal = (0..bits).filter(|at| !bit(at)).step_by(7);
        let mut acts: Vec<ActRequest> = illegal.map(|action| act(seen.decision, action)).collect();
        acts.extend([act(seen.decision, 1_000), act(seen.decision + 1, 0)]);

        let mut answers = vec![
            told(client.observe(request(observe.clone(), own)).await),
            told(client.reset(request(reset.clone(), own)).await),
        ];
        for token in [own, None] {
            let get = GetMatchRequest { match_id: match_id() };
            answers.push(told(client.get_match(request(get, token)).await));
            let list = ListMatchesRequest::default();
            answers.push(told(client.list_matches(request(list, token)).await));
            let close = CloseMatchRequest { match_id: match_id() };
            answers.push(told(client.close_match(request(close, token)).await));
        }
        for act in &acts {
            answers.push(told(client.act(request(act.clone(), own)).await));
        }
        let mut asked: Vec<PlayRequest> = acts
            .into_iter()
            .map(play_request::Request::Act)
            .chain([play_request::Request::Observe(observe), play_request::Request::Reset(reset)])
            .map(|request| PlayRequest { tag: 7, request: Some(request) })
            .collect();
        asked.push(PlayRequest { tag: 0, request: None });
        let stream = client.play(request(tokio_stream::iter(asked), own)).await.expect("it streams");
        answers.push(format!("{:?}", headers(stream.metadata())));
        let mut stream = stream.into_inner();
        while let Some(PlayResponse { tag, answer }) = stream.message().await.expect("a refusal is an answer")
        {
            answers.push(match answer {
                Some(play_response::Answer::Error(refused)) => told::<()>(Err(Status::with_details(
                    refused.code.into(),
                    refused.message.clone(),
                    refused.encode_to_vec().into(),
                ))),
                answer => format!("{tag} {answer:?}"),
            });
        }
        answers.extend(self.searched().await);
        answers.push(self.log.take());
        answers
    }

    /// Plays any legal action, if `seat` owes a decision; whether it does.
    async fn move_at_random(&self, seat: Seat, rng: &mut RngStream) -> bool {
        let seen = self.look().await;
        if !seen.pending.contains(&seat.number().into()) {
            return false;
        }
        let legal: Vec<u32> = (0..u32::try_from(8 * seen.mask.len()).expect("few"))
            .filter(|at| seen.mask[(at / 8) as usize] >> (at % 8) & 1 == 1)
            .collect();
        let pick = rng.below(u32::try_from(legal.len()).expect("few")) as usize;
        let act = ActRequest {
            match_id: self.match_id.clone(),
            episode: seen.episode,
            decision: seen.decision,
            action: legal[pick],
            ..ActRequest::default()
        };
        self.client.clone().act(request(act, Some(&self.token))).await.expect("it is legal");
        true
    }

    /// What the seat is shown of worlds, or why of none.
    async fn searched(&self) -> Vec<String> {
        let (mut client, own) = (self.searches.clone(), Some(self.token.as_str()));
        let of = Some(Of::MatchId(self.match_id.clone()));
        let determinize =
            CreateSearchRequest { of, worlds: 3, seed: Some(1), ..CreateSearchRequest::default() };
        let drawn = match client.create_search(request(determinize, own)).await {
            Ok(drawn) => drawn.into_inner(),
            refused => return vec![told(refused)],
        };
        let search_id = drawn.search.expect("a search").id;
        let worlds: Vec<u8> = (0..3u32).flat_map(u32::to_le_bytes).collect();
        let rollout = RolloutRequest {
            search_id: search_id.clone(),
            worlds: worlds.into(),
            seed: Some(1),
            ..RolloutRequest::default()
        };
        let ends = told(client.rollout(request(rollout, own)).await);
        let released = told(client.close_search(request(CloseSearchRequest { search_id }, own)).await);
        vec![format!("{:?}", drawn.step), ends, released]
    }
}

/// Plays a match on `matches` at random, and compares at every ply what each seat is answered with what it is answered
/// in a position that differs only in what it may not know.
async fn compare(matches: &Matches, log: &Log, address: &str, game: &str, seats: &[&str], skip_forced: bool) {
    let channel =
        Channel::from_shared(address.to_owned()).expect("an address").connect().await.expect("it serves");
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
    let created = client.create_match(create).await.expect("it is created").into_inner();
    let match_id = created.r#match.expect("a match").id;
    let arbiter: Arc<Arbiter> = matches.find(&match_id).expect("it was created");
    let mut askers = vec![];
    for Invitation { seat, code } in created.invitations {
        let join = JoinMatchRequest { code, ..JoinMatchRequest::default() };
        let token = client.join_match(join).await.expect("it is joined").into_inner().token;
        let (client, match_id, log) = (client.clone(), match_id.clone(), log.clone());
        let searches = SearchServiceClient::new(channel.clone());
        let seat = Seat::new(u8::try_from(seat).expect("few"));
        askers.push((seat, Asker { client, searches, match_id, token, log }));
    }
    let mut rng = RngStream::new(seats.len() as u64, RESAMPLE_STREAM);
    loop {
        let mut moved = false;
        for (seat, asker) in &askers {
            let seen = asker.look().await;
            let expected = asker.answers(&seen).await;
            let truth = arbiter.determinize(*seat, &mut rng);
            let answers = asker.answers(&seen).await;
            arbiter.put_back(truth);
            for (answer, expected) in answers.iter().zip(&expected) {
                assert_eq!(answer, expected, "{game} {seats:?}: {seat} at ply {} is told a secret", seen.ply);
            }
            assert_eq!(answers.len(), expected.len());
        }
        for (seat, asker) in &askers {
            if asker.move_at_random(*seat, &mut rng).await {
                moved = true;
                break;
            }
        }
        if !moved {
            return;
        }
    }
}

/// A server in this process.
pub(super) async fn serve() -> (String, Arc<Matches>, Arc<Batches>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = format!("http://{}", listener.local_addr().expect("it is bound"));
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
async fn no_call_no_size_and_no_line_of_the_log_tells_a_seat_what_it_may_not_know() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_writer(log.clone()).without_time().finish();
    let _logging = tracing::subscriber::set_default(subscriber);
    let (address, matches, _) = serve().await;
    for game in boardwire_games::IDS {
        let lineups: [(&[&str], bool); 3] = [
            (&["agent", "agent"], false),
            (&["agent", "random", "agent"], false),
            // Forced choices are skipped where one agent plays.
            (&["random", "agent", "random"], true),
        ];
        for (seats, skip_forced) in lineups {
            compare(&matches, &log, &address, game, seats, skip_forced).await;
        }
    }
}

/// The rows of a batch as they stand, but for their number: what a reset of no environment is answered.
async fn rows(client: &mut BatchServiceClient<Channel>, batch_id: &str, token: &str) -> String {
    let none =
        ResetBatchRequest { batch_id: batch_id.to_owned(), mask: vec![0].into(), ..Default::default() };
    let mut shown = client.reset_batch(request(none, Some(token))).await.expect("it is shown");
    shown.get_mut().step.as_mut().expect("rows").sequence = 0;
    told(Ok(shown))
}

#[tokio::test]
async fn no_row_of_a_batch_tells_what_its_seat_may_not_know_unless_the_owner_asked_for_it() {
    let (address, _, batches) = serve().await;
    let mut client = BatchServiceClient::connect(address).await.expect("it serves");
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
        let opened = client.open_batch(opening).await.expect("it is opened").into_inner();
        let (batch_id, token) = (opened.batch.expect("a batch").id, opened.token.as_str());
        let batch: InUse<Batch> = batches.find(&batch_id, Some(token)).expect("it was opened");
        let (mut rng, mut differed) = (RngStream::new(3, RESAMPLE_STREAM), false);
        for _ in 0..40 {
            let expected = rows(&mut client, &batch_id, token).await;
            let truth = batch.determinize(&mut rng).await;
            let told = rows(&mut client, &batch_id, token).await;
            batch.put_back(truth).await;
            assert!(oracle || told == expected, "{game}: {told} tells more than {expected}");
            differed |= told != expected;
            // What is illegal is replaced by the first legal action.
            let actions = vec![0; 4].into();
            let step =
                StepBatchRequest { batch_id: batch_id.clone(), actions, ..StepBatchRequest::default() };
            client.step_batch(request(step, Some(token))).await.expect("it is taken");
        }
        assert_eq!(differed, oracle, "{game}");
    }
}
