//! The methods that are served, and what each takes.
//!
//! The list is read from the descriptors, so that a new method needs no line here.

use std::collections::HashMap;
use std::sync::Arc;

use prost::Message as _;
use prost_types::FileDescriptorSet;
use tonic::codegen::http::Request;

use crate::error::ServiceError;
use crate::run::MAX_MESSAGE_BYTES;

/// The most bytes of a message to a method that takes no bulk.
pub(crate) const MAX_SMALL_MESSAGE_BYTES: usize = 64 << 10;
/// The most bytes of a message with actions or seeds: eight for each environment of the largest batch.
const MAX_COLUMN_BYTES: usize = 4 << 20;
/// The methods whose messages grow with the number of environments, and their most bytes. None of their fields holds
/// more memory than its bytes: they are words, bytes and packed numbers.
const BULK: &[(&str, usize)] = &[
    ("Advance", MAX_COLUMN_BYTES),
    ("LoadBatch", MAX_MESSAGE_BYTES),
    ("ResetBatch", MAX_COLUMN_BYTES),
    ("Rollout", MAX_COLUMN_BYTES),
    ("RunBatch", MAX_COLUMN_BYTES),
    ("StepBatch", MAX_COLUMN_BYTES),
];
/// The service whose calls come before all others.
const HEALTH: &str = "grpc.health.v1.Health";

/// What kind of call a method is, by which calls are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One message each way.
    Call,
    /// A stream in either direction.
    Stream,
    /// One message each way, about the server's health.
    Health,
}

/// A method that is served; every request to it finds it among its extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Method {
    /// What kind of call it is.
    pub(crate) kind: Kind,
    /// The most bytes of a message to it.
    pub(crate) message_bytes: usize,
    /// Whether a server that stops waits for calls of it to end. Streams that are not the protocol's end with their
    /// connections: watches of its health would go on for ever.
    pub(crate) is_awaited: bool,
    /// Whether it is for everybody: no account is needed for asking whether the server is well.
    pub(crate) is_open: bool,
}

/// The methods that are served, by service and name.
#[derive(Debug, Clone)]
pub(crate) struct Methods(Arc<HashMap<String, HashMap<String, Method>>>);

impl Methods {
    /// Those of all services.
    pub(crate) fn served() -> Self {
        let sets = [
            (boardwire_api::DESCRIPTORS, true),
            (tonic_health::pb::FILE_DESCRIPTOR_SET, false),
            (tonic_reflection::pb::v1::FILE_DESCRIPTOR_SET, false),
        ];
        let mut services = HashMap::<String, HashMap<String, Method>>::new();
        for (set, is_own) in sets {
            let set = FileDescriptorSet::decode(set).expect("descriptors are generated");
            for file in set.file {
                for service in file.service {
                    let name = format!("{}.{}", file.package.as_deref().unwrap_or_default(), service.name());
                    let methods = service.method.iter().map(|method| {
                        let kind = if method.client_streaming() || method.server_streaming() {
                            Kind::Stream
                        } else if name == HEALTH {
                            Kind::Health
                        } else {
                            Kind::Call
                        };
                        let bulk = BULK.iter().find(|(name, _)| *name == method.name());
                        let message_bytes = bulk.map_or(MAX_SMALL_MESSAGE_BYTES, |(_, bytes)| *bytes);
                        let (is_awaited, is_open) = (is_own || kind != Kind::Stream, name == HEALTH);
                        (method.name().to_owned(), Method { kind, message_bytes, is_awaited, is_open })
                    });
                    let methods = methods.collect();
                    services.insert(name, methods);
                }
            }
        }
        Self(Arc::new(services))
    }

    /// The method at a path `/SERVICE/METHOD`.
    fn find(&self, path: &str) -> Result<Method, ServiceError> {
        let path = path.strip_prefix('/').unwrap_or(path);
        let (service, method) = path.split_once('/').unwrap_or((path, ""));
        let unknown = || ServiceError::UnknownService { service: service.to_owned() };
        let methods = self.0.get(service).ok_or_else(unknown)?;
        let unknown =
            || ServiceError::UnknownMethod { service: service.to_owned(), method: method.to_owned() };
        methods.get(method).copied().ok_or_else(unknown)
    }

