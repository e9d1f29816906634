//! Worlds are drawn as often as they are likely: tiny tables, against all histories there are.
//!
//! A world is the whole state, with all that others remember and the course of events that led to it.

use std::sync::Arc;

use boardwire_kernel::testkit::{self, Posterior, frequencies_agree, usual_likelihood};
use boardwire_kernel::{BOT_STREAM, Chance, Episode, Game as _, RESAMPLE_STREAM, RngStream, Seat};
use serde_json::{Value, json};

use super::super::action::Action;
use super::super::state::State;
use super::super::{GoldenCompass, streams};
use super::support::{Table, default_catalogue, game_by, seat};

/// The ply at which worlds are compared: there have been returns, thefts or sets by then, and the worlds are still few.
const PLY: usize = 28;

/// Cards, the effects of every ally, and the sets that may be played.
struct Tiny {
    seats: u8,
    cards: &'static [(&'static str, u8)],
    tokens: &'static [u8],
    effects: Value,
}

/// Not too few: in a table where nearly all cards are in hands the walk takes longer than it is.
const NINE: [(&str, u8); 9] = [
    ("ermine.madonna", 1),
    ("wildcat.baby", 1),
    ("moth.hourglass", 1),
    ("hawk.thunderbolt", 1),
    ("mouse.madonna", 1),
    ("goldfinch.baby", 1),
    ("polecat.hourglass", 1),
    ("dragonfly.thunderbolt", 1),
    ("ermine.baby", 1),
];

impl Tiny {
    /// The default catalogue, but for its cards, the tokens of every city, the needle and the allies of the first period.
    fn game(&self) -> Arc<GoldenCompass> {
        let mut file = default_catalogue();
        let row = |&(name, count): &(&str, u8)| match name.split_once('.') {
            Some((daemon, symbol)) => {
                json!({"kind": "ordinary", "daemon": daemon, "symbol": symbol, "count": count})
            }
            None => json!({"kind": name, "count": count}),
        };
        let sum: u8 = self.cards.iter().map(|card| card.1).sum();
        file["lyra_deck"]["cards"] = self.cards.iter().map(row).collect();
        file["components"]["lyra_cards_per_deck"] = sum.into();
        file["setup"]["lyra_deck_copies"] = json!({"2": 1, "3": 1, "4": 1});
        file["setup"]["max_players"] = self.seats.into();
        file["setup"]["starting_hand"] = 0.into();
        file["rules_values"]["hand_limit"] = 3.into();
        let axis =
            |advance: u8| json!({"red": {"draw": 2, "advance": advance}, "blue": "free_choice", "weight": 1});
        file["wheel"]["axes"] = json!([axis(0), axis(1)]);
        if !self.tokens.is_empty() {
            let tokens = self.tokens.iter().map(|value| json!({"kind": "points", "value": value}));
            for set in 0..4 {
                file["experience_tokens"]["sets"][set]["tokens"] = tokens.clone().collect();
            }
            for period in 0..2 {
                file["periods"]["list"][period]["experience_slots_per_city"] = self.tokens.len().into();
            }
            file["components"]["experience_tokens"] = (4 * self.tokens.len()).into();
        }
        for (symbols, character) in
            file["characters"]["list"].as_array_mut().expect("a list").iter_mut().enumerate()
        {
            // No two cards under allies could be exchanged.
            character["magisterium"] = (symbols % 10).into();
            if character["period"] == "green" {
                character["effects"] = self.effects.clone();
            }
        }
        game_by(&file.to_string(), self.seats)
    }

    /// Plays a game, and compares the worlds of every seat.
    fn is_exact(&self, seed: u64) {
        let game = self.game();
        for viewer in Seat::all(self.seats) {
            compare(&game, viewer, seed);
        }
    }
}

fn compare(game: &Arc<GoldenCompass>, viewer: Seat, seed: u64) {
    let mut rng = RngStream::new(seed, BOT_STREAM);
    let mut episode = Episode::start(Arc::clone(game), Chance::seeded(seed, streams::NAMES.len()));
    for seat in Seat::all(game.seats) {
        episode.apply(seat, game.encode(Action::Keep(0)).into()).expect("it keeps one");
    }
    // Nothing is hidden yet: nobody holds a card, and every card under an ally is known by its symbols.
    let mut belief = Posterior::of(&**game, viewer, [(*episode.state(), 1)], episode.state());
    for _ in 0..PLY {
        let seat = episode.pending().lowest().expect("the game goes on");
        let legal = game.legal(episode.state(), seat).iter().filter_map(|index| game.decode(index));
        let wanted: Vec<Action> = legal.filter(|&action| !moves_nothing(action)).collect();
        let action = wanted[rng.below(u32::try_from(wanted.len()).expect("few")) as usize];
        let choice = (seat, game.encode(action));
        episode.apply(seat, choice.1.into()).expect("a legal action");
        belief.follow(&**game, choice, episode.state(), usual_likelihood);
    }
    assert!((3..60).contains(&belief.len()), "{viewer} believes in {} worlds", belief.len());
    let mut rng = RngStream::new(seed, RESAMPLE_STREAM);
    frequencies_agree(&**game, episode.state(), &belief, &mut rng);
}

