//! What seats know: pairs of states that differ only in hidden cards, and the states that `resample` samples.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use boardwire_kernel::{
    Audits, Axis, Choices, Episode, Hidden, RESAMPLE_STREAM, RngStream, Setup, Turns, testkit,
    testkit::ViewerSnapshot,
};

use super::{VARIANTS, climbing_game, explore, field, play, region, scripted, seat, table};
use crate::faraway::resample::CardKnowledge;
use crate::faraway::{Faraway, Phase, RegionId, SanctuaryId, State};

/// Asserts that two states differ in the observation of `owner` and look equal to all other seats.
fn only_known_to(game: &Faraway, owner: u8, one: &State, other: &State) {
    assert_ne!(one, other);
    for number in 0..game.info().seats {
        let [one, other] = [one, other].map(|state| ViewerSnapshot::of(game, state, seat(number)));
        assert_eq!(one == other, number != owner, "to seat {number}");
    }
}

fn middle_of(variant: &str, when: impl Fn(&State) -> bool) -> (Arc<Faraway>, State) {
    let game = table(3, variant);
    let mut found = None;
    for seed in 0..20 {
        testkit::random_game(&game, seed, |episode| {
            if found.is_none() && when(episode.state()) {
                found = Some(*episode.state());
            }
        });
    }
    (game, found.expect("some game comes to such a position"))
}

#[test]
fn lines_sanctuaries_display_and_left_overs_are_open_to_all() {
    // FA-5.1: the sizes of the decks and the number of sanctuaries dealt are public too.
    let (game, state) =
        middle_of("basic", |state| state.round == 6 && state.phase == Phase::Place && state.turn < 2);
    for number in 0..3u8 {
        let seats = [number, (number + 1) % 3, (number + 2) % 3].map(seat);
        let of = |name| field(&game, &state, number, name);
        assert_eq!(of("lines"), seats.map(|seat| RegionId::to_rows(state.lines[seat])).concat());
        assert_eq!(of("sanctuaries"), seats.map(|seat| SanctuaryId::to_rows(state.placed[seat])).concat());
        let display: Vec<u8> = state.display.iter().collect();
        assert_eq!(of("display")[..display.len()], display);
        assert_eq!(of("left_over"), RegionId::to_rows(state.left_over));
        let dealt = seats.map(|seat| u8::try_from(state.found(seat).len()).expect("few"));
        assert_eq!(of("dealt"), dealt);
        assert_eq!(of("region_deck"), [u8::try_from(state.deck.len()).expect("few")]);
        assert_eq!(of("sanctuary_deck"), [state.sanctuary_deck]);
        let order = state.order[..3].iter().map(|other| (other.number() + 3 - number) % 3 + 1);
        assert_eq!(of("order"), order.collect::<Vec<_>>());
    }
}

#[test]
fn the_order_is_shown_by_turn_and_what_belongs_to_seats_by_seat() {
    // FA-4.1, FA-5.1
    let game = table(3, "basic");
    let seat = Axis::seats(3);
    let by = [("order", Axis::sequence("turn", 3)), ("pending", seat), ("dealt", seat), ("owed", seat)];
    for (name, axis) in by {
        let field = game.info().layout.fields.iter().find(|field| field.name == name);
        assert_eq!(field.expect("a known field").axes, [axis], "{name}");
    }
}

#[test]
fn a_hand_is_its_owners_but_for_what_was_taken_from_the_display() {
    // FA-5.2
    let mut episode = scripted(2, "basic", &[6, 15, 49, 1, 2, 3, 60, 61, 62], &[]);
    explore(&mut episode, &[6, 1]);
    play(&mut episode, 1, region(60));
    let (game, state) = (Arc::clone(episode.game()), *episode.state());
    assert_eq!(field(&game, &state, 0, "known_hands"), [60, 0, 0]);
    assert_eq!(field(&game, &state, 0, "unknown_hands"), [2]);
    assert_eq!(field(&game, &state, 1, "hand"), [2, 3, 60, 0, 0]);
    let mut other = state;
    assert!(other.hands[seat(1)].remove(2u8) && other.deck.remove(40u8));
    other.hands[seat(1)].insert(40u8);
    other.deck.insert(2u8);
    only_known_to(&game, 1, &state, &other);
}

