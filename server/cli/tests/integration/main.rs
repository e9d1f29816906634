//! Tests of the server through its public interface and over real sockets.

mod batches;
mod dependencies;
mod edge;
mod holding;
mod server;
mod traces;