    /// Puts the method of a call among its extensions, if it is served.
    pub(crate) fn look_up<B>(&self, mut request: Request<B>) -> Request<B> {
        if let Ok(method) = self.find(request.uri().path()) {
            request.extensions_mut().insert(method);
        }
        request
    }

    /// Refuses a call of a method that is not served.
    pub(crate) fn check<B>(&self, request: &Request<B>) -> Result<(), ServiceError> {
        if request.extensions().get::<Method>().is_some() {
            return Ok(());
        }
        self.find(request.uri().path()).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_known_by_their_descriptors() {
        let methods = Methods::served();
        let found = |path: &str| methods.find(path).map(|method| (method.kind, method.message_bytes));
        let (small, columns) = (64 << 10, 4 << 20);
        assert_eq!(found("/boardwire.v1.MatchService/Act"), Ok((Kind::Call, small)));
        assert_eq!(found("/boardwire.v1.MatchService/Play"), Ok((Kind::Stream, small)));
        assert_eq!(found("/boardwire.v1.BatchService/OpenBatch"), Ok((Kind::Call, small)));
        assert_eq!(found("/boardwire.v1.BatchService/StepBatch"), Ok((Kind::Call, columns)));
        assert_eq!(found("/boardwire.v1.BatchService/LoadBatch"), Ok((Kind::Call, 64 << 20)));
        assert_eq!(found("/boardwire.v1.BatchService/RunBatch"), Ok((Kind::Stream, columns)));
        assert_eq!(found("/dm_env_rpc.v1.Environment/Process"), Ok((Kind::Stream, small)));
        assert_eq!(found("/grpc.health.v1.Health/Check"), Ok((Kind::Health, small)));
        assert_eq!(found("/grpc.health.v1.Health/Watch"), Ok((Kind::Stream, small)));
        let reflection = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
        assert_eq!(found(reflection), Ok((Kind::Stream, small)));
        let open = |path: &str| methods.find(path).map(|method| method.is_open);
        assert_eq!(open("/grpc.health.v1.Health/Watch"), Ok(true));
        assert_eq!(open(reflection), Ok(false));
        assert_eq!(open("/boardwire.v1.CatalogService/GetServer"), Ok(false));
        let awaited = |path: &str| methods.find(path).map(|method| method.is_awaited);
        assert_eq!(awaited("/boardwire.v1.MatchService/Play"), Ok(true));
        assert_eq!(awaited("/grpc.health.v1.Health/Check"), Ok(true));
        assert_eq!(awaited("/grpc.health.v1.Health/Watch"), Ok(false));
        assert_eq!(awaited(reflection), Ok(false));
    }

    #[test]
    fn unknown_paths_are_named() {
        let methods = Methods::served();
        let found = |path: &str| methods.find(path).expect_err("it is unknown").refusal().reason;
        for path in ["/chess.v1.Chess/Move", "/", "*", "", "//", "/boardwire.v1.Match/Act"] {
            assert_eq!(found(path), "SERVICE_UNKNOWN", "{path}");
        }
        for path in [
            "/boardwire.v1.MatchService/Undo",
            "/boardwire.v1.MatchService",
            "/boardwire.v1.MatchService/Act/",
        ] {
            assert_eq!(found(path), "METHOD_UNKNOWN", "{path}");
        }
    }

    #[test]
    fn every_method_of_bulk_is_served() {
        let methods = Methods::served();
        for (name, _) in BULK {
            let is_served = ["Batch", "Search"].iter().any(|plane| {
                let path = format!("/boardwire.v1.{plane}Service/{name}");
                methods.find(&path).is_ok()
            });
            assert!(is_served, "{name}");
        }
    }
}
