//! Tests of every game through the kernel's traits.

mod clauses;
mod decisions;
mod golden;
mod laws;
mod perft;
mod shown;
mod usual;
