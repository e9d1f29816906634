//! What is said of the server's health: well, unless it stops or its journal cannot be written.

use std::time::Duration;

use boardwire_api::dm_env_rpc::environment_server::EnvironmentServer;
use boardwire_api::v1::batch_service_server::BatchServiceServer;
use boardwire_api::v1::catalog_service_server::CatalogServiceServer;
use boardwire_api::v1::match_service_server::MatchServiceServer;
use boardwire_api::v1::search_service_server::SearchServiceServer;
use tonic::server::NamedService;
use tonic_health::ServingStatus;
use tonic_health::pb::health_server::{Health as Served, HealthServer};
use tonic_health::server::{HealthReporter, health_reporter};

use crate::matches::Matches;
use crate::rpc::{BatchPlane, Catalog, MatchPlane, SearchPlane, WorldPlane};

/// How often it is looked whether the journal can be written.
const OFTEN: Duration = Duration::from_millis(250);
/// The server as a whole, as the protocol of health names it.
const ALL: &str = "";
/// What needs the journal.
const MATCHES: &str = MatchServiceServer::<MatchPlane>::NAME;
/// What needs nothing else.
const OTHERS: [&str; 4] = [
    CatalogServiceServer::<Catalog>::NAME,
    BatchServiceServer::<BatchPlane>::NAME,
    SearchServiceServer::<SearchPlane>::NAME,
    EnvironmentServer::<WorldPlane>::NAME,
];

/// Tells whoever asks how the services are.
#[derive(Clone)]
pub(crate) struct Health(HealthReporter);

impl Health {
    /// All are well; with the service that tells it.
    pub(crate) async fn well() -> (Self, HealthServer<impl Served>) {
        let (reporter, service) = health_reporter();
        let health = Self(reporter);
        for name in [ALL, MATCHES].into_iter().chain(OTHERS) {
            health.tell(name, true).await;
        }
        (health, service)
    }

    async fn tell(&self, name: &str, serves: bool) {
        let status = if serves { ServingStatus::Serving } else { ServingStatus::NotServing };
        self.0.set_service_status(name, status).await;
    }

    /// Follows the journal of `matches`, for ever: without it there are no matches, but all else.
    pub(crate) async fn follow(&self, matches: &Matches) {
        let (mut often, mut failed) = (tokio::time::interval(OFTEN), false);
        loop {
            often.tick().await;
            let fails = matches.journal_fails();
            if fails != failed {
                failed = fails;
                self.tell(MATCHES, !fails).await;
                self.tell(ALL, !fails).await;
            }
        }
    }

    /// Nothing new is taken from now on.
    pub(crate) async fn stop(&self) {
        for name in [ALL, MATCHES].into_iter().chain(OTHERS) {
            self.tell(name, false).await;
        }
    }
}
