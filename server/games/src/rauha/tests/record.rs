//! Scoring cases and recorded games.

use std::sync::Arc;

use boardwire_kernel::{Dice, Game, Loaded};
use serde_json::{Value, json};

use super::SIDE_A;
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

/// The answer to a case, or its refusal.
fn score(case: &Value) -> Result<Value, String> {
    let score = Rauha::SCORER.expect("Rauha scores cases");
    let answer = score(&loaded().value, &case.to_string()).map_err(|error| error.to_string())?;
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    Ok(answer["expect"].clone())
}

fn player(cells: [u8; 9], more: Value) -> Value {
    let mut player = json!({
        "cells": cells, "spores": [0, 0, 0, 0, 0, 0, 0, 0, 0], "crystals": 4, "points": 0, "entities": []
    });
    for (field, value) in more.as_object().expect("fields") {
        player[field] = value.clone();
    }
    player
}

fn case(op: &str, players: &[Value], more: Value) -> Value {
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
            json!({ "entities": ["vuori"], "spores": [1, 0, 0, 0, 0, 0, 0, 0, 1] }),
        )],
        json!({ "player": 0 }),
    );
    assert_eq!(
        score(&count),
        Ok(json!({ "flying": 1, "land": 3, "marine": 3, "spore": 2, "water": 3 }))
    );
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
        let player = player(
            SIDE_A,
            json!({ "crystals": crystals, "spores": [0, 0, 0, 0, 1, 0, 0, 0, 0] }),
        );
        score(&case(
            "spore_target",
            &[player],
            json!({ "player": 0, "cell": cell, "spore_target": target }),
        ))
    };
    assert_eq!(target(5, 0, 3), Ok(json!({ "legal": true })));
    assert_eq!(target(5, 5, 3), Ok(json!({ "legal": true })), "the active cell");
    assert_eq!(target(5, 4, 3), Ok(json!({ "legal": false })), "an occupied cell");
    assert_eq!(target(5, 0, 2), Ok(json!({ "legal": false })));
    assert_eq!(
        target(1, 0, 3),
        Ok(json!({ "legal": false })),
        "no Spore is bought there"
    );
    let last = |points: &[i32]| score(&json!({ "id": "x", "op": "final", "points": points }));
    assert_eq!(
        last(&[40, 51, 51]),
        Ok(json!({ "winners": [1, 2], "shared": true }))
    );
    assert_eq!(
        last(&[40, 51, 50]),
        Ok(json!({ "winners": [1], "shared": false }))
    );
    let leader = json!({ "id": "x", "op": "leader", "players": 3, "initial_stack": [2, 0, 1], "events": [] });
    assert_eq!(score(&leader), Ok(json!({ "first": 1 })));
}

#[test]
fn activations_that_cannot_be_are_answered_so() {
    let entity = |entity: &str, held: &[&str], crystals: u8| {
        let player = player(
            SIDE_A,
            json!({ "entities": held, "fresh": held, "crystals": crystals }),
        );
        score(&case(
            "activate_entity",
            &[player],
            json!({ "player": 0, "entity": entity }),
        ))
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
            &[player(SIDE_A, json!({ "spores": [1, 0, 0, 0, 0, 0, 0, 0, 0] }))],
            asked,
        ))
    };
    assert_eq!(cell(2, json!({})), no, "no effect");
    assert_eq!(cell(5, json!({ "spore_target": 0 })), no, "occupied");
    assert_eq!(cell(5, json!({})), Err("spore_target: missing".into()));
    let main = |action: &str, at: u8| {
        let player = player(
            SIDE_A,
            json!({ "hand": 69, "spores": [1, 0, 0, 0, 0, 0, 0, 0, 0] }),
        );
        score(&case(
            "main_action",
            &[player],
            json!({ "player": 0, "action": action, "cell": at }),
        ))
    };
    assert_eq!(
        main("place", 0),
        Ok(json!({ "legal": false })),
        "4 crystals for a cost of 7"
    );
    assert_eq!(main("spore", 0), Ok(json!({ "legal": false })));
    assert_eq!(main("crystals", 0).expect("legal")["crystals_after"], 8);
    assert!(main("pass", 0).is_err());
}

