//! Tests of catalogues: the default, a smaller one, and invalid ones.

use std::sync::Arc;

use boardwire_kernel::{Components, LoadedCatalogue, Setup, set_up, testkit};
use serde_json::{Value, json};

use super::super::{Catalogue, GoldenCompass};
use super::support::{default_catalogue, game_by};

/// A made-up catalogue that is smaller in every respect.
const SMALL: &str = include_str!("small.json");

#[test]
fn the_default_action_space_is_the_suggested_one() {
    // GC-14.1
    let game = testkit::table::<GoldenCompass>(2, &[]);
    let labels = &game.info().actions;
    for (index, label) in [
        (0, "keep the first dealt character as ally"),
        (3, "choose light blue"),
        (8, "take no light-blue action"),
        (9, "name the opponent 1 seat to your left"),
        (12, "steal a token with the back of Jordan College"),
        (16, "play a pair of ermine"),
        (24, "play a triplet of madonna"),
        (28, "play a pair of flying spies"),
        (30, "play a short triplet of madonna"),
        (34, "end the turn"),
        (35, "discard ermine madonna"),
        (69, "lay out the Jordan College token worth 3"),
        (70, "lay out the second Jordan College token worth 3"),
        (93, "airship: discard cards"),
        (95, "take a truth tile worth 1"),
        (103, "advance Lyra by 0 spaces"),
        (107, "carry out the first option of the effect"),
        (110, "decline the cost of the effect"),
    ] {
        assert_eq!(labels.label(index), Some(label));
    }
    assert_eq!(labels.count(), 111);
}

#[test]
fn a_smaller_catalogue_is_played_lawfully_with_another_spec() {
    // GC-14.1, GC-1.3
    for seats in 2..=3 {
        let small = game_by(SMALL, seats);
        let usual = testkit::table::<GoldenCompass>(seats, &[]);
        assert_ne!(small.info().digest(), usual.info().digest());
        assert_eq!(small.info().actions.count(), usual.info().actions.count());
        assert_ne!(small.info().layout.bytes(), usual.info().layout.bytes());
        testkit::check_laws(&small, 0..25);
    }
    let loaded = Arc::new(LoadedCatalogue::read(SMALL).expect("valid"));
    let refused = set_up::<GoldenCompass>(loaded, 4, []).expect_err("it is for 2 and 3 seats");
    assert!(refused.to_string().contains("2 to 3 seats"), "{refused}");
}

#[test]
fn the_guard_of_the_catalogue_holds_where_the_option_is_left_alone() {
    // GC-R36
    assert_eq!(game_by(SMALL, 2).guard, None);
    let loaded = Arc::new(LoadedCatalogue::read(SMALL).expect("valid"));
    let chosen = set_up::<GoldenCompass>(loaded, 2, [("stall_guard_turns", "5")]).expect("a table");
    assert_eq!(chosen.guard, Some(5));
    assert_eq!(testkit::table::<GoldenCompass>(2, &[]).guard, Some(20));
}

#[test]
fn every_section_says_where_it_was_read() {
    // GC-1.3
    let loaded = LoadedCatalogue::<Catalogue>::read(GoldenCompass::TYPE.catalogue).expect("valid");
    let sections = loaded.components.provenance();
    let source = |name: &str| {
        let found = sections.iter().find(|section| section.section == name);
        found.map(|section| section.source.as_str())
    };
    assert_eq!(source("rules_values"), Some("rulebook"));
    assert_eq!(source("characters"), Some("designed"));
    assert_eq!(source("game"), Some("review:ringbote"));
    assert!(source("schema").is_none() && source("about").is_none());
}

