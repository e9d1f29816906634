//! Boardwire's protocol in Rust: the messages of `boardwire.v1`. Two features add code:
//! - `client` (the default) adds the client stubs for agents; [`client`] shows how to write an agent;
//! - `server` adds the traits that a server implements. Agents do not need them. Without it, no server code is built.
//!
//! With neither feature, the crate has only the messages and the [errors](error), and does not build gRPC.
//!
//! The code is generated from `proto/`: do not edit it. `make proto` writes it. `tests/bootstrap.rs` checks that it is up
//! to date. [`PROTO_FILES`] and [`FILE_DESCRIPTOR_SET`] hold the protocol itself, for programs without the repository.

#[cfg(feature = "client")]
pub mod client;
pub mod error;
#[cfg(feature = "client")]
mod raw_codec;

pub use error::Error;
#[cfg(feature = "client")]
pub use raw_codec::RawCodec;

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

/// `google.rpc.Status`, the error in a stream response. Builds with tonic use tonic's own type instead.
#[cfg(not(any(feature = "client", feature = "server")))]
#[allow(missing_docs, clippy::pedantic, clippy::allow_attributes_without_reason, reason = "generated")]
#[rustfmt::skip]
#[path = "gen/google.rpc.rs"]
pub mod rpc;

#[cfg(any(feature = "client", feature = "server"))]
pub use tonic;
#[cfg(any(feature = "client", feature = "server"))]
pub use tonic_types::{self, pb as rpc};

/// The maximum size in bytes of a server's messages. For large batches, set it as a stub's `max_decoding_message_size`.
pub const MAX_MESSAGE_BYTES: usize = 64 << 20;

/// The proto files and their imports, except the well-known types: import path and contents of each file.
pub const PROTO_FILES: &[(&str, &str)] = files::FILES;

/// The protocol as a serialized `FileDescriptorSet` with all imports, for reflection and for tools that read no text.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!("gen/boardwire.v1.bin");
