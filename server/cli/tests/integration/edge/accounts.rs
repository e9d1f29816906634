//! Tests accounts: their tokens, quotas and rates.

use std::path::PathBuf;
use std::process::Command;

use boardwire_api::v1::batch_service_client::BatchServiceClient;
use boardwire_api::v1::catalog_service_client::CatalogServiceClient;
use boardwire_batch::messages::players;
use boardwire_server::edge::Accounts;
use tempfile::TempDir;

use super::*;

/// Makes an accounts file with the binary. Returns its folder, its path, and the accounts' tokens.
fn accounts<const N: usize>(each: [(&str, &str); N]) -> (TempDir, PathBuf, [String; N]) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("accounts.toml");
    let mut text = String::new();
    let tokens = each.map(|(name, quotas)| {
        let made = Command::new(env!("CARGO_BIN_EXE_boardwire")).args(["token", name]).output();
        let made = made.expect("the program starts");
        text += &String::from_utf8(made.stdout).expect("text");
        text += quotas;
        text.push('\n');
        let stderr = String::from_utf8(made.stderr).expect("text");
        stderr.trim().rsplit(' ').next().expect("a token").to_owned()
    });
    std::fs::write(&file, text).expect("the folder is ours");
    (folder, file, tokens)
}

fn access(file: PathBuf) -> Access {
    let accounts = Accounts::load(file).expect("the file is good");
    Access { accounts: Some(Arc::new(accounts)), ..Access::default() }
}

/// Returns a request with the token of an account.
fn from<T>(token: &str, message: T) -> tonic::Request<T> {
    let mut request = tonic::Request::new(message);
    request.metadata_mut().insert("boardwire-token", token.parse().expect("a token is ASCII"));
    request
}

fn create() -> CreateMatchRequest {
    CreateMatchRequest {
        config: Some(MatchConfig {
            game: "faraway".to_owned(),
            players: players(&["agent", "random"]),
            ..MatchConfig::default()
        }),
        ..CreateMatchRequest::default()
    }
}

fn open(environments: u32) -> OpenBatchRequest {
    OpenBatchRequest {
        config: Some(BatchConfig {
            game: "faraway".to_owned(),
            line_ups: vec![LineUp { players: players(&["agent", "random"]) }],
            environments,
            ..BatchConfig::default()
        }),
        ..OpenBatchRequest::default()
    }
}

#[tokio::test]
async fn every_call_except_health_checks_needs_a_token() {
    let (_folder, file, [token]) = accounts([("ada", "")]);
    let server = EdgeServer::start(access(file)).await;
    let mut raw = server.raw().await;
    for path in [
        "/boardwire.v1.CatalogService/ListGames",
        "/boardwire.v1.MatchService/Play",
        "/boardwire.v1.BatchService/StepBatch",
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        "/boardwire.v1.MatchService/Undo",
        "/chess.v1.Chess/Move",
    ] {
        let refused = raw.call(path, b"").await.code_and_reason();
        assert_eq!(refused, (Code::Unauthenticated, "CALLER_TOKEN_MISSING".to_owned()), "{path}");
        let wrong = request(path).header("boardwire-token", "guessed");
        let refused = raw.send(wrong, framed(0, b"")).await.code_and_reason();
        assert_eq!(refused, (Code::Unauthenticated, "CALLER_TOKEN_WRONG".to_owned()), "{path}");
    }
    let healthy = raw.call("/grpc.health.v1.Health/Check", b"").await;
    assert_eq!(healthy.headers["grpc-status"], "0");
    let good = request("/boardwire.v1.CatalogService/ListGames").header("boardwire-token", &token);
    assert_eq!(raw.send(good, framed(0, b"")).await.headers["grpc-status"], "0");
}

#[tokio::test]
async fn limits_by_caller_are_limits_by_account() {
    let (_folder, file, [ada, bob]) =
        accounts([("ada", "matches = 1\nenvironments = 4\n"), ("bob", "matches = 2\n")]);
    let server = EdgeServer::start(access(file)).await;
    // There are two connections of one account, and two accounts on one connection.
    let (one, other) = (server.channel().await, server.channel().await);
    let matches = |channel: &Channel| MatchServiceClient::new(channel.clone());
    let full = |status: Status| (reason(&status), status.message().to_owned());
    matches(&one).create_match(from(&ada, create())).await.expect("ada has no match yet");
    let refused = matches(&other).create_match(from(&ada, create())).await.expect_err("ada has one match");
    let message = "you have 1 matches, the limit for one caller; close one first";
    assert_eq!(full(refused), ("CALLER_FULL".to_owned(), message.to_owned()));
    for _ in 0..2 {
        matches(&one).create_match(from(&bob, create())).await.expect("he may have two");
    }
    let batches = |channel: &Channel| BatchServiceClient::new(channel.clone());
    batches(&one).open_batch(from(&ada, open(3))).await.expect("she may have four");
    let refused = batches(&other).open_batch(from(&ada, open(2))).await.expect_err("she has three");
    assert_eq!(reason(&refused), "CALLER_FULL");
    batches(&other).open_batch(from(&ada, open(1))).await.expect("she may have four");
    batches(&other).open_batch(from(&bob, open(64))).await.expect("he has the default limit");
    let server = CatalogServiceClient::new(one).get_server(from(&ada, GetServerRequest::default())).await;
    let limits = server.expect("a response").into_inner().server.expect("a server").limits.expect("limits");
    assert_eq!((limits.matches_per_caller, limits.environments_per_caller), (1, 4));
}

