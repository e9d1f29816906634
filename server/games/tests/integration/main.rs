//! Tests of every game through the contract.

mod clauses;
mod decisions;
mod golden;
mod laws;
mod perft;
mod shown;
mod usual;
