//! Boardwire's gRPC service: matches between mutually distrusting seats.
//!
//! [`run`] serves on listeners it is given until it is told to stop; [`Matches`](matches::Matches) holds
//! every match behind a lock of its own, [`Batches`](batches::Batches) every batch of environments, and one
//! [`Pool`](boardwire_batch::pool::Pool) of threads does what takes longer for both. Handlers in `rpc/` parse, call one
//! method and convert; they decide nothing. What a seat is answered is made from its [observation](arbiter::Observation) alone.

pub mod arbiter;
pub mod batches;
mod convert;
pub mod edge;
mod forms;
mod held_up;
pub mod hex;
pub mod journal;
pub mod matches;
pub mod origin;
pub mod page;
mod quota;
pub mod record;
pub mod requests;
mod rpc;
pub mod run;
pub mod secret;
#[cfg(test)]
mod simulation;
mod status;
pub mod telemetry;
#[cfg(test)]
mod vectors;