/// Actions that move neither cards nor tokens, and could be given up instead.
fn moves_nothing(action: Action) -> bool {
    matches!(action, Action::Alethiometer | Action::Magisterium | Action::Dust)
}

#[test]
fn hands_with_cards_from_before_returns_are_as_likely_as_they_are() {
    // GC-13.2: one and more returns, and cards dropped that were just drawn.
    let effects = json!([{"kind": "draw_keep", "draw": 2, "keep": 1}]);
    Tiny { seats: 2, cards: &NINE, tokens: &[], effects }.is_exact(5);
}

#[test]
fn cards_stolen_may_be_wherever_thefts_and_shows_leave_them() {
    // GC-13.2, GC-R38
    let steal = json!({"kind": "steal_card", "count": 1});
    let draw = json!({"kind": "draw", "count": 1});
    let effects = json!([{"kind": "choose_one", "options": [[steal], [draw]]}]);
    let cards = &[
        ("ermine.madonna", 1),
        ("wildcat.baby", 1),
        ("moth.hourglass", 1),
        ("hawk.thunderbolt", 1),
        ("mouse.madonna", 9),
    ];
    Tiny { seats: 3, cards, tokens: &[], effects }.is_exact(1);
}

#[test]
fn of_equal_cards_any_may_have_come_back() {
    // GC-13.2
    let cards = &[("ermine.madonna", 3), ("wildcat.baby", 3), ("moth.hourglass", 3)];
    Tiny { seats: 2, cards, tokens: &[], effects: json!([{"kind": "draw", "count": 1}]) }.is_exact(5);
}

#[test]
fn sets_tell_what_else_was_in_hand() {
    // GC-8.11
    let cards = &[
        ("ermine.madonna", 1),
        ("ermine.baby", 1),
        ("ermine.hourglass", 1),
        ("wildcat.madonna", 2),
        ("joker", 2),
        ("flying_spy", 2),
    ];
    Tiny { seats: 2, cards, tokens: &[], effects: json!([{"kind": "draw", "count": 1}]) }.is_exact(4);
}

#[test]
fn tokens_are_as_likely_where_they_may_be() {
    // GC-13.2, GC-R16
    let take = json!({"kind": "take_experience", "count": 1});
    let steal = json!({"kind": "steal_experience", "count": 1});
    let effects = json!([{"kind": "choose_one", "options": [[take], [steal]]}]);
    let cards = &[("ermine.madonna", 10)];
    Tiny { seats: 3, cards, tokens: &[1, 2, 2, 3], effects }.is_exact(3);
}

/// How many of the cards and tokens that others hold are drawn as they truly are, of how many.
fn true_ones(
    game: &GoldenCompass,
    state: &State,
    viewer: Seat,
    rounds: Option<usize>,
    rng: &mut RngStream,
) -> [u32; 2] {
    let mut world = *state;
    let walks = [game.card_walk(state, viewer), game.token_walk(state, viewer)].map(|mut walk| {
        match rounds {
            Some(rounds) => walk.rounds(rounds, rng),
            None => walk.go(rng),
        }
        walk
    });
    game.put_cards(&walks[0], &mut world);
    game.put_tokens(&walks[1], &mut world, rng);
    let (mut found, mut all) = (0, 0);
    for seat in game.others(viewer) {
        let [truth, drawn] = [state, &world].map(|state| state.places[seat]);
        found += truth
            .hand
            .types()
            .iter()
            .map(|card| u32::from(truth.hand.count(card).min(drawn.hand.count(card))))
            .sum::<u32>();
        found += truth.tokens.intersection(drawn.tokens).len();
        all += u32::from(truth.hand.len()) + truth.tokens.len();
    }
    [found, all]
}

#[test]
fn the_walk_forgets_what_is_true() {
    // GC-13.1: in games of usual length twenty times the steps find as many true cards and tokens, but for 2 in 100.
    for seats in 2..=4 {
        let game = testkit::table::<GoldenCompass>(seats, &[]);
        let (mut rng, mut counts) = (RngStream::new(2, RESAMPLE_STREAM), [[0; 2]; 2]);
        for seed in 0..12 {
            testkit::random_game(&game, seed, |episode| {
                if episode.ply() % 5 > 0 || episode.state().period == 0 {
                    return;
                }
                for viewer in game.all_seats() {
                    for (count, rounds) in counts.iter_mut().zip([None, Some(120)]) {
                        let found = true_ones(&game, episode.state(), viewer, rounds, &mut rng);
                        count.iter_mut().zip(found).for_each(|(sum, one)| *sum += one);
                    }
                }
            });
        }
        let [short, long] = counts.map(|[found, all]| 10_000 * found / all);
        assert!(
            short.abs_diff(long) < 200,
            "{seats} seats: {short} of 10,000 are true, in the long run {long}"
        );
    }
}

