//! Scoring cases and recorded games.

use std::sync::Arc;

use boardwire_kernel::{Game, Loaded};
use serde_json::Value;

use crate::faraway::{Catalogue, Faraway};
use crate::{Recorded, Replayed};

const EXAMPLES: &str = include_str!("../../../../../tests/data/faraway_examples.jsonl");
const GAMES: &str = include_str!("../../../../../tests/data/faraway_games.jsonl");

fn catalogue() -> Arc<Loaded<Catalogue>> {
    Arc::new(Loaded::read::<Faraway>(Faraway::TITLE.catalogue).expect("the catalogue is valid"))
}

fn score(line: &str) -> Result<String, crate::LineError> {
    Faraway::SCORER.expect("faraway scores")(&catalogue().value, line)
}

fn json(line: &str) -> Value {
    serde_json::from_str(line).expect("the sample is JSON")
}

#[test]
fn every_example_scores_as_stated() {
    for line in EXAMPLES.lines() {
        let (input, answer) = line.split_once(",\"region_fame\"").expect("an answer");
        let got = score(&format!("{input}}}"));
        assert_eq!(got, Ok(format!("{{\"region_fame\"{answer}")));
        assert_eq!(score(line), got, "an answer in the line is not read");
    }
    assert_eq!(EXAMPLES.lines().count(), 10);
}

#[test]
fn every_recorded_game_plays_as_stated() {
    for line in GAMES.lines() {
        let scores = serde_json::from_value(json(line)["scores"].clone()).expect("scores");
        assert_eq!(Faraway::replay(&catalogue(), line), Ok(Replayed::Same { scores }));
    }
    assert_eq!(GAMES.lines().count(), 5);
}
