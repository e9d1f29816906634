//! The rules, clause by clause, and the recorded games.

mod records;
