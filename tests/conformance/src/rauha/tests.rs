//! Tests of recorded games.

use boardwire_kernel::RngStream;
use boardwire_kernel::catalogue::CatalogueResult;
use serde_json::{Value, json};

use super::cases::{EXAMPLES, game, set_at_pointer};
use crate::play::{Difference, ReplayResult};

const GAMES: &str = include_str!("../../data/rauha_games.jsonl");

fn replay(line: &str) -> CatalogueResult<ReplayResult> {
    super::replay(&game(), line)
}

#[test]
fn every_recorded_game_is_played_as_recorded() {
    for line in GAMES.lines() {
        let record: Value = serde_json::from_str(line).expect("JSON");
        let log = record["log"].as_array().expect("a log");
        let points = &log[log.len() - 1]["points"];
        match replay(line).expect("a record") {
            Ok(scores) => assert_eq!(serde_json::json!(scores), *points),
            Err(Difference { location, expected, actual }) => {
                panic!("{}: {location}: {expected} is recorded, {actual} is played", record["id"])
            }
        }
    }
}

/// Replays the first sample game with a change.
fn changed(change: impl FnOnce(&mut Value)) -> CatalogueResult<ReplayResult> {
    let mut record: Value = serde_json::from_str(GAMES.lines().next().expect("a game")).expect("JSON");
    change(&mut record);
    replay(&record.to_string())
}

fn difference(change: impl FnOnce(&mut Value)) -> Difference {
    match changed(change) {
        Ok(Err(difference)) => difference,
        other => panic!("{other:?}"),
    }
}

/// Returns the index of the first event of this kind, at or after `from`, whose action has a field.
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
        difference.location
    };
    assert_eq!(at("first", 0, json!(1)), "log[0] start step 1 first");
    assert_eq!(at("step", 0, json!(2)), "log[0] start step 2 step");
    assert_eq!(at("satellite", 1, json!(0)), "log[1] draft step 1 satellite");
    assert_eq!(at("options", 1, json!([0, 4, 13, 34])), "log[1] draft step 1 options");
    assert_eq!(at("pick", 1, json!(5)), "log[1] draft step 1 pick");
    assert_eq!(at("player", 3, json!(1)), "log[3] main step 1 player");
    assert_eq!(at("card", 3, json!(4)), "log[3] main step 1 card");
    assert_eq!(at("legal_cells", 3, json!([0])), "log[3] main step 1 legal_cells");
    assert_eq!(at("spore_cells", 3, json!([0])), "log[3] main step 1 spore_cells");
    assert_eq!(at("taken", 3, json!(["maa"])), "log[3] main step 1 taken");
    assert_eq!(at("cells", 4, json!([0, 3])), "log[4] activate step 1 cells");
    assert_eq!(at("entities", 4, json!(["maa"])), "log[4] activate step 1 entities");
    assert_eq!(at("crystals", 4, json!(9)), "log[4] activate step 1 crystals");
    assert_eq!(at("points", 7, json!(9)), "log[7] activate step 1 points");
    let snapshot = |field: &str, value: Value| {
        difference(|record| record["log"][13]["players"][1][field] = value).location
    };
    assert_eq!(
        snapshot("cells", json!([28, 101, 102, 103, 104, 105, 106, 107, 108])),
        "log[13] snapshot step 1 players[1].cells"
    );
    assert_eq!(
        snapshot("spores", json!([1, 0, 0, 0, 0, 0, 0, 0, 0])),
        "log[13] snapshot step 1 players[1].spores"
    );
    assert_eq!(snapshot("crystals", json!(0)), "log[13] snapshot step 1 players[1].crystals");
    assert_eq!(snapshot("points", json!(0)), "log[13] snapshot step 1 players[1].points");
    assert_eq!(snapshot("entities", json!(["maa"])), "log[13] snapshot step 1 players[1].entities");
    let last = |field: &str, value: Value| {
        difference(|record| {
            let events = record["log"].as_array_mut().expect("a log");
            events.last_mut().expect("the end")[field] = value;
        })
        .location
    };
    assert!(last("points", json!([57, 52])).ends_with("final points"));
    assert!(last("winners", json!([0, 1])).ends_with("final winners"));
}

