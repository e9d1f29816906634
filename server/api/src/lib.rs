//! The messages and services of `boardwire.v1`, generated from `proto/` and never edited.
//!
//! `make proto` writes them anew; `tests/bootstrap.rs` proves them fresh.

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

/// The protocol as a serialised `FileDescriptorSet`, for reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!("gen/boardwire.v1.bin");
