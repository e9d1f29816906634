//! The rules, clause by clause, and the recorded games.

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
mod turns;
