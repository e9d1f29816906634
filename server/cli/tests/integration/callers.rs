//! Tests resources of callers: repeated requests, callers that disconnect, limits, expiry, private matches.

use std::sync::Arc;
use std::time::{Duration, Instant};

use boardwire_api::v1::batch_service_client::BatchServiceClient;
use boardwire_api::v1::match_service_client::MatchServiceClient;
use boardwire_api::v1::{
    BatchConfig, CreateMatchRequest, GetMatchRequest, JoinMatchRequest, LineUp, ListMatchesRequest, Match,
    MatchConfig, ObserveRequest, OpenBatchRequest, PlayRequest, SeedSource, play_request, play_response,
};
use boardwire_batch::messages::players;
use boardwire_batch::pool::Pool;
use boardwire_batch::registry::Registry;
use boardwire_batch::tables::Tables;
use boardwire_server::batches::{self, Batches};
use boardwire_server::edge::Access;
use boardwire_server::matches::{self, Matches};
use boardwire_server::run::{Listener, run};
use tokio::net::TcpListener;
use tonic::Code;
use tonic::transport::Channel;

use super::{reason, with_token};

const ID: &str = "67e55044-10b1-426f-9247-bb680e5fe0c8";

struct LimitedServer {
    address: String,
    matches: Arc<Matches>,
    batches: Arc<Batches>,
    pool: Arc<Pool>,
}

impl LimitedServer {
    async fn start(match_limits: matches::MatchLimits, batch_limits: batches::BatchLimits) -> Self {
        Self::start_with(match_limits, batch_limits, None).await
    }

    /// Starts a server with a second listener.
    async fn start_with(
        match_limits: matches::MatchLimits,
        batch_limits: batches::BatchLimits,
        second: Option<Listener>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = format!("http://{}", listener.local_addr().expect("the listener is bound"));
        let tables = Tables::new(Registry::standard());
        let pool = Arc::new(Pool::new(2).expect("threads start"));
        let matches = Arc::new(Matches::new(tables, match_limits, Arc::clone(&pool)));
        let batches = Arc::new(Batches::new(batch_limits, None, Arc::clone(&pool)));
        let listeners = [Listener::Tcp(listener)].into_iter().chain(second).collect();
        tokio::spawn(run(
            Access::default(),
            listeners,
            Arc::clone(&matches),
            Arc::clone(&batches),
            std::future::pending(),
        ));
        Self { address, matches, batches, pool }
    }

    async fn start_default() -> Self {
        Self::start(matches::MatchLimits::default(), batches::BatchLimits::default()).await
    }

    async fn match_client(&self) -> MatchServiceClient<Channel> {
        MatchServiceClient::connect(self.address.clone()).await.expect("the server accepts connections")
    }

    async fn batch_client(&self) -> BatchServiceClient<Channel> {
        BatchServiceClient::connect(self.address.clone()).await.expect("the server accepts connections")
    }
}

async fn wait_until(condition: impl Fn() -> bool) {
    let reached = async {
        while !condition() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), reached).await.expect("the condition becomes true");
}

fn create(seats: &[&str], request_id: &str) -> CreateMatchRequest {
    CreateMatchRequest {
        config: Some(MatchConfig {
            game: "faraway".to_owned(),
            players: players(seats),
            ..MatchConfig::default()
        }),
        request_id: request_id.to_owned(),
        ..CreateMatchRequest::default()
    }
}

fn open(environments: u32, bot: &str, request_id: &str) -> OpenBatchRequest {
    OpenBatchRequest {
        config: Some(BatchConfig {
            game: "faraway".to_owned(),
            line_ups: vec![LineUp { players: players(&[bot, "agent"]) }],
            environments,
            ..BatchConfig::default()
        }),
        request_id: request_id.to_owned(),
        ..OpenBatchRequest::default()
    }
}

