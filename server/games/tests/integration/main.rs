//! Tests of every game through the kernel's traits.

mod clauses;
mod decisions;
mod digests;
mod golden;
mod laws;
mod perft;
mod usual;