#[tokio::test]
async fn each_account_has_its_own_rate() {
    let (_folder, file, [slow, fast]) = accounts([("slow", "calls = 3\n"), ("fast", "calls = 0\n")]);
    let bounds = Bounds { rate: 20, ..Bounds::default() };
    let server = EdgeServer::start(Access { bounds, ..access(file) }).await;
    let mut client = CatalogServiceClient::new(server.channel().await);
    let mut refusals = async |token: &str| {
        let mut refused = 0;
        for _ in 0..60 {
            match client.list_games(from(token, ListGamesRequest::default())).await {
                Ok(_) => {}
                Err(status) => {
                    assert_eq!(reason(&status), "RATE_EXCEEDED");
                    refused += 1;
                }
            }
        }
        refused
    };
    assert!(refusals(&slow).await > 40);
    assert_eq!(refusals(&fast).await, 0);
}

#[tokio::test]
async fn guessing_tokens_is_rate_limited() {
    let (_folder, file, [ada]) = accounts([("ada", "")]);
    let bounds = Bounds { rate: 5, ..Bounds::default() };
    let server = EdgeServer::start(Access { bounds, ..access(file) }).await;
    let mut client = CatalogServiceClient::new(server.channel().await);
    let mut reasons = vec![];
    for guess in 0..20 {
        let refused = client.list_games(from(&format!("guess-{guess}"), ListGamesRequest::default())).await;
        reasons.push(reason(&refused.expect_err("the token is wrong")));
    }
    assert!(reasons.starts_with(&["CALLER_TOKEN_WRONG".to_owned()]));
    assert!(reasons.contains(&"RATE_EXCEEDED".to_owned()), "{reasons:?}");
    client
        .list_games(from(&ada, ListGamesRequest::default()))
        .await
        .expect("the rate of an account is separate");
}

#[tokio::test]
async fn revoking_a_token_ends_its_calls() {
    let (_folder, file, [ada, bob]) = accounts([("ada", ""), ("bob", "")]);
    let access = access(file.clone());
    let accounts = access.accounts.clone().expect("accounts");
    let server = EdgeServer::start(access).await;
    let mut client = MatchServiceClient::new(server.channel().await);
    let created = client.create_match(from(&ada, create())).await.expect("the match is created").into_inner();
    let match_id = created.r#match.expect("a match").id;
    let watch = WatchRequest { match_id: match_id.clone(), ..WatchRequest::default() };
    let mut watching = vec![];
    for token in [&ada, &bob] {
        let mut frames =
            client.watch(from(token, watch.clone())).await.expect("every caller may watch").into_inner();
        frames.message().await.expect("the stream continues").expect("the deal");
        watching.push(frames);
    }
    let text = std::fs::read_to_string(&file).expect("the accounts file exists");
    let of_bob = text.rfind("[[account]]").expect("bob has an account");
    std::fs::write(&file, &text[of_bob..]).expect("the folder is ours");
    accounts.reload().expect("the file is valid");
    let ended = watching[0].message().await.expect_err("ada's token is revoked");
    assert_eq!(reason(&ended), "CALLER_TOKEN_WRONG");
    let refused = client.list_matches(from(&ada, ListMatchesRequest::default())).await;
    assert_eq!(reason(&refused.expect_err("ada's token is revoked")), "CALLER_TOKEN_WRONG");
    let close = CloseMatchRequest { match_id };
    let mut close = from(&bob, close);
    let host = format!("Bearer {}", created.host_token);
    close.metadata_mut().insert("authorization", host.parse().expect("a token is ASCII"));
    client.close_match(close).await.expect("the host's token is good");
    assert!(
        watching[1].message().await.expect("bob's call continues").is_none(),
        "the stream ends with the match"
    );
}

#[tokio::test]
async fn a_request_id_belongs_to_its_account() {
    let (_folder, file, [ada, bob]) = accounts([("ada", ""), ("bob", "")]);
    let server = EdgeServer::start(access(file)).await;
    let mut client = MatchServiceClient::new(server.channel().await);
    let request_id = "7b0b9f0e-53a0-4e0e-8f5b-6a5a0e6f5a11".to_owned();
    let create = CreateMatchRequest { request_id, ..create() };
    let first =
        client.create_match(from(&ada, create.clone())).await.expect("the match is created").into_inner();
    let again = client
        .create_match(from(&ada, create.clone()))
        .await
        .expect("the repeated request is answered")
        .into_inner();
    assert_eq!(first, again);
    let refused =
        client.create_match(from(&bob, create)).await.expect_err("the request id is another caller's");
    assert_eq!(reason(&refused), "REQUEST_ID_REUSED");
}
