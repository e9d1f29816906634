//! Scoring cases and recorded games.

use std::sync::Arc;

use boardwire_kernel::{Game, Loaded};
use serde_json::Value;

use crate::rauha::{Catalogue, Rauha};
use crate::{Difference, Recorded, Replayed};

const EXAMPLES: &str = include_str!("../../../tests/data/rauha_examples.jsonl");
const GAMES: &str = include_str!("../../../tests/data/rauha_games.jsonl");

fn loaded() -> Arc<Loaded<Catalogue>> {
    Arc::new(Loaded::read::<Rauha>(Rauha::TITLE.catalogue).expect("valid"))
}

fn replay(line: &str) -> Result<Replayed, crate::LineError> {
    Rauha::replay(&loaded(), line)
}

#[test]
fn every_example_is_answered_as_it_expects() {
    let catalogue = loaded();
    let score = Rauha::SCORER.expect("Rauha scores cases");
    for line in EXAMPLES.lines() {
        let case: Value = serde_json::from_str(line).expect("JSON");
        let answer: Value =
            serde_json::from_str(&score(&catalogue.value, line).expect("a case")).expect("JSON");
        assert_eq!(answer["expect"], case["expect"], "{}", case["id"]);
        assert_eq!(answer["id"], case["id"]);
    }
}

#[test]
fn every_recorded_game_is_played_as_recorded() {
    for line in GAMES.lines() {
        let record: Value = serde_json::from_str(line).expect("JSON");
        let log = record["log"].as_array().expect("a log");
        let points = &log[log.len() - 1]["points"];
        match replay(line).expect("a record") {
            Replayed::Same { scores } => assert_eq!(serde_json::json!(scores), *points),
            Replayed::Differs(Difference { at, expected, got }) => {
                panic!("{}: {at}: {expected} is recorded, {got} is played", record["id"])
            }
        }
    }
}
