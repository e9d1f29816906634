//! Tests of scoring cases and recorded games.

use boardwire_games::faraway::Faraway;
use boardwire_kernel::catalogue::CatalogueResult;
use boardwire_kernel::{RngStream, Setup};
use serde_json::Value;

use crate::GameCatalogue;
use crate::play::ReplayResult;

const EXAMPLES: &str = include_str!("../../data/faraway_examples.jsonl");
const GAMES: &str = include_str!("../../data/faraway_games.jsonl");

fn game() -> GameCatalogue<Faraway> {
    GameCatalogue::read(Faraway::TYPE.catalogue.into()).expect("the catalogue is valid")
}

fn score(line: &str) -> CatalogueResult<String> {
    super::score(&game(), line)
}

fn replay(line: &str) -> CatalogueResult<ReplayResult> {
    super::replay(&game(), line)
}

fn json(line: &str) -> Value {
    serde_json::from_str(line).expect("the sample is JSON")
}

#[test]
fn every_example_has_the_recorded_score() {
    for line in EXAMPLES.lines() {
        let (input, answer) = line.split_once(",\"region_fame\"").expect("an answer");
        let actual = score(&format!("{input}}}"));
        assert_eq!(actual, Ok(format!("{{\"region_fame\"{answer}")));
        assert_eq!(score(line), actual, "an answer in the line is not read");
    }
    assert_eq!(EXAMPLES.lines().count(), 10);
}

#[test]
fn every_recorded_game_replays_without_difference() {
    for line in GAMES.lines() {
        let scores = serde_json::from_value(json(line)["scores"].clone()).expect("scores");
        assert_eq!(replay(line), Ok(Ok(scores)));
    }
    assert_eq!(GAMES.lines().count(), 5);
}