#[test]
fn a_choice_is_hidden_until_all_have_chosen() {
    // FA-5.3
    let [one, other] = [15, 49].map(|id| {
        let mut game = scripted(3, "basic", &[6, 15, 49, 1, 2, 3], &[]);
        play(&mut game, 0, region(id));
        game
    });
    only_known_to(one.game(), 0, one.state(), other.state());
    assert_eq!(field(one.game(), one.state(), 0, "chosen"), [15]);
    assert_eq!(field(one.game(), one.state(), 0, "hand"), [6, 49, 0, 0, 0]);
    assert_eq!(field(one.game(), one.state(), 1, "pending"), [1, 1, 0], "all seats know that it has chosen");
}

#[test]
fn sanctuaries_dealt_and_returned_are_their_owners() {
    // FA-5.4
    let mut episode = scripted(2, "basic", &[6, 15, 49, 1, 2, 3, 60, 61, 62], &[20, 7, 11, 12]);
    explore(&mut episode, &[6, 1]);
    play(&mut episode, 1, region(60));
    play(&mut episode, 0, region(61));
    explore(&mut episode, &[15, 2]);
    let game = Arc::clone(episode.game());
    let swapped = |state: &State| {
        let mut other = *state;
        assert!(other.dealt[seat(0)][0].remove(12u8) && other.front.remove(44u8));
        other.dealt[seat(0)][0].insert(44u8);
        other.front.insert(12u8);
        other
    };
    let state = *episode.state();
    only_known_to(&game, 0, &state, &swapped(&state));
    assert_eq!(field(&game, &state, 0, "found")[..4], [7, 11, 12, 0]);
    super::play_on(&mut episode, |state| state.round == 3);
    let state = *episode.state();
    only_known_to(&game, 0, &state, &swapped(&state));
    let returned = field(&game, &state, 0, "returned");
    let known: Vec<_> = (1..).zip(returned).filter(|(_, round)| *round > 0).collect();
    assert_eq!(known, [(11, 2), (12, 2)]);
}

#[test]
fn what_was_set_aside_is_known_to_its_owner_until_it_is_seen_again() {
    // FA-5.5
    let deal = [1, 2, 3, 4, 5, 11, 12, 13, 14, 15];
    let [one, other] = [[4, 5], [2, 5]].map(|aside| {
        let mut episode = scripted(2, "advanced", &[&deal[..], &[5, 50, 60]].concat(), &[]);
        for id in aside {
            play(&mut episode, 0, region(id));
        }
        episode
    });
    only_known_to(one.game(), 0, one.state(), other.state());
    let mut episode = one;
    assert_eq!(field(episode.game(), episode.state(), 0, "set_aside"), [4, 5]);
    play(&mut episode, 1, region(11));
    play(&mut episode, 1, region(12));
    let (game, state) = (Arc::clone(episode.game()), *episode.state());
    assert_eq!(field(&game, &state, 0, "set_aside"), [4, 0], "5 lies in the display");
    assert_eq!(field(&game, &state, 1, "set_aside"), [11, 12]);
    let mut rng = RngStream::new(1, 0);
    for _ in 0..200 {
        let mut world = state;
        game.resample(&mut world, seat(0), &mut rng);
        assert!(world.deck.contains(4u8), "seat 0 knows that no seat holds what it set aside");
        assert!(!world.set_aside[seat(1)].iter().flatten().any(|id| [1, 2, 3, 4, 5].contains(&id.get())));
    }
}

