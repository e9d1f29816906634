//! Tests of Rauha, by clause of `docs/rules/rauha.md` where one is tested.

mod record;
