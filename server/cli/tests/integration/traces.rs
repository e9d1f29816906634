//! Tests traces for an OpenTelemetry collector: spans continue the caller's trace and contain no secrets.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use boardwire_api::v1::match_service_client::MatchServiceClient;
use boardwire_api::v1::{ActRequest, CreateMatchRequest, JoinMatchRequest, MatchConfig, ObserveRequest};
use boardwire_batch::messages::players;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::{Channel, Server};
use tonic::{Request, Response, Status};

/// The ids of the caller's trace and of its span.
const TRACE: [u8; 16] = [0x5a; 16];
const PARENT: [u8; 8] = [0x3c; 8];

/// A collector that stores all received spans.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<ExportTraceServiceRequest>>>);

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        self.0.lock().expect("the lock is not poisoned").push(request.into_inner());
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

impl Collector {
    /// Starts to collect. Returns the address.
    async fn start(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a port");
        let address = listener.local_addr().expect("the listener is bound");
        let service = TraceServiceServer::new(self.clone());
        let serving = Server::builder().add_service(service);
        tokio::spawn(serving.serve_with_incoming(TcpListenerStream::new(listener)));
        format!("http://{address}")
    }

    fn spans(&self) -> Vec<Span> {
        let sent = self.0.lock().expect("the lock is not poisoned");
        let scopes = sent.iter().flat_map(|sent| &sent.resource_spans).flat_map(|spans| &spans.scope_spans);
        scopes.flat_map(|scope| scope.spans.clone()).collect()
    }
}

fn attribute(span: &Span, key: &str) -> Option<String> {
    let found = span.attributes.iter().find(|attribute| attribute.key == key)?;
    match found.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text.clone()),
        Value::IntValue(number) => Some(number.to_string()),
        other => panic!("{key}: {other:?}"),
    }
}

/// Plays one decision of a match. Returns the match's id and its secrets.
async fn play(address: String) -> (String, Vec<String>) {
    let channel =
        Channel::from_shared(address).expect("an address").connect().await.expect("the server listens");
    let mut client = MatchServiceClient::new(channel);
    let players = players(&["agent", "random"]);
    let create = CreateMatchRequest {
        config: Some(MatchConfig { game: "faraway".to_owned(), players, ..MatchConfig::default() }),
        ..CreateMatchRequest::default()
    };
    let created = client.create_match(create).await.expect("the match is created").into_inner();
    let code = created.invitations[0].code.clone();
    let join = JoinMatchRequest { code: code.clone(), ..JoinMatchRequest::default() };
    let token = client.join_match(join).await.expect("the seat is free").into_inner().token;
    let match_id = created.r#match.expect("a match").id;
    let mut observe =
        Request::new(ObserveRequest { match_id: match_id.clone(), wait: true, ..ObserveRequest::default() });
    let bearer: tonic::metadata::MetadataValue<_> = format!("Bearer {token}").parse().expect("a token");
    observe.metadata_mut().insert("authorization", bearer.clone());
    let response = client.observe(observe).await.expect("the observation is returned").into_inner();
    let observation = response.observation.expect("an observation");
    let byte = observation.mask.iter().position(|byte| *byte != 0).expect("the seat owes a decision");
    let action = u32::try_from(byte).expect("few") * 8 + observation.mask[byte].trailing_zeros();
    let mut act = Request::new(ActRequest { match_id: match_id.clone(), action, ..ActRequest::default() });
    act.metadata_mut().insert("authorization", bearer);
    let parent = format!("00-{:032x}-{:016x}-01", u128::from_be_bytes(TRACE), u64::from_be_bytes(PARENT));
    act.metadata_mut().insert("traceparent", parent.parse().expect("a parent"));
    client.act(act).await.expect("the action is legal");
    (match_id, vec![code, token, created.host_token, created.spectator_token])
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_continue_the_callers_trace() {
    let (collector, folder) = (Collector::default(), tempfile::tempdir().expect("a folder"));
    let endpoint = collector.start().await;
    let mut server = Command::new(env!("CARGO_BIN_EXE_boardwire"))
        .args(["serve", "--listen=127.0.0.1:0", "--exit-with-stdin", "--log-level=off"])
        .arg(format!("--journal={}", folder.path().join("journal").display()))
        .arg(format!("--otlp-endpoint={endpoint}"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let line = BufReader::new(server.stdout.take().expect("stdout is piped")).lines().next();
    let line = line.expect("the server listens").expect("UTF-8");
    let address = line.strip_prefix("listening on ").expect("an address");
    let (match_id, secrets) = play(format!("http://{address}")).await;
    drop(server.stdin.take());
    assert!(
        tokio::task::spawn_blocking(move || server.wait())
            .await
            .expect("no panic")
            .expect("the server ends")
            .success()
    );

    let spans = collector.spans();
    let named = |name: &str| spans.iter().filter(|span| span.name == name).cloned().collect::<Vec<_>>();
    for method in ["CreateMatch", "JoinMatch", "Observe", "Act"] {
        assert_eq!(named(&format!("boardwire.v1.MatchService/{method}")).len(), 1, "{method}");
    }
    let call = &named("boardwire.v1.MatchService/Act")[0];
    assert_eq!((&call.trace_id[..], &call.parent_span_id[..]), (&TRACE[..], &PARENT[..]));
    let act = &named("act")[0];
    assert_eq!((&act.trace_id, &act.parent_span_id), (&call.trace_id, &call.span_id));
    assert_eq!(attribute(act, "match_id"), Some(match_id));
    assert_eq!(attribute(act, "seat").as_deref(), Some("0"));
    let is_of_trace = |span: &Span| span.trace_id == TRACE;
    assert!(named("journal").iter().any(is_of_trace), "the trace has the time of the disk");
    let sent: Vec<u8> = collector
        .0
        .lock()
        .expect("the lock is not poisoned")
        .iter()
        .flat_map(Message::encode_to_vec)
        .collect();
    for secret in secrets {
        assert!(!sent.windows(secret.len()).any(|part| part == secret.as_bytes()), "a secret was sent");
    }
}

#[test]
fn an_invalid_collector_is_refused() {
    for (endpoint, problem) in [
        ("nonsense", "`nonsense`: expected http://HOST:PORT"),
        ("https://localhost:4317", "`https://localhost:4317`: expected http://HOST:PORT"),
        ("http://", "`http://`: invalid exporter configuration"),
    ] {
        let refused = Command::new(env!("CARGO_BIN_EXE_boardwire"))
            .args(["serve", "--listen=127.0.0.1:0", "--otlp-endpoint", endpoint])
            .output()
            .expect("the program starts");
        let stderr = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && stderr.contains(problem), "{stderr}");
    }
}
