//! Boardwire's gRPC server: matches between seats that do not trust each other, and batches of environments.
//!
//! [`run`] serves on given listeners until a shutdown. [`Matches`](matches::Matches) holds the matches, each behind its own
//! lock. [`Batches`](batches::Batches) holds the batches. One [thread pool](boardwire_batch::pool::Pool) does the long work
//! of both. Handlers in `rpc/` parse, call one method and convert; they decide nothing. A response to a seat depends only on
//! the seat's [observation](arbiter::Observation).

pub mod arbiter;
pub mod batches;
mod convert;
pub mod edge;
pub mod hex;
pub mod journal;
pub mod matches;
pub mod operator_files;
pub mod origin;
pub mod page;
mod quota;
pub mod record;
pub mod requests;
mod rpc;
pub mod run;
pub mod secret;
mod serde_formats;
#[cfg(test)]
mod simulation;
mod stall;
pub mod status;
pub mod telemetry;
#[cfg(test)]
mod vectors;
