//! Recorded games.

use std::sync::Arc;

use boardwire_kernel::{Game as _, Loaded};

use super::super::GoldenCompass;
use crate::{Recorded as _, Replayed};

const GAMES: &str = include_str!("../../../../../tests/data/golden_compass_games.jsonl");

fn replay(line: &str) -> Result<Replayed, crate::LineError> {
    let loaded = Loaded::read::<GoldenCompass>(GoldenCompass::TITLE.catalogue).expect("a valid catalogue");
    GoldenCompass::replay(&Arc::new(loaded), line)
}

#[test]
fn recorded_games_play_as_told() {
    for line in GAMES.lines() {
        let played = replay(line).expect("a recorded game");
        assert!(matches!(played, Replayed::Same { .. }), "{played:?}");
    }
}
