//! The rules, clause by clause, and the recorded games.

mod records;
mod bench_tmp;
