//! Tests connections: limits, proxies, timeouts, and a graceful stop.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use super::*;

/// Waits until the server has closed a connection.
pub(super) async fn closed(io: &mut TcpStream) {
    let mut rest = vec![];
    let closed = tokio::time::timeout(Duration::from_mins(1), io.read_to_end(&mut rest)).await;
    // If the server has not read everything, closing ends the connection with a reset.
    let _ = closed.expect("the connection is closed");
}

#[tokio::test]
async fn connections_beyond_the_limit_are_closed_at_once() {
    for bounds in [
        Bounds { connections: 2, ..Bounds::default() },
        Bounds { connections_per_caller: 2, ..Bounds::default() },
    ] {
        let server = EdgeServer::start(bounds).await;
        let first = (server.raw().await, server.tcp().await);
        closed(&mut server.tcp().await).await;
        drop(first);
        wait_until(async || match h2::client::handshake(server.tcp().await).await {
            Ok((sender, connection)) => {
                tokio::spawn(connection);
                sender.ready().await.is_ok()
                    && RawClient::connect(server.tcp().await).await.0.ready().await.is_ok()
            }
            Err(_) => false,
        })
        .await;
    }
}

/// Opens a connection with a PROXY header that names this client.
async fn proxied(server: &EdgeServer, client: [u8; 4]) -> TcpStream {
    let mut io = server.tcp().await;
    let header =
        [b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c".as_slice(), &client, &[10, 0, 0, 1, 0, 1, 0, 2]].concat();
    io.write_all(&header).await.expect("the connection is open");
    io
}

#[tokio::test]
async fn connections_of_a_trusted_proxy_count_for_its_clients() {
    let bounds = Bounds { connections_per_caller: 2, ..Bounds::default() };
    let trusted = Access { proxies: Arc::new([[127, 0, 0, 1].into()]), ..bounds.clone().into() };
    let server = EdgeServer::start(trusted).await;
    let mut raws = vec![];
    for client in [[203, 0, 113, 1], [203, 0, 113, 1], [203, 0, 113, 2]] {
        let mut raw = RawClient::connect(proxied(&server, client).await).await;
        let answer = raw.call("/boardwire.v1.CatalogService/ListGames", b"").await;
        assert_eq!(answer.headers["grpc-status"], "0", "{client:?}");
        raws.push(raw);
    }
    closed(&mut proxied(&server, [203, 0, 113, 1]).await).await;
    // One has no header, the other an invalid header.
    for bytes in [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x01a"] {
        let mut io = server.tcp().await;
        io.write_all(bytes).await.expect("the connection is open");
        closed(&mut io).await;
    }
    // An address that is not a trusted proxy must not name a client.
    for proxies in [vec![], vec![[192, 0, 2, 1].into()]] {
        let server = EdgeServer::start(Access { proxies: proxies.into(), ..bounds.clone().into() }).await;
        closed(&mut proxied(&server, [203, 0, 113, 1]).await).await;
    }
}

#[tokio::test]
async fn a_silent_connection_is_closed() {
    let server =
        EdgeServer::start(Bounds { handshake_timeout: Duration::from_millis(100), ..Bounds::default() })
            .await;
    let (mut silent, mut slow, mut raw) = (server.tcp().await, server.tcp().await, server.raw().await);
    slow.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r").await.expect("the connection is open");
    closed(&mut silent).await;
    closed(&mut slow).await;
    let answer = raw.call("/boardwire.v1.CatalogService/ListGames", b"").await;
    assert_eq!(answer.headers["grpc-status"], "0", "after the handshake a connection may be silent");
}

#[tokio::test]
async fn http_1_is_closed() {
    let server = EdgeServer::start(Bounds::default()).await;
    let mut io = server.tcp().await;
    io.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await.expect("the connection is open");
    closed(&mut io).await;
}

#[tokio::test]
async fn stopping_does_not_wait_for_connections_without_calls() {
    let server = EdgeServer::start(long_drain()).await;
    let mut silent = vec![];
    for _ in 0..20 {
        silent.push(server.tcp().await);
    }
    // This client sends the preface and settings, and then nothing.
    let mut mute = server.tcp().await;
    mute.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .await
        .expect("the connection is open");
    mute.read_exact(&mut [0; 9]).await.expect("the server's settings");
    let (raw, channel) = (server.raw().await, server.channel().await);
    let seat = Seat::join(server.channel().await).await;
    server.stop().await;
    drop((silent, mute, raw, channel, seat));
}

#[tokio::test]
async fn a_stopping_server_reports_not_serving() {
    let server = EdgeServer::start(long_drain()).await;
    let mut client = HealthClient::new(server.channel().await);
    let services =
        ["", "boardwire.v1.MatchService", "boardwire.v1.BatchService", "boardwire.v1.SearchService"];
    let mut watches = vec![];
    for service in services.into_iter().chain(["boardwire.v1.CatalogService"]) {
        let request = HealthCheckRequest { service: service.to_owned() };
        let mut watch = client.watch(request).await.expect("the health service is served").into_inner();
        let now = watch.message().await.expect("the stream continues").expect("there is a status").status;
        assert_eq!(now, i32::from(ServingStatus::Serving), "{service}");
        watches.push((service, watch));
    }
    let stopping = tokio::spawn(server.stop());
    for (service, mut watch) in watches {
        let now = watch.message().await.expect("the stream continues").expect("there is a status").status;
        assert_eq!(now, i32::from(ServingStatus::NotServing), "{service}");
    }
    stopping.await.expect("the server stops");
}

#[tokio::test]
async fn stopping_does_not_wait_for_health_and_reflection_streams() {
    let server = EdgeServer::start(long_drain()).await;
    let mut client = HealthClient::new(server.channel().await);
    let mut watch =
        client.watch(HealthCheckRequest::default()).await.expect("the health service is served").into_inner();
    watch.message().await.expect("the stream continues").expect("there is a status");
    let mut raw = server.raw().await;
    let path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
    let reflect = request(path).body(()).expect("a request");
    let (described, _sending) = raw.0.send_request(reflect, false).expect("the request is sent");
    described.await.expect("the stream has opened");
    server.stop().await;
    let last = watch.message().await.expect("the stream continues").expect("there is a status");
    assert_eq!(last.status(), ServingStatus::NotServing);
}

#[tokio::test]
async fn a_unix_socket_is_removed_before_open_calls_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("socket");
    let socket = UnixSocket::bind(&path).expect("the path is free");
    let server = EdgeServer::start_on(Bounds::default(), |_| Listener::Unix(socket)).await;
    let mut raw = RawClient::connect(UnixStream::connect(&path).await.expect("the server listens")).await;
    // The test never sends the call's message.
    let request = request("/boardwire.v1.MatchService/Act").body(()).expect("a request");
    let (response, _sending) = raw.0.send_request(request, false).expect("the request is sent");
    let answer = raw.call("/boardwire.v1.CatalogService/ListGames", b"").await;
    assert_eq!(answer.headers["grpc-status"], "0", "the server has received the first call");
    server.stop.send(()).expect("the server runs");
    wait_until(async || {
        tokio::task::yield_now().await;
        !path.exists()
    })
    .await;
    assert!(!server.serving.is_finished(), "the call has the drain timeout");
    server.serving.abort();
    drop(response);
}

