//! Boardwire's gRPC service: matches between mutually distrusting seats.
//!
//! [`run`] serves on listeners it is given until it is told to stop; [`Matches`](matches::Matches) holds
//! every match behind a lock of its own, [`Batches`](batches::Batches) every batch of environments, and one
//! [`Pool`](boardwire_batch::pool::Pool) of threads does what takes longer for both. Handlers in `rpc/` parse, call one
//! method and convert; they decide nothing. What a seat is answered is made from its [observation](arbiter::Observation) alone.

mod agent;
pub mod agent_check;
pub mod arbiter;
pub mod batches;
pub mod cli;
mod convert;
pub mod edge;
pub mod error;
mod held_up;
pub mod journal;
pub mod matches;
mod page;
pub mod requests;
mod rpc;
pub mod run;
mod secret;
#[cfg(test)]
mod simulation;
mod status;
mod telemetry;
#[cfg(test)]
mod vectors;
