//! Tests matches over a real connection with the generated client, and a graceful stop.

use std::sync::Arc;
use std::time::Duration;

use boardwire_api::v1::catalog_service_client::CatalogServiceClient;
use boardwire_api::v1::match_service_client::MatchServiceClient;
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
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::Code;
use tonic::transport::Channel;
use tonic_types::RpcStatusExt as _;

use super::{reason, with_token};

struct MatchServer {
    channel: Channel,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<anyhow::Result<()>>,
}

async fn server(limit: usize) -> MatchServer {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = format!("http://{}", listener.local_addr().expect("the listener is bound"));
    let registry = Registry::standard();
    let pool = Arc::new(Pool::new(2).expect("threads start"));
    let limits = matches::MatchLimits { matches: limit, ..matches::MatchLimits::default() };
    let matches = Arc::new(Matches::new(Tables::new(registry), limits, Arc::clone(&pool)));
    let (stop, stopped) = oneshot::channel();
    let batches = Arc::new(Batches::new(BatchLimits::default(), None, pool));
    let serving =
        tokio::spawn(run(Access::default(), vec![Listener::Tcp(listener)], matches, batches, async {
            let _ = stopped.await;
        }));
    let channel = Channel::from_shared(address)
        .expect("an address")
        .connect()
        .await
        .expect("the server accepts connections");
    MatchServer { channel, stop, serving }
}

fn create(seats: &[&str]) -> CreateMatchRequest {
    CreateMatchRequest {
        config: Some(MatchConfig {
            game: "faraway".to_owned(),
            players: players(seats),
            ..MatchConfig::default()
        }),
        seed: Some(7),
        ..CreateMatchRequest::default()
    }
}

/// Returns the lowest legal action of a mask.
fn lowest(mask: &[u8]) -> u32 {
    let at = mask.iter().position(|&byte| byte != 0).expect("a pending seat has a legal action");
    u32::try_from(8 * at).expect("few actions") + mask[at].trailing_zeros()
}

#[tokio::test]
async fn a_stream_equals_single_calls() {
    let server = server(10).await;
    let mut client = MatchServiceClient::new(server.channel.clone());
    let mut ends = Vec::new();
    for by_stream in [false, true] {
        let created = client.create_match(create(&["agent", "random"])).await.expect("the match is created");
        let created = created.into_inner();
        let code = created.invitations[0].code.clone();
        let joined = client.join_match(JoinMatchRequest { code, ..JoinMatchRequest::default() });
        let joined = joined.await.expect("the seat is joined").into_inner();
        let match_id = created.r#match.expect("a match").id;
        let observe = ObserveRequest { match_id: match_id.clone(), wait: true, extras: None };
        let act = |observation: &Observation| ActRequest {
            match_id: match_id.clone(),
            episode: observation.episode,
            decision: observation.decision,
            action: lowest(&observation.mask),
            wait: true,
            ..ActRequest::default()
        };
        let observed = client.observe(with_token(observe, &joined.token)).await;
        let mut next = observed.expect("the observation is returned").into_inner().observation;
        if by_stream {
            let (sender, requests) = tokio::sync::mpsc::channel(1);
            let requests = tokio_stream::wrappers::ReceiverStream::new(requests);
            let mut responses = client
                .play(with_token(requests, &joined.token))
                .await
                .expect("the stream opens")
                .into_inner();
            while let Some(observation) = next.take_if(|observation| !observation.terminated) {
                let request = Some(play_request::Request::Act(act(&observation)));
                sender.send(PlayRequest { tag: 3, request }).await.expect("the stream is open");
                let answer = responses.message().await.expect("the stream is open").expect("an answer");
                let (3, Some(play_response::Answer::Act(response))) = (answer.tag, answer.answer.clone())
                else {
                    panic!("{answer:?}")
                };
                next = response.observation;
            }
        } else {
            while let Some(observation) = next.take_if(|observation| !observation.terminated) {
                let answer = client.act(with_token(act(&observation), &joined.token)).await;
                next = answer.expect("the action is legal").into_inner().observation;
            }
        }
        ends.push(next.expect("the last observation"));
    }
    assert!(ends[0].outcome.as_ref().is_some_and(|outcome| outcome.scores.len() == 2));
    assert_eq!(ends[0], ends[1], "the last observations are equal");
}

