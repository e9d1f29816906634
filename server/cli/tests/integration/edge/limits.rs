//! Tests limits on calls: bytes and rates.

use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use super::*;

/// A byte limit for three connections and a few calls: the edge counts 64 KiB per connection and 16 KiB per call.
fn bounds() -> Bounds {
    Bounds { bytes: 320 << 10, ..Bounds::default() }
}

#[tokio::test]
async fn calls_beyond_the_byte_limit_are_refused_except_health_checks() {
    let server = EdgeServer::start(bounds()).await;
    let mut seat = Seat::join(server.channel().await).await;
    let mut health = HealthClient::new(server.channel().await);
    // On this separate connection no other call waits.
    let mut other = MatchServiceClient::new(server.channel().await);
    let mut waiting = vec![];
    let mut refused = None;
    wait_until(async || {
        waiting.push(seat.wait());
        refused = other.list_matches(ListMatchesRequest::default()).await.err();
        refused.is_some()
    })
    .await;
    let refused = refused.expect("a call was refused");
    assert_eq!((refused.code(), reason(&refused).as_str()), (Code::ResourceExhausted, "BYTES_FULL"));
    let info = refused.get_details_error_info().expect("the status has an ErrorInfo");
    assert!(["327680", "245760"].contains(&info.metadata["limit"].as_str()), "{info:?}");
    health.check(HealthCheckRequest::default()).await.expect("health checks come through");
    // A cancelled call releases its bytes.
    waiting.iter().for_each(JoinHandle::abort);
    wait_until(async || seat.observe(false).await.is_ok()).await;
}

#[tokio::test]
async fn a_stream_holds_its_bytes_of_the_limit_until_it_ends() {
    // One caller may use three quarters: for its connection, unread data, and 12 streams.
    let server = EdgeServer::start(Bounds { bytes: 1 << 20, ..Bounds::default() }).await;
    let seat = Seat::join(server.channel().await).await;
    let mut client = seat.client.clone();
    let mut streams = vec![];
    let refused = loop {
        let (sender, requests) = tokio::sync::mpsc::channel::<PlayRequest>(1);
        let requests = tokio_stream::wrappers::ReceiverStream::new(requests);
        match client.play(with_token(requests, &seat.token)).await {
            Ok(stream) => streams.push((sender, stream.into_inner())),
            Err(refused) => break refused,
        }
    };
    assert_eq!((refused.code(), reason(&refused).as_str()), (Code::ResourceExhausted, "BYTES_FULL"));
    assert_eq!(streams.len(), 12, "768 KiB, less 64 for the connection and 512 for unread data");
    let (sender, mut first) = streams.remove(0);
    drop(sender);
    assert_eq!(first.message().await.expect("the stream ends without an error"), None);
    wait_until(async || {
        let none = tokio_stream::iter(Vec::<PlayRequest>::new());
        client.play(with_token(none, &seat.token)).await.is_ok()
    })
    .await;
}

#[tokio::test]
async fn calls_of_unknown_methods_count_in_the_rate() {
    let server = EdgeServer::start(Bounds { rate: 5, ..Bounds::default() }).await;
    let (mut raw, mut reasons) = (server.raw().await, vec![]);
    for at in 0..100 {
        let path = if at % 2 == 0 { "/chess.v1.Chess/Move" } else { "/boardwire.v1.MatchService/Undo" };
        reasons.push(raw.call(path, b"").await.code_and_reason().1);
    }
    let first = ["SERVICE_UNKNOWN", "METHOD_UNKNOWN", "SERVICE_UNKNOWN", "METHOD_UNKNOWN", "SERVICE_UNKNOWN"];
    assert_eq!(reasons[..5], first);
    assert!(reasons.iter().any(|reason| reason == "RATE_EXCEEDED"), "{reasons:?}");
}

#[tokio::test]
async fn a_refusal_by_rate_names_the_time_to_retry() {
    let server = EdgeServer::start(Bounds { rate: 2, ..Bounds::default() }).await;
    let mut client = MatchServiceClient::new(server.channel().await);
    // The calls are concurrent: sequential calls might be slow enough to stay below the rate.
    let calls = (0..20).map(|_| {
        let mut client = client.clone();
        tokio::spawn(async move { client.list_matches(ListMatchesRequest::default()).await })
    });
    let responses = futures_util::future::join_all(calls.collect::<Vec<_>>()).await;
    let mut refused = responses.into_iter().filter_map(|answer| answer.expect("no panic").err());
    let refused = refused.next().expect("two are the limit");
    assert_eq!((refused.code(), reason(&refused).as_str()), (Code::ResourceExhausted, "RATE_EXCEEDED"));
    let wait = refused.get_details_retry_info().and_then(|retry| retry.retry_delay).expect("a time");
    assert!(wait <= Duration::from_millis(500), "{wait:?}");
    let mut health = HealthClient::new(server.channel().await);
    for _ in 0..5 {
        health.check(HealthCheckRequest::default()).await.expect("health checks come through");
    }
    tokio::time::sleep(wait).await;
    client.list_matches(ListMatchesRequest::default()).await.expect("the rate limit admits calls again");
}