#[test]
fn events_missing_or_superfluous_or_illegal_differ() {
    let log = |change: &dyn Fn(&mut Vec<Value>)| {
        let found = difference(|record| change(record["log"].as_array_mut().expect("a log")));
        (found.location, found.expected, found.actual)
    };
    let length = 180;
    let missing = log(&|log| drop(log.remove(7)));
    assert_eq!(missing, ("log[7]".into(), json!("main"), json!("activate")));
    let start = log(&|log| drop(log.remove(0)));
    assert_eq!((start.1, start.2), (json!("draft"), json!("start")));
    let end = log(&|log| drop(log.pop()));
    assert_eq!((end.1, end.2), (json!("the end of the record"), json!("final")));
    assert_eq!(end.0, format!("log[{}]", length - 1));
    let more = log(&|log| log.push(log[0].clone()));
    assert_eq!((more.1, more.2), (json!("start"), json!("the end of the record")));
    let twice = log(&|log| log[2] = log[1].clone());
    assert_eq!(twice, ("log[2] draft step 1 player".into(), json!(0), json!([1])));
    let covered = log(&|log| log[8]["action"] = json!({ "place": 1 }));
    assert_eq!(
        (covered.0, covered.1),
        ("log[8] main step 1 action".into(), json!("place the kept card on cell N"))
    );
    let unused = log(&|log| log[5]["action"] = json!({ "cell": 6 }));
    assert_eq!(unused.1, json!("activate cell SW"), "used already");
    let early = log(&|log| log[7]["action"] = json!({ "cell": 3 }));
    assert_eq!((early.1, early.2), (json!({ "cell": 3 }), json!({ "end": true })), "an automatic end");
    let record: Value = serde_json::from_str(GAMES.lines().next().expect("a game")).expect("JSON");
    assert_eq!(record["log"].as_array().map(Vec::len), Some(length));
    let buys = find(&record, 0, "activate", "spore");
    let target = log(&|log| log[buys]["action"]["spore"] = Value::Null);
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
    let bad = [
        ("/players", json!(6), "players: must be a whole number from 2 to 5; got 6"),
        ("/side", json!("C"), "side: option `side` must be one of A, B; got `C`"),
        ("/op", json!("count"), "op: `count`"),
        ("/moon", json!(1), "unknown field `moon`"),
        ("/log", json!(1), "expected a sequence"),
        ("/initial_stack", json!([1, 1]), "initial_stack"),
        ("/deals/0/0/0", json!(0), "deals[0][1][0]: card 0 is dealt twice"),
        ("/deals/0/0/0", json!(45), "deals[0][0][0]: card 45 is of Age 2"),
        ("/deals/0/0/0", json!(80), "deals[0][0][0]: must be a whole number from 0 to 79; got 80"),
        ("/deals/0/0", json!([1, 3, 29]), "deals[0][0]: invalid length 3"),
        ("/deals/3", json!([]), "deals[3]: must have 2 Satellites; got 0"),
        ("/log/0/ev", json!("stop"), "log[0].ev: unknown variant `stop`"),
        ("/log/0/luck", json!(2), "log[0]: unknown field `luck`"),
        ("/log/0/step", json!(-1), "log[0]: invalid value"),
        ("/log/13/players/0/cells", json!([1]), "log[13]: invalid length 1"),
    ];
    for (pointer, value, words) in bad {
        let error = changed(|record| set_at_pointer(record, pointer, value)).expect_err(words).to_string();
        assert!(error.contains(words), "{pointer}: {error}");
    }
    assert!(changed(|record| drop(record.as_object_mut().expect("a game").remove("log"))).is_err());
    assert!(replay("").is_err() && replay("[]").is_err() && replay("{\"op\":\"game\"").is_err());
}

