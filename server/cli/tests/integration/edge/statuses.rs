//! Tests responses to invalid requests.

use std::time::Duration;

use boardwire_api::v1::batch_service_client::BatchServiceClient;
use boardwire_api::v1::catalog_service_client::CatalogServiceClient;
use boardwire_batch::messages::players;
use prost::Message as _;

use super::*;

const ACT: &str = "/boardwire.v1.MatchService/Act";
const PLAY: &str = "/boardwire.v1.MatchService/Play";
const OPEN_BATCH: &str = "/boardwire.v1.BatchService/OpenBatch";
const LOAD_BATCH: &str = "/boardwire.v1.BatchService/LoadBatch";
const STEP_BATCH: &str = "/boardwire.v1.BatchService/StepBatch";
const RUN_BATCH: &str = "/boardwire.v1.BatchService/RunBatch";
const HEALTH: &str = "/grpc.health.v1.Health/Check";
const REFLECTION: &str = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
const OLDER_REFLECTION: &str = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";

#[tokio::test]
async fn every_status_of_the_transport_has_a_reason() {
    let server = EdgeServer::start(Bounds::default()).await;
    let mut raw = server.raw().await;
    let unknown_health = tonic_health::pb::HealthCheckRequest { service: "chess".to_owned() };
    let unknown_symbol = tonic_reflection::pb::v1::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(
            tonic_reflection::pb::v1::server_reflection_request::MessageRequest::FileContainingSymbol(
                "chess.Move".to_owned(),
            ),
        ),
    };
    let no_symbol = tonic_reflection::pb::v1::ServerReflectionRequest::default();
    for (path, body, code, reason) in [
        (ACT, framed(0, &[0xff; 9]), Code::Internal, "MESSAGE_UNDECODABLE"),
        (ACT, framed(1, b""), Code::Internal, "MESSAGE_UNDECODABLE"),
        (ACT, framed(7, b""), Code::Internal, "MESSAGE_UNDECODABLE"),
        (ACT, framed(0, &[0; 9]).slice(..9), Code::Internal, "MESSAGE_UNDECODABLE"),
        (ACT, Bytes::new(), Code::Internal, "MESSAGE_MISSING"),
        (ACT, framed(0, &vec![0; 65_537]), Code::ResourceExhausted, "MESSAGE_TOO_LARGE"),
        (ACT, framed(0, b""), Code::NotFound, "MATCH_UNKNOWN"),
        ("/boardwire.v1.MatchService/Undo", framed(0, b""), Code::Unimplemented, "METHOD_UNKNOWN"),
        ("/chess.v1.Chess/Move", framed(0, b""), Code::Unimplemented, "SERVICE_UNKNOWN"),
        (HEALTH, framed(0, &unknown_health.encode_to_vec()), Code::NotFound, "HEALTH_UNKNOWN"),
        (REFLECTION, framed(0, &unknown_symbol.encode_to_vec()), Code::NotFound, "DESCRIPTOR_UNKNOWN"),
        (OLDER_REFLECTION, framed(0, &unknown_symbol.encode_to_vec()), Code::NotFound, "DESCRIPTOR_UNKNOWN"),
        (REFLECTION, framed(0, &no_symbol.encode_to_vec()), Code::InvalidArgument, "FIELD_INVALID"),
    ] {
        let answer = raw.send(request(path), body).await;
        assert_eq!(answer.http, StatusCode::OK);
        assert_eq!(
            answer.code_and_reason(),
            (code, reason.to_owned()),
            "{path}: {}",
            answer.status().message()
        );
    }
    let compressed = request(ACT).header("grpc-encoding", "gzip");
    let answer = raw.send(compressed, framed(1, b"x")).await;
    assert_eq!(answer.code_and_reason(), (Code::Unimplemented, "COMPRESSION_UNSUPPORTED".to_owned()));
    assert_eq!(answer.headers["grpc-accept-encoding"], "identity");
    let long = request(ACT).header("authorization", format!("Bearer {}", "a".repeat(2_000)));
    let answer = raw.send(long, framed(0, b"")).await;
    assert_eq!(answer.code_and_reason(), (Code::Unauthenticated, "TOKEN_TOO_LONG".to_owned()));
}

