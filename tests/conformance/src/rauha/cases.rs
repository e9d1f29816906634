//! Tests of scoring cases.

use boardwire_games::rauha::Rauha;
use boardwire_kernel::Setup;
use serde_json::{Value, json};

use crate::GameCatalogue;

pub(super) const EXAMPLES: &str = include_str!("../../data/rauha_examples.jsonl");
const SIDE_A: [u8; 9] = [100, 101, 102, 103, 104, 105, 106, 107, 108];

pub(super) fn game() -> GameCatalogue<Rauha> {
    GameCatalogue::read(Rauha::TYPE.catalogue.into()).expect("valid")
}

#[test]
fn every_example_is_answered_as_it_expects() {
    let game = game();
    for line in EXAMPLES.lines() {
        let case: Value = serde_json::from_str(line).expect("JSON");
        let answer: Value = serde_json::from_str(&super::score(&game, line).expect("a case")).expect("JSON");
        assert_eq!(answer["expect"], case["expect"], "{}", case["id"]);
        assert_eq!(answer["id"], case["id"]);
    }
}

/// Answers a case. Returns the answer or the error.
fn score(case: &Value) -> Result<Value, String> {
    let answer = super::score(&game(), &case.to_string()).map_err(|error| error.to_string())?;
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    Ok(answer["expect"].clone())
}

fn player(cells: [u8; 9], more: &Value) -> Value {
    let mut player = json!({
        "cells": cells, "spores": [0, 0, 0, 0, 0, 0, 0, 0, 0], "crystals": 4, "points": 0, "entities": []
    });
    for (field, value) in more.as_object().expect("fields") {
        player[field] = value.clone();
    }
    player
}

fn case(op: &str, players: &[Value], more: &Value) -> Value {
    let mut case = json!({ "id": "x", "op": op, "state": { "players": players } });
    for (field, value) in more.as_object().expect("fields") {
        case[field] = value.clone();
    }
    case
}

#[test]
fn the_operations_without_an_example_answer_as_the_table_says() {
    let count = case(
        "count",
        &[player(
            [49, 50, 55, 103, 104, 105, 106, 107, 108],
            &json!({ "entities": ["vuori"], "spores": [1, 0, 0, 0, 0, 0, 0, 0, 1] }),
        )],
        &json!({ "player": 0 }),
    );
    assert_eq!(score(&count), Ok(json!({ "flying": 1, "land": 3, "marine": 3, "spore": 2, "water": 3 })));
    let draft = |players, player, step| {
        score(
            &json!({ "id": "x", "op": "draft_satellite", "players": players, "player": player, "step": step }),
        )
    };
    assert_eq!(draft(3, 2, 1), Ok(json!({ "satellite": 0 })), "moon");
    assert_eq!(draft(3, 2, 2), Ok(json!({ "satellite": 2 })), "star");
    assert_eq!(draft(2, 0, 5), Ok(json!({ "satellite": 0 })));
    assert!(
        draft(2, 0, 4).is_err()
            && draft(2, 2, 1).is_err()
            && draft(6, 0, 1).is_err()
            && draft(2, 0, 0).is_err()
    );
    let target = |cell, target, crystals| {
        let player = player(SIDE_A, &json!({ "crystals": crystals, "spores": [0, 0, 0, 0, 1, 0, 0, 0, 0] }));
        score(&case("spore_target", &[player], &json!({ "player": 0, "cell": cell, "spore_target": target })))
    };
    assert_eq!(target(5, 0, 3), Ok(json!({ "legal": true })));
    assert_eq!(target(5, 5, 3), Ok(json!({ "legal": true })), "the active cell");
    assert_eq!(target(5, 4, 3), Ok(json!({ "legal": false })), "an occupied cell");
    assert_eq!(target(5, 0, 2), Ok(json!({ "legal": false })));
    assert_eq!(target(1, 0, 3), Ok(json!({ "legal": false })), "no Spore is bought there");
    let last = |points: &[i32]| score(&json!({ "id": "x", "op": "final", "points": points }));
    assert_eq!(last(&[40, 51, 51]), Ok(json!({ "winners": [1, 2], "shared": true })));
    assert_eq!(last(&[40, 51, 50]), Ok(json!({ "winners": [1], "shared": false })));
    let leader = json!({ "id": "x", "op": "leader", "players": 3, "initial_stack": [2, 0, 1], "events": [] });
    assert_eq!(score(&leader), Ok(json!({ "first": 1 })));
}