#[test]
fn deck_order_is_not_in_the_state() {
    // FA-5.6: a state stores no order; the next card depends only on chance.
    for variant in VARIANTS {
        let (game, state) =
            middle_of(variant, |state| state.round == 3 && state.phase == Phase::Take && state.turn == 2);
        let mut displays = BTreeSet::new();
        for seed in 0..50 {
            let mut next = state;
            let mut chance = boardwire_kernel::RandomSource::seeded(seed, 2);
            while next.round == 3 {
                let active = game.pending(&next).lowest().expect("a turn");
                let action = game.legal(&next, active).lowest().expect("a choice");
                boardwire_kernel::apply(&*game, &mut next, active, action.into(), &mut chance)
                    .expect("legal");
            }
            displays.insert(next.display.iter().collect::<Vec<_>>());
        }
        assert!(displays.len() > 45, "{} displays from 50 seeds", displays.len());
    }
}

/// Lists facts of a state: name, whether it is hidden from the viewer, value.
fn facts(state: &State, viewer: u8, seats: u8) -> Vec<(&'static str, bool, String)> {
    let mut facts = vec![
        ("deck of regions", true, format!("{:?}", state.deck)),
        ("front of the sanctuary deck", true, format!("{:?}", state.front)),
        ("display", false, format!("{:?}", state.display)),
        ("revealed", false, format!("{:?}", state.revealed)),
        ("lines", false, format!("{:?}", state.lines)),
        ("placed", false, format!("{:?}", state.placed)),
        ("own returned or dealt", false, format!("{:?}", state.dealt[seat(viewer)])),
        ("own hand", false, format!("{:?}", state.hands[seat(viewer)])),
        ("own choice", false, format!("{:?}", (state.chosen[seat(viewer)], state.set_aside[seat(viewer)]))),
    ];
    for at in (0..seats).filter(|&at| at != viewer) {
        let hand = state.hands[seat(at)];
        facts.extend([
            ("hidden hand", true, format!("{:?}", hand.difference(state.revealed))),
            ("known hand", false, format!("{:?}", hand.intersection(state.revealed))),
            ("choice", true, format!("{:?}", state.chosen[seat(at)])),
            ("set aside", true, format!("{:?}", state.set_aside[seat(at)])),
            ("before others", true, format!("{:?}", state.found(seat(at)))),
            ("returned by others", true, format!("{:?}", state.dealt[seat(at)])),
        ]);
    }
    facts
}

#[test]
fn resample_varies_what_is_hidden_and_never_what_is_known() {
    // FA-5.2, FA-5.3, FA-5.4, FA-5.5
    let mut rng = RngStream::new(77, 0);
    let mut varied: BTreeMap<&str, u32> = BTreeMap::new();
    for variant in VARIANTS {
        let game = table(4, variant);
        for seed in 0..4 {
            testkit::random_game(&game, seed, |episode| {
                let state = episode.state();
                for viewer in 0..4u8 {
                    let mut world = *state;
                    game.resample(&mut world, seat(viewer), &mut rng);
                    let [is, drawn] = [state, &world].map(|state| facts(state, viewer, 4));
                    for ((name, hidden, is), (_, _, drawn)) in is.iter().zip(&drawn) {
                        assert!(is == drawn || *hidden, "{name} is known to seat {viewer}");
                        *varied.entry(name).or_default() += u32::from(is != drawn);
                    }
                }
            });
        }
    }
    for (name, hidden, _) in facts(Episode::seeded(table(4, "basic"), 1).state(), 0, 4) {
        assert_eq!(varied[name] > 20, hidden, "{name} varied {} times", varied[name]);
    }
}

#[test]
fn hidden_hands_are_drawn_evenly() {
    // FA-5.2: at the start each of the 62 regions hidden from seat 0 is equally likely in seat 1's hand.
    let game = table(2, "basic");
    let state = *Episode::seeded(Arc::clone(&game), 1).state();
    let mut rng = RngStream::new(2, 0);
    let mut counts = [0u32; 69];
    for _ in 0..6_200 {
        let mut world = state;
        game.resample(&mut world, seat(0), &mut rng);
        world.hands[seat(1)].iter().for_each(|id| counts[usize::from(id)] += 1);
    }
    let unseen = state.deck.union(state.hands[seat(1)]);
    assert_eq!(unseen.len(), 62);
    for (id, count) in (0..).zip(counts) {
        let even = (210..390).contains(&count);
        assert!(if unseen.contains(id) { even } else { count == 0 }, "{id}: {count}");
    }
}

