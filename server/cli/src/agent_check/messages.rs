//! The calls and messages between an agent and the server, as far as the check looks at them.

use std::time::Duration;

use boardwire_api::Error;
use boardwire_api::v1::play_request::Request as PlayRequestKind;
use boardwire_api::v1::play_response::Answer;
use boardwire_api::v1::{
    ActRequest, ActResponse, GetMatchResponse, JoinMatchRequest, JoinMatchResponse, Match, Observation,
    ObserveRequest, ObserveResponse, PlayRequest, PlayResponse, ResetRequest, ResetResponse,
};
use boardwire_server::status::status;
use bytes::Bytes;
use prost::Message;
use tonic::Status;
use tonic::codegen::http::HeaderMap;
use tonic::codegen::http::uri::PathAndQuery;
use tonic_types::pb;

use super::proxy::Verdict;

/// A kind of request that scenarios can disturb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    JoinMatch,
    GetGame,
    GetMatch,
    OpenDeal,
    Observe,
    Act,
    Reset,
    Other,
}

/// The tag of a request or a response on the stream.
#[derive(Clone, PartialEq, Eq, Message)]
struct Tagged {
    #[prost(uint32, tag = "1")]
    tag: u32,
}

/// One call of the agent: a single call, or the stream `Play`.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) path: PathAndQuery,
    /// The deadline that the agent sent.
    pub(super) timeout: Option<Duration>,
}

/// A message of the agent.
#[derive(Debug)]
pub(super) enum AgentRequest {
    Join(JoinMatchRequest),
    OpenDeal,
    Observe(ObserveRequest),
    Act(ActRequest),
    Reset(ResetRequest),
    Other(Kind),
}

impl AgentRequest {
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Join(_) => Kind::JoinMatch,
            Self::OpenDeal => Kind::OpenDeal,
            Self::Observe(_) => Kind::Observe,
            Self::Act(_) => Kind::Act,
            Self::Reset(_) => Kind::Reset,
            Self::Other(kind) => *kind,
        }
    }

    /// Whether the request asks the server to wait for players.
    pub(super) fn waits(&self) -> bool {
        match self {
            Self::Observe(request) => request.wait,
            Self::Act(request) => request.wait,
            Self::Reset(request) => request.wait,
            Self::Join(_) | Self::OpenDeal | Self::Other(_) => false,
        }
    }
}

/// A message of the server.
#[derive(Debug)]
pub(super) enum ServerResponse {
    /// The response to a join, or the description of the match.
    Match(Box<Match>),
    Observation(Box<Observation>),
    /// A refusal on the stream.
    Refused,
    Other,
}

/// A refusal that the check injects.
#[derive(Debug, Clone)]
pub(super) enum Refusal {
    /// An error of Boardwire.
    Error(Error),
    /// `UNAVAILABLE` without a reason, as proxies send it.
    WithoutReason,
}

impl Refusal {
    pub(super) fn status(&self) -> Status {
        match self {
            Self::Error(error) => status(error),
            Self::WithoutReason => Status::unavailable("the connection is lost"),
        }
    }

    /// Returns the name of the refusal.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Error(error) => error.report().reason,
            Self::WithoutReason => "UNAVAILABLE without a reason",
        }
    }
}

impl Call {
    pub(super) fn new(path: Option<&PathAndQuery>, headers: &HeaderMap) -> Self {
        let timeout = headers.get("grpc-timeout").and_then(|value| read_timeout(value.to_str().ok()?));
        Self { path: path.cloned().unwrap_or_else(|| PathAndQuery::from_static("/")), timeout }
    }

    /// Returns the method's name without its service.
    fn method(&self) -> &str {
        self.path.path().rsplit('/').next().unwrap_or_default()
    }

    pub(super) fn is_stream(&self) -> bool {
        self.method() == "Play"
    }

    /// Returns the kind of a single call; `Other` for the stream.
    pub(super) fn kind(&self) -> Kind {
        match self.method() {
            "JoinMatch" => Kind::JoinMatch,
            "GetGame" => Kind::GetGame,
            "GetMatch" => Kind::GetMatch,
            "OpenDeal" => Kind::OpenDeal,
            "Observe" => Kind::Observe,
            "Act" => Kind::Act,
            "Reset" => Kind::Reset,
            _ => Kind::Other,
        }
    }

    /// Reads a message of the agent. One that cannot be decoded is `Other`: the server refuses it.
    pub(super) fn read_request(&self, message: &Bytes) -> AgentRequest {
        let other = AgentRequest::Other(self.kind());
        if self.is_stream() {
            return match decoded::<PlayRequest>(message).and_then(|request| request.request) {
                Some(PlayRequestKind::Observe(request)) => AgentRequest::Observe(request),
                Some(PlayRequestKind::Act(request)) => AgentRequest::Act(request),
                Some(PlayRequestKind::Reset(request)) => AgentRequest::Reset(request),
                Some(PlayRequestKind::Resign(_)) | None => other,
            };
        }
        let read = match self.kind() {
            Kind::JoinMatch => decoded(message).map(AgentRequest::Join),
            Kind::OpenDeal => Some(AgentRequest::OpenDeal),
            Kind::Observe => decoded(message).map(AgentRequest::Observe),
            Kind::Act => decoded(message).map(AgentRequest::Act),
            Kind::Reset => decoded(message).map(AgentRequest::Reset),
            Kind::GetGame | Kind::GetMatch | Kind::Other => None,
        };
        read.unwrap_or(other)
    }