#[test]
fn bad_cases_are_refused_with_what_and_where() {
    let refused = |spoil: &dyn Fn(&mut Value)| {
        let mut asked = case(
            "count",
            &[player(SIDE_A, json!({})), player(SIDE_A, json!({ "hand": 7 }))],
            json!({ "player": 1 }),
        );
        assert!(score(&asked).is_ok());
        spoil(&mut asked);
        score(&asked).expect_err("a bad case")
    };
    let has = |error: String, words: &str| assert!(error.contains(words), "{error}");
    has(
        refused(&|case| case["op"] = json!("guess")),
        "op: there is no operation `guess`",
    );
    has(
        refused(&|case| case["colour"] = json!("red")),
        "unknown field `colour`",
    );
    has(
        refused(&|case| case["player"] = json!(2)),
        "player: 2 is not from 0 to 1",
    );
    has(refused(&|case| case["player"] = Value::Null), "player: missing");
    let at = |case: &mut Value, field: &str, value: Value| case["state"]["players"][0][field] = value;
    has(
        refused(&|case| at(case, "cells", json!([100, 101]))),
        "state.players[0].cells: 2 values, not 9",
    );
    let cells = |cell: u8| json!([cell, 101, 102, 103, 104, 105, 106, 107, 108]);
    has(
        refused(&|case| at(case, "cells", cells(80))),
        "cells[0]: there is no biome 80",
    );
    has(
        refused(&|case| at(case, "cells", cells(109))),
        "cells[0]: there is no biome 109",
    );
    has(
        refused(&|case| at(case, "cells", cells(101))),
        "cells[0]: 101 is printed on cell 1",
    );
    has(refused(&|case| at(case, "cells", cells(110))), "both sides");
    has(
        refused(&|case| at(case, "cells", cells(7))),
        "state.players[1].hand: card 7 is there twice",
    );
    has(
        refused(&|case| at(case, "crystals", json!(-1))),
        "crystals: -1 is not from 0",
    );
    has(
        refused(&|case| at(case, "spores", json!([2, 0, 0, 0, 0, 0, 0, 0, 0]))),
        "spores[0]",
    );
    has(
        refused(&|case| at(case, "entities", json!(["odin"]))),
        "there is no Entity `odin`",
    );
    has(
        refused(&|case| at(case, "entities", json!(["maa", "maa"]))),
        "stands there twice",
    );
    has(
        refused(&|case| at(case, "luck", json!(1))),
        "unknown field `luck`",
    );
    has(refused(&|case| case["state"]["players"] = json!([])), "0 seats");
    assert!(Rauha::SCORER.expect("a scorer")(&loaded().value, "{").is_err());
}

/// The first sample game, so changed.
fn changed(change: impl FnOnce(&mut Value)) -> Result<Replayed, crate::LineError> {
    let mut record: Value = serde_json::from_str(GAMES.lines().next().expect("a game")).expect("JSON");
    change(&mut record);
    replay(&record.to_string())
}

fn difference(change: impl FnOnce(&mut Value)) -> Difference {
    match changed(change) {
        Ok(Replayed::Differs(difference)) => difference,
        other => panic!("{other:?}"),
    }
}

/// The index of the first event of a kind at or after `from` whose field has a value.
fn find(record: &Value, from: usize, kind: &str, field: &str) -> usize {
    let log = record["log"].as_array().expect("a log");
    let found = (from..log.len()).find(|&at| log[at]["ev"] == kind && log[at]["action"].get(field).is_some());
    found.expect("such an event")
}

