//! The deal, and the advanced variant.

use boardwire_kernel::{Choices, Episode, RngStream, testkit::ViewerSnapshot};

use super::{VARIANTS, explore, play, play_on, region, scripted, seat, table};
use crate::faraway::{Phase, Regions, Sanctuaries};

fn set(ids: &[u8]) -> Regions {
    ids.iter().copied().collect()
}

#[test]
fn three_regions_are_dealt_to_each_seat_one_hand_after_the_other() {
    // FA-2.1
    let game = scripted(3, "basic", &[9, 8, 7, 1, 2, 3, 30, 20, 10], &[]);
    let state = game.state();
    assert_eq!(state.hands.of(4), [set(&[7, 8, 9]), set(&[1, 2, 3]), set(&[10, 20, 30]), set(&[])]);
    assert_eq!(state.deck.len(), 68 - 9 - 4);
}

#[test]
fn one_region_more_than_there_are_seats_is_revealed() {
    // FA-2.2
    for seats in 2..=6 {
        let state = *Episode::seeded(table(seats, "basic"), 1).state();
        assert_eq!(state.display.len(), u32::from(seats) + 1);
        assert_eq!(state.display, state.revealed);
    }
    let game = scripted(2, "basic", &[1, 2, 3, 4, 5, 6, 50, 60, 40], &[]);
    assert_eq!(game.state().display, set(&[40, 50, 60]));
}

#[test]
fn all_sanctuaries_form_the_deck() {
    // FA-2.3
    let state = *Episode::seeded(table(2, "basic"), 1).state();
    assert_eq!(state.front, (1..=45).collect::<Sanctuaries>());
    assert_eq!((state.sanctuary_deck, state.front_block), (45, 0));
}

#[test]
fn the_deal_is_what_the_seed_says() {
    // FA-2.1, FA-2.2: each card is one draw from stream 0.
    let mut rng = RngStream::new(2024, 0);
    let mut deck: Regions = (1..=68).collect();
    let mut draw = |count| (0..count).map(|_| rng.draw(&mut deck)).collect::<Regions>();
    let state = *Episode::seeded(table(4, "basic"), 2024).state();
    for hand in state.hands.of(4) {
        assert_eq!(*hand, draw(3));
    }
    assert_eq!(state.display, draw(5));
}

#[test]
fn two_of_five_are_set_aside_and_go_back_before_the_display_is_revealed() {
    // FA-2.4
    let deal = [1, 2, 3, 4, 5, 11, 12, 13, 14, 15];
    let mut game = scripted(2, "advanced", &[&deal[..], &[2, 60, 14]].concat(), &[]);
    let state = *game.state();
    assert_eq!((state.phase, state.display.len(), state.deck.len()), (Phase::SetAside, 0, 58));
    explore(&mut game, &[2, 14]);
    assert_eq!(game.state().phase, Phase::SetAside);
    explore(&mut game, &[5, 11]);
    let state = *game.state();
    assert_eq!(
        game.random_source().script_error(),
        None,
        "what was set aside can be drawn again immediately"
    );
    assert_eq!((state.phase, state.round), (Phase::Explore, 1));
    assert_eq!(state.hands.of(2), [set(&[1, 3, 4]), set(&[12, 13, 15])]);
    assert_eq!(state.display, set(&[2, 14, 60]));
    assert!(state.deck.contains(5) && state.deck.contains(11));
}

#[test]
fn the_two_may_be_set_aside_in_either_order() {
    // FA-2.5
    let deal = [1, 2, 3, 4, 5, 11, 12, 13, 14, 15];
    let ends = [[5, 2], [2, 5]].map(|[first, second]| {
        let mut game = scripted(2, "advanced", &deal, &[]);
        assert_eq!(game.game().legal(game.state(), seat(0)).len(), 5);
        play(&mut game, 0, region(first));
        let legal = game.game().legal(game.state(), seat(0));
        assert_eq!(legal.len(), 4);
        assert!(!legal.contains(first - 1), "the same card twice");
        play(&mut game, 0, region(second));
        assert!(!game.pending().contains(seat(0)) && game.pending().contains(seat(1)));
        *game.state()
    });
    assert_eq!(ends[0], ends[1]);
}

#[test]
fn how_many_a_seat_has_set_aside_shows_to_no_other() {
    // FA-2.4: other seats see at most that a choice is pending.
    let game = Episode::seeded(table(3, "advanced"), 5);
    let mut after = game.clone();
    let first = game.game().legal(game.state(), seat(1)).lowest().expect("five choices");
    after.apply(seat(1), first.into()).expect("legal");
    for watcher in [0, 2].map(seat) {
        let shown =
            |episode: &Episode<_>| ViewerSnapshot::of(&*table(3, "advanced"), episode.state(), watcher);
        assert_eq!(shown(&game), shown(&after));
    }
}

#[test]
fn the_basic_game_sets_nothing_aside() {
    // FA-2.5
    for variant in VARIANTS {
        let mut game = Episode::seeded(table(2, variant), 3);
        play_on(&mut game, |state| state.phase == Phase::Over);
        let aside = game.state().set_aside.of(2).concat();
        assert_eq!(aside.iter().all(Option::is_none), variant == "basic");
    }
}
