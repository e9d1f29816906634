//! gRPC's health service. A service is serving unless the server stops, or it needs the journal and the journal fails.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use boardwire_api::Error;
use futures_util::stream;
use tokio::sync::watch;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

use super::{batch, catalog, match_, search};
use crate::edge::{Call, EncodedMessage, Reply, Service, ServiceKind};
use crate::matches::Matches;

/// The time between two checks of the journal.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);
/// The services that fail with the journal. The empty name means the whole server.
const JOURNALED_SERVICES: [&str; 2] = ["", match_::NAME];
/// The services that do not need the journal.
const OTHER_SERVICES: [&str; 3] = [catalog::NAME, batch::NAME, search::NAME];
/// The bytes that are reserved for a response.
const RESPONSE_BYTES: usize = 512;

/// Whether each service is serving, by name.
pub(crate) struct Health(BTreeMap<&'static str, watch::Sender<bool>>);

pub(super) fn service(health: &Arc<Health>) -> Service<Health> {
    Service::new("grpc.health.v1.Health", ServiceKind::Health, Arc::clone(health))
        .unary("Check", check)
        .server_streaming("Watch", watch)
}

fn response(serving: Option<bool>) -> HealthCheckResponse {
    let status = match serving {
        Some(true) => ServingStatus::Serving,
        Some(false) => ServingStatus::NotServing,
        None => ServingStatus::ServiceUnknown,
    };
    HealthCheckResponse { status: status.into() }
}

async fn check(health: Arc<Health>, call: Call, request: HealthCheckRequest) -> Result<Reply, Error> {
    let serving = health.0.get(request.service.as_str()).ok_or(Error::HealthUnknown)?;
    call.reply(&response(Some(*serving.borrow())))
}

/// Responds immediately, and after each change. An unknown service stays unknown.
async fn watch(health: Arc<Health>, call: Call, request: HealthCheckRequest) -> Result<Reply, Error> {
    let mut serving = health.0.get(request.service.as_str()).map(watch::Sender::subscribe);
    if let Some(serving) = &mut serving {
        serving.mark_changed();
    }
    let state = (call, serving, false);
    Ok(Reply::stream(stream::try_unfold(state, |(call, mut serving, has_responded)| async move {
        let status = match &mut serving {
            Some(serving) => {
                if serving.changed().await.is_err() {
                    return Ok(None);
                }
                Some(*serving.borrow_and_update())
            }
            None if has_responded => return std::future::pending().await,
            None => None,
        };
        let charge = call.budget().reserve(RESPONSE_BYTES).await?;
        Ok(Some((EncodedMessage::new(charge, &response(status))?, (call, serving, true))))
    })))
}

impl Health {
    /// Creates the state in which all services are serving.
    pub(crate) fn serving() -> Self {
        let names = JOURNALED_SERVICES.into_iter().chain(OTHER_SERVICES);
        Self(names.map(|name| (name, watch::Sender::new(true))).collect())
    }

    fn set(&self, name: &str, serving: bool) {
        self.0[name].send_if_modified(|current| std::mem::replace(current, serving) != serving);
    }

    /// Updates the services when the journal of `matches` fails or recovers. Never returns.
    pub(crate) async fn update_from_journal(&self, matches: &Matches) {
        let (mut interval, mut failed) = (tokio::time::interval(CHECK_INTERVAL), false);
        loop {
            interval.tick().await;
            let fails = matches.journal_fails();
            if fails != failed {
                failed = fails;
                for name in JOURNALED_SERVICES {
                    self.set(name, !fails);
                }
            }
        }
    }

    /// Marks all services as not serving.
    pub(crate) fn stop(&self) {
        self.0.keys().for_each(|name| self.set(name, false));
    }
}
