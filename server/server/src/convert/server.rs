//! Servers as messages.

use std::time::Duration;

use boardwire_api::v1;
use boardwire_batch::messages::count;

use crate::batches::Batches;
use crate::edge::Origin;
use crate::matches::Matches;
use crate::run::MAX_MESSAGE_BYTES;

/// What it speaks.
const PROTOCOLS: [&str; 1] = ["boardwire.v1"];
/// The server takes snapshots of others with the same key.
const LASTING_SNAPSHOTS: &str = "lasting_snapshots";

/// What `origin` is told of the server.
pub(crate) fn server(matches: &Matches, batches: &Batches, origin: Origin) -> v1::Server {
    let quotas = origin.quotas();
    let (match_limits, batch_limits) = (matches.limits(), batches.limits());
    // What does not fit is more than any server has.
    let duration = |time: Duration| prost_types::Duration::try_from(time).unwrap_or_default();
    let features = batches.has_lasting_snapshots().then(|| LASTING_SNAPSHOTS.to_owned());
    v1::Server {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        protocols: PROTOCOLS.map(str::to_owned).into(),
        features: features.into_iter().collect(),
        limits: Some(v1::Limits {
            message_bytes: count(MAX_MESSAGE_BYTES),
            matches: count(match_limits.matches),
            matches_per_caller: count(quotas.matches.unwrap_or(match_limits.per_caller)),
            waiting_calls: count(match_limits.waiting),
            match_idle_timeout: Some(duration(match_limits.idle)),
            batches: count(batch_limits.batches),
            environments: count(batch_limits.environments),
            environments_per_caller: count(quotas.environments.unwrap_or(batch_limits.per_caller)),
            batch_idle_timeout: Some(duration(batch_limits.idle)),
        }),
    }
}
