//! The compiled-in catalogue, and invalid catalogues.

use boardwire_kernel::{Components, LoadedCatalogue, Setup};
use serde_json::{Value, json};

use super::Rauha;
use crate::rauha::catalogue::{Biome, Catalogue, Effect};
use crate::rauha::state::CARD_COUNT;

/// Puts a value at a JSON pointer. The last step may be a new field.
fn put(json: &mut Value, pointer: &str, value: Value) {
    let (parent, field) = pointer.rsplit_once('/').expect("a pointer");
    match json.pointer_mut(parent).expect("a place in the JSON") {
        Value::Array(items) => items[field.parse::<usize>().expect("an index")] = value,
        parent => parent[field] = value,
    }
}

fn text() -> Value {
    serde_json::from_str(Rauha::TYPE.catalogue).expect("JSON")
}

/// Returns the place that the error names for a spoiled catalogue.
fn refused(spoil: impl FnOnce(&mut Value)) -> String {
    let mut catalogue = text();
    spoil(&mut catalogue);
    match Catalogue::read(&catalogue.to_string()) {
        Ok(_) => "accepted".into(),
        Err(error) => error.place,
    }
}

#[test]
fn the_box_holds_what_the_rules_say() {
    let loaded = LoadedCatalogue::<Catalogue>::read(Rauha::TYPE.catalogue).expect("valid");
    let cards = loaded.components.biomes.up_to(CARD_COUNT);
    for age in [1, 2] {
        let of_age = || cards.iter().filter(|card| card.age == age);
        assert_eq!(of_age().count(), 40);
        for kind in 0..4 {
            assert_eq!(of_age().filter(|card| card.types[kind]).count(), 12);
        }
        for animal in 0..3 {
            let symbols: u8 = of_age().map(|card| card.symbols.animals()[animal]).sum();
            assert_eq!(symbols, if age == 1 { 12 } else { 17 });
        }
    }
    let kinds = |matches: &dyn Fn(&Biome) -> bool| cards.iter().filter(|card| matches(card)).count();
    assert_eq!(kinds(&|card| matches!(card.ability.effect, Effect::PointsPer(..))), 26);
    assert_eq!(kinds(&|card| matches!(card.ability.effect, Effect::Score(_))), 17);
    assert_eq!(kinds(&|card| matches!(card.ability.effect, Effect::Gain(_))), 13);
    assert_eq!(kinds(&|card| matches!(card.ability.effect, Effect::None)), 13);
    assert_eq!(kinds(&|card| matches!(card.ability.effect, Effect::BuySpore { .. })), 7);
    assert_eq!(kinds(&|card| matches!(card.ability.effect, Effect::BuyPoints { .. })), 4);
    assert_eq!(kinds(&|card| card.cells.len() < 9), 18);
    assert_eq!(kinds(&|card| card.cost > 0), 35);
    assert_eq!(kinds(&|card| card.cost == 0 && card.cells.len() == 9), 27);
    assert_eq!(kinds(&|card| card.types.into_iter().filter(|&is_shown| is_shown).count() == 2), 16);
    assert_eq!(loaded.components.provenance().len(), 5);
}

#[test]
fn wrong_counts_are_refused() {
    let pop = |path: &'static str| {
        move |catalogue: &mut Value| {
            catalogue.pointer_mut(path).and_then(Value::as_array_mut).expect("a list").pop();
        }
    };
    assert_eq!(refused(pop("/biomes")), "biomes");
    assert_eq!(refused(pop("/entities")), "entities");
    assert_eq!(refused(pop("/track")), "track");
    assert_eq!(refused(pop("/boards/B")), "boards.B");
    assert_eq!(refused(pop("/water_scoring/points")), "water_scoring.points");
}

