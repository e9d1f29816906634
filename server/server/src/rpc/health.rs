//! What is said of the server's health: well, unless it stops or its journal cannot be written.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use tokio::sync::watch;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

use super::{batch, catalog, match_, search};
use crate::edge::{Call, EncodedMessage, Kind, Reply, Service};
use crate::matches::Matches;
use boardwire_api::Error;

/// How often it is looked whether the journal can be written.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);
/// The server as a whole, as the protocol of health names it.
const ALL: &str = "";
/// What needs the journal.
const MATCHES: &str = match_::NAME;
/// What needs nothing else.
const OTHERS: [&str; 3] = [catalog::NAME, batch::NAME, search::NAME];
/// What an answer takes.
const ANSWER_BYTES: usize = 512;

/// The health of each service, by name.
pub(crate) struct Health(BTreeMap<&'static str, watch::Sender<bool>>);

pub(super) fn service(health: &Arc<Health>) -> Service<Health> {
    Service::new("grpc.health.v1.Health", Kind::Health, Arc::clone(health))
        .call("Check", check)
        .watch("Watch", follow)
}

/// A status as it is sent.
fn told(serves: Option<bool>) -> HealthCheckResponse {
    let status = match serves {
        Some(true) => ServingStatus::Serving,
        Some(false) => ServingStatus::NotServing,
        None => ServingStatus::ServiceUnknown,
    };
    HealthCheckResponse { status: status.into() }
}

async fn check(health: Arc<Health>, call: Call, asked: HealthCheckRequest) -> Result<Reply, Error> {
    let serves = health.0.get(asked.service.as_str()).ok_or(Error::HealthUnknown)?;
    call.answer(&told(Some(*serves.borrow())))
}

/// Answers at once, and then whenever the status has changed. A service that is unknown stays so.
async fn follow(health: Arc<Health>, call: Call, asked: HealthCheckRequest) -> Result<Reply, Error> {
    let mut serves = health.0.get(asked.service.as_str()).map(watch::Sender::subscribe);
    if let Some(serves) = &mut serves {
        serves.mark_changed();
    }
    let state = (call, serves, false);
    Ok(Reply::stream(stream::try_unfold(state, |(call, mut serves, told_unknown)| async move {
        let status = match &mut serves {
            Some(serves) => {
                if serves.changed().await.is_err() {
                    return Ok(None);
                }
                Some(*serves.borrow_and_update())
            }
            None if told_unknown => return std::future::pending().await,
            None => None,
        };
        let answer = EncodedMessage::new(call.budget().reserve(ANSWER_BYTES).await?, &told(status))?;
        Ok(Some((answer, (call, serves, true))))
    })))
}

impl Health {
    /// All are well.
    pub(crate) fn well() -> Self {
        let names = [ALL, MATCHES].into_iter().chain(OTHERS);
        Self(names.map(|name| (name, watch::Sender::new(true))).collect())
    }

    fn tell(&self, name: &str, serves: bool) {
        if let Some(told) = self.0.get(name) {
            told.send_if_modified(|told| std::mem::replace(told, serves) != serves);
        }
    }

    /// Follows the journal of `matches`, for ever: without it there are no matches, but all else.
    pub(crate) async fn follow(&self, matches: &Matches) {
        let (mut often, mut failed) = (tokio::time::interval(CHECK_INTERVAL), false);
        loop {
            often.tick().await;
            let fails = matches.journal_fails();
            if fails != failed {
                failed = fails;
                self.tell(MATCHES, !fails);
                self.tell(ALL, !fails);
            }
        }
    }

    /// Nothing new is taken from now on.
    pub(crate) fn stop(&self) {
        self.0.keys().for_each(|name| self.tell(name, false));
    }
}