#[test]
fn every_fact_of_a_record_is_compared() {
    let at = |field: &'static str, event: usize, value: Value| {
        let difference = difference(|record| record["log"][event][field] = value.clone());
        assert_eq!(difference.expected, value, "{difference:?}");
        difference.at
    };
    assert_eq!(at("first", 0, json!(1)), "log[0] start step 1 first");
    assert_eq!(at("step", 0, json!(2)), "log[0] start step 2 step");
    assert_eq!(at("satellite", 1, json!(0)), "log[1] draft step 1 satellite");
    assert_eq!(
        at("options", 1, json!([0, 4, 13, 34])),
        "log[1] draft step 1 options"
    );
    assert_eq!(at("pick", 1, json!(5)), "log[1] draft step 1 pick");
    assert_eq!(at("player", 3, json!(1)), "log[3] main step 1 player");
    assert_eq!(at("card", 3, json!(4)), "log[3] main step 1 card");
    assert_eq!(at("legal_cells", 3, json!([0])), "log[3] main step 1 legal_cells");
    assert_eq!(at("spore_cells", 3, json!([0])), "log[3] main step 1 spore_cells");
    assert_eq!(at("taken", 3, json!(["maa"])), "log[3] main step 1 taken");
    assert_eq!(at("cells", 4, json!([0, 3])), "log[4] activate step 1 cells");
    assert_eq!(
        at("entities", 4, json!(["maa"])),
        "log[4] activate step 1 entities"
    );
    assert_eq!(at("crystals", 4, json!(9)), "log[4] activate step 1 crystals");
    assert_eq!(at("points", 7, json!(9)), "log[7] activate step 1 points");
    let snapshot =
        |field: &str, value: Value| difference(|record| record["log"][13]["players"][1][field] = value).at;
    assert_eq!(
        snapshot("cells", json!([28, 101, 102, 103, 104, 105, 106, 107, 108])),
        "log[13] snapshot step 1 players[1].cells"
    );
    assert_eq!(
        snapshot("spores", json!([1, 0, 0, 0, 0, 0, 0, 0, 0])),
        "log[13] snapshot step 1 players[1].spores"
    );
    assert_eq!(
        snapshot("crystals", json!(0)),
        "log[13] snapshot step 1 players[1].crystals"
    );
    assert_eq!(
        snapshot("points", json!(0)),
        "log[13] snapshot step 1 players[1].points"
    );
    assert_eq!(
        snapshot("entities", json!(["maa"])),
        "log[13] snapshot step 1 players[1].entities"
    );
    let last = |field: &str, value: Value| {
        difference(|record| {
            let events = record["log"].as_array_mut().expect("a log");
            events.last_mut().expect("the end")[field] = value;
        })
        .at
    };
    assert!(last("points", json!([57, 52])).ends_with("final points"));
    assert!(last("winners", json!([0, 1])).ends_with("final winners"));
}