#[tokio::test]
async fn eight_creations_with_one_request_id_create_one_match() {
    let server = LimitedServer::start_default().await;
    let creations = (0..8).map(|_| async {
        let created = server.match_client().await.create_match(create(&["agent", "random"], ID)).await;
        created.expect("the match is created").into_inner()
    });
    let created = futures_util::future::join_all(creations).await;
    assert!(created.iter().all(|other| *other == created[0]));
    assert_eq!(server.matches.len(), 1);
    // Other parameters make it another request. It must not get the first request's response.
    let other = server.match_client().await.create_match(create(&["agent", "greedy"], ID)).await;
    let other = other.expect_err("the id has been used");
    assert_eq!((other.code(), reason(&other).as_str()), (Code::AlreadyExists, "REQUEST_ID_REUSED"));
    for wrong in ["a", &"7".repeat(40_000)] {
        let refused = server.match_client().await.create_match(create(&["agent", "random"], wrong)).await;
        assert_eq!(reason(&refused.expect_err("the request id is no UUID")), "FIELD_INVALID");
        let join = JoinMatchRequest {
            code: "x".to_owned(),
            request_id: wrong.to_owned(),
            ..JoinMatchRequest::default()
        };
        assert_eq!(
            reason(&server.match_client().await.join_match(join).await.expect_err("no UUID")),
            "FIELD_INVALID"
        );
    }
    assert_eq!(server.matches.len(), 1);
}

#[tokio::test]
async fn eight_openings_with_one_request_id_open_one_batch() {
    let server = LimitedServer::start_default().await;
    let mut trainer = server.batch_client().await;
    let openings = (0..8).map(|_| {
        let mut trainer = trainer.clone();
        async move {
            trainer.open_batch(open(600, "greedy:2", ID)).await.expect("the batch is opened").into_inner()
        }
    });
    let opened = futures_util::future::join_all(openings).await;
    assert!(opened.iter().all(|other| *other == opened[0]));
    assert_eq!((server.batches.len(), server.batches.environments()), (1, 600));
    let other = trainer.open_batch(open(601, "greedy:2", ID)).await.expect_err("the id has been used");
    assert_eq!(reason(&other), "REQUEST_ID_REUSED");
}

#[tokio::test]
async fn a_repeat_over_a_new_connection_moves_the_lease_to_it() {
    let server = LimitedServer::start_default().await;
    let (mut first, mut second) = (server.batch_client().await, server.batch_client().await);
    let one = first.open_batch(open(2, "random", ID)).await.expect("the batch is opened").into_inner();
    let two = second
        .open_batch(open(2, "random", ID))
        .await
        .expect("the repeated request is answered")
        .into_inner();
    assert_eq!(one, two);
    drop(first);
    // If the lease had not moved, the batch would close with the first connection, before the end of this later connection.
    let probe = server.batch_client().await;
    probe.clone().open_batch(open(1, "random", "")).await.expect("the batch is opened");
    drop(probe);
    wait_until(|| server.batches.len() == 1).await;
    drop(second);
    wait_until(|| server.batches.is_empty()).await;
}

#[tokio::test]
async fn an_opening_that_its_caller_abandons_leaves_no_batch() {
    let server = LimitedServer::start_default().await;
    for closes_connection in [false, true] {
        let trainer = server.batch_client().await;
        let mut caller = trainer.clone();
        let hold = server.pool.block_threads();
        let opening = tokio::spawn(async move { caller.open_batch(open(3_000, "greedy:1024", "")).await });
        wait_until(|| server.batches.environments() == 3_000).await;
        if closes_connection {
            drop(trainer);
        }
        opening.abort();
        wait_until(|| server.batches.environments() == 0).await;
        drop(hold);
        assert!(server.batches.is_empty());
    }
}

#[tokio::test]
async fn limits_hold_for_concurrent_openings() {
    let batch_limits = batches::BatchLimits { batches: 3, ..batches::BatchLimits::default() };
    let server = LimitedServer::start(matches::MatchLimits::default(), batch_limits).await;
    let trainer = server.batch_client().await;
    let openings = (0..20).map(|_| {
        let mut trainer = trainer.clone();
        async move { trainer.open_batch(open(600, "greedy:2", "")).await }
    });
    let opened = futures_util::future::join_all(openings).await;
    assert_eq!(opened.iter().filter(|opened| opened.is_ok()).count(), 3);
    for refused in opened.into_iter().filter_map(Result::err) {
        assert_eq!(reason(&refused), "BATCHES_FULL");
    }
    assert_eq!(server.batches.len(), 3);
}