#[tokio::test]
async fn a_join_can_bring_the_description_of_the_table() {
    let server = server(10).await;
    let mut client = MatchServiceClient::new(server.channel.clone());
    let created = client.create_match(create(&["agent", "random"])).await.expect("created").into_inner();
    let config = created.r#match.and_then(|created| created.config).expect("a configuration");
    let get =
        GetGameRequest { game: config.game, seats: 2, options: config.options, ..GetGameRequest::default() };
    let mut catalog = CatalogServiceClient::new(server.channel.clone());
    let spec = catalog.get_game(get).await.expect("the table is described").into_inner().spec;
    let join = JoinMatchRequest {
        code: created.invitations[0].code.clone(),
        request_id: "0b6f2d53-5f0e-4d5c-8a7d-0c9a5a4f1e21".to_owned(),
        with_spec: true,
        ..JoinMatchRequest::default()
    };
    let joined = client.join_match(join.clone()).await.expect("the seat is joined").into_inner();
    assert_eq!((joined.spec.is_some(), joined.spec), (true, spec));
    let join = JoinMatchRequest { with_spec: false, ..join };
    let again = client.join_match(join).await.expect("the seat is joined").into_inner();
    assert_eq!((again.token, again.spec), (joined.token, None));
}

#[tokio::test]
async fn an_error_on_a_stream_is_a_response_and_the_stream_continues() {
    let server = server(10).await;
    let mut client = MatchServiceClient::new(server.channel.clone());
    let created = client.create_match(create(&["agent", "random"])).await.expect("created").into_inner();
    let code = created.invitations[0].code.clone();
    let joined = client.join_match(JoinMatchRequest { code, ..JoinMatchRequest::default() });
    let joined = joined.await.expect("the seat is joined").into_inner();
    let match_id = created.r#match.expect("a match").id;
    let request = |tag, request| PlayRequest { tag, request };
    let act = ActRequest { match_id: match_id.clone(), action: 999, ..ActRequest::default() };
    let observe = ObserveRequest { match_id, ..ObserveRequest::default() };
    let requests = vec![
        request(7, Some(play_request::Request::Act(act))),
        request(0, None),
        request(u32::MAX, Some(play_request::Request::Observe(observe))),
    ];
    let mut responses = client.play(with_token(tokio_stream::iter(requests), &joined.token)).await;
    let responses = responses.as_mut().expect("the stream opens").get_mut();
    let mut results = Vec::new();
    while let Some(answer) = responses.message().await.expect("the stream does not fail") {
        let result = match answer.answer.expect("an answer") {
            play_response::Answer::Error(error) => error.get_details_error_info().expect("a reason").reason,
            play_response::Answer::Observe(response) => {
                format!("ply {}", response.observation.expect("shown").ply)
            }
            other => panic!("an unexpected response: {other:?}"),
        };
        results.push((answer.tag, result));
    }
    let results: Vec<_> = results.iter().map(|(tag, result)| (*tag, result.as_str())).collect();
    assert_eq!(results, [(7, "ACTION_OUT_OF_RANGE"), (0, "FIELD_INVALID"), (u32::MAX, "ply 1")]);
}

#[tokio::test]
async fn a_repeated_request_creates_one_match() {
    let server = server(10).await;
    let mut client = MatchServiceClient::new(server.channel.clone());
    let request = CreateMatchRequest {
        request_id: "67e55044-10b1-426f-9247-bb680e5fe0c8".to_owned(),
        ..create(&["agent", "random"])
    };
    let one = client.create_match(request.clone()).await.expect("the match is created").into_inner();
    let two = client.create_match(request).await.expect("the repeated request is answered").into_inner();
    assert_eq!(one, two);
    let all = client.list_matches(ListMatchesRequest::default()).await.expect("the matches are listed");
    assert_eq!(all.get_ref().matches.len(), 1);
}