#[test]
fn events_missing_or_superfluous_or_illegal_differ() {
    let log = |change: &dyn Fn(&mut Vec<Value>)| {
        let found = difference(|record| change(record["log"].as_array_mut().expect("a log")));
        (found.at, found.expected, found.got)
    };
    let length = 180;
    let missing = log(&|log| drop(log.remove(7)));
    assert_eq!(
        missing,
        ("log[7] main step 1".into(), json!("main"), json!("activate"))
    );
    let start = log(&|log| drop(log.remove(0)));
    assert_eq!((start.1, start.2), (json!("draft"), json!("start")));
    let end = log(&|log| drop(log.pop()));
    assert_eq!((end.1, end.2), (json!("the end of the record"), json!("final")));
    assert_eq!(end.0, format!("log[{}] missing", length - 1));
    let more = log(&|log| log.push(log[0].clone()));
    assert_eq!((more.1, more.2), (json!("start"), json!("the end of the record")));
    let twice = log(&|log| log[2] = log[1].clone());
    assert_eq!(twice, ("log[2] draft step 1 player".into(), json!(0), json!([1])));
    let covered = log(&|log| log[8]["action"] = json!({ "place": 1 }));
    assert_eq!(
        (covered.0, covered.1),
        ("log[8] main step 1 action".into(), json!("place on cell 1"))
    );
    let unused = log(&|log| log[5]["action"] = json!({ "cell": 6 }));
    assert_eq!(unused.1, json!("activate cell 6"), "used already");
    let early = log(&|log| log[7]["action"] = json!({ "cell": 3 }));
    assert_eq!(
        (early.1, early.2),
        (json!({ "cell": 3 }), json!({ "end": true })),
        "an automatic end"
    );
    let record: Value = serde_json::from_str(GAMES.lines().next().expect("a game")).expect("JSON");
    assert_eq!(record["log"].as_array().map(Vec::len), Some(length));
    let buys = find(&record, 0, "activate", "spore");
    let target = log(&|log| {
        drop(
            log[buys]["action"]
                .as_object_mut()
                .expect("an action")
                .remove("spore"),
        )
    });
    assert!(target.0.ends_with("action.spore"), "{target:?}");
    let target = log(&|log| log[4]["action"]["spore"] = json!(3));
    assert_eq!((target.1, target.2), (json!(3), Value::Null), "nothing is bought");
    let spore = find(&record, 0, "activate", "spore");
    let occupied = log(&|log| {
        log[spore]["action"]["spore"] = json!(7);
        let next = find(&json!({ "log": log }), spore + 1, "activate", "spore");
        log[next]["action"]["spore"] = json!(7);
    });
    assert!(occupied.0.starts_with("log["), "{occupied:?}");
}

