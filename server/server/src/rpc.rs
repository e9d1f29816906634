//! The gRPC services. Each handler parses the request, calls one method and converts the result.
#![expect(clippy::unused_async, reason = "every handler is asynchronous, even one that waits for nothing")]

mod batch;
mod catalog;
mod health;
mod match_;
mod pagination;
mod reflection;
mod search;
#[cfg(test)]
mod secrecy;

pub(crate) use health::Health;

use std::sync::Arc;

use boardwire_api::{Error, MAX_MESSAGE_BYTES};
use prost::Message;

use crate::batches::Batches;
use crate::edge::{Caller, Methods};
use crate::matches::Matches;
use crate::origin::Origin;
use crate::requests::RequestId;

pub(crate) struct Handlers {
    matches: Arc<Matches>,
    batches: Arc<Batches>,
}

pub(crate) fn methods(matches: &Arc<Matches>, batches: &Arc<Batches>, health: &Arc<Health>) -> Methods {
    let handlers = Arc::new(Handlers { matches: Arc::clone(matches), batches: Arc::clone(batches) });
    let [reflection, alpha_reflection] = reflection::services();
    Methods::default()
        .with(catalog::service(&handlers))
        .with(match_::service(&handlers))
        .with(batch::service(&handlers))
        .with(search::service(&handlers))
        .with(health::service(health))
        .with(reflection)
        .with(alpha_reflection)
}

/// Returns the maximum bytes of a message to a client that accepts `requested` bytes. 0 means gRPC's default.
fn message_bytes(requested: u32) -> usize {
    const GRPC_DEFAULT: usize = 4 << 20;
    if requested == 0 { GRPC_DEFAULT } else { MAX_MESSAGE_BYTES.min(requested as usize) }
}

/// Identifies a request that the caller may retry. `token` is the caller's token if the request needs one.
fn request_id(
    id: &str,
    caller: &Caller,
    token: &str,
    request: &impl Message,
) -> Result<Option<RequestId>, Error> {
    let Some(id) = RequestId::parse(id)? else { return Ok(None) };
    // A host may retry from another address. The origin of a user of this machine or of an account does not change.
    let origin = match caller.origin() {
        origin @ (Origin::User(_) | Origin::Account(_)) => origin,
        _ => Origin::Unknown,
    };
    let mut hasher = blake3::Hasher::new();
    let digest = *hasher.update(&request.encode_to_vec()).update(token.as_bytes()).finalize().as_bytes();
    Ok(Some(RequestId { id, digest, origin }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use boardwire_batch::pool::Pool;
    use boardwire_batch::registry::Registry;
    use boardwire_batch::tables::Tables;
    use prost_types::FileDescriptorSet;

    use super::*;
    use crate::edge::MethodShape;
    use crate::{batches, matches};

    #[test]
    fn exactly_the_methods_of_the_protocol_are_served() {
        let tables = Tables::new(Registry::standard());
        let pool = Arc::new(Pool::new(1).expect("a thread starts"));
        let matches = Arc::new(Matches::new(tables, matches::MatchLimits::default(), Arc::clone(&pool)));
        let batches = Arc::new(Batches::new(batches::BatchLimits::default(), None, pool));
        let served: BTreeSet<_> = methods(&matches, &batches, &Arc::new(Health::serving()))
            .names()
            .map(|(service, method, shape)| (service.to_owned(), method.to_owned(), shape))
            .collect();
        let described: BTreeSet<_> = reflection::SETS
            .iter()
            .flat_map(|set| FileDescriptorSet::decode(*set).expect("descriptors are generated").file)
            .flat_map(|file| {
                let package = file.package().to_owned();
                file.service.into_iter().flat_map(move |service| {
                    let name = format!("{package}.{}", service.name());
                    service.method.into_iter().map(move |method| {
                        let shape = match (method.client_streaming(), method.server_streaming()) {
                            (false, false) => MethodShape::Unary,
                            (false, true) => MethodShape::ServerStreaming,
                            (true, _) => MethodShape::BidiStreaming,
                        };
                        (name.clone(), method.name().to_owned(), shape)
                    })
                })
            })
            .collect();
        assert_eq!(served, described);
    }
}
