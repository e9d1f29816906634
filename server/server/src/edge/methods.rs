//! The served methods: the requests and responses of each, and the function that handles it.

use std::collections::HashMap;
use std::sync::Arc;

use prost::Message;
use tonic::codegen::BoxFuture;

use super::call::Call;
use super::wire::{Reply, RequestStream};
use crate::telemetry::timed;
use boardwire_api::{Error, MAX_MESSAGE_BYTES};

type Name = &'static str;
/// A function that reads the request of a call and responds.
type Handler = Box<dyn Fn(Call, RequestStream) -> BoxFuture<Reply, Error> + Send + Sync>;

/// A service's function for one method.
type MethodFn<P, M, F> = fn(Arc<P>, Call, M) -> F;

pub(crate) trait Request: Message + Default + 'static {}
impl<M: Message + Default + 'static> Request for M {}

pub(crate) trait ReplyFuture: Future<Output = Result<Reply, Error>> + Send + 'static {}
impl<F: Future<Output = Result<Reply, Error>> + Send + 'static> ReplyFuture for F {}

pub(crate) struct Method {
    pub(super) handler: Handler,
    /// The maximum size in bytes of a message to the method.
    pub(super) message_bytes: usize,
    pub(super) shape: MethodShape,
    pub(super) kind: ServiceKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MethodShape {
    /// One request, one response.
    Unary,
    /// One request, a stream of responses.
    ServerStreaming,
    /// A stream of requests, a stream of responses.
    BidiStreaming,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServiceKind {
    /// Boardwire's protocol. A stopping server waits for its open calls.
    Boardwire,
    /// Reflection. A stopping server does not wait for its streams, which have no end.
    Reflection,
    /// Health checks. They need no account and no free memory; their streams have no end.
    Health,
}

pub(crate) struct Service<P> {
    name: Name,
    kind: ServiceKind,
    state: Arc<P>,
    methods: HashMap<Name, Method>,
}

impl<P: Send + Sync + 'static> Service<P> {
    /// Creates a service without methods. Each method's function receives `state`.
    pub(crate) fn new(name: Name, kind: ServiceKind, state: Arc<P>) -> Self {
        Self { name, kind, state, methods: HashMap::new() }
    }

    /// Adds a method with one request and one response.
    pub(crate) fn unary<M: Request, F: ReplyFuture>(self, name: Name, run: MethodFn<P, M, F>) -> Self {
        self.add_one_request(name, MethodShape::Unary, |_| false, run)
    }

    /// Adds a method as [`Self::unary`] does. Requests for which `waits` returns true may wait for another player.
    pub(crate) fn unary_that_waits<M: Request, F: ReplyFuture>(
        self,
        name: Name,
        waits: fn(&M) -> bool,
        run: MethodFn<P, M, F>,
    ) -> Self {
        self.add_one_request(name, MethodShape::Unary, waits, run)
    }

    /// Adds a method with one request and a stream of responses.
    pub(crate) fn server_streaming<M: Request, F: ReplyFuture>(
        self,
        name: Name,
        run: MethodFn<P, M, F>,
    ) -> Self {
        self.add_one_request(name, MethodShape::ServerStreaming, |_| false, run)
    }

    fn add_one_request<M: Request, F: ReplyFuture>(
        self,
        name: Name,
        shape: MethodShape,
        waits: fn(&M) -> bool,
        run: MethodFn<P, M, F>,
    ) -> Self {
        let state = Arc::clone(&self.state);
        let handler: Handler = Box::new(move |mut call, mut requests| {
            let state = Arc::clone(&state);
            Box::pin(async move {
                let request = requests.one().await?;
                call.set_arrival();
                let budget = Arc::clone(call.budget());
                timed(name, waits(&request), budget.with_request_permit(run(state, call, request))).await
            })
        });
        self.add(name, handler, shape)
    }

    /// Adds a method with a stream of requests and a stream of responses.
    pub(crate) fn bidi_streaming<F: ReplyFuture>(
        self,
        name: Name,
        run: MethodFn<P, RequestStream, F>,
    ) -> Self {
        let state = Arc::clone(&self.state);
        let handler: Handler =
            Box::new(move |call, requests| Box::pin(run(Arc::clone(&state), call, requests)));
        self.add(name, handler, MethodShape::BidiStreaming)
    }

    fn add(mut self, name: Name, handler: Handler, shape: MethodShape) -> Self {
        // Decoding allocates no more than the message: large fields are strings, bytes and packed numbers.
        let message_bytes = match name {
            "LoadBatch" => MAX_MESSAGE_BYTES,
            // Actions or seeds: eight bytes for each environment of the largest batch.
            "Advance" | "Redeterminize" | "ResetBatch" | "Rollout" | "RunBatch" | "StepBatch" => 4 << 20,
            _ => 64 << 10,
        };
        self.methods.insert(name, Method { handler, message_bytes, shape, kind: self.kind });
        self
    }
}

/// The served methods, by service and name.
#[derive(Default)]
pub(crate) struct Methods(HashMap<Name, HashMap<Name, Method>>);

impl Methods {
    /// Adds the methods of a service.
    pub(crate) fn with<P>(mut self, service: Service<P>) -> Self {
        self.0.insert(service.name, service.methods);
        self
    }

    /// Returns the method at a path `/SERVICE/METHOD`.
    pub(super) fn find(&self, path: &str) -> Result<&Method, Error> {
        let path = path.strip_prefix('/').unwrap_or(path);
        let (name, method) = path.split_once('/').unwrap_or((path, ""));
        let methods = self.0.get(name).ok_or_else(|| Error::ServiceUnknown { service: name.to_owned() })?;
        let unknown = || Error::MethodUnknown { service: name.to_owned(), method: method.to_owned() };
        methods.get(method).ok_or_else(unknown)
    }

    /// Returns the service, name and shape of each method.
    #[cfg(test)]
    pub(crate) fn names(&self) -> impl Iterator<Item = (Name, Name, MethodShape)> {
        self.0.iter().flat_map(|(service, methods)| {
            methods.iter().map(|(name, method)| (*service, *name, method.shape))
        })
    }
}
