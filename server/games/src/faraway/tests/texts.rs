//! Texts, phrases, reports and names, on positions of known cards and over whole games.

use std::collections::{BTreeMap, BTreeSet};

use boardwire_kernel::{Choices, Episode, Seat, Setup, Texts, Viewer};

use super::{
    VARIANTS, climbing_action, climbing_game, explore, play, region, sanctuary, scripted, seat, table,
};
use crate::faraway::{Action, Faraway, Phase};

/// Returns what a closure writes.
fn written(write: impl FnOnce(&mut String) -> std::fmt::Result) -> String {
    let mut out = String::new();
    write(&mut out).expect("writing to a string does not fail");
    out
}

fn text(episode: &Episode<Faraway>, viewer: impl Into<Viewer>) -> String {
    written(|out| episode.game().text(episode.state(), viewer.into(), out))
}

fn phrase(episode: &Episode<Faraway>, number: u8, action: Action) -> String {
    written(|out| episode.game().phrase(episode.state(), seat(number), action, out))
}

/// Plays a choice and returns what each seat is told of it.
fn reports(episode: &mut Episode<Faraway>, number: u8, action: Action) -> Vec<String> {
    let before = *episode.state();
    play(episode, number, action);
    let (game, after, choice) = (episode.game(), episode.state(), (seat(number), action));
    let report = |viewer| written(|out| game.report(&before, choice, after, viewer, out));
    Seat::all(game.info().seats).map(report).collect()
}

/// Two seats at the start of round 2. Seat 0 has explored region 20, seat 1 region 41.
fn second_round() -> Episode<Faraway> {
    let mut episode = scripted(2, "basic", &[16, 20, 22, 58, 41, 2, 5, 6, 8, 17, 3, 4], &[21, 32, 44]);
    explore(&mut episode, &[20, 41]);
    play(&mut episode, 0, region(6));
    play(&mut episode, 1, region(5));
    episode
}

const DISPLAY: &str = "\
display:
R3 duration 3, river; 4 fame
R4 duration 4, forest stone thistle
R17 duration 17, desert stone; needs 2 chimera: 3 per stone
\"= N\": pays N now. A region counts itself, later regions of its line, all sanctuaries of its seat.
";

const DECKS: &str = "\
decks: 56 regions, 40 sanctuaries
out of the game, by round: R8
";

#[test]
fn a_text_describes_every_card_that_matters() {
    // FA-5.1, FA-5.2, FA-5.4
    let mut episode = second_round();
    explore(&mut episode, &[22, 58]);
    let course = "\
round 2 of 8: take a region from the display; to choose: seat 0 (you)
order of turns: seat 0 (you), seat 1
";
    let own = "\
seat 0 (you):
hand:
R6 duration 6, desert stone clue
R16 duration 16, forest chimera; 2 per chimera
sanctuaries found, one to place:
S21 stone clue
S32; 2 per chimera
S44; 1 per forest or desert
line, oldest first:
R20 river night clue; lacks 1 stone: 2 per night
R22 duration 22, river night clue; 1 per clue = 1
symbols in area: 2 clue, 2 night, 2 river
fame now: 1
";
    let other = "\
seat 1:
hand: 1 unknown and
R5 duration 5, river chimera; 2 fame
found 2 sanctuaries, one to place
line, oldest first:
R41 river thistle; lacks 2 stone + 1 chimera: 4 per night
R58 duration 58, river clue; lacks 3 chimera: 3 per clue
fame now: 0
";
    assert_eq!(text(&episode, seat(0)), [course, DISPLAY, own, other, DECKS].concat());
    let hidden = "\
seat 0:
hand: 1 unknown and
R6 duration 6, desert stone clue
found 3 sanctuaries, one to place
line, oldest first:
R20 river night clue; lacks 1 stone: 2 per night
R22 duration 22, river night clue; 1 per clue = 1
fame now: 1
";
    let course = course.replace(" (you)", "");
    assert_eq!(text(&episode, Viewer::Public), [&course, DISPLAY, hidden, other, DECKS].concat());
}