#[tokio::test]
async fn one_caller_cannot_fill_the_server() {
    let match_limits = matches::MatchLimits { matches: 10, per_caller: 3, ..matches::MatchLimits::default() };
    let batch_limits = batches::BatchLimits { per_caller: 100, ..batches::BatchLimits::default() };
    let server = LimitedServer::start(match_limits, batch_limits).await;
    let (mut host, mut trainer) = (server.match_client().await, server.batch_client().await);
    for _ in 0..3 {
        host.create_match(create(&["agent", "random"], "")).await.expect("the match is created");
    }
    // A second connection of the same host is the same caller.
    let refused = server.match_client().await.create_match(create(&["agent", "random"], "")).await;
    assert_eq!(reason(&refused.expect_err("three are the limit")), "CALLER_FULL");
    trainer.open_batch(open(90, "random", "")).await.expect("the batch is opened");
    let refused = trainer.open_batch(open(11, "random", "")).await.expect_err("100 are the limit");
    assert_eq!((refused.code(), reason(&refused).as_str()), (Code::ResourceExhausted, "CALLER_FULL"));
    trainer.open_batch(open(10, "random", "")).await.expect("the batch fits the limit");
}

// Only Linux can identify callers on Unix sockets.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn one_caller_may_have_three_quarters_of_the_batches() {
    use boardwire_api::v1::CloseBatchRequest;
    let batch_limits = batches::BatchLimits { batches: 4, ..batches::BatchLimits::default() };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("socket");
    let socket = boardwire_server::edge::UnixSocket::bind(&path).expect("the path is free");
    let uri = format!("unix://{}", path.display());
    let server = LimitedServer::start_with(
        matches::MatchLimits::default(),
        batch_limits,
        Some(Listener::Unix(socket)),
    )
    .await;
    let mut trainer = server.batch_client().await;
    let first = trainer.open_batch(open(1, "random", "")).await.expect("the batch is opened").into_inner();
    for _ in 1..3 {
        trainer.open_batch(open(1, "random", "")).await.expect("the batch is opened");
    }
    let refused =
        trainer.open_batch(open(1, "random", "")).await.expect_err("one caller may hold three batches");
    assert_eq!((refused.code(), reason(&refused).as_str()), (Code::ResourceExhausted, "CALLER_FULL"));
    let mut another = BatchServiceClient::connect(uri).await.expect("the server accepts connections");
    another.open_batch(open(1, "random", "")).await.expect("the fourth is for another caller");
    let refused = another.open_batch(open(1, "random", "")).await.expect_err("all are open");
    assert_eq!(reason(&refused), "BATCHES_FULL");
    // A closed batch does not count towards the limit.
    let close = CloseBatchRequest { batch_id: first.batch.expect("a batch").id };
    trainer.close_batch(with_token(close, &first.token)).await.expect("the batch is closed");
    trainer.open_batch(open(1, "random", "")).await.expect("there is room again");
}