#[test]
fn activations_that_cannot_be_are_answered_so() {
    let entity = |entity: &str, held: &[&str], crystals: u8| {
        let player = player(SIDE_A, &json!({ "entities": held, "fresh": held, "crystals": crystals }));
        score(&case("activate_entity", &[player], &json!({ "player": 0, "entity": entity })))
    };
    let no = Ok(json!({ "activatable": false }));
    assert_eq!(entity("vuori", &["vuori"], 9), no);
    assert_eq!(entity("taivas", &["taivas"], 3), no);
    assert_eq!(entity("kiteet", &["taivas"], 3), no, "not held");
    let taken = json!({ "activatable": true, "crystals_delta": -4, "points_delta": 7, "spores_added": [] });
    assert_eq!(entity("taivas", &["taivas"], 4), Ok(taken));
    let cell = |cell, more: Value| {
        let mut asked = json!({ "player": 0, "cell": cell });
        for (field, value) in more.as_object().expect("fields") {
            asked[field] = value.clone();
        }
        score(&case(
            "activate_cell",
            &[player(SIDE_A, &json!({ "spores": [1, 0, 0, 0, 0, 0, 0, 0, 0] }))],
            &asked,
        ))
    };
    assert_eq!(cell(2, json!({})), no, "no effect");
    assert_eq!(cell(5, json!({ "spore_target": 0 })), no, "occupied");
    assert_eq!(cell(5, json!({})), Err("spore_target: missing".into()));
    let main = |action: &str, at: u8| {
        let player = player(SIDE_A, &json!({ "hand": 69, "spores": [1, 0, 0, 0, 0, 0, 0, 0, 0] }));
        score(&case("main_action", &[player], &json!({ "player": 0, "action": action, "cell": at })))
    };
    assert_eq!(main("place", 0), Ok(json!({ "legal": false })), "4 crystals for a cost of 7");
    assert_eq!(main("spore", 0), Ok(json!({ "legal": false })));
    assert_eq!(main("crystals", 0).expect("legal")["crystals_after"], 8);
    assert!(main("pass", 0).is_err());
}

/// Sets the value at a JSON pointer. The last part of the pointer may be a new field.
pub(super) fn set_at_pointer(json: &mut Value, pointer: &str, value: Value) {
    let (parent, field) = pointer.rsplit_once('/').expect("a pointer");
    match json.pointer_mut(parent).expect("a place in the JSON") {
        Value::Array(items) => items[field.parse::<usize>().expect("an index")] = value,
        parent => parent[field] = value,
    }
}

/// Returns JSON pointers, values that make the case there invalid, and the text of the error.
fn bad_values() -> Vec<(&'static str, Value, &'static str)> {
    let cells = |cell: u8| json!([cell, 101, 102, 103, 104, 105, 106, 107, 108]);
    vec![
        ("/op", json!("guess"), "op: there is no operation `guess`"),
        ("/colour", json!("red"), "unknown field `colour`"),
        ("/player", json!(2), "player: must be 0 to 1; got 2"),
        ("/player", Value::Null, "player: missing"),
        ("/state/players", json!([]), "state.players (their number): must be 1 to 5; got 0"),
        ("/state/players/0/cells", json!([100]), "state.players[0].cells: invalid length 1"),
        ("/state/players/0/cells", cells(80), "cells[0]: there is no biome 80"),
        ("/state/players/0/cells", cells(109), "cells[0]: there is no biome 109"),
        ("/state/players/0/cells", cells(101), "cells[0]: biome 101 must be on cell 1"),
        ("/state/players/0/cells", cells(110), "both sides"),
        ("/state/players/0/cells", cells(7), "state.players[1].hand: card 7 occurs twice"),
        ("/state/players/0/crystals", json!(-1), "crystals: invalid value: integer `-1`"),
        ("/state/players/0/points", json!(30_001), "points: must be 0 to 30000; got 30001"),
        ("/state/players/0/spores/0", json!(2), "spores[0]: must be 0 to 1; got 2"),
        ("/state/players/0/entities", json!(["odin"]), "there is no Entity `odin`"),
        ("/state/players/0/entities", json!(["maa", "maa"]), "`maa` occurs twice"),
        ("/state/players/0/fresh", json!(["maa"]), "players[0].fresh: an Entity that is not held"),
        ("/state/players/0/fresh", json!(["odin"]), "players[0].fresh[0]: there is no Entity `odin`"),
        ("/state/players/1/fresh", json!(["maa"]), "players[1].fresh: an Entity that is not held"),
        ("/state/players/0/luck", json!(1), "unknown field `luck`"),
    ]
}

#[test]
fn totals_may_be_as_large_as_those_of_a_catalogue() {
    let rich = json!({ "crystals": 30_000, "points": 30_000, "entities": ["taivas"], "fresh": ["taivas"] });
    let bought =
        case("activate_entity", &[player(SIDE_A, &rich)], &json!({ "player": 0, "entity": "taivas" }));
    assert_eq!(score(&bought).expect("a case")["crystals_delta"], -4);
}

#[test]
fn bad_cases_are_refused_with_what_and_where() {
    let sound = case(
        "count",
        &[player(SIDE_A, &json!({})), player(SIDE_A, &json!({ "hand": 7 }))],
        &json!({ "player": 1 }),
    );
    assert!(score(&sound).is_ok());
    for (pointer, value, words) in bad_values() {
        let mut case = sound.clone();
        set_at_pointer(&mut case, pointer, value);
        let error = score(&case).expect_err(words);
        assert!(error.contains(words), "{pointer}: {error}");
    }
    assert!(super::score(&game(), "{").is_err());
}
