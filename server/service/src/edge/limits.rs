//! How many calls may be under way, and how often a caller may call.

use std::collections::HashMap;
use std::convert::Infallible;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::future::{self, Either, Ready};
use governor::clock::{Clock as _, DefaultClock};
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};
use http_body::{Body, Frame, SizeHint};
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
    calls: Allowance,
    streams: Allowance,
    health: Allowance,
}

/// Calls of one kind, of which one origin may have its share.
#[derive(Debug, Clone)]
struct Allowance {
    limit: usize,
    taken: Arc<Mutex<Taken>>,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by_origin: HashMap<Origin, usize>,
}

/// Why there is no permit.
enum Full {
    All,
    Share(usize),
}

impl Allowance {
    fn new(limit: usize) -> Self {
        Self { limit, taken: Arc::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, origin: Origin) -> Result<Permit, Full> {
        let mut taken = self.lock();
        if taken.all >= self.limit {
            return Err(Full::All);
        }
        let (share, own) = (Origin::share(self.limit), taken.by_origin.entry(origin).or_default());
        if *own >= share {
            return Err(Full::Share(share));
        }
        *own += 1;
        taken.all += 1;
        Ok(Permit { allowance: self.clone(), origin })
    }
}

/// A call's permit.
struct Permit {
    allowance: Allowance,
    origin: Origin,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut taken = self.allowance.lock();
        taken.all -= 1;
        if let Some(own) = taken.by_origin.get_mut(&self.origin) {
            *own -= 1;
            if *own == 0 {
                taken.by_origin.remove(&self.origin);
            }
        }
    }
}

impl Permits {
    pub(crate) fn new(bounds: &Bounds) -> Self {
        Self {
            calls: Allowance::new(bounds.calls),
            streams: Allowance::new(bounds.streams),
            health: Allowance::new(HEALTH_CHECKS),
        }
    }

    /// A permit for a call with these extensions, if there is one left, and the sign that its connection is in use, unless
    /// nobody waits for its end.
    fn take(
        &self,
        extensions: &Extensions,
    ) -> Result<(Permit, Kind, Option<TaskTrackerToken>), ServiceError> {
        let method = extensions.get::<Method>();
        let kind = method.map_or(Kind::Call, |method| method.kind);
        let allowance = match kind {
            Kind::Call => &self.calls,
            Kind::Stream => &self.streams,
            Kind::Health => &self.health,
        };
        let caller = extensions.get::<Caller>();
        let permit = allowance.take(caller.map_or(Origin::Unknown, Caller::origin)).map_err(|full| {
            let limit = allowance.limit;
            match (kind, full) {
                (Kind::Call | Kind::Health, Full::All) => ServiceError::CallsFull { limit },
                (Kind::Stream, Full::All) => ServiceError::StreamsFull { limit },
                (Kind::Call | Kind::Health, Full::Share(limit)) => {
                    ServiceError::CallerFull { what: "calls", limit }
                }
                (Kind::Stream, Full::Share(limit)) => ServiceError::CallerFull { what: "streams", limit },
            }
        })?;
        let in_use = caller.filter(|_| method.is_none_or(|method| method.is_awaited));
        Ok((permit, kind, in_use.map(|caller| caller.calls().token())))
    }
}

/// Lets calls through for which there is a permit, and keeps it until they have been answered; that of a stream, until
/// it has ended.
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
        let (permit, kind, in_use) = match self.permits.take(request.extensions()) {
            Ok(taken) => taken,
            Err(error) => return Either::Left(future::ready(Ok(refuse(error)))),
        };
        let answered = self.inner.call(request);
        Either::Right(Box::pin(async move {
            let mut response = answered.await?;
            let room = room::kept(response.extensions_mut());
            // What waits to be read is bounded by room and by connection: it keeps no other call out.
            let permit = Some(permit).filter(|_| kind == Kind::Stream);
            Ok(response.map(|body| Held { body, room, _permit: permit, _in_use: in_use }))
        }))
    }
}

/// A response's body, with what lasts as long as it does: the room that its message takes, the permit of a stream.
#[derive(Default)]
pub(crate) struct Held<B> {
    body: B,
    room: Option<Room>,
    _permit: Option<Permit>,
    _in_use: Option<TaskTrackerToken>,
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
        if request.extensions().get::<Method>().is_some_and(|method| method.kind == Kind::Health) {
            return Ok(());
        }
        let origin = request.extensions().get::<Caller>().map_or(Origin::Unknown, Caller::origin);
        if let Some(limit) = origin.quotas().calls {
            return within(origin, limit);
        }
        let Some(rates) = &self.0 else { return Ok(()) };
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

/// Refuses a call of an account that calls more often than its own quota lets it.
fn within(origin: Origin, limit: u32) -> Result<(), ServiceError> {
    let Origin::Account(account) = origin else { return Ok(()) };
    let Some(rate) = account.rate() else { return Ok(()) };
    rate.check().map_err(|early| {
        let wait = early.wait_time_from(DefaultClock::default().now());
        ServiceError::RateExceeded { limit, wait }
    })
}

#[cfg(test)]
mod tests;
