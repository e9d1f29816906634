//! The services on the wire: each handler parses, calls one method and converts.

mod answers;
mod batch;
mod catalog;
mod dm_env_rpc;
mod match_;
mod pages;
mod search;
#[cfg(test)]
mod secrecy;

pub(crate) use answers::Unbuffered;
pub(crate) use batch::BatchPlane;
pub(crate) use catalog::Catalog;
pub(crate) use dm_env_rpc::WorldPlane;
pub(crate) use match_::MatchPlane;
pub(crate) use search::SearchPlane;

use prost::Message;
use tonic::{Request, Response};

use crate::edge::{self, Caller, Origin, Room};
use crate::error::ServiceError;
use crate::requests::RequestId;
use crate::run::MAX_MESSAGE_BYTES;

/// The token of `authorization: Bearer TOKEN`, if the call carries one.
fn token<T>(request: &Request<T>) -> Option<&str> {
    edge::bearer(request.extensions())
}

/// Who calls.
fn caller<T>(request: &Request<T>) -> Option<Caller> {
    request.extensions().get::<Caller>().cloned()
}

/// The most bytes of a message to a client that has stated this.
fn message_bytes(asked: u32) -> usize {
    // What gRPC's libraries take unless they are told otherwise.
    const DEFAULT: usize = 4 << 20;
    if asked == 0 { DEFAULT } else { MAX_MESSAGE_BYTES.min(asked as usize) }
}

/// Waits for room for an answer of so many bytes.
async fn room(caller: Option<&Caller>, bytes: usize) -> Result<Option<Room>, ServiceError> {
    match caller {
        Some(caller) => caller.budget().wait(bytes).await.map(Some),
        None => Ok(None),
    }
}

/// A response whose message holds its room until it has been sent.
fn holding<T>(message: T, room: Option<Room>) -> Response<T> {
    let mut response = Response::new(message);
    if let Some(room) = room {
        room.keep(&mut response);
    }
    response
}

/// What a request of a caller is named by, with a digest of everything that it asks for.
fn request_id(
    id: &str,
    caller: Option<&Caller>,
    asked: &impl Message,
) -> Result<Option<RequestId>, ServiceError> {
    let Some(id) = RequestId::parse(id)? else { return Ok(None) };
    // A user of this machine stays the same, and so does an account; a host may come from another address the next time.
    let stays = |origin: &Origin| matches!(origin, Origin::User(_) | Origin::Account(_));
    let origin = caller.map(Caller::origin).filter(stays);
    let asked = *blake3::hash(&asked.encode_to_vec()).as_bytes();
    Ok(Some(RequestId { id, asked, origin: origin.unwrap_or(Origin::Unknown) }))
}