#[test]
fn a_text_describes_what_its_seat_has_hidden() {
    // FA-3.1, FA-5.3 to FA-5.5
    let mut episode = second_round();
    explore(&mut episode, &[22, 58]);
    play(&mut episode, 0, region(4));
    play(&mut episode, 0, sanctuary(32));
    play(&mut episode, 1, region(3));
    play(&mut episode, 1, sanctuary(1));
    play(&mut episode, 0, region(6));
    let [own, other] = [0, 1].map(|number| text(&episode, seat(number)));
    let begin = "\
round 3 of 8: explore a region, secretly; to choose: seat 1
next: by ascending duration, seats take a region and place a found sanctuary
";
    assert!(own.starts_with(begin), "{own}");
    let hand = "\
hand:
R4 duration 4, forest stone thistle
R16 duration 16, forest chimera; 2 per chimera
chosen to explore, still secret:
R6 duration 6, desert stone clue
";
    assert!(own.contains(hand), "{own}");
    let returned =
        "\nyou put under the sanctuary deck in round 2:\nS21 stone clue\nS44; 1 per forest or desert\n";
    assert!(own.ends_with(returned), "{own}");
    // Region 6 was taken from the display, so seat 1 knows that seat 0 has it, but not that it is chosen.
    assert!(other.contains("R6 duration 6") && !other.contains("still secret"), "{other}");
    assert!(!other.contains("S21") && !other.contains("S44"), "{other}");
    let mut episode = scripted(2, "advanced", &[], &[]);
    play(&mut episode, 0, region(3));
    let [own, other] = [0, 1].map(|number| text(&episode, seat(number)));
    assert!(
        own.starts_with("round 1 of 8: set two regions aside, secretly; to choose: seat 0 (you), seat 1\n")
    );
    assert!(own.contains("\nset aside into the region deck:\nR3 duration 3, river; 4 fame\n"), "{own}");
    assert!(other.contains("\nseat 0:\nhand: 5 unknown\n"), "{other}");
}

/// Returns what a played card pays according to its line of a final text.
fn paid(line: &str) -> i32 {
    let quest = line.split_once("; ").map_or("", |(_, quest)| quest);
    let flat = || quest.strip_suffix(" fame").filter(|points| !points.starts_with("lacks"));
    let points = quest.split_once(" = ").map(|(_, points)| points).or_else(flat);
    points.map_or(0, |points| points.parse().expect("a number"))
}

#[test]
fn a_final_text_has_places_scores_and_their_sources() {
    // FA-6.5, FA-R11
    for seed in 0..20 {
        let end = climbing_game(&table(3, "basic"), seed, |_| {});
        let outcome = end.outcome().expect("over");
        let text = text(&end, seat(1));
        assert!(text.starts_with("the game is over; places (ties: "), "{text}");
        for viewed in Seat::all(3) {
            let (place, score) = (outcome.ranks()[viewed.index()], outcome.scores()[viewed.index()]);
            let name = if viewed == seat(1) { "seat 1 (you)".to_owned() } else { viewed.to_string() };
            let shortest = end.state().line(viewed).min().expect("a line");
            let line = format!("\nplace {place}: {name}, {score} fame, shortest duration {shortest}\n");
            assert!(text.contains(&line), "{line}{text}");
            let area = text.split_once(&format!("\n{name}:\n")).expect("an area").1;
            let (cards, rest) = area.split_once("\nfinal score: ").expect("a score");
            assert!(rest.starts_with(&format!("{score}\n")), "{area}");
            let cards = cards.split_once("line, oldest first:\n").expect("a line").1;
            assert_eq!(cards.lines().map(paid).sum::<i32>(), score, "{cards}");
        }
    }
}