#[test]
fn samples_depend_only_on_the_seats_knowledge() {
    // FA-5.2 to FA-5.5: two states look equal to the viewer. The same random numbers give the same determinization.
    let mut rng = RngStream::new(5, RESAMPLE_STREAM);
    let mut dealt_again = 0;
    for seats in 2..=6 {
        let game = table(seats, "advanced");
        for seed in 0..8 {
            climbing_game(&game, seed, |episode| {
                let state = episode.state();
                let viewer = seat(u8::try_from(episode.ply() % u32::from(seats)).expect("few seats"));
                let mut other = *state;
                game.resample(&mut other, viewer, &mut rng);
                let [one, other] = [*state, other].map(|mut world| {
                    game.resample(&mut world, viewer, &mut rng.clone());
                    world
                });
                assert_eq!(one, other, "{seats} seats, seed {seed}, ply {}", episode.ply());
                dealt_again += u32::from(state.front_block > 0);
            });
        }
    }
    assert!(dealt_again > 300, "{dealt_again} positions");
}

#[test]
fn a_history_is_found_from_what_a_seat_knows() {
    // FA-R1: the sampler finds a history even with one guess or none, because it falls back to the exhaustive search.
    let mut rng = RngStream::new(9, 0);
    let mut found = 0;
    for seats in 2..=6 {
        let game = table(seats, "basic");
        for seed in 0..100 {
            climbing_game(&game, seed, |episode| {
                let state = episode.state();
                for viewer in (0..seats).map(seat).filter(|_| state.front_block > 0) {
                    let deals = game.deals(state).filter(|deal| deal.seat == viewer);
                    let own = deals.fold(0, |own, deal| own | deal.bit);
                    let known = game.paths(state).map(|path| CardKnowledge::of(path, own));
                    for guesses in [0, 1] {
                        let paths = game.sample_initial_paths(state, own, &known, guesses, &mut rng);
                        assert_eq!(
                            paths.map(|path| CardKnowledge::of(path, own)),
                            known,
                            "{seats} seats, seed {seed}"
                        );
                        let mut sample = *state;
                        game.set_deals_from_paths(&mut sample, &paths);
                        assert_eq!(game.audit(&sample), Ok(()));
                    }
                    found += 1;
                }
            });
        }
    }
    assert!(found > 40_000, "{found} positions");
}

/// Counts how often each sanctuary was in each deal over `times` resamples of `state` for seat 0.
fn deals(game: &Faraway, state: &State, rng: &mut RngStream, times: u32) -> Vec<u32> {
    let mut counts = vec![0; 46 * 42];
    for _ in 0..times {
        let mut world = *state;
        game.resample(&mut world, seat(0), rng);
        for (at, cards) in world.dealt.all().iter().flatten().enumerate() {
            cards.iter().for_each(|id| counts[at * 46 + usize::from(id)] += 1);
        }
    }
    counts
}

#[test]
fn resample_forgets_how_returned_sanctuaries_really_lay() {
    // FA-R1: resampling the true state and resampling a sample of it give the same frequencies.
    let game = table(6, "basic");
    let mut rng = RngStream::new(4, 0);
    for seed in 0..3 {
        let end = climbing_game(&game, seed, |_| {});
        let state = end.state();
        let mut world = *state;
        game.resample(&mut world, seat(0), &mut rng);
        assert!(state.front_block > 0 && world != *state);
        let [true_one, drawn] = [state, &world].map(|from| deals(&game, from, &mut rng, 600));
        for (one, other) in true_one.into_iter().zip(drawn) {
            // The limit is six standard deviations of the difference.
            let apart = one.abs_diff(other);
            assert!(apart * apart <= 36 * (one + other) + 36, "{one} and {other} of 600");
        }
    }
}
