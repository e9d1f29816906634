//! The methods that are served: what each takes, and who answers it.

use std::collections::HashMap;
use std::sync::Arc;

use prost::Message;
use tonic::codegen::BoxFuture;

use super::call::Call;
use super::wire::{Reply, RequestStream};
use crate::telemetry::timed;
use boardwire_api::Error;
use boardwire_api::MAX_MESSAGE_BYTES;

/// The most bytes of a message to a method that takes no bulk.
const MAX_SMALL_MESSAGE_BYTES: usize = 64 << 10;
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

/// Answers a call, whose request is still to be read.
type Handler = Box<dyn Fn(Call, RequestStream) -> BoxFuture<Reply, Error> + Send + Sync>;

/// What answers the calls of one method.
type Handling<P, M, F> = fn(Arc<P>, Call, M) -> F;

/// A message that a method takes.
pub(crate) trait Asked: Message + Default + 'static {}
impl<M: Message + Default + 'static> Asked for M {}

/// The reply to a call, which may take a while.
pub(crate) trait Answering: Future<Output = Result<Reply, Error>> + Send + 'static {}
impl<F: Future<Output = Result<Reply, Error>> + Send + 'static> Answering for F {}

/// A method that is served.
pub(crate) struct Method {
    pub(super) handler: Handler,
    /// The most bytes of a message to it.
    pub(super) message_bytes: usize,
    /// Whether it takes one message and gives one, or streams of them.
    pub(super) shape: Shape,
    /// For whom it is.
    pub(super) kind: Kind,
}

/// How many messages a method takes and gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Shape {
    /// One each way.
    Call,
    /// One is taken, and as many are given as there will be.
    Watch,
    /// As many each way as there will be.
    Stream,
}

/// What a service is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The protocol: a server that stops waits for calls of it to end.
    Own,
    /// Reflection. A server that stops does not wait for its streams, which have no end.
    Reflection,
    /// The server's health, which everybody may ask for, whatever else is under way. Its streams go on for ever.
    Health,
}

/// A service: its name, and its methods by theirs.
pub(crate) struct Service<P> {
    name: &'static str,
    kind: Kind,
    plane: Arc<P>,
    methods: HashMap<&'static str, Method>,
}

impl<P: Send + Sync + 'static> Service<P> {
    /// A service whose calls `plane` answers.
    pub(crate) fn new(name: &'static str, kind: Kind, plane: Arc<P>) -> Self {
        Self { name, kind, plane, methods: HashMap::new() }
    }

    /// Adds a method that takes one message and gives one.
    pub(crate) fn call<M: Asked, F: Answering>(self, name: &'static str, handler: Handling<P, M, F>) -> Self {
        self.one(name, Shape::Call, |_| false, handler)
    }

    /// Adds a method that takes one message and gives one, and may wait for another player with some messages.
    pub(crate) fn call_that_waits<M: Asked, F: Answering>(
        self,
        name: &'static str,
        waits: fn(&M) -> bool,
        handler: Handling<P, M, F>,
    ) -> Self {
        self.one(name, Shape::Call, waits, handler)
    }

    /// Adds a method that takes one message and gives many.
    pub(crate) fn watch<M: Asked, F: Answering>(
        self,
        name: &'static str,
        handler: Handling<P, M, F>,
    ) -> Self {
        self.one(name, Shape::Watch, |_| false, handler)
    }

    fn one<M: Asked, F: Answering>(
        self,
        name: &'static str,
        shape: Shape,
        waits: fn(&M) -> bool,
        handler: Handling<P, M, F>,
    ) -> Self {
        let plane = Arc::clone(&self.plane);
        let handler: Handler = Box::new(move |mut call, mut requests| {
            let plane = Arc::clone(&plane);
            Box::pin(async move {
                let asked = requests.one().await?;
                call.note_arrival();
                let budget = Arc::clone(call.budget());
                let waits = waits(&asked);
                timed(name, waits, budget.in_turn(handler(plane, call, asked))).await
            })
        });
        self.add(name, handler, shape)
    }

    /// Adds a method that takes and gives streams.
    pub(crate) fn stream<F: Answering>(
        self,
        name: &'static str,
        handler: Handling<P, RequestStream, F>,
    ) -> Self {
        let plane = Arc::clone(&self.plane);
        let handler: Handler =
            Box::new(move |call, requests| Box::pin(handler(Arc::clone(&plane), call, requests)));
        self.add(name, handler, Shape::Stream)
    }

    fn add(mut self, name: &'static str, handler: Handler, shape: Shape) -> Self {
        let bulk = BULK.iter().find(|(bulk, _)| *bulk == name);
        let message_bytes = bulk.map_or(MAX_SMALL_MESSAGE_BYTES, |(_, bytes)| *bytes);
        self.methods.insert(name, Method { handler, message_bytes, shape, kind: self.kind });
        self
    }
}

/// The methods that are served, by service and name.
#[derive(Default)]
pub(crate) struct Methods(HashMap<&'static str, HashMap<&'static str, Method>>);

impl Methods {
    /// The same, with those of a service.
    pub(crate) fn with<P>(mut self, service: Service<P>) -> Self {
        self.0.insert(service.name, service.methods);
        self
    }

    /// The method at a path `/SERVICE/METHOD`.
    pub(super) fn find(&self, path: &str) -> Result<&Method, Error> {
        let path = path.strip_prefix('/').unwrap_or(path);
        let (service, method) = path.split_once('/').unwrap_or((path, ""));
        let unknown = || Error::ServiceUnknown { service: service.to_owned() };
        let methods = self.0.get(service).ok_or_else(unknown)?;
        let unknown = || Error::MethodUnknown { service: service.to_owned(), method: method.to_owned() };
        methods.get(method).ok_or_else(unknown)
    }

    /// The names of the services.
    #[cfg(test)]
    pub(crate) fn names(&self) -> impl Iterator<Item = (&'static str, &'static str, Shape)> {
        let methods = |(service, methods): (&&'static str, &HashMap<&'static str, Method>)| {
            let service = *service;
            let named: Vec<_> = methods.iter().map(|(name, method)| (service, *name, method.shape)).collect();
            named
        };
        self.0.iter().flat_map(methods)
    }
}