#[test]
fn a_card_surely_among_five_of_which_one_was_stolen_has_gone_once_in_five() {
    // GC-13.2, GC-R38
    let mut table = Table::new(3);
    table.hand(1, &["moth.baby", "mouse.baby", "hawk.madonna", "spy"]);
    table.hand(0, &["hawk.baby"]);
    for (thief, victim) in [(1, 0), (2, 1)] {
        table.state.active = seat(thief);
        table.game.steal_card(&mut table.state, seat(victim), &mut table.chance);
    }
    let hawk = table.card("hawk.baby");
    let mut rng = RngStream::new(5, RESAMPLE_STREAM);
    let (draws, mut gone) = (40_000, 0);
    for _ in 0..draws {
        let mut world = table.state;
        table.game.resample(&mut world, seat(0), &mut rng);
        gone += u32::from(world.places[seat(2)].hand.contains(hawk));
    }
    // The other copy is in the hand robbed four times in 75. A bias of 2 % would be 800 draws; the standard deviation is 82.
    let expected = draws / 5 + draws * 4 / (5 * 75);
    assert!(gone.abs_diff(expected) < 400, "{gone}, not {expected}");
}

#[test]
fn many_equal_cards_that_were_shown_are_weighed() {
    // GC-13.2: the one wildcat was held while an ermine among eleven was shown twenty times.
    let mut file = default_catalogue();
    let row = |daemon: &str, symbol: &str| json!({"kind": "ordinary", "daemon": daemon, "symbol": symbol, "count": 50});
    file["lyra_deck"]["cards"] = json!([row("ermine", "madonna"), row("wildcat", "baby")]);
    file["components"]["lyra_cards_per_deck"] = 100.into();
    file["setup"]["lyra_deck_copies"] = json!({"2": 1});
    file["setup"]["max_players"] = 2.into();
    file["setup"]["starting_hand"] = 0.into();
    file["rules_values"]["hand_limit"] = 12.into();
    let mut table = Table::by(&file, 2);
    let mut hand = vec!["ermine.madonna"; 10];
    hand.push("wildcat.baby");
    table.hand(1, &hand);
    let ermine = table.card("ermine.madonna");
    table.scripted(streams::CARDS, &[0; 20]);
    for _ in 0..20 {
        table.game.draw(&mut table.state, seat(1), 1, &mut table.chance, |_| ());
        table.game.discard(&mut table.state, seat(1), ermine, 0);
    }
    let mut rng = RngStream::new(8, RESAMPLE_STREAM);
    for _ in 0..20 {
        let mut world = table.state;
        table.game.resample(&mut world, seat(0), &mut rng);
        assert_eq!(table.game.audit(&world), Ok(()));
    }
}

#[test]
fn one_round_is_enough_while_others_have_only_drawn() {
    // GC-13.1
    let mut table = Table::new(3);
    table.hand(0, &["hawk.baby", "spy"]);
    table.hand(1, &["moth.baby", "joker"]);
    let is_free =
        |table: &Table| [0, 1, 2].map(|viewer| table.game.card_walk(&table.state, seat(viewer)).is_free());
    assert_eq!(is_free(&table), [true; 3]);
    let (spy, mut shown) = (table.card("spy"), table.copied());
    shown.game.discard(&mut shown.state, seat(0), spy, 0);
    assert_eq!(is_free(&shown), [true, false, false], "a seat knows what it showed");
    shown.game.return_discard(&mut shown.state);
    assert_eq!(is_free(&shown), [false; 3]);
    table.state.active = seat(1);
    table.game.steal_card(&mut table.state, seat(0), &mut table.chance);
    assert_eq!(is_free(&table), [false; 3]);
}

#[test]
fn of_equal_cards_only_those_just_drawn_can_be_dropped() {
    // GC-8.6, GC-13.2
    let cards = &[("ermine.madonna", 3), ("wildcat.baby", 3), ("moth.hourglass", 3)];
    let effects = json!([{"kind": "draw_keep", "draw": 2, "keep": 1}]);
    let tiny = Tiny { seats: 2, cards, tokens: &[], effects };
    tiny.is_exact(5);
    // Here it matters which of equal cards went where.
    compare(&tiny.game(), Seat::FIRST, 13);
}
