//! Boardwire's protocol in Rust: the messages of `boardwire.v1`, and with feature
//! - `client` (the default) the stubs that agents call a server with; [`client`] says how to write one;
//! - `server` the traits that a server fulfils. Agents need none of it, and without it no server is built.
//!
//! Without either there are the messages and the [errors](error) alone, and nothing of gRPC is built.
//!
//! The code is generated from `proto/` and never edited. `make proto` writes it; `tests/bootstrap.rs` proves
//! it fresh. [`FILES`] and [`DESCRIPTORS`] are the protocol itself, for programs without the repository.

#[cfg(feature = "client")]
pub mod client;
pub mod error;

pub use error::Error;

mod files {
    include!("gen/files.rs");
}

/// The generated code.
#[allow(
    missing_docs,
    unreachable_pub,
    clippy::pedantic,
    clippy::all,
    clippy::allow_attributes_without_reason,
    reason = "generated"
)]
#[rustfmt::skip]
#[path = "gen/boardwire.v1.rs"]
pub mod v1;

/// `google.rpc.Status`, which tells a refusal in an answer of a stream: tonic's own where there is tonic.
#[cfg(not(any(feature = "client", feature = "server")))]
#[allow(missing_docs, clippy::pedantic, clippy::allow_attributes_without_reason, reason = "generated")]
#[rustfmt::skip]
#[path = "gen/google.rpc.rs"]
pub mod rpc;

#[cfg(any(feature = "client", feature = "server"))]
pub use tonic;
#[cfg(any(feature = "client", feature = "server"))]
pub use tonic_types::{self, pb as rpc};

/// The largest message that a server takes or sends: for `max_decoding_message_size` of a stub, where batches are large.
pub const MAX_MESSAGE_BYTES: usize = 64 << 20;

/// The protocol as text, with what it imports but for the well-known types: paths as imports name them, and contents.
pub const FILES: &[(&str, &str)] = files::FILES;

/// The protocol as a serialised `FileDescriptorSet`, with all that it imports: for reflection, and for tools that
/// read no text.
pub const DESCRIPTORS: &[u8] = include_bytes!("gen/boardwire.v1.bin");
