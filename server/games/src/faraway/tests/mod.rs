//! The clauses of `docs/rules/faraway.md`, one law a test.

mod records;
