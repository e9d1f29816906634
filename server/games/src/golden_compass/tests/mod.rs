//! The rules, clause by clause, and the recorded games.

mod bench_tmp;
mod records;
