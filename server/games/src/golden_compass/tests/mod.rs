//! Tests of the rules, clause by clause, and of memories, samples and snapshots.

mod allies;
mod board;
mod catalogue;
mod frequencies;
mod knowledge;
mod memories;
mod period;
mod samples;
mod sets;
mod snapshots;
mod support;
mod texts;
mod turns;
