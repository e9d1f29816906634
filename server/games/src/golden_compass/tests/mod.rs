//! The rules, clause by clause, and the recorded games.

mod allies;
mod board;
mod catalogues;
mod hidden;
mod memories;
mod period;
mod records;
mod sets;
mod snapshots;
mod support;
mod turns;
