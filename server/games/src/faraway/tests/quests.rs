//! Scoring, quest by quest, and against a second scorer that reads the catalogue's JSON directly.

use boardwire_kernel::{RngStream, Setup};
use serde_json::Value;

use super::{catalogue, climbing_game, fame, field, line, placed, table};
use crate::faraway::quests::{QUEST_STATUSES, Quests};
use crate::faraway::{Card, Faraway};

#[test]
fn the_worked_example_scores_25() {
    // FA-6.1, FA-6.4, FA-6.5
    let fame = fame(&[27, 14, 29, 38, 50, 13, 57, 26], &[15, 44, 24]);
    assert_eq!(fame.regions, [4, 8, 2, 0, 0, 2, 0, 0]);
    assert_eq!(fame.sanctuaries[..3], [4, 5, 0]);
    assert_eq!(fame.total(), 25);
}

#[test]
fn the_line_is_turned_up_from_its_last_region_and_sanctuaries_see_all_of_it() {
    // FA-6.1: region 13 pays 2 per stone. Region 2 shows two stones. They count only if region 2 is to the right of 13.
    assert_eq!(fame(&[13, 2], &[]).regions[0], 4);
    assert_eq!(fame(&[2, 13], &[]).regions[1], 0);
    assert_eq!(fame(&[2, 13], &[6]).regions[1], 2, "sanctuaries are visible from the first step");
    // FA-6.4: sanctuary 31 pays 2 per stone.
    assert_eq!(fame(&[2, 13], &[31]).sanctuaries[0], 4);
}

#[test]
fn a_quest_without_its_prerequisite_pays_nothing() {
    // FA-6.2: region 17 requires two chimeras and pays 3 per stone. Regions 16, 5 and 8 show one chimera each.
    assert_eq!(fame(&[17, 16], &[]).regions[0], 0);
    assert_eq!(fame(&[17, 16, 5], &[]).regions[0], 3);
    assert_eq!(fame(&[16, 5, 17], &[]).regions[2], 0, "played before it: face down still");
}

#[test]
fn every_kind_pays_for_what_is_visible() {
    // FA-6.3: region 3 always pays 4. Region 13 pays per stone, region 11 two per clue, region 10 three per night.
    assert_eq!(fame(&[3], &[]).regions[0], 4);
    assert_eq!(fame(&[13, 2, 4], &[]).regions[0], 6);
    assert_eq!(fame(&[11, 6, 8], &[7]).regions[0], 6);
    assert_eq!(fame(&[10, 20, 40, 41], &[]).regions[0], 6);
}

#[test]
fn r4_prerequisites_use_only_what_is_visible_the_card_itself_included() {
    // FA-R4: sanctuaries 12 and 17 show a chimera each, which region 17 requires. Some regions help to meet their own
    // prerequisite.
    assert_eq!(fame(&[17], &[12, 17]).regions[0], 3);
    let cards = catalogue();
    let helps = |card: &&crate::faraway::Card| {
        card.prerequisite.iter().zip(&card.symbols.0).any(|(need, own)| *need > 0 && own > &0)
    };
    for card in cards.regions.iter().filter(helps) {
        let at = (0..3).find(|&at| card.prerequisite[at] > 0 && card.symbols.0[at] > 0);
        let mut visible = card.symbols;
        for (seen, need) in visible.0.iter_mut().zip(card.prerequisite) {
            *seen = (*seen).max(need);
        }
        assert!(card.is_met(&visible), "{card}");
        visible.0[at.expect("found")] = 0;
        assert!(!card.is_met(&visible), "{card}");
    }
}

/// Returns the quest statuses of a line of regions with sanctuaries.
fn statuses_of(line: &[u8], sanctuaries: &[u8]) -> [&'static str; 8] {
    let mut cards = ([0; 8], [0; 7]);
    cards.0[..line.len()].copy_from_slice(line);
    cards.1[..sanctuaries.len()].copy_from_slice(sanctuaries);
    let statuses = Quests::of(&catalogue()).quest_statuses(cards.0, cards.1);
    statuses.map(|value| QUEST_STATUSES[usize::from(value)])
}

