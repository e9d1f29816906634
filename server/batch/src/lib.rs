//! Batches of environments and searches from their positions, for the server and for a local process.
//!
//! A [`Registry`](registry::Registry) lists the games. [`Tables`](tables::Tables) sets them up.
//! A [`Batch`](batch::Batch) steps many environments of a table together.
//! A [`Search`](search::Search) plays in determinizations: states sampled from a seat's information set.
//! A [`Pool`](pool::Pool) of threads runs long work. [`messages`] reads requests of `boardwire.v1` and writes responses.
//! Every error is one of [`boardwire_api::error`]. So the server and a local process return the same responses and errors.
//! Leases, callers and connections belong to the server crate. Nothing in this crate needs gRPC.

pub mod batch;
pub mod efg;
pub mod messages;
pub mod names;
pub mod play;
mod players;
pub mod pool;
pub mod registry;
pub mod release;
pub mod reward;
pub mod search;
pub mod tables;

pub use players::Player;
