//! The services on the wire: each handler parses, calls one method and converts.
#![expect(clippy::unused_async, reason = "a handler is asynchronous whether it has to wait or not")]

mod batch;
mod catalog;
mod health;
mod match_;
mod pages;
mod reflection;
mod search;
#[cfg(test)]
mod secrecy;

pub(crate) use health::Health;

use std::sync::Arc;

use prost::Message;

use crate::batches::Batches;
use crate::edge::{Caller, Methods};
use crate::matches::Matches;
use crate::origin::Origin;
use crate::requests::RequestId;
use boardwire_api::Error;
use boardwire_api::MAX_MESSAGE_BYTES;

/// All methods.
pub(crate) fn methods(matches: &Arc<Matches>, batches: &Arc<Batches>, health: &Arc<Health>) -> Methods {
    let [reflection, older] = reflection::services();
    Methods::default()
        .with(catalog::service(matches, batches))
        .with(match_::service(matches))
        .with(batch::service(matches, batches))
        .with(search::service(matches, batches))
        .with(health::service(health))
        .with(reflection)
        .with(older)
}

/// The most bytes of a message to a client that has stated this.
fn message_bytes(asked: u32) -> usize {
    // What gRPC's libraries take unless they are told otherwise.
    const DEFAULT: usize = 4 << 20;
    if asked == 0 { DEFAULT } else { MAX_MESSAGE_BYTES.min(asked as usize) }
}

/// What a request of a caller is named by, with a digest of everything that it asks for, and of the token that it asks with, if it
/// needs one.
fn request_id(
    id: &str,
    caller: &Caller,
    token: &str,
    asked: &impl Message,
) -> Result<Option<RequestId>, Error> {
    let Some(id) = RequestId::parse(id)? else { return Ok(None) };
    // A user of this machine stays the same, and so does an account; a host may come from another address the next time.
    let stays = |origin: &Origin| matches!(origin, Origin::User(_) | Origin::Account(_));
    let origin = Some(caller.origin()).filter(stays);
    let mut hasher = blake3::Hasher::new();
    let asked = *hasher.update(&asked.encode_to_vec()).update(token.as_bytes()).finalize().as_bytes();
    Ok(Some(RequestId { id, asked, origin: origin.unwrap_or(Origin::Unknown) }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use boardwire_batch::pool::Pool;
    use boardwire_batch::registry::Registry;
    use boardwire_batch::tables::Tables;
    use prost_types::FileDescriptorSet;

    use super::*;
    use crate::edge::Shape;
    use crate::{batches, matches};

    #[test]
    fn every_method_of_the_protocol_is_served_and_none_else() {
        let tables = Tables::new(Registry::standard());
        let pool = Arc::new(Pool::new(1).expect("a thread starts"));
        let matches = Arc::new(Matches::new(tables, matches::MatchLimits::default(), Arc::clone(&pool)));
        let batches = Arc::new(Batches::new(batches::BatchLimits::default(), None, pool));
        let served: BTreeSet<_> = methods(&matches, &batches, &Arc::new(Health::well()))
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
                            (false, false) => Shape::Call,
                            (false, true) => Shape::Watch,
                            (true, _) => Shape::Stream,
                        };
                        (name.clone(), method.name().to_owned(), shape)
                    })
                })
            })
            .collect();
        assert_eq!(served, described);
    }
}
