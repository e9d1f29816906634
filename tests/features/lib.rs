//! Has no code: `Cargo.toml` says what this crate is for.
