//! The cards of the game, and the errors for an invalid catalogue.

use boardwire_kernel::{Components, Setup};

use super::catalogue;
use crate::faraway::{Card, Catalogue, Faraway, Kind, Symbol};

fn number(cards: &[Card], wanted: impl Fn(&Card) -> bool) -> usize {
    cards.iter().skip(1).filter(|card| wanted(card)).count()
}

#[test]
fn regions_have_every_duration_once_and_17_of_each_biome() {
    // FA-1.1
    let regions = catalogue().regions;
    let durations: Vec<u8> = regions.iter().skip(1).map(|card| card.id).collect();
    assert_eq!(durations, (1..=68).collect::<Vec<_>>());
    for biome in [Symbol::River, Symbol::City, Symbol::Forest, Symbol::Desert] {
        assert_eq!(number(&regions, |card| card.symbols[biome] == 1), 17, "{biome:?}");
    }
    for card in regions.iter().skip(1) {
        assert_eq!(card.symbols[Symbol::Night] == 1, (20..=40).contains(&card.id), "night of {}", card.id);
        assert!(card.clues() <= 1 && card.symbols.wonders().iter().sum::<u8>() <= 2);
    }
    let sums: Vec<u8> = (0..4).map(|at| regions.iter().map(|card| card.symbols.0[at]).sum()).collect();
    assert_eq!(sums, [18, 14, 10, 18], "stones, chimeras, thistles, clues");
    assert_eq!(number(&regions, |card| card.prerequisite != [0; 3]), 37);
}

#[test]
fn sanctuaries_are_20_of_biomes_and_25_grey_and_ask_for_nothing() {
    // FA-1.2
    let sanctuaries = catalogue().sanctuaries;
    assert_eq!(sanctuaries.len(), 46, "45 and the blank card");
    assert_eq!(number(&sanctuaries, |card| card.symbols.biomes() == [0; 4]), 25);
    for biome in [Symbol::River, Symbol::City, Symbol::Forest, Symbol::Desert] {
        assert_eq!(number(&sanctuaries, |card| card.symbols[biome] == 1), 5, "{biome:?}");
    }
    assert_eq!(number(&sanctuaries, |card| card.prerequisite != [0; 3]), 0);
    let sums: Vec<u8> = (0..5).map(|at| sanctuaries.iter().map(|card| card.symbols.0[at]).sum()).collect();
    assert_eq!(sums, [9, 7, 5, 8, 4], "stones, chimeras, thistles, clues, nights");
}

#[test]
fn quests_are_of_seven_kinds() {
    // FA-1.3
    let catalogue = catalogue();
    let kinds = |cards: &[Card]| {
        [
            Kind::None,
            Kind::Flat,
            Kind::PerWonder,
            Kind::PerClue,
            Kind::PerNight,
            Kind::PerBiome,
            Kind::PerBiomeSet,
        ]
        .map(|kind| number(cards, |card| card.quest.kind == kind))
    };
    assert_eq!(kinds(&catalogue.regions), [7, 17, 16, 5, 7, 12, 4]);
    assert_eq!(kinds(&catalogue.sanctuaries), [19, 1, 6, 5, 2, 10, 2]);
}

#[test]
fn a_card_is_described_in_words() {
    let catalogue = catalogue();
    let words = |card: &Card| card.to_string();
    assert_eq!(words(&catalogue.regions[13]), " desert; 2 per stone");
    assert_eq!(words(&catalogue.regions[17]), " desert stone; needs 2 chimera: 3 per stone");
    assert_eq!(words(&catalogue.regions[2]), " desert stone stone");
    assert_eq!(words(&catalogue.regions[23]), " forest night stone chimera; 10 per biome set");
    assert_eq!(words(&catalogue.sanctuaries[24]), " night stone");
    assert_eq!(words(&catalogue.sanctuaries[44]), "; 1 per forest or desert");
    assert_eq!(words(&catalogue.sanctuaries[45]), " clue; 4 per biome set");
    assert_eq!(words(&catalogue.sanctuaries[27]), "; 5 fame");
}

/// Returns the error for the catalogue with one piece of its text replaced.
fn refusal(from: &str, to: &str) -> String {
    let text = Faraway::TYPE.catalogue;
    assert!(text.contains(from), "{from}");
    let error = Catalogue::read(&text.replacen(from, to, 1)).expect_err("a wrong catalogue");
    error.to_string()
}

#[test]
fn a_row_that_cannot_be_is_refused_by_its_place_and_field() {
    let first = "{\"duration\": 1, \"biome\": \"forest\", \"time\": \"day\", \"clues\": 0, ";
    let changes = [
        ("\"duration\": 1", "\"duration\": 2", "regions[0].duration: must be 1; got 2"),
        ("forest", "swamp", "regions[0].biome: unknown variant `swamp`, expected one of `river`"),
        ("day", "noon", "regions[0].time: unknown variant `noon`"),
        ("\"clues\": 0", "\"clues\": 2", "regions[0].clues: must be a whole number from 0 to 1; got 2"),
        ("\"clues\": 0", "\"clue\": 0", "regions[0].clue: unknown field"),
        ("{", "{\"clue\": 0, ", "regions[0].clue: unknown field"),
        ("{", "", "regions[0]: "),
    ];
    for (from, to, start) in changes {
        let error = refusal(first, &first.replace(from, to));
        assert!(error.starts_with(start), "{error}, not {start}…");
    }
}

#[test]
fn a_quest_or_section_that_cannot_be_is_refused() {
    let quest = "\"quest\": {\"kind\": \"flat\", \"points\": 4}";
    let changes = [
        (
            quest,
            quest.replace('4', "-4"),
            "regions[2].quest.points: must be a whole number from 1 to 60; got -4",
        ),
        (quest, quest.replace(", \"points\": 4", ""), "regions[2].quest: a quest `flat` has points"),
        ("\"id\": 45, \"biome\": null", "\"id\": 45, \"biome\": 3".to_owned(), "sanctuaries[44].biome: "),
        ("\"schema_version\": 1", "\"schema_version\": 2".to_owned(), "schema_version: must be 1; got 2"),
        ("\"provenance\"", "\"source\"".to_owned(), "catalogue: missing field `provenance`"),
    ];
    for (from, to, start) in changes {
        let error = refusal(from, &to);
        assert!(error.starts_with(start), "{error}, not {start}…");
    }
    assert!(Catalogue::read("[]").is_err() && Catalogue::read("").is_err());
}
