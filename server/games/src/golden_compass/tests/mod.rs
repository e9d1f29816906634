//! The rules, clause by clause, and the recorded games.

mod allies;
mod board;
mod catalogue;
mod frequencies;
mod histories;
mod knowledge;
mod memories;
mod period;
mod records;
mod sets;
mod sketches;
mod snapshots;
mod support;
mod turns;