#[tokio::test]
async fn an_idle_match_expires() {
    let match_limits =
        matches::MatchLimits { idle: Duration::from_hours(1), ..matches::MatchLimits::default() };
    let server = LimitedServer::start(match_limits, batches::BatchLimits::default()).await;
    let mut host = server.match_client().await;
    let used = host.create_match(create(&["agent", "random"], ID)).await.expect("created").into_inner();
    let unused = host.create_match(create(&["agent", "random"], "")).await.expect("created").into_inner();
    let id = |of: &Option<Match>| of.as_ref().expect("a match").id.clone();
    server.matches.expire(Instant::now() + Duration::from_secs(3500));
    assert_eq!(server.matches.len(), 2);
    let later = Instant::now() + Duration::from_hours(1);
    // A call with a token counts as use of the match.
    let get = GetMatchRequest { match_id: id(&used.r#match), ..GetMatchRequest::default() };
    host.get_match(with_token(get, &used.host_token)).await.expect("the match is returned");
    server.matches.expire(later);
    assert_eq!(server.matches.len(), 1);
    let code = unused.invitations[0].code.clone();
    let join = JoinMatchRequest { code, ..JoinMatchRequest::default() };
    assert_eq!(reason(&host.join_match(join).await.expect_err("the match has expired")), "MATCH_EXPIRED");
    let response = host
        .get_match(GetMatchRequest { match_id: id(&unused.r#match), ..GetMatchRequest::default() })
        .await
        .expect("remembered");
    assert!(
        response.into_inner().r#match.expect("a match").seed_opening.is_some(),
        "a closed match shows its seed opening"
    );
    server.matches.expire(later + Duration::from_hours(1));
    assert!(server.matches.is_empty());
    // After the match has expired, its request id can be used again.
    let again = host.create_match(create(&["agent", "random"], ID)).await.expect("created").into_inner();
    assert_ne!(id(&again.r#match), id(&used.r#match));
}

#[tokio::test]
async fn a_private_match_is_visible_to_its_participants_only() {
    let server = LimitedServer::start_default().await;
    let mut host = server.match_client().await;
    let private = CreateMatchRequest {
        config: Some(MatchConfig {
            private: true,
            ..create(&["random", "random"], "").config.unwrap_or_default()
        }),
        ..create(&["random", "random"], "")
    };
    let hidden = host.create_match(private).await.expect("created").into_inner();
    let open = host.create_match(create(&["random", "random"], "")).await.expect("created").into_inner();
    let (hidden_token, open_token) = (hidden.host_token, open.host_token);
    let (hidden, open) = (hidden.r#match.expect("a match"), open.r#match.expect("a match"));
    let is_private = |created: &Match| created.config.as_ref().expect("a configuration").private;
    assert!(is_private(&hidden) && !is_private(&open));
    let listed = host.list_matches(ListMatchesRequest::default()).await.expect("a page").into_inner();
    assert_eq!(listed.matches.iter().map(|one| &one.id).collect::<Vec<_>>(), [&open.id]);
    let get = |of: &Match| GetMatchRequest { match_id: of.id.clone(), ..GetMatchRequest::default() };
    assert_eq!(reason(&host.get_match(get(&hidden)).await.expect_err("no token")), "TOKEN_MISSING");
    let wrong = host
        .get_match(with_token(get(&hidden), &open_token))
        .await
        .expect_err("the token is of another match");
    assert_eq!(reason(&wrong), "TOKEN_WRONG");
    host.get_match(with_token(get(&hidden), &hidden_token)).await.expect("the host may see the match");
    // Bots have finished both episodes. The host sees the drawn seed now; other callers see it after the match is closed.
    assert_eq!(open.seed_source(), SeedSource::Drawn);
    let seed = open.seed_opening.clone().expect("the host sees the seed of an episode that is over");
    assert_eq!((seed.seed, seed.key.len()), (None, 32));
    assert_eq!(listed.matches[0].seed_opening, None);
    let public = host.get_match(get(&open)).await.expect("the match is returned").into_inner();
    assert_eq!(public.r#match.expect("a match").seed_opening, None);
}

#[tokio::test]
async fn each_request_of_a_stream_is_checked_by_its_token() {
    let server = LimitedServer::start_default().await;
    let mut host = server.match_client().await;
    let nothing = || tokio_stream::empty::<PlayRequest>();
    let refused = host.play(nothing()).await.expect_err("no token");
    assert_eq!((refused.code(), reason(&refused).as_str()), (Code::Unauthenticated, "TOKEN_MISSING"));
    let created = host.create_match(create(&["agent", "random"], "")).await.expect("created").into_inner();
    let match_id = created.r#match.expect("a match").id;
    let observe = play_request::Request::Observe(ObserveRequest { match_id, ..ObserveRequest::default() });
    let requests = tokio_stream::once(PlayRequest { tag: 1, request: Some(observe) });
    let mut responses = host.play(with_token(requests, "guessed")).await.expect("a stream").into_inner();
    let answer = responses.message().await.expect("an answer").and_then(|response| response.answer);
    let Some(play_response::Answer::Error(refused)) = answer else { panic!("refused: {answer:?}") };
    assert_eq!(refused.code, Code::PermissionDenied as i32, "{}", refused.message);
}