#[tokio::test]
async fn lists_have_pages() {
    let server = server(10).await;
    let mut client = MatchServiceClient::new(server.channel.clone());
    for _ in 0..5 {
        client.create_match(create(&["agent", "random"])).await.expect("the match is created");
    }
    let (mut ids, mut page_token) = (Vec::new(), String::new());
    loop {
        let request = ListMatchesRequest { page_size: 2, page_token, ..ListMatchesRequest::default() };
        let page = client.list_matches(request).await.expect("a page").into_inner();
        assert!(page.matches.len() <= 2);
        ids.extend(page.matches.into_iter().map(|listed| listed.id));
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    assert_eq!(ids.len(), 5);
    assert!(ids.is_sorted() && ids.windows(2).all(|pair| pair[0] != pair[1]));

    let mut catalog = CatalogServiceClient::new(server.channel.clone());
    let games =
        catalog.list_games(ListGamesRequest::default()).await.expect("the games are listed").into_inner();
    assert_eq!(games.games.len(), boardwire_games::IDS.len());
    let wrong = ListGamesRequest { page_token: "chess".to_owned(), page_size: 0 };
    let refused = catalog.list_games(wrong).await.expect_err("no such page");
    assert_eq!(reason(&refused), "FIELD_INVALID");
}

#[tokio::test]
async fn lists_are_filtered_by_game_state_and_labels() {
    let server = server(10).await;
    let mut client = MatchServiceClient::new(server.channel.clone());
    let mut ids = vec![];
    for (game, labels) in
        [("faraway", vec![("cup", "1")]), ("faraway", vec![("cup", "2"), ("round", "1")]), ("rauha", vec![])]
    {
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let labels = labels.into_iter().map(owned).collect();
        let create = CreateMatchRequest {
            config: Some(MatchConfig {
                game: game.to_owned(),
                labels,
                ..create(&["agent", "random"]).config.unwrap_or_default()
            }),
            ..create(&["agent", "random"])
        };
        let created = client.create_match(create).await.expect("the match is created").into_inner();
        ids.push((created.r#match.expect("a match").id, created.host_token));
    }
    let closed = CloseMatchRequest { match_id: ids[1].0.clone() };
    let closed =
        client.close_match(with_token(closed, &ids[1].1)).await.expect("the match is closed").into_inner();
    let closed = closed.r#match.expect("a match");
    assert_eq!((closed.state(), closed.close_reason()), (MatchState::Closed, CloseReason::Host));
    let label = |name: &str, value: &str| [(name.to_owned(), value.to_owned())].into();
    let all = ListMatchesRequest::default;
    let (playing, ended) = (MatchState::Playing as i32, MatchState::Closed as i32);
    let requests = [
        (all(), vec![0, 1, 2]),
        (ListMatchesRequest { game: "faraway".to_owned(), ..all() }, vec![0, 1]),
        (ListMatchesRequest { states: vec![playing], ..all() }, vec![0, 2]),
        (ListMatchesRequest { states: vec![playing, ended], ..all() }, vec![0, 1, 2]),
        (ListMatchesRequest { labels: label("cup", "2"), ..all() }, vec![1]),
        (ListMatchesRequest { labels: label("cup", "3"), ..all() }, vec![]),
        (ListMatchesRequest { labels: label("cup", "2"), states: vec![playing], ..all() }, vec![]),
    ];
    for (request, expected) in requests {
        let listed = client.list_matches(request.clone()).await.expect("the matches are listed").into_inner();
        let mut found: Vec<usize> = listed
            .matches
            .iter()
            .map(|listed| {
                ids.iter().position(|(id, _)| *id == listed.id).expect("the match is one of those created")
            })
            .collect();
        found.sort_unstable();
        assert_eq!((found, listed.next_page_token.as_str()), (expected, ""), "{request:?}");
    }
    let first = client.list_matches(ListMatchesRequest { page_size: 1, ..all() }).await.expect("a page");
    let page_token = first.into_inner().next_page_token;
    for wrong in [
        ListMatchesRequest { page_token, game: "faraway".to_owned(), ..all() },
        ListMatchesRequest { page_size: -1, ..all() },
        ListMatchesRequest { states: vec![9], ..all() },
    ] {
        let refused = client.list_matches(wrong).await.expect_err("the request is invalid");
        assert_eq!(reason(&refused), "FIELD_INVALID");
    }
}

#[tokio::test]
async fn a_server_describes_itself() {
    let server = server(10).await;
    let mut catalog = CatalogServiceClient::new(server.channel.clone());
    let response = catalog.get_server(GetServerRequest {}).await.expect("a response").into_inner();
    let info = response.server.expect("a server");
    assert_eq!(info.version, env!("CARGO_PKG_VERSION"));
    assert_eq!(info.protocols, ["boardwire.v1"]);
    assert!(info.features.is_empty());
    let limits = info.limits.expect("limits");
    let (matches, batches) = (matches::MatchLimits::default(), BatchLimits::default());
    assert_eq!((limits.matches, limits.message_bytes), (10, 64 << 20));
    assert_eq!(limits.environments as usize, batches.environments);
    let idle = limits.match_idle_timeout.map(|time| time.seconds);
    assert_eq!(idle, i64::try_from(matches.idle.as_secs()).ok());
}

#[tokio::test]
async fn a_full_server_refuses_until_a_match_is_closed() {
    let server = server(1).await;
    let mut client = MatchServiceClient::new(server.channel.clone());
    let first = client.create_match(create(&["agent", "random"])).await.expect("created").into_inner();
    let full = client.create_match(create(&["agent", "random"])).await.expect_err("the limit is one match");
    assert_eq!((full.code(), reason(&full).as_str()), (Code::ResourceExhausted, "MATCHES_FULL"));
    let match_id = first.r#match.expect("a match").id;
    let close = CloseMatchRequest { match_id: match_id.clone() };
    for _ in 0..2 {
        let closed = client.close_match(with_token(close.clone(), &first.host_token)).await;
        let closed = closed.expect("closing is safe to retry").into_inner().r#match.expect("a match");
        assert_eq!(closed.state(), MatchState::Closed);
    }
    client.create_match(create(&["agent", "random"])).await.expect("there is room again");
    let code = first.invitations[0].code.clone();
    let gone = client.join_match(JoinMatchRequest { code, ..JoinMatchRequest::default() });
    assert_eq!(reason(&gone.await.expect_err("the match is closed")), "MATCH_CLOSED");
}

#[tokio::test]
async fn a_stopping_server_ends_waiting_calls() {
    let server = server(10).await;
    let mut client = MatchServiceClient::new(server.channel.clone());
    let created = client.create_match(create(&["agent", "agent"])).await.expect("created").into_inner();
    let mut tokens = Vec::new();
    for invited in created.invitations {
        let join = JoinMatchRequest { code: invited.code, ..JoinMatchRequest::default() };
        tokens.push(client.join_match(join).await.expect("the seat is joined").into_inner().token);
    }
    let match_id = created.r#match.expect("a match").id;
    let observe = ObserveRequest { match_id: match_id.clone(), ..ObserveRequest::default() };
    let response = client.observe(with_token(observe, &tokens[0])).await.expect("shown").into_inner();
    let observation = response.observation.expect("an observation");
    let action = lowest(&observation.mask);
    let act = ActRequest { match_id: match_id.clone(), action, wait: true, ..ActRequest::default() };
    let waiting = tokio::spawn({
        let (mut client, token) = (client.clone(), tokens[0].clone());
        async move { client.act(with_token(act, &token)).await }
    });
    // After the first ply, the first seat's call waits.
    let mut shown = Match::default();
    while shown.ply == 0 {
        let get = GetMatchRequest { match_id: match_id.clone(), known_etag: shown.etag };
        shown = client.get_match(get).await.expect("shown").into_inner().r#match.expect("a match");
    }
    // A stream without requests must not keep the server running.
    let (_sender, requests) = tokio::sync::mpsc::channel::<PlayRequest>(1);
    let requests = tokio_stream::wrappers::ReceiverStream::new(requests);
    let mut idle =
        client.play(with_token(requests, &tokens[1])).await.expect("the stream opens").into_inner();
    server.stop.send(()).expect("the server runs");
    assert_eq!(idle.message().await.expect("the stream ends well"), None);
    let refused = waiting.await.expect("no panic").expect_err("the server stops");
    assert_eq!((refused.code(), reason(&refused).as_str()), (Code::Unavailable, "SHUTTING_DOWN"));
    drop(client);
    drop(server.channel);
    let ended = tokio::time::timeout(Duration::from_mins(1), server.serving).await;
    ended.expect("the server stops in time").expect("no panic").expect("the server stops without an error");
}