#[test]
fn phrases_say_what_a_choice_does_now() {
    // FA-3.2 to FA-3.4, FA-4.2, FA-4.5: regions 20, 22 and 58 and sanctuary 21 show a clue each.
    let episode = scripted(2, "advanced", &[1, 2, 3, 4, 5], &[]);
    assert_eq!(phrase(&episode, 0, region(3)), "set aside R3: it goes back into the deck");
    let episode = scripted(2, "basic", &[1, 2, 3], &[]);
    assert_eq!(phrase(&episode, 0, region(3)), "explore R3: the first region finds no sanctuary");
    let mut episode = second_round();
    assert_eq!(phrase(&episode, 0, region(16)), "explore R16: shorter than R20, finds no sanctuary");
    assert_eq!(phrase(&episode, 0, region(22)), "explore R22: longer than R20, finds 3 sanctuaries");
    assert_eq!(phrase(&episode, 1, region(58)), "explore R58: longer than R41, finds 2 sanctuaries");
    explore(&mut episode, &[22, 58]);
    assert_eq!(phrase(&episode, 0, region(17)), "take R17 from the display into your hand");
    play(&mut episode, 0, region(17));
    assert_eq!(phrase(&episode, 0, sanctuary(32)), "place S32; the other 2 go under the deck");
    play(&mut episode, 0, sanctuary(32));
    play(&mut episode, 1, region(3));
    assert_eq!(phrase(&episode, 1, sanctuary(1)), "place S1; S2 goes under the deck");
}

#[test]
fn a_sole_sanctuary_has_its_own_phrase() {
    // FA-3.4: no card of seat 0 shows a clue.
    let mut episode = scripted(2, "basic", &[1, 2, 3, 10, 9, 4], &[5]);
    explore(&mut episode, &[1, 10]);
    play(&mut episode, 0, region(5));
    play(&mut episode, 1, region(6));
    explore(&mut episode, &[2, 9]);
    let lowest = |episode: &Episode<Faraway>| episode.state().display.lowest().expect("a display");
    let taken = lowest(&episode);
    play(&mut episode, 0, region(taken));
    assert_eq!(phrase(&episode, 0, sanctuary(5)), "place S5, the only sanctuary found");
}

#[test]
fn a_hidden_choice_is_reported_when_all_are_revealed() {
    // FA-2.4, FA-3.1, FA-3.3
    let mut episode = scripted(2, "advanced", &[], &[]);
    assert_eq!(reports(&mut episode, 1, region(6)), ["", "seat 1 (you) set R6 aside\n"]);
    let mut episode = second_round();
    assert_eq!(reports(&mut episode, 1, region(2)), ["", "seat 1 (you) chose R2 to explore\n"]);
    let revealed = reports(&mut episode, 0, region(22));
    assert_eq!(
        revealed[0],
        "seat 1 explored R2 and found no sanctuary\n\
         seat 0 (you) explored R22 and found 3 sanctuaries: S21, S32, S44\n"
    );
    assert_eq!(
        revealed[1],
        "seat 1 (you) explored R2 and found no sanctuary\nseat 0 explored R22 and found 3 sanctuaries\n"
    );
}

#[test]
fn reports_tell_what_was_taken_placed_returned_and_left_over() {
    // FA-4.2, FA-4.4 to FA-4.6, FA-5.4
    let mut episode = second_round();
    explore(&mut episode, &[22, 2]);
    assert_eq!(reports(&mut episode, 1, region(3)), ["seat 1 took R3\n", "seat 1 (you) took R3\n"]);
    assert_eq!(reports(&mut episode, 0, region(4))[1], "seat 0 took R4\n");
    assert_eq!(
        reports(&mut episode, 0, sanctuary(32)),
        [
            "seat 0 (you) placed S32 and put S21, S44 under the deck; R17 was left over and is out of the game\n",
            "seat 0 placed S32 and put 2 sanctuaries under the deck; R17 was left over and is out of the game\n",
        ]
    );
}