#[test]
fn a_bad_case_is_an_error_that_says_what_and_where() {
    let bad = [
        ("", "EOF"),
        ("[1]", "expected"),
        (r#"{"regions":[1,2,3,4,5,6,7,8]}"#, "missing field `sanctuaries`"),
        (r#"{"sanctuaries":[]}"#, "missing field `regions`"),
        (r#"{"regions":[1,2,3,4,5,6,7],"sanctuaries":[]}"#, "regions: must have 8 items; got 7"),
        (r#"{"regions":[1,2,3,4,5,6,7,8,9],"sanctuaries":[]}"#, "regions: must have 8 items; got 9"),
        (
            r#"{"regions":[1,2,3,4,5,6,7,69],"sanctuaries":[]}"#,
            "regions[7]: must be a whole number from 1 to 68; got 69",
        ),
        (
            r#"{"regions":[1,2,0,4,5,6,7,8],"sanctuaries":[]}"#,
            "regions[2]: must be a whole number from 1 to 68; got 0",
        ),
        (
            r#"{"regions":[1,2,-3,4,5,6,7,8],"sanctuaries":[]}"#,
            "regions[2]: must be a whole number from 1 to 68; got -3",
        ),
        (r#"{"regions":[1,2,3,4,5,6,7,7],"sanctuaries":[]}"#, "regions[7]: card 7 occurs twice"),
        (
            r#"{"regions":[1,2,3,4,5,6,7,8],"sanctuaries":[46]}"#,
            "sanctuaries[0]: must be a whole number from 1 to 45; got 46",
        ),
        (r#"{"regions":[1,2,3,4,5,6,7,8],"sanctuaries":[9,9]}"#, "sanctuaries[1]: card 9"),
        (
            r#"{"regions":[1,2,3,4,5,6,7,8],"sanctuaries":[1,2,3,4,5,6,7,8]}"#,
            "sanctuaries (their number): must be 0 to 7; got 8",
        ),
        (r#"{"regions":[1,2,3,4,5,6,7,8],"sanctuaries":[],"x":1}"#, "unknown field `x`"),
    ];
    for (line, words) in bad {
        let error = score(line).expect_err(line).to_string();
        assert!(error.contains(words), "{line}: {error}");
    }
}

/// Returns the first sample of a basic game.
fn basic_game() -> Value {
    let line = GAMES.lines().find(|line| line.contains("\"basic\""));
    json(line.expect("a basic game"))
}

/// Replays the basic game with one value changed.
fn replay_with(path: &str, value: Value) -> CatalogueResult<ReplayResult> {
    let mut game = basic_game();
    *game.pointer_mut(path).unwrap_or_else(|| panic!("{path}")) = value;
    replay(&game.to_string())
}

/// Returns the path and the name of the first turn for which `wanted` holds.
fn turn_where(wanted: impl Fn(&Value) -> bool) -> (String, String) {
    let game = basic_game();
    let places = (0..8).flat_map(|round| (0..2).map(move |turn| (round, turn)));
    let mut paths = places.map(|(round, turn)| {
        let name = format!("round {} turn {}", round + 1, turn + 1);
        (format!("/rounds/{round}/turns/{turn}"), name)
    });
    let found = paths.find(|(path, _)| game.pointer(path).is_some_and(&wanted));
    found.expect("such a turn")
}

fn differs_at(path: &str, value: Value, location: &str) {
    match replay_with(path, value) {
        Ok(Err(difference)) => {
            assert_eq!(difference.location, location);
            assert_ne!(difference.expected, difference.actual);
        }
        other => panic!("{path}: {other:?}"),
    }
}

#[test]
fn plays_deals_order_and_scores_are_compared() {
    let game = basic_game();
    let second = game["rounds"][1]["turns"][1]["seat"].clone();
    differs_at("/scores/0", 250.into(), "scores");
    differs_at("/rounds/0/plays/0", other_region(&game), "round 1 play of seat 0");
    differs_at("/rounds/0/dealt/0", vec![1].into(), "round 1 dealt to seat 0");
    differs_at("/rounds/1/turns/0/seat", second, "round 2 turn 1 seat");
    differs_at("/rounds/7/turns/0/take", 9.into(), "round 8 turn 1 take");
    differs_at("/rounds/6/turns/0/take", Value::Null, "round 7 turn 1 take");
}

#[test]
fn what_a_turn_takes_places_and_returns_is_compared() {
    let (path, name) = turn_where(|turn| turn["returned"].as_array().is_some_and(|cards| cards.len() > 1));
    let at = |what: &str| (format!("{path}/{what}"), format!("{name} {what}"));
    let differs = |(path, at): (String, String), value: Value| differs_at(&path, value, &at);
    differs(at("returned"), Value::Array(vec![]));
    differs(at("sanctuary"), Value::Null);
    differs(at("topup"), vec![3].into());
    let (path, name) = turn_where(|turn| turn["sanctuary"].is_null());
    let at = |what: &str| (format!("{path}/{what}"), format!("{name} {what}"));
    differs(at("sanctuary"), 5.into());
    differs(at("returned"), vec![5].into());
    differs(at("take"), other_region(&basic_game()));
}

/// Returns the last region of the deck: no seat holds it or can take it.
fn other_region(game: &Value) -> Value {
    game["region_deck"].as_array().and_then(|deck| deck.last()).expect("a deck").clone()
}

#[test]
fn a_bad_record_is_an_error_of_the_line() {
    let bad = [
        ("/players", 7.into(), "players: must be a whole number from 2 to 6; got 7"),
        ("/variant", "long".into(), "variant"),
        ("/variant", "advanced".into(), "kept"),
        ("/hands/0/0", 70.into(), "hands[0][0]: must be a whole number from 1 to 68; got 70"),
        ("/hands/0", vec![1].into(), "hands[0]: must have 3 items; got 1"),
        ("/region_deck/0", 0.into(), "region_deck[0]: must be a whole number from 1 to 68; got 0"),
        ("/sanctuary_deck/3", 77.into(), "sanctuary_deck[3]: must be a whole number from 1 to 45; got 77"),
        ("/rounds", Value::Array(vec![]), "rounds: must have 8 items; got 0"),
        ("/rounds/0/plays", Value::Null, "invalid type: null"),
        ("/rounds/0/turns/0/seat", 6.into(), "rounds[0].turns[0].seat: must be 0 to 2; got 6"),
        (
            "/rounds/0/turns/0",
            serde_json::json!({"seat": 0, "topup": [], "sanctuary": null, "returned": []}),
            "missing field `take`",
        ),
        ("/scores", vec![1].into(), "scores: must have 3 items; got 1"),
    ];
    for (path, value, words) in bad {
        let error = replay_with(path, value).expect_err(path).to_string();
        assert!(error.contains(words), "{path}: {error}");
    }
}

#[test]
fn no_line_makes_it_panic() {
    let mut rng = RngStream::new(3, 0);
    for line in EXAMPLES.lines().chain(GAMES.lines()) {
        for _ in 0..400 {
            let mut bytes = line.as_bytes().to_vec();
            for _ in 0..=rng.below(3) {
                let at = rng.below(u32::try_from(bytes.len()).expect("short")) as usize;
                match rng.below(3) {
                    0 => bytes[at] = b"0123456789[]{},:\"-n"[rng.below(19) as usize],
                    1 => drop(bytes.remove(at)),
                    _ => bytes.insert(at, b"0123456789,"[rng.below(11) as usize]),
                }
            }
            let text = String::from_utf8_lossy(&bytes);
            let _ = score(&text);
            let _ = replay(&text);
        }
    }
}