#[test]
fn records_that_cannot_be_are_refused_with_what_and_where() {
    let refused = |change: &dyn Fn(&mut Value)| match changed(change) {
        Err(error) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let has = |error: String, words: &str| assert!(error.contains(words), "{error}");
    has(
        refused(&|record| record["players"] = json!(6)),
        "players: 6 is not from 2 to 5",
    );
    has(refused(&|record| record["side"] = json!("C")), "side: `C`");
    has(refused(&|record| record["op"] = json!("count")), "op: `count`");
    has(
        refused(&|record| record["moon"] = json!(1)),
        "unknown field `moon`",
    );
    has(
        refused(&|record| record["initial_stack"] = json!([1, 1])),
        "initial_stack",
    );
    has(
        refused(&|record| record["deals"][0][0][0] = json!(0)),
        "deals[0][1][0]: card 0 is dealt twice",
    );
    has(
        refused(&|record| record["deals"][0][0][0] = json!(45)),
        "deals[0][0][0]: card 45 is of Age 2",
    );
    has(
        refused(&|record| record["deals"][0][0][0] = json!(80)),
        "there is no card 80",
    );
    has(
        refused(&|record| record["deals"][0][0] = json!([1, 3, 29])),
        "deals[0][0]: 3 cards, not 4",
    );
    has(
        refused(&|record| record["deals"][3] = json!([])),
        "deals[3]: 0 Satellites, not 2",
    );
    has(
        refused(&|record| drop(record.as_object_mut().expect("a game").remove("log"))),
        "missing field `log`",
    );
    has(
        refused(&|record| record["log"][0]["ev"] = json!("stop")),
        "log[0]: unknown variant `stop`",
    );
    has(
        refused(&|record| record["log"][0]["first"] = json!(2)),
        "log[0].first: 2 is not from 0 to 1",
    );
    has(
        refused(&|record| record["log"][0]["luck"] = json!(2)),
        "log[0]: unknown field `luck`",
    );
    has(
        refused(&|record| record["log"][0]["step"] = json!(17)),
        "log[0].step",
    );
    has(
        refused(&|record| record["log"][3]["action"] = json!({ "place": 9 })),
        "log[3].action.place",
    );
    has(
        refused(&|record| record["log"][3]["action"] = json!({})),
        "log[3].action: not one of",
    );
    has(
        refused(&|record| record["log"][4]["action"] = json!({ "end": false })),
        "log[4].action: not one of",
    );
    has(
        refused(&|record| record["log"][4]["entities"] = json!(["odin"])),
        "no Entity `odin`",
    );
    has(
        refused(&|record| record["log"][4]["cells"] = json!([3, 3])),
        "log[4].cells[1]: 3 stands there twice",
    );
    has(
        refused(&|record| record["log"][13]["players"] = json!([])),
        "log[13].players: 0 seats, not 2",
    );
    assert!(replay("").is_err() && replay("[]").is_err() && replay("{\"op\":\"game\"").is_err());
}

/// One random change of a value somewhere in the JSON.
fn mutate(value: &mut Value, dice: &mut Dice) {
    match value {
        Value::Object(fields) if !fields.is_empty() && dice.below(12) > 0 => {
            let at = dice.below(u32::try_from(fields.len()).expect("small")) as usize;
            let key = fields.keys().nth(at).expect("a field").clone();
            match dice.below(20) {
                0 => drop(fields.remove(&key)),
                1 => drop(fields.insert("extra".into(), json!(1))),
                _ => mutate(fields.get_mut(&key).expect("a field"), dice),
            }
        }
        Value::Array(items) if !items.is_empty() && dice.below(12) > 0 => {
            let at = dice.below(u32::try_from(items.len()).expect("small")) as usize;
            match dice.below(20) {
                0 => drop(items.remove(at)),
                1 => items.push(items[at].clone()),
                2 => items.swap(at, 0),
                _ => mutate(&mut items[at], dice),
            }
        }
        Value::Number(number) if dice.below(2) == 0 => {
            let number = number.as_i64().unwrap_or(0);
            *value = json!(number.saturating_add([-1, 1, 2][dice.below(3) as usize]));
        }
        _ => {
            let strange = [
                json!(null),
                json!(-1),
                json!(0),
                json!(3),
                json!(8),
                json!(9),
                json!(79),
                json!(255),
                json!(65_536),
                json!(i64::MAX),
                json!(u64::MAX),
                json!("maa"),
                json!(""),
                json!([]),
                json!({}),
                json!(true),
                json!([[1, 65_000]]),
            ];
            *value = strange[dice.below(u32::try_from(strange.len()).expect("small")) as usize].clone();
        }
    }
}

#[test]
fn no_line_makes_the_engine_panic() {
    let catalogue = loaded();
    let score = Rauha::SCORER.expect("Rauha scores cases");
    let mut dice = Dice::new(77, 0);
    let (mut answered, mut refused, mut differed) = (0, 0, 0);
    for _ in 0..600 {
        for line in EXAMPLES.lines() {
            let mut case: Value = serde_json::from_str(line).expect("JSON");
            (0..=dice.below(2)).for_each(|_| mutate(&mut case, &mut dice));
            match score(&catalogue.value, &case.to_string()) {
                Ok(_) => answered += 1,
                Err(_) => refused += 1,
            }
        }
    }
    for line in GAMES.lines() {
        let record: Value = serde_json::from_str(line).expect("JSON");
        for _ in 0..600 {
            let mut record = record.clone();
            mutate(&mut record, &mut dice);
            match Rauha::replay(&catalogue, &record.to_string()) {
                Ok(Replayed::Differs(_)) => differed += 1,
                Ok(Replayed::Same { .. }) => answered += 1,
                Err(_) => refused += 1,
            }
        }
        for cut in (0..line.len()).step_by(997) {
            assert!(Rauha::replay(&catalogue, &line[..cut]).is_err());
        }
    }
    assert!(
        answered > 500 && refused > 500 && differed > 50,
        "{answered} {refused} {differed}"
    );
}