#[test]
fn sanctuaries_that_were_owed_are_reported_when_they_are_dealt() {
    // FA-R2
    let (mut owed, mut dealt) = (0, 0);
    for seed in 0..20 {
        let mut episode = Episode::seeded(table(6, "basic"), seed);
        while let Some(number) = episode.pending().lowest() {
            let before = *episode.state();
            let action = climbing_action(episode.game(), &before, number);
            let action = episode.game().decode(action).expect("a legal action");
            let reports = reports(&mut episode, number.number(), action);
            let after = episode.state();
            for (viewer, report) in Seat::all(6).zip(reports) {
                let number = after.found(viewer).difference(before.found(viewer)).len();
                if before.phase == Phase::Explore && after.owed[viewer] > 0 {
                    let line = format!("; {} still owed\n", after.owed[viewer]);
                    assert!(report.contains(&line), "{report}");
                    owed += 1;
                }
                let is_dealt = before.owed[viewer] > 0 && number > 0;
                let line = report.lines().find(|line| line.contains("it was owed: S"));
                assert_eq!(line.is_some(), is_dealt, "{report}");
                let Some(line) = line else { continue };
                assert!(line.starts_with(&format!("{viewer} (you) found {number} sanctuar")), "{line}");
                assert_eq!(line.matches('S').count(), usize::try_from(number).expect("a few"), "{line}");
                dealt += 1;
            }
        }
    }
    assert!(owed > 10 && dealt > 10, "{owed} owed, {dealt} dealt");
}

/// Returns the words of a text in lower case, each without a plural `s` if that makes it a name.
fn words<'a>(text: &'a str, names: &BTreeMap<String, String>) -> Vec<String> {
    let letters = |c: char| !(c.is_alphanumeric() || c == '_');
    let word = |word: &'a str| {
        let word = word.to_lowercase();
        let single = word.strip_suffix('s').filter(|single| names.contains_key(*single));
        single.map_or(word.clone(), str::to_owned)
    };
    text.split(letters).filter(|word| !word.is_empty()).map(word).collect()
}

fn legal_actions(episode: &Episode<Faraway>, number: Seat) -> Vec<Action> {
    let game = episode.game();
    let legal = game.legal(episode.state(), number);
    legal.iter().map(|index| game.decode(index).expect("a legal action")).collect()
}

#[test]
fn all_names_are_listed_and_stand_for_one_thing() {
    let game = table(2, "basic");
    let mut names = BTreeMap::new();
    for group in game.names() {
        for (at, name) in (1..).zip(&group.names) {
            assert!(name.chars().all(char::is_alphanumeric), "{name} is one word");
            let neutral = format!("{} {at}", group.kind);
            assert_eq!(names.insert(name.to_lowercase(), neutral), None, "{name} is a name of two things");
        }
    }
    assert_eq!(names.len(), 1 + 4 + 3 + 68 + 45);
    assert!(names.keys().all(|name| !names.contains_key(&format!("{name}s"))));
    let mut found = BTreeSet::new();
    let mut check = |text: &str| {
        for word in words(text, &names) {
            let is_code = word.starts_with(['r', 's']) && word[1..].parse::<u8>().is_ok();
            assert!(!is_code || names.contains_key(&word), "{word} is not a name: {text}");
            found.insert(word);
        }
    };
    check(Faraway::TYPE.rules);
    check(Faraway::TYPE.name);
    game.info().actions.all().iter().for_each(|action| check(&action.label));
    for (seats, variant) in [2, 6].into_iter().flat_map(|seats| VARIANTS.map(|variant| (seats, variant))) {
        climbing_game(&table(seats, variant), 7, |episode| {
            Viewer::all(seats).for_each(|viewer| check(&text(episode, viewer)));
            for number in episode.pending().iter() {
                for action in legal_actions(episode, number) {
                    check(&phrase(episode, number.number(), action));
                    let mut next = episode.clone();
                    check(&reports(&mut next, number.number(), action).concat());
                }
            }
        });
    }
    let unused: Vec<_> = names.keys().filter(|name| !found.contains(*name)).collect();
    assert!(unused.is_empty(), "{unused:?}");
    let kinds: Vec<_> = game.names().iter().map(|group| group.kind).collect();
    assert_eq!(kinds, ["game", "biome", "wonder", "region", "sanctuary"]);
    assert!(!kinds.iter().any(|kind| names.contains_key(*kind)));
}
