//! Batches of environments and searches from their positions, for the server's callers or inside one process.
//!
//! A [`Registry`](registry::Registry) lists the games and [`Tables`](tables::Tables) sets them up.
//! A [`Batch`](batch::Batch) steps many environments of a table together.
//! A [`Search`](search::Search) plays in worlds: states sampled from what a seat knows.
//! A [`Pool`](pool::Pool) of threads runs work that takes longer. [`messages`] reads requests of `boardwire.v1` and writes
//! responses. Every error is one of [`boardwire_api::error`]. So the server and a local process accept, return and refuse the
//! same. Leases, callers and connections belong to the server: nothing here needs gRPC.

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
