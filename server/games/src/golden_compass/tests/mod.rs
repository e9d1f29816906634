//! The rules, clause by clause, and the recorded games.

mod allies;
mod board;
mod bots;
mod catalogues;
mod hidden;
mod memories;
mod period;
mod records;
mod sets;
mod support;
mod turns;