/// A field of the default catalogue, an invalid value, and the place that the error names.
const BROKEN: &[(&str, &str, &str)] = &[
    ("/format", r#""other""#, "format"),
    ("/format_version", "2", "format_version"),
    ("/setup/min_players", "1", "setup.min_players"),
    ("/setup/max_players", "5", "setup.max_players"),
    ("/setup/characters_dealt", "3", "setup.characters_dealt"),
    ("/setup/lyra_deck_copies/3", "3", "setup.lyra_deck_copies.3"),
    ("/rules_values/daemon_pair_size", "3", "rules_values.daemon_pair_size"),
    ("/rules_values/hand_limit", "13", "rules_values.hand_limit"),
    ("/periods/list/1/collects_experience", "false", "periods.list[1].collects_experience"),
    ("/path/segments/2/city", r#""trollesund""#, "path.segments[2].city"),
    ("/path/segments/2/spaces", "0", "path.segments[2].spaces"),
    ("/path/segments/3/kind", r#""start""#, "path.segments[3].kind"),
    ("/wheel/axes/4/weight", "0", "wheel.axes[4].weight"),
    ("/wheel/axes/4/red/draw", "4", "wheel.axes[4].red.draw"),
    ("/wheel/axes/5/blue", r#""green""#, "wheel.axes[5].blue"),
    ("/lyra_deck/cards/7/daemon", r#""cat""#, "lyra_deck.cards[7].daemon"),
    ("/lyra_deck/cards/7/count", "2", "setup.lyra_deck_copies.3"),
    ("/lyra_deck/cards/7/kind", r#""queen""#, "lyra_deck.cards[7]"),
    ("/experience_tokens/sets/2/city", r#""svalbard""#, "experience_tokens.sets"),
    ("/truth_tiles/tiles/0/count", "9", "truth_tiles.tiles (sum of count)"),
    ("/dust_tiles/count", "9", "dust_tiles.count"),
    ("/characters/list/3/effects/0/count", "0", "characters.list[3].effects[0].count"),
    ("/characters/list/9/effects/0/kind", r#""place_experience""#, "characters.list[9].effects[0].kind"),
    ("/rulings/stall_guard_turns", "0", "rulings.stall_guard_turns"),
];

#[test]
fn an_invalid_catalogue_error_names_row_and_field() {
    // GC-1.3
    for &(pointer, value, place) in BROKEN {
        let mut catalogue = default_catalogue();
        *catalogue.pointer_mut(pointer).expect("a field of the catalogue") =
            serde_json::from_str(value).expect("JSON");
        let error = Catalogue::read(&catalogue.to_string()).expect_err(pointer);
        assert!(error.place.starts_with(place), "{pointer}: {error}");
    }
    let mut catalogue = default_catalogue();
    catalogue.as_object_mut().expect("an object").remove("wheel");
    let error = Catalogue::read(&catalogue.to_string()).expect_err("no wheel");
    assert_eq!(error.to_string(), "catalogue: missing field `wheel`");
    assert!(Catalogue::read("[1]").is_err() && Catalogue::read("{").is_err());
}

#[test]
fn two_collecting_cities_of_one_name_are_refused_since_labels_would_be_equal() {
    // GC-14.1
    let mut catalogue = default_catalogue();
    catalogue["periods"]["city_names"]["trollesund"] = "London".into();
    let error = Catalogue::read(&catalogue.to_string()).expect_err("two backs of London");
    assert_eq!(error.place, "periods.list[1].cities[0]");
    assert!(error.problem.contains("trollesund is called \"London\", as is london"), "{error}");
    // In the other cities tokens are laid out, and no action names these cities.
    let mut catalogue = default_catalogue();
    catalogue["periods"]["city_names"]["svalbard"] = "London".into();
    assert!(Catalogue::read(&catalogue.to_string()).is_ok());
}

#[test]
fn a_catalogue_may_not_be_larger_than_the_box() {
    // GC-14.1
    let more = [
        ("/lyra_deck/daemons", json!({"id": "cat"}), "lyra_deck.daemons (length)"),
        ("/lyra_deck/symbols", json!({"id": "sun"}), "lyra_deck.symbols (length)"),
        (
            "/wheel/axes",
            json!({"red": {"draw": 2, "advance": 1}, "blue": "ally", "weight": 1}),
            "wheel.axes (length)",
        ),
        ("/truth_tiles/tiles", json!({"value": 9, "count": 1}), "truth_tiles.tiles (length)"),
    ];
    for (pointer, row, place) in more {
        let mut file = default_catalogue();
        file.pointer_mut(pointer).and_then(Value::as_array_mut).expect("a list").push(row);
        let error = Catalogue::read(&file.to_string()).expect_err(pointer);
        assert_eq!(error.place, place);
    }
}