#[test]
fn unknown_effects_and_their_values_are_refused() {
    let effect = |effect: Value| refused(move |catalogue| catalogue["biomes"][12]["effect"] = effect);
    assert_eq!(effect(json!({ "kind": "steal", "crystals": 2 })), "biomes[12].effect.kind");
    assert_eq!(effect(json!({ "kind": "passive_water", "water": 2 })), "biomes[12].effect.kind");
    assert_eq!(effect(json!({ "kind": "gain" })), "biomes[12].effect.crystals");
    assert_eq!(effect(json!({ "kind": "gain", "crystals": 2, "points": 1 })), "biomes[12].effect.points");
    assert_eq!(effect(json!({ "kind": "gain", "crystals": -2 })), "biomes[12].effect.crystals");
    assert_eq!(
        effect(json!({ "kind": "points_per", "per": "desert", "points": 1 })),
        "biomes[12].effect.per"
    );
    assert_eq!(effect(json!({ "kind": "buy_spore", "cost": 2, "spores": 2 })), "biomes[12].effect.spores");
    assert_eq!(
        refused(|catalogue| catalogue["entities"][6]["effect"] = json!({ "kind": "wash" })),
        "entities[6].effect.kind"
    );
    assert_eq!(
        refused(|catalogue| catalogue["boards"]["A"][3]["effect"] = json!({ "kind": "wash" })),
        "boards.A[3].effect.kind"
    );
}

#[test]
fn duplicates_are_refused() {
    assert_eq!(refused(|catalogue| catalogue["biomes"][12]["id"] = json!(11)), "biomes[12].id");
    assert_eq!(refused(|catalogue| catalogue["biomes"][12]["id"] = json!(80)), "biomes[12].id");
    assert_eq!(refused(|catalogue| catalogue["boards"]["B"][2]["id"] = json!(111)), "boards.B[2].id");
    assert_eq!(refused(|catalogue| catalogue["entities"][2]["id"] = json!(1)), "entities[2].id");
    assert_eq!(refused(|catalogue| catalogue["entities"][2]["key"] = json!("maa")), "entities[2].key");
    assert_eq!(
        refused(|catalogue| catalogue["entities"][2]["called_by"] = json!({ "animal": "land" })),
        "entities[2].called_by"
    );
    assert_eq!(refused(|catalogue| catalogue["biomes"][1]["cells"] = json!([6, 6])), "biomes[1].cells[1]");
    assert_eq!(
        refused(|catalogue| catalogue["biomes"][1]["types"] = json!(["crystal", "crystal"])),
        "biomes[1].types[1]"
    );
}

#[test]
fn values_out_of_range_are_refused() {
    let bad = [
        ("/biomes/1/cells", json!([6, 9]), "biomes[1].cells[1]"),
        ("/biomes/1/cells", json!([]), "biomes[1].cells"),
        ("/biomes/0/cells", json!([1]), "biomes[0].cells"),
        ("/biomes/5/types", json!(["desert"]), "biomes[5].types[0]"),
        ("/biomes/5/types", json!([]), "biomes[5].types"),
        ("/biomes/5/animals", json!(["bird"]), "biomes[5].animals[0]"),
        ("/biomes/5/water", json!(1), "biomes[5].water"),
        ("/biomes/5/cost", json!(99), "biomes[5].cost"),
        ("/entities/2/name", json!("cell 4"), "entities[2].name"),
        ("/track/6/satellite", json!("moon"), "track[6].satellite"),
        ("/track/6/line", Value::Null, "track[6].line"),
        ("/track/6/index", json!(3), "track[6].index"),
        ("/water_scoring/points/0", json!(1), "water_scoring.points[0]"),
    ];
    for (pointer, value, place) in bad {
        assert_eq!(refused(|catalogue| put(catalogue, pointer, value)), place);
    }
}

#[test]
fn what_is_not_a_catalogue_is_refused_with_its_place() {
    assert_eq!(refused(|catalogue| catalogue["schema_version"] = json!(2)), "schema_version");
    let broken = Catalogue::read("{\n  \"schema_version\": }").expect_err("broken");
    assert_eq!(
        (broken.place.as_str(), broken.problem.as_str()),
        ("schema_version", "expected value at line 2 column 21")
    );
    assert_eq!(refused(|catalogue| catalogue["biomes"][3]["cost"] = json!("three")), "biomes[3].cost");
    let without_cells = refused(|catalogue| {
        catalogue["biomes"][3].as_object_mut().expect("a row").remove("cells");
    });
    assert_eq!(without_cells, "biomes[3]");
}