#[test]
fn views_show_how_the_quest_of_each_region_stands() {
    // FA-6.2, FA-R4: region 17 requires two chimeras. Regions 16 and 5, and sanctuary 12, show one each.
    assert_eq!(statuses_of(&[17], &[])[..2], ["lacks_more", "no_region"]);
    assert_eq!(statuses_of(&[17, 16], &[])[..2], ["lacks_chimera", "met"]);
    assert_eq!(statuses_of(&[17, 16, 5], &[])[0], "met");
    assert_eq!(statuses_of(&[16, 17], &[])[1], "lacks_more", "played before it: face down still");
    assert_eq!(statuses_of(&[17], &[12])[0], "lacks_chimera", "sanctuaries are visible from the first step");
    let game = table(3, "basic");
    climbing_game(&game, 5, |episode| {
        for viewer in 0..3u8 {
            let shown = field(&game, episode.state(), viewer, "quests");
            for (row, at) in shown.chunks(8).zip((0..3).map(|at| (viewer + at) % 3)) {
                let words: Vec<_> = row.iter().map(|&value| QUEST_STATUSES[usize::from(value)]).collect();
                assert_eq!(words, statuses_of(&line(episode.state(), at), &placed(episode.state(), at)));
            }
        }
    });
}

#[test]
fn r5_wonders_are_never_spent() {
    // FA-R5: the same two stones and two chimeras meet the prerequisites of regions 46 (2 stones, 1 chimera) and 60 (2
    // and 2). Region 48 counts the same stones.
    assert_eq!(fame(&[46, 60, 48, 1, 23], &[]).regions[..3], [10, 16, 6]);
}

#[test]
fn r6_two_biomes_are_added() {
    // FA-R6: sanctuary 44 pays 1 per forest or desert. Regions 1 and 4 are forests, 2, 6 and 9 deserts, 12 a city.
    assert_eq!(fame(&[1, 4, 2, 6, 9, 12], &[44]).sanctuaries[0], 5);
}

#[test]
fn r7_every_complete_set_of_four_biomes_pays() {
    // FA-R7: sanctuary 45 pays 4 per set. Regions 3 and 5 are rivers, 12 a city, 1 and 4 forests, 2 and 6 deserts.
    assert_eq!(fame(&[3, 12, 1, 2], &[45]).sanctuaries[0], 4);
    assert_eq!(fame(&[3, 5, 12, 1, 4, 2, 6], &[45]).sanctuaries[0], 4);
    assert_eq!(fame(&[3, 5, 12, 1, 4, 2, 6], &[45, 7]).sanctuaries[0], 8);
}

#[test]
fn r8_sanctuaries_of_a_biome_count_as_its_regions_and_grey_ones_for_none() {
    // FA-R8: sanctuary 15 is a forest and pays 1 per forest. Sanctuaries 11 to 14 are forests, 21 is grey.
    assert_eq!(fame(&[1], &[15, 11, 12, 21]).sanctuaries[0], 4);
    assert_eq!(fame(&[27], &[7, 19, 21]).regions[0], 3, "region 27 is a city and pays 1 per city or desert");
}

#[test]
fn r9_a_sanctuary_counts_for_itself() {
    // FA-R9: the sanctuary is the only card. Sanctuary 15 counts itself as a forest, 37 its clue, 28 to 30 their
    // wonder. Sanctuary 38 counts nights, but is not a night itself.
    for (id, points) in [(15, 1), (37, 1), (38, 0), (28, 1), (29, 1), (30, 1)] {
        assert_eq!(fame(&[], &[id]).sanctuaries[0], points, "sanctuary {id}");
    }
}

#[test]
fn r10_nights_are_night_regions_and_night_sanctuaries() {
    // FA-R10: sanctuary 38 pays 1 per night. Regions 20 and 40, and sanctuaries 24 to 26, are nights. Region 41 is a
    // day.
    assert_eq!(fame(&[20, 40, 41], &[38, 24, 25]).sanctuaries[0], 4);
}

/// Returns the fame of one card, computed from the catalogue's JSON.
fn reference_fame(card: &Value, visible: &[&Value]) -> u64 {
    let number = |card: &Value, path: &str| card.pointer(path).and_then(Value::as_u64).unwrap_or(0);
    let sum = |path: &str| visible.iter().map(|card| number(card, path)).sum::<u64>();
    for wonder in ["stone", "chimera", "thistle"] {
        if sum(&format!("/wonders/{wonder}")) < number(card, &format!("/prerequisite/{wonder}")) {
            return 0;
        }
    }
    let of_biome = |biome: &str| visible.iter().filter(|card| card["biome"] == biome).count() as u64;
    let quest = &card["quest"];
    let times = match quest["kind"].as_str().expect("a kind") {
        "none" => 0,
        "flat" => 1,
        "per_wonder" => sum(&format!("/wonders/{}", quest["wonder"].as_str().expect("a wonder"))),
        "per_clue" => sum("/clues"),
        "per_night" => {
            let night = |card: &&&Value| card["time"] == "night" || card["night"] == true;
            visible.iter().filter(night).count() as u64
        }
        "per_biome" => {
            let biomes = quest["biomes"].as_array().expect("a list");
            biomes.iter().map(|biome| of_biome(biome.as_str().expect("a biome"))).sum()
        }
        "per_biome_set" => ["river", "city", "forest", "desert"].map(of_biome).into_iter().min().unwrap_or(0),
        other => panic!("kind {other}"),
    };
    times * number(quest, "/points")
}

