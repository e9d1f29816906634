//! Helpers for an agent in Rust, in addition to the stubs: channel, token, legal actions, error reason.
//!
//! This example plays the lowest legal action until its episode is over. `tests/rust` in the repository has an agent that
//! uses the stream `Play` and reconnects after a lost connection. `docs/agents.md` describes the rest.
//!
//! ```no_run
//! use boardwire_api::client::{Tokens, connect, legal_actions};
//! use boardwire_api::v1::match_service_client::MatchServiceClient;
//! use boardwire_api::v1::{ActRequest, JoinMatchRequest, ObserveRequest};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (code, request_id) = (String::new(), String::new());
//! let channel = connect("127.0.0.1:50051", None)?;
//! // With a request id (a new random UUID), the client can retry a join after a lost response.
//! let join = JoinMatchRequest { code, request_id, ..JoinMatchRequest::default() };
//! let joined = MatchServiceClient::new(channel.clone()).join_match(join).await?.into_inner();
//! let match_id = joined.r#match.ok_or("no match")?.id;
//!
//! let mut seat = MatchServiceClient::with_interceptor(channel, Tokens::new(None)?.with_bearer(&joined.token)?);
//! let observe = ObserveRequest { match_id: match_id.clone(), wait: true, extras: None };
//! let mut observation = seat.observe(observe).await?.into_inner().observation.ok_or("no observation")?;
//! while !(observation.terminated || observation.truncated) {
//!     let action = legal_actions(&observation.mask).next().ok_or("no legal action")?;
//!     let (episode, decision) = (observation.episode, observation.decision);
//!     let act = ActRequest { match_id: match_id.clone(), episode, decision, action, wait: true, ..ActRequest::default() };
//!     observation = seat.act(act).await?.into_inner().observation.ok_or("no observation")?;
//! }
//! println!("{:?}", observation.outcome);
//! # Ok(())
//! # }
//! ```

use std::time::Duration;

use prost::Message as _;
use tonic::metadata::errors::InvalidMetadataValue;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Error};
use tonic::{Code, Request, Status};
use tonic_types::{StatusExt as _, pb};

/// The timeout for opening a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The keepalive interval. After this long without data, the client pings the server.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(30);
/// The HTTP/2 flow-control window of a stream in bytes.
const STREAM_WINDOW: u32 = 4 << 20;
/// The HTTP/2 flow-control window of a connection in bytes.
const CONNECTION_WINDOW: u32 = 16 << 20;

/// Returns a channel to `host:port` or `unix:/path`. With the certificate of the server's CA, as PEM, it uses TLS. It
/// connects at the first call, and reconnects after a lost connection.
///
/// # Errors
/// The address or the certificate is not valid.
///
/// # Panics
/// The call is outside a Tokio runtime.
pub fn connect(address: &str, ca: Option<&[u8]>) -> Result<Channel, Error> {
    let scheme = if ca.is_some() { "https" } else { "http" };
    let is_unix = address.starts_with("unix:");
    let address = if is_unix { address.to_owned() } else { format!("{scheme}://{address}") };
    let mut endpoint = Endpoint::from_shared(address)?
        .connect_timeout(CONNECT_TIMEOUT)
        .http2_keep_alive_interval(KEEPALIVE_INTERVAL)
        .keep_alive_while_idle(true)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW);
    if let Some(ca) = ca {
        let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(ca));
        endpoint = endpoint.tls_config(tls)?;
    }
    Ok(endpoint.connect_lazy())
}

/// An interceptor that sends tokens with every call: of an account, and of a seat, a host or a batch owner.
#[derive(Debug, Clone)]
pub struct Tokens {
    account: Option<MetadataValue<Ascii>>,
    bearer: Option<MetadataValue<Ascii>>,
}

impl Tokens {
    /// Creates an interceptor that sends the token of an account, if there is one.
    ///
    /// # Errors
    /// The token has bytes that are not allowed in gRPC metadata.
    pub fn new(account: Option<&str>) -> Result<Self, InvalidMetadataValue> {
        Ok(Self { account: account.map(secret_value).transpose()?, bearer: None })
    }

    /// Also sends the token in the response of a join, create or open call.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_bearer(self, token: &str) -> Result<Self, InvalidMetadataValue> {
        Ok(Self { bearer: Some(secret_value(&format!("Bearer {token}"))?), ..self })
    }
}

fn secret_value(text: &str) -> Result<MetadataValue<Ascii>, InvalidMetadataValue> {
    let mut value: MetadataValue<Ascii> = text.parse()?;
    value.set_sensitive(true);
    Ok(value)
}

impl Interceptor for Tokens {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        for (key, value) in [("boardwire-token", &self.account), ("authorization", &self.bearer)] {
            if let Some(value) = value {
                request.metadata_mut().insert(key, value.clone());
            }
        }
        Ok(request)
    }
}

/// Returns the legal actions of a mask in ascending order: action `i` is bit `i % 8` of byte `i / 8`.
///
/// ```
/// assert_eq!(boardwire_api::client::legal_actions(&[0b101, 0b10]).collect::<Vec<_>>(), [0, 2, 9]);
/// ```
pub fn legal_actions(mask: &[u8]) -> impl Iterator<Item = u32> {
    let bits = (0_u32..).zip(mask.iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1)));
    bits.filter_map(|(action, legal)| legal.then_some(action))
}

/// Returns the server's error reason from `ErrorInfo`, such as `DECISION_STALE`. `None` if the error does not come from
/// the server, for example after a lost connection.
#[must_use]
pub fn error_reason(status: &Status) -> Option<String> {
    Some(status.get_details_error_info()?.reason)
}

/// Converts an error in a stream response to the status that a unary call would have returned.
#[must_use]
pub fn stream_error_status(error: &pb::Status) -> Status {
    Status::with_details(Code::from_i32(error.code), error.message.as_str(), error.encode_to_vec().into())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use tonic_types::{ErrorDetails, StatusExt as _, pb};

    use super::*;

    #[test]
    fn addresses_are_hosts_or_sockets() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let _inside = runtime.enter();
        for good in ["127.0.0.1:50051", "localhost:1", "unix:/tmp/socket"] {
            connect(good, None).expect(good);
        }
        connect("no address", None).expect_err("it has a space");
    }

    #[test]
    fn tokens_are_metadata_and_hidden_from_logs() {
        let mut tokens =
            Tokens::new(Some("ada")).and_then(|tokens| tokens.with_bearer("seat")).expect("ASCII");
        let sent = tokens.call(Request::new(())).expect("nothing is refused");
        let value = |key: &str| sent.metadata().get(key).and_then(|value| value.to_str().ok());
        assert_eq!((value("boardwire-token"), value("authorization")), (Some("ada"), Some("Bearer seat")));
        assert!(!format!("{tokens:?}").contains("ada"), "{tokens:?}");
        let sent = Tokens::new(None).expect("no token").call(Request::new(())).expect("nothing is refused");
        assert!(sent.metadata().is_empty());
    }

    #[test]
    fn a_stream_error_keeps_code_message_and_reason() {
        let details = ErrorDetails::with_error_info("DECISION_STALE", "boardwire.v1", HashMap::new());
        let status = Status::with_error_details(Code::Aborted, "late", details);
        let sent = pb::Status::decode(status.details()).expect("its details are a status");
        let refused = stream_error_status(&sent);
        assert_eq!((refused.code(), refused.message()), (Code::Aborted, "late"));
        assert_eq!(error_reason(&refused).as_deref(), Some("DECISION_STALE"));
        assert_eq!(error_reason(&Status::unavailable("gone")), None);
    }
}
