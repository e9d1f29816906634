use std::sync::PoisonError;

use boardwire_api::v1::catalog_service_client::CatalogServiceClient;
use boardwire_api::v1::{
    GetGameRequest, GetServerRequest, GetServerResponse, ListGamesRequest, ListGamesResponse,
};
use boardwire_batch::pool::Pool;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tonic::Code;
use tonic_types::StatusExt as _;
use tracing::Level;

use super::*;
use crate::batches::{BatchLimits, Batches};
use boardwire_api::Error;

/// A service with a method that panics.
struct FaultyService;

#[expect(clippy::unused_async, reason = "handlers are asynchronous")]
impl FaultyService {
    async fn get_server(self: Arc<Self>, call: Call, _: GetServerRequest) -> Result<Reply, Error> {
        call.reply(&GetServerResponse::default())
    }

    async fn list_games(self: Arc<Self>, call: Call, _: ListGamesRequest) -> Result<Reply, Error> {
        let (caller, free) = (call.caller(), call.budget().free());
        let (number, origin, token) = (caller.connection_id().0, caller.origin(), call.token());
        let next_page_token = format!("{number} from {origin} with {token:?}, {free} bytes");
        call.reply(&ListGamesResponse { games: vec![], next_page_token })
    }

    async fn get_game(self: Arc<Self>, _: Call, request: GetGameRequest) -> Result<Reply, Error> {
        panic!("no {}", request.game);
    }
}

/// A client of that service.
async fn client() -> CatalogServiceClient<tonic::transport::Channel> {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = format!("http://{}", listener.local_addr().expect("the listener is bound"));
    let service =
        Service::new("boardwire.v1.CatalogService", ServiceKind::Boardwire, Arc::new(FaultyService))
            .unary("GetServer", FaultyService::get_server)
            .unary("ListGames", FaultyService::list_games)
            .unary("GetGame", FaultyService::get_game);
    let pool = Arc::new(Pool::new(1).expect("a thread starts"));
    let batches = Arc::new(Batches::new(BatchLimits::default(), None, pool));
    let (stop, stopping) = watch::channel(false);
    let edge = Edge::new(Access::default(), Methods::default().with(service), batches, stopping);
    tokio::spawn(async move {
        crate::run::serve_grpc(Arc::new(edge), listener).await;
        drop(stop);
    });
    CatalogServiceClient::connect(address).await.expect("the server runs")
}

#[tokio::test]
async fn a_call_knows_its_caller_and_its_token() {
    let mut request = tonic::Request::new(ListGamesRequest::default());
    request.metadata_mut().insert("authorization", "Bearer abc".parse().expect("a header"));
    let response = client().await.list_games(request).await.expect("the call succeeds").into_inner();
    assert_eq!(response.next_page_token, "1 from host 127.0.0.1 with Some(\"abc\"), 134217728 bytes");
}

#[tokio::test]
async fn a_panic_is_an_error_and_the_connection_continues() {
    let mut client = client().await;
    for _ in 0..2 {
        let request = GetGameRequest { game: "secret".to_owned(), ..GetGameRequest::default() };
        let status = client.get_game(request).await.expect_err("the method panics");
        assert_eq!(status.code(), Code::Internal);
        let info = status.get_details_error_info().expect("every status carries ErrorInfo");
        assert_eq!((info.reason.as_str(), info.domain.as_str()), ("INTERNAL", "boardwire.v1"));
        assert!(!format!("{status:?}").contains("secret"));
        client.list_games(ListGamesRequest::default()).await.expect("the connection continues");
    }
}

/// The log as text.
#[derive(Clone, Default)]
struct LogBuffer(Arc<std::sync::Mutex<Vec<u8>>>);

impl std::io::Write for LogBuffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn calls_are_traced_without_their_tokens() {
    let log = LogBuffer::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(Level::TRACE)
        .with_writer(move || writer.clone())
        .with_ansi(false)
        .finish();
    // The runtime has one thread, so that this subscriber gets all of its logs.
    let _guard = tracing::subscriber::set_default(subscriber);
    let mut client = client().await;
    client.list_games(ListGamesRequest::default()).await.expect("the call succeeds");
    // If another test called first, on a thread without a log, tracing has cached for all threads that nothing is logged.
    tracing::callsite::rebuild_interest_cache();
    let mut request = tonic::Request::new(ListGamesRequest::default());
    request.metadata_mut().insert("authorization", "Bearer very-secret".parse().expect("a header"));
    request.metadata_mut().insert("boardwire-token", "very-secret".parse().expect("a header"));
    request.metadata_mut().insert("x-request-id", "mine-7".parse().expect("a header"));
    client.list_games(request).await.expect("the call succeeds");
    let log = String::from_utf8(log.0.lock().expect("no panic").clone()).expect("the log is text");
    let ours: Vec<&str> = log.lines().filter(|line| line.contains("call{")).collect();
    assert!(ours.iter().any(|line| {
        line.contains("method=\"/boardwire.v1.CatalogService/ListGames\"")
            && line.contains("id=\"mine-7\"")
            && line.contains("connection=1")
    }));
    assert!(ours.iter().all(|line| !line.contains("very-secret")), "{ours:#?}");
}