/// Returns the quest status of one card, computed from the catalogue's JSON.
fn reference_status(card: &Value, visible: &[&Value]) -> String {
    let wonders = ["stone", "chimera", "thistle"].into_iter().flat_map(|wonder| {
        let number = |card: &Value, part: &str| card[part][wonder].as_u64().unwrap_or(0);
        let seen: u64 = visible.iter().map(|card| number(card, "wonders")).sum();
        (seen..number(card, "prerequisite")).map(move |_| wonder)
    });
    match wonders.collect::<Vec<_>>()[..] {
        [] => "met".to_owned(),
        [wonder] => format!("lacks_{wonder}"),
        _ => "lacks_more".to_owned(),
    }
}

#[test]
fn random_tableaus_score_as_a_plain_reading_of_the_catalogue_says() {
    // FA-6.2, FA-6.3
    let file: Value = serde_json::from_str(Faraway::TYPE.catalogue).expect("JSON");
    let mut rng = RngStream::new(1, 0);
    for _ in 0..3_000 {
        let mut ids = |last: u8, count: u32| -> Vec<u8> {
            let mut ids: Vec<u8> = (1..=last).collect();
            rng.shuffle(&mut ids);
            ids[..count as usize].to_vec()
        };
        let line = ids(68, 8);
        let sanctuaries = ids(45, u32::from(line[0]) % 8);
        let row = |section: &str, id: u8| file[section][usize::from(id) - 1].clone();
        let regions: Vec<Value> = line.iter().map(|&id| row("regions", id)).collect();
        let placed: Vec<Value> = sanctuaries.iter().map(|&id| row("sanctuaries", id)).collect();
        let got = fame(&line, &sanctuaries);
        let got_statuses = statuses_of(&line, &sanctuaries);
        for at in 0..8 {
            let visible: Vec<&Value> = regions[at..].iter().chain(&placed).collect();
            assert_eq!(u64::from(got.regions[at]), reference_fame(&regions[at], &visible), "{line:?}");
            assert_eq!(got_statuses[at], reference_status(&regions[at], &visible), "{line:?}");
        }
        let visible: Vec<&Value> = regions.iter().chain(&placed).collect();
        for (at, card) in placed.iter().enumerate() {
            assert_eq!(u64::from(got.sanctuaries[at]), reference_fame(card, &visible), "{sanctuaries:?}");
        }
        // FA-6.4: the order of the sanctuaries makes no difference.
        let turned: Vec<u8> = sanctuaries.iter().rev().copied().collect();
        assert_eq!(fame(&line, &turned).total(), got.total());
    }
}

#[test]
fn the_bound_of_scores_gives_every_card_the_most_it_can_see() {
    // FA-6.3, FA-R7: any 8 regions and 7 sanctuaries show at most this much of each symbol, and three complete sets.
    let cards = catalogue();
    let greatest = |mut values: Vec<u32>, count: usize| -> u32 {
        values.sort_unstable();
        values.iter().rev().take(count).sum()
    };
    let best = |value: &dyn Fn(&Card) -> u32| {
        let [regions, sanctuaries] =
            [&cards.regions, &cards.sanctuaries].map(|cards| cards.iter().map(value).collect());
        greatest(regions, 8) + greatest(sanctuaries, 7)
    };
    let seen: Vec<u32> = (0..9).map(|at| best(&|card| card.symbols.0[at].into())).collect();
    let pays = |card: &Card| {
        let quest = &card.quest;
        let symbols: u32 =
            quest.per.0.iter().zip(&seen).map(|(&points, seen)| u32::from(points) * seen).sum();
        symbols + u32::from(quest.flat) + 3 * u32::from(quest.per_set)
    };
    let game = table(2, "basic");
    assert_eq!(game.info().scores, (0, i32::try_from(best(&pays)).expect("some hundreds")));
}