#[tokio::test]
async fn a_failed_stream_has_a_reason_in_its_trailers() {
    let server = EdgeServer::start(Bounds::default()).await;
    let seat = Seat::join(server.channel().await).await;
    let mut raw = server.raw().await;
    for (message, code, reason) in [
        (framed(0, &[0xff; 9]), Code::Internal, "MESSAGE_UNDECODABLE"),
        (framed(0, &vec![0; 65_537]), Code::ResourceExhausted, "MESSAGE_TOO_LARGE"),
    ] {
        for path in [PLAY, RUN_BATCH] {
            // Batch streams allow larger messages.
            if path == RUN_BATCH && code == Code::ResourceExhausted {
                continue;
            }
            let request = request(path).header("authorization", format!("Bearer {}", seat.token));
            let answer = raw.send(request, message.clone()).await;
            assert_eq!(answer.code_and_reason(), (code, reason.to_owned()), "{path}");
        }
    }
}

#[tokio::test]
async fn requests_other_than_grpc_get_http_errors() {
    let server = EdgeServer::start(Bounds::default()).await;
    let mut raw = server.raw().await;
    for content in ["application/json", "application/grpc-web+proto", "application/grpc+json"] {
        let request = Request::post(format!("http://localhost{ACT}")).header("content-type", content);
        let answer = raw.send(request, Bytes::new()).await;
        assert_eq!(answer.http, StatusCode::UNSUPPORTED_MEDIA_TYPE, "{content}");
        assert!(!answer.headers.contains_key("grpc-status"));
    }
    let none = Request::post(format!("http://localhost{ACT}"));
    assert_eq!(raw.send(none, Bytes::new()).await.http, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    let get = Request::get(format!("http://localhost{ACT}")).header("content-type", "application/grpc");
    assert_eq!(raw.send(get, Bytes::new()).await.http, StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn a_call_ends_at_its_deadline() {
    let server = EdgeServer::start(Bounds::default()).await;
    let seat = Seat::join(server.channel().await).await;
    let observe = ObserveRequest { match_id: seat.match_id.clone(), wait: true, ..Default::default() };
    let mut raw = server.raw().await;
    let request = request("/boardwire.v1.MatchService/Observe");
    let token = format!("Bearer {}", seat.token);
    let request = request.header("authorization", token).header("grpc-timeout", "50m");
    let answer = raw.send(request, framed(0, &observe.encode_to_vec())).await;
    assert_eq!(answer.code_and_reason(), (Code::DeadlineExceeded, "TIMED_OUT".to_owned()));
}

#[tokio::test]
async fn requests_have_ids() {
    let server = EdgeServer::start(Bounds::default()).await;
    let mut raw = server.raw().await;
    let mut ids = vec![];
    for given in [Some("mine-7"), Some("a b"), Some(&*"a".repeat(65)), None] {
        let mut request = request(HEALTH);
        if let Some(given) = given {
            request = request.header("x-request-id", given);
        }
        let answer = raw.send(request, framed(0, b"")).await;
        let id = answer.headers["x-request-id"].to_str().expect("the id is printable").to_owned();
        assert_eq!(given == Some(&id), given == Some("mine-7"));
        ids.push(id);
    }
    ids.dedup();
    assert_eq!(ids.len(), 4);
}

#[tokio::test]
async fn only_bulk_methods_take_large_messages() {
    let server = EdgeServer::start(Bounds::default()).await;
    let mut raw = server.raw().await;
    // The frame header announces 63 MiB. The server refuses it before it reads the body.
    let announced = Bytes::from_static(&[0, 3, 0xf0, 0, 0]);
    let answer = raw.send(request(OPEN_BATCH), announced.clone()).await;
    assert_eq!(answer.code_and_reason(), (Code::ResourceExhausted, "MESSAGE_TOO_LARGE".to_owned()));
    let answer = raw.send(request(STEP_BATCH), announced.clone()).await;
    assert_eq!(answer.code_and_reason(), (Code::ResourceExhausted, "MESSAGE_TOO_LARGE".to_owned()));
    let answer = raw.send(request(LOAD_BATCH), announced).await;
    assert_eq!(
        answer.code_and_reason(),
        (Code::Internal, "MESSAGE_UNDECODABLE".to_owned()),
        "the size is allowed"
    );
    let step = StepBatchRequest { actions: vec![7; 1 << 20].into(), ..StepBatchRequest::default() };
    let answer = BatchServiceClient::new(server.channel().await).step_batch(with_token(step, "x")).await;
    assert_eq!(reason(&answer.expect_err("there is no such batch")), "BATCH_UNKNOWN");
}

#[tokio::test]
async fn huge_values_are_truncated_in_errors() {
    let server = EdgeServer::start(Bounds::default()).await;
    let channel = server.channel().await;
    let mut matches = MatchServiceClient::new(channel.clone());
    let mut batches = BatchServiceClient::new(channel.clone());
    let mut catalog = CatalogServiceClient::new(channel);
    let huge = || "ä".repeat(10_000);
    let game = || "faraway".to_owned();
    let config =
        || MatchConfig { game: game(), players: players(&["agent", "random"]), ..MatchConfig::default() };
    let options = |name: &str, value: &str| [(name.to_owned(), value.to_owned())].into();
    let mut statuses = vec![];
    for (config, request_id) in [
        (MatchConfig { game: huge(), ..config() }, String::new()),
        (MatchConfig { options: options(&huge(), "x"), ..config() }, String::new()),
        (MatchConfig { options: options("variant", &huge()), ..config() }, String::new()),
        (MatchConfig { players: players(&["agent", &huge()]), ..config() }, String::new()),
        (config(), huge()),
    ] {
        let request =
            CreateMatchRequest { config: Some(config), request_id, ..CreateMatchRequest::default() };
        statuses.push(matches.create_match(request).await.expect_err("the request has a huge value"));
    }
    for players in [players(&[&huge(), &huge()]), players(&vec!["random"; 5_000])] {
        let line_ups = vec![LineUp { players }];
        let open = OpenBatchRequest {
            config: Some(BatchConfig { game: game(), line_ups, ..BatchConfig::default() }),
            ..OpenBatchRequest::default()
        };
        statuses.push(batches.open_batch(open).await.expect_err("the request has a huge value"));
    }
    let close = CloseBatchRequest { batch_id: huge() };
    statuses
        .push(batches.close_batch(with_token(close, "x")).await.expect_err("the request has a huge value"));
    let get = GetMatchRequest { match_id: huge(), ..GetMatchRequest::default() };
    statuses.push(matches.get_match(get).await.expect_err("the request has a huge value"));
    let join = JoinMatchRequest { code: huge(), request_id: huge(), ..JoinMatchRequest::default() };
    statuses.push(matches.join_match(join).await.expect_err("the request has a huge value"));
    let list = ListGamesRequest { page_token: huge(), page_size: 0 };
    statuses.push(catalog.list_games(list).await.expect_err("the request has a huge value"));
    let get = GetGameRequest { game: huge(), ..Default::default() };
    statuses.push(catalog.get_game(get).await.expect_err("the request has a huge value"));
    for status in statuses {
        assert!(matches!(status.code(), Code::InvalidArgument | Code::NotFound), "{status:?}");
        reason(&status);
        let headers = status.clone().into_http::<()>();
        let bytes: usize = headers.headers().values().map(HeaderValue::len).sum();
        assert!(bytes < 4_096, "{bytes} bytes: {}", status.message());
    }
    // Errors on streams are messages. They are truncated too.
    let seat = Seat::join(server.channel().await).await;
    let observe = ObserveRequest { match_id: huge(), ..ObserveRequest::default() };
    let request = PlayRequest { tag: 1, request: Some(play_request::Request::Observe(observe)) };
    let requests = with_token(tokio_stream::iter([request]), &seat.token);
    let mut responses = matches.play(requests).await.expect("the stream opens").into_inner();
    let answer = responses.message().await.expect("an answer").expect("an answer").answer;
    let Some(play_response::Answer::Error(error)) = answer else { panic!("{answer:?}") };
    let info = error.get_details_error_info().expect("a reason");
    assert!(error.message.len() < 300 && info.metadata["match_id"].ends_with("… (20000 bytes)"), "{error:?}");
}

#[tokio::test]
async fn twenty_thousand_cancelled_calls_do_no_harm() {
    let server = EdgeServer::start(Bounds::default()).await;
    let channel = server.channel().await;
    let seat = Seat::join(channel.clone()).await;
    let waiting = seat.wait();
    for _ in 0..20 {
        let calls: Vec<_> = (0..1_000).map(|_| seat.wait()).collect();
        tokio::task::yield_now().await;
        calls.iter().for_each(JoinHandle::abort);
    }
    let mut client = seat.client.clone();
    let get = GetMatchRequest { match_id: seat.match_id.clone(), ..GetMatchRequest::default() };
    let response = tokio::time::timeout(Duration::from_mins(1), client.get_match(get)).await;
    response.expect("the call is answered").expect("the connection continues");
    assert!(!waiting.is_finished());
}
