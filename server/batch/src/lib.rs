//! Batches of environments, and searches begun from them: for a server's callers, or in a process of one's own.
//!
//! A [`Registry`](registry::Registry) lists the games, [`Tables`](tables::Tables) sets them up,
//! [`Batch`](batch::Batch) steps many environments of a table together,
//! [`Search`](search::Search) plays on in worlds that a seat can believe in, and a [`Pool`](pool::Pool) of threads does
//! what takes longer. [`messages`] reads requests of `boardwire.v1` and writes answers; every error is one of
//! [`boardwire_api::error`]. So what is asked, answered and refused is the same for all holders. Leases, callers and connections are
//! the service's: nothing here needs gRPC.

pub mod batch;
pub mod messages;
pub mod play;
mod players;
pub mod pool;
pub mod registry;
pub mod release;
pub mod reward;
pub mod search;
pub mod tables;

pub use players::Player;