#[tokio::test]
async fn an_open_call_has_the_drain_timeout_to_end() {
    let drain_timeout = Duration::from_millis(600);
    let server = EdgeServer::start(Bounds { drain_timeout, ..Bounds::default() }).await;
    let mut raw = server.raw().await;
    // The test never sends the call's message.
    let request = request("/boardwire.v1.MatchService/Act").body(()).expect("a request");
    let (response, _sending) = raw.0.send_request(request, false).expect("the request is sent");
    let answer = raw.call("/boardwire.v1.CatalogService/ListGames", b"").await;
    assert_eq!(answer.headers["grpc-status"], "0", "the server has received the first call");
    let start = Instant::now();
    server.stop().await;
    assert!(start.elapsed() >= drain_timeout, "the call has the drain timeout");
    assert!(response.await.is_err());
}

#[tokio::test]
async fn the_server_accepts_again_after_it_had_no_descriptors() {
    let serve = format!("ulimit -n 40; exec {} serve --listen 127.0.0.1:0", env!("CARGO_BIN_EXE_boardwire"));
    let mut process = Command::new("sh")
        .args(["-c", &serve])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a shell");
    let mut line = String::new();
    BufReader::new(process.stdout.take().expect("stdout is piped"))
        .read_line(&mut line)
        .expect("the server prints its address");
    let address = line.trim().strip_prefix("listening on ").expect("an address").to_owned();
    let mut crowd = vec![];
    for _ in 0..60 {
        crowd.push(TcpStream::connect(&address).await.expect("the system accepts the connection"));
    }
    let mut late = TcpStream::connect(&address).await.expect("the system accepts the connection");
    late.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .await
        .expect("the bytes are sent");
    let (start, mut settings) = (Instant::now(), [0; 9]);
    let early = tokio::time::timeout(Duration::from_millis(1_500), late.read_exact(&mut settings)).await;
    assert!(early.is_err(), "there is no descriptor left");
    drop(crowd);
    let served = tokio::time::timeout(Duration::from_mins(1), late.read_exact(&mut settings)).await;
    served.expect("a descriptor is free again").expect("the connection is served");
    process.kill().expect("the server runs");
    let log = process.wait_with_output().expect("the server has ended").stderr;
    let log = String::from_utf8_lossy(&log);
    let warnings = log.lines().filter(|line| line.contains("no connection can be accepted")).count();
    // The server logs immediately, then once per second.
    let maximum = usize::try_from(start.elapsed().as_secs()).expect("a short test") + 3;
    assert!((1..=maximum).contains(&warnings), "{log}");
}
