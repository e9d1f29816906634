//! How many calls may be under way, and how often a caller may call.

use std::convert::Infallible;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::future::{self, Either, Ready};
use governor::clock::{Clock as _, DefaultClock};
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};
use http_body::{Body, Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::task_tracker::TaskTrackerToken;
use tonic::codegen::http::{Extensions, Request, Response};
use tonic::codegen::{BoxFuture, Service};

use super::caller::{Caller, Origin};
use super::methods::{Kind, Method};
use super::room::{self, Room};
use super::{Bounds, refuse};
use crate::error::ServiceError;

/// Health checks that may be under way, whatever else is.
const HEALTH_CHECKS: usize = 64;

/// Permits for calls.
#[derive(Debug, Clone)]
pub(crate) struct Permits {
    calls: Pool,
    streams: Pool,
    health: Pool,
}

#[derive(Debug, Clone)]
struct Pool {
    limit: usize,
    free: Arc<Semaphore>,
}

impl Pool {
    fn new(limit: usize) -> Self {
        Self { limit, free: Arc::new(Semaphore::new(limit.min(Semaphore::MAX_PERMITS))) }
    }
}

/// A call's permit, and its sign that its connection is in use.
struct Permit {
    _permit: OwnedSemaphorePermit,
    _in_use: Option<TaskTrackerToken>,
}

impl Permits {
    pub(crate) fn new(bounds: &Bounds) -> Self {
        Self {
            calls: Pool::new(bounds.calls),
            streams: Pool::new(bounds.streams),
            health: Pool::new(HEALTH_CHECKS),
        }
    }

    /// A permit for a call with these extensions, if there is one left.
    fn take(&self, extensions: &Extensions) -> Result<Permit, ServiceError> {
        let kind = extensions.get::<Method>().map_or(Kind::Call, |method| method.kind);
        let pool = match kind {
            Kind::Call => &self.calls,
            Kind::Stream => &self.streams,
            Kind::Health => &self.health,
        };
        let Ok(permit) = Arc::clone(&pool.free).try_acquire_owned() else {
            let limit = pool.limit;
            return Err(match kind {
                Kind::Call | Kind::Health => ServiceError::CallsFull { limit },
                Kind::Stream => ServiceError::StreamsFull { limit },
            });
        };
        let in_use = extensions.get::<Caller>().map(|caller| caller.calls().token());
        Ok(Permit { _permit: permit, _in_use: in_use })
    }
}

/// Lets calls through for which there is a permit, and keeps it until their response has been sent.
#[derive(Debug, Clone)]
pub(crate) struct Limited<S> {
    inner: S,
    permits: Permits,
}

impl<S> Limited<S> {
    pub(crate) fn new(inner: S, permits: Permits) -> Self {
        Self { inner, permits }
    }
}

impl<S, R, B> Service<Request<R>> for Limited<S>
where
    S: Service<Request<R>, Response = Response<B>, Error = Infallible>,
    S::Future: Send + 'static,
    B: Default,
{
    type Response = Response<Held<B>>;
    type Error = Infallible;
    type Future = Either<Ready<Result<Self::Response, Infallible>>, BoxFuture<Self::Response, Infallible>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<R>) -> Self::Future {
        let permit = match self.permits.take(request.extensions()) {
            Ok(permit) => permit,
            Err(error) => return Either::Left(future::ready(Ok(refuse(error)))),
        };
        let answered = self.inner.call(request);
        Either::Right(Box::pin(async move {
            let mut response = answered.await?;
            let room = room::kept(response.extensions_mut());
            Ok(response.map(|body| Held { body, room, _permit: Some(permit) }))
        }))
    }
}

/// A response's body, with the permit of its call and the room that its message takes.
#[derive(Default)]
pub(crate) struct Held<B> {
    body: B,
    room: Option<Room>,
    _permit: Option<Permit>,
}

impl<B: Body<Data = Bytes> + Unpin> Body for Held<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.get_mut();
        let frame = ready!(Pin::new(&mut this.body).poll_frame(context));
        Poll::Ready(frame.map(|frame| {
            frame.map(|frame| match this.room.take_if(|_| frame.is_data()) {
                Some(room) => frame.map_data(|bytes| room.hold(bytes)),
                None => frame,
            })
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// How often callers call.
#[derive(Debug, Clone)]
pub(crate) struct Rates(Option<Arc<Limiter>>);

#[derive(Debug)]
struct Limiter {
    limit: u32,
    by_origin: RateLimiter<Origin, HashMapStateStore<Origin>, DefaultClock>,
    clock: DefaultClock,
    /// How many origins may be remembered before those are forgotten that have not called for a while.
    room: AtomicUsize,
}

/// So many origins are always remembered.
const ORIGINS: usize = 1_024;

impl Rates {
    /// At most so many calls a second for each caller; 0 for as many as it likes.
    pub(crate) fn new(limit: u32) -> Self {
        Self(NonZeroU32::new(limit).map(|quota| {
            Arc::new(Limiter {
                limit,
                by_origin: RateLimiter::hashmap(Quota::per_second(quota)),
                clock: DefaultClock::default(),
                room: AtomicUsize::new(ORIGINS),
            })
        }))
    }

    /// Refuses a call of somebody who calls too often. Health checks are always let through.
    pub(crate) fn check<B>(&self, request: &Request<B>) -> Result<(), ServiceError> {
        let Some(rates) = &self.0 else { return Ok(()) };
        if request.extensions().get::<Method>().is_some_and(|method| method.kind == Kind::Health) {
            return Ok(());
        }
        let origin = request.extensions().get::<Caller>().map_or(Origin::Unknown, Caller::origin);
        rates.by_origin.check_key(&origin).map_err(|early| {
            let wait = early.wait_time_from(rates.clock.now());
            ServiceError::RateExceeded { limit: rates.limit, wait }
        })
    }

    /// Forgets callers that have not called for a second, once there are many. To be called for every
    /// connection: the time it takes is then spread evenly over them.
    pub(crate) fn forget(&self) {
        let Some(rates) = &self.0 else { return };
        if rates.by_origin.len() > rates.room.load(Ordering::Relaxed) {
            rates.by_origin.retain_recent();
            rates.by_origin.shrink_to_fit();
            rates.room.store(ORIGINS.max(2 * rates.by_origin.len()), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests;