    /// Reads a message of the server, and returns the kind of its request. An error on the stream does not name its request, so it has no kind.
    pub(super) fn read_response(&self, message: &Bytes) -> (Option<Kind>, ServerResponse) {
        if self.is_stream() {
            let (kind, observation) =
                match decoded::<PlayResponse>(message).and_then(|response| response.answer) {
                    Some(Answer::Observe(response)) => (Kind::Observe, response.observation),
                    Some(Answer::Act(response)) => (Kind::Act, response.observation),
                    Some(Answer::Reset(response)) => (Kind::Reset, response.observation),
                    Some(Answer::Error(_)) => return (None, ServerResponse::Refused),
                    Some(Answer::Resign(_)) | None => (Kind::Other, None),
                };
            return (Some(kind), observed(observation));
        }
        let of_match = |shown: Option<Match>| {
            shown.map_or(ServerResponse::Other, |shown| ServerResponse::Match(Box::new(shown)))
        };
        let response = match self.kind() {
            Kind::JoinMatch => {
                of_match(decoded::<JoinMatchResponse>(message).and_then(|shown| shown.r#match))
            }
            Kind::GetMatch => of_match(decoded::<GetMatchResponse>(message).and_then(|shown| shown.r#match)),
            Kind::Observe => {
                observed(decoded::<ObserveResponse>(message).and_then(|shown| shown.observation))
            }
            Kind::Act => observed(decoded::<ActResponse>(message).and_then(|shown| shown.observation)),
            Kind::Reset => observed(decoded::<ResetResponse>(message).and_then(|shown| shown.observation)),
            Kind::GetGame | Kind::OpenDeal | Kind::Other => ServerResponse::Other,
        };
        (Some(self.kind()), response)
    }

    /// Returns the verdict that refuses the request of a message: on the stream in a response, otherwise as the status.
    pub(super) fn refuse(&self, message: &Bytes, refusal: &Refusal) -> Verdict {
        let status = refusal.status();
        if !self.is_stream() {
            return Verdict::End(status);
        }
        let tag = decoded::<Tagged>(message).unwrap_or_default().tag;
        let error =
            pb::Status::decode(status.details()).ok().filter(|error| error.code != 0).unwrap_or_else(|| {
                pb::Status { code: status.code().into(), message: status.message().into(), details: vec![] }
            });
        Verdict::Answer(PlayResponse { tag, answer: Some(Answer::Error(error)) }.encode_to_vec().into())
    }

    /// Returns the verdict that shows the end of an episode as a truncation.
    pub(super) fn truncate(&self, message: &Bytes) -> Verdict {
        let cut = |observation: &mut Option<Observation>| {
            if let Some(observation) = observation {
                (observation.terminated, observation.truncated) = (false, true);
                observation.outcome = Some(boardwire_api::v1::Outcome::default());
            }
        };
        match self.kind() {
            Kind::Observe => changed(message, |shown: &mut ObserveResponse| cut(&mut shown.observation)),
            Kind::Act => changed(message, |shown: &mut ActResponse| cut(&mut shown.observation)),
            Kind::Reset => changed(message, |shown: &mut ResetResponse| cut(&mut shown.observation)),
            _ => changed(message, |shown: &mut PlayResponse| match &mut shown.answer {
                Some(Answer::Observe(shown)) => cut(&mut shown.observation),
                Some(Answer::Act(shown)) => cut(&mut shown.observation),
                Some(Answer::Reset(shown)) => cut(&mut shown.observation),
                _ => {}
            }),
        }
    }
}

/// Returns the verdict that sends a message with a change.
fn changed<M: Message + Default>(message: &Bytes, change: impl FnOnce(&mut M)) -> Verdict {
    let mut shown: M = decoded(message).unwrap_or_default();
    change(&mut shown);
    Verdict::Answer(shown.encode_to_vec().into())
}

fn observed(observation: Option<Observation>) -> ServerResponse {
    observation.map_or(ServerResponse::Other, |shown| ServerResponse::Observation(Box::new(shown)))
}

fn decoded<M: Message + Default>(message: &Bytes) -> Option<M> {
    M::decode(&**message).ok()
}

/// Reads the value of `grpc-timeout`: a number and a unit.
fn read_timeout(value: &str) -> Option<Duration> {
    let (number, unit) = value.split_at_checked(value.len().checked_sub(1)?)?;
    let number: u64 = number.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(number.saturating_mul(3_600)),
        "M" => Duration::from_secs(number.saturating_mul(60)),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    })
}
