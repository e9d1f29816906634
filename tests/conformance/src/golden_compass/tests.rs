//! Tests of recorded games.

use std::collections::BTreeSet;
use std::sync::Arc;

use boardwire_games::golden_compass::GoldenCompass;
use boardwire_kernel::catalogue::CatalogueResult;
use boardwire_kernel::{RngStream, Setup, set_up};
use serde_json::{Value, json};

use super::components::Components;
use crate::GameCatalogue;
use crate::play::ReplayResult;

const GAMES: &str = include_str!("../../data/golden_compass_games.jsonl");

fn replay(line: &str) -> CatalogueResult<ReplayResult> {
    let game = GameCatalogue::<GoldenCompass>::read(GoldenCompass::TYPE.catalogue.into()).expect("valid");
    super::replay(&game, line)
}

#[test]
fn recorded_games_replay_without_difference() {
    for line in GAMES.lines() {
        let played = replay(line).expect("a recorded game");
        assert!(played.is_ok(), "{played:?}");
    }
}

/// Adds the path of every scalar in a value to `out`.
fn leaves(value: &Value, path: &str, out: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                leaves(item, &format!("{path}/{at}"), out);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                leaves(field, &format!("{path}/{name}"), out);
            }
        }
        _ => out.push(path.to_owned()),
    }
}

/// Returns a different scalar to replace this one.
fn altered(value: &Value, rng: &mut RngStream, words: &[&str]) -> Value {
    match value {
        Value::Bool(truth) => Value::Bool(!truth),
        Value::Number(number) => Value::from(number.as_u64().unwrap_or(0) + 1),
        Value::Null => Value::from(1),
        Value::String(word) => {
            let kind = |other: &&&str| other.contains('.') == word.contains('.') && *other != word;
            let others: Vec<_> = words.iter().filter(kind).collect();
            let count = u32::try_from(others.len()).expect("few words");
            Value::from(*others[rng.below(count) as usize])
        }
        other => other.clone(),
    }
}

#[test]
fn a_record_with_one_thing_altered_is_never_accepted() {
    let line = GAMES.lines().nth(2).expect("three games");
    let game: Value = serde_json::from_str(line).expect("a recorded game");
    let mut paths = Vec::new();
    leaves(&game["log"], "/log", &mut paths);
    let words: BTreeSet<&str> = paths.iter().filter_map(|path| game.pointer(path)?.as_str()).collect();
    let words: Vec<_> = words.into_iter().collect();
    let mut rng = RngStream::new(5, 0);
    let count = u32::try_from(paths.len()).expect("a line has few values");
    for _ in 0..400 {
        let path = &paths[rng.below(count) as usize];
        let mut changed = game.clone();
        let leaf = changed.pointer_mut(path).expect("the path of a leaf");
        *leaf = altered(leaf, &mut rng, &words);
        let (was, is) = (game.pointer(path), changed.pointer(path));
        let played = replay(&changed.to_string());
        assert!(!matches!(played, Ok(Ok(_))), "{path}: {was:?} became {is:?}");
    }
}

#[test]
fn an_event_too_many_too_few_or_misplaced_is_never_accepted() {
    let line = GAMES.lines().nth(2).expect("three games");
    let game: Value = serde_json::from_str(line).expect("a recorded game");
    let events = game["log"].as_array().expect("a log").len();
    let mut rng = RngStream::new(6, 0);
    for _ in 0..90 {
        let at = rng.below(u32::try_from(events - 1).expect("a short log")) as usize;
        for change in 0..3 {
            let mut changed = game.clone();
            let log = changed["log"].as_array_mut().expect("a log");
            match change {
                0 => drop(log.remove(at)),
                1 => log.insert(at, log[at].clone()),
                _ => log.swap(at, at + 1),
            }
            let played = replay(&changed.to_string());
            assert!(!matches!(played, Ok(Ok(_))), "change {change} of event {at}");
        }
    }
}

#[test]
fn an_effect_that_took_place_is_not_accepted_as_skipped() {
    // GC-8.1
    for right in ["wild_daemon_pair", "short_triplet"] {
        let recorded = format!(r#"{{"e":"{right}"}}"#);
        let line = GAMES.lines().find(|line| line.contains(&recorded)).expect("some game has one");
        let skipped = line.replacen(&recorded, &format!(r#"{{"e":"{right}","skipped":true}}"#), 1);
        match replay(&skipped) {
            Ok(Err(found)) => assert!(found.location.ends_with("skipped"), "{found:?}"),
            other => panic!("{right}: {other:?}"),
        }
    }
}

#[test]
fn no_line_makes_the_replay_panic() {
    let mut rng = RngStream::new(7, 0);
    let line = GAMES.lines().nth(2).expect("three games").as_bytes();
    for _ in 0..300 {
        let mut bytes = line.to_vec();
        for _ in 0..=rng.below(3) {
            let at = rng.below(u32::try_from(bytes.len()).expect("a short line")) as usize;
            match rng.below(4) {
                0 => bytes[at] = b'0' + u8::try_from(rng.below(10)).expect("a digit"),
                1 => bytes[at] = b' ' + u8::try_from(rng.below(95)).expect("printable"),
                2 => drop(bytes.remove(at)),
                _ => bytes.truncate(at),
            }
        }
        let _ = replay(&String::from_utf8_lossy(&bytes));
    }
    let many = vec!["spy"; 300];
    let reshuffled = json!({"id": "x", "players": 2, "log": [{
        "ev": "red", "drawn": ["spy"], "reshuffle": {"after": 0, "order": many},
        "discard": [], "advance": 0, "steps": 0, "lyra": 0,
    }]});
    assert!(!matches!(replay(&reshuffled.to_string()), Ok(Ok(_))));
    for line in ["", "{}", "[]", r#"{"id":"a","players":9,"log":[]}"#, r#"{"id":"a","players":2,"log":[1]}"#]
    {
        assert!(replay(line).is_err(), "{line}");
    }
}

#[test]
fn a_smaller_catalogue_is_read() {
    let small = include_str!("../../../../server/games/src/golden_compass/tests/small.json");
    let game = GameCatalogue::<GoldenCompass>::read(small.into()).expect("valid");
    let table = set_up::<GoldenCompass>(Arc::clone(&game.loaded), 2, []).expect("a table");
    let components = Components::read(table.info(), &game.text).expect("the catalogue has what records need");
    assert_eq!((components.tokens.len(), components.characters.len(), components.axes.len()), (14, 21, 4));
    assert!(components.card("eel.moon.spy").is_ok() && components.card("eel.moon").is_err());
    assert!(
        super::replay(&game, GAMES.lines().next().expect("a game")).is_err(),
        "the catalogue has other cards"
    );
}