#[test]
fn facts_that_cannot_be_differ() {
    let facts = [
        ("/log/0/first", json!(200), "log[0] start step 1 first"),
        ("/log/0/step", json!(17), "log[0] start step 17 step"),
        ("/log/1/player", json!(200), "log[1] draft step 1 player"),
        ("/log/1/pick", json!(255), "log[1] draft step 1 pick"),
        ("/log/3/action", json!({ "place": 9 }), "log[3] main step 1 action"),
        ("/log/3/action", json!({}), "log[3] main step 1 action"),
        ("/log/3/action", json!({ "place": 0, "spore": 1 }), "log[3] main step 1 action"),
        ("/log/4/action", json!({ "end": false }), "log[4] activate step 1 action"),
        ("/log/4/action", json!({ "end": true, "spore": 1 }), "log[4] activate step 1 action"),
        ("/log/4/entities", json!(["odin"]), "log[4] activate step 1 entities"),
        ("/log/4/cells", json!([3, 3]), "log[4] activate step 1 cells"),
        ("/log/13/players", json!([]), "log[13] snapshot step 1 players"),
        ("/log/13/players/0/hand", json!(3), "log[13] snapshot step 1 players[0].hand"),
        ("/log/179/points", json!([1]), "log[179] final points"),
    ];
    for (pointer, value, at) in facts {
        assert_eq!(difference(|record| set_at_pointer(record, pointer, value)).location, at);
    }
}

#[test]
fn a_field_given_twice_is_refused() {
    let line = GAMES.lines().next().expect("a game");
    let twice = [
        ("\"side\":\"A\"", "duplicate field `side`"),
        ("\"pick\":0", "log[1]: duplicate field `pick`"),
        ("\"ev\":\"main\"", "log[3]: duplicate field `ev`"),
        ("\"place\":0", "log[3]: duplicate field `place`"),
    ];
    for (field, words) in twice {
        let error = replay(&line.replacen(field, &format!("{field},{field}"), 1)).expect_err(words);
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn totals_may_be_as_large_as_those_of_a_catalogue() {
    for (field, event) in [("crystals", 4), ("points", 7)] {
        let difference = difference(|record| record["log"][event][field] = json!(30_000));
        assert_eq!(difference.expected, 30_000);
    }
}

/// Changes one random value in the JSON.
fn mutate(value: &mut Value, rng: &mut RngStream) {
    match value {
        Value::Object(fields) if !fields.is_empty() && rng.below(12) > 0 => {
            let at = rng.below(u32::try_from(fields.len()).expect("small")) as usize;
            let key = fields.keys().nth(at).expect("a field").clone();
            match rng.below(20) {
                0 => drop(fields.remove(&key)),
                1 => drop(fields.insert("extra".into(), json!(1))),
                _ => mutate(fields.get_mut(&key).expect("a field"), rng),
            }
        }
        Value::Array(items) if !items.is_empty() && rng.below(12) > 0 => {
            let at = rng.below(u32::try_from(items.len()).expect("small")) as usize;
            match rng.below(20) {
                0 => drop(items.remove(at)),
                1 => items.push(items[at].clone()),
                2 => items.swap(at, 0),
                _ => mutate(&mut items[at], rng),
            }
        }
        Value::Number(number) if rng.below(2) == 0 => {
            let number = number.as_i64().unwrap_or(0);
            *value = json!(number.saturating_add([-1, 1, 2][rng.below(3) as usize]));
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
            *value = strange[rng.below(u32::try_from(strange.len()).expect("small")) as usize].clone();
        }
    }
}

#[test]
fn no_line_makes_the_engine_panic() {
    let game = game();
    let mut rng = RngStream::new(77, 0);
    let (mut answered, mut refused, mut differed) = (0, 0, 0);
    for _ in 0..600 {
        for line in EXAMPLES.lines() {
            let mut case: Value = serde_json::from_str(line).expect("JSON");
            (0..=rng.below(2)).for_each(|_| mutate(&mut case, &mut rng));
            match super::score(&game, &case.to_string()) {
                Ok(_) => answered += 1,
                Err(_) => refused += 1,
            }
        }
    }
    for line in GAMES.lines() {
        let record: Value = serde_json::from_str(line).expect("JSON");
        for _ in 0..600 {
            let mut record = record.clone();
            mutate(&mut record, &mut rng);
            match super::replay(&game, &record.to_string()) {
                Ok(Err(_)) => differed += 1,
                Ok(Ok(_)) => answered += 1,
                Err(_) => refused += 1,
            }
        }
        for cut in (0..line.len()).step_by(997) {
            assert!(super::replay(&game, &line[..cut]).is_err());
        }
    }
    assert!(answered > 500 && refused > 500 && differed > 50, "{answered} {refused} {differed}");
}
