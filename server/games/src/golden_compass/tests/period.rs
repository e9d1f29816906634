//! Truth tiles, clean-up, the end.

use boardwire_kernel::{Game as _, testkit};

use super::super::GoldenCompass;
use super::super::action::Action;
use super::super::limits::TILE_VALUES;
use super::super::state::Step;
use super::super::streams;
use super::support::Table;

/// Ends a period: Lyra stands before its objective and a red symbol takes her there.
fn end_of_period(table: &mut Table) {
    table.s.lyra = table.objective(table.s.period) - 1;
    table.needle(2, 1);
    table.play(&[Action::Red]);
}

/// Drafts the first open tile until the draft is over.
fn draft(table: &mut Table) {
    let period = table.s.period;
    while matches!(table.s.step, Step::Truth { .. }) && table.s.period == period {
        let first = table.legal()[0];
        table.play(&[first]);
    }
}

#[test]
fn magisterium_value_3_and_3_cards_only_giving_up_a_tile_is_legal_with_4_both_are() {
    // GC-10.1, GC-R23
    let mut table = Table::new(2);
    table.ally(1, "lord_asriel");
    table.s.places[1].under = table.s.places[0].ally;
    let under = usize::from(table.s.places[1].under) - 1;
    let value = 3 + usize::from(table.game.printed().characters[under].magisterium);
    let cards = ["hawk.baby", "hawk.madonna", "moth.baby", "mouse.baby", "joker", "spy", "spy"];
    table.s.airship = 2;
    table.hand(1, &cards[..value]);
    let mut richer = Table { game: table.game.clone(), s: table.s, chance: table.chance.clone() };
    end_of_period(&mut table);
    assert_eq!(table.legal(), [Action::GiveTile]);
    richer.hand(1, &cards[..=value]);
    end_of_period(&mut richer);
    assert_eq!(richer.legal(), [Action::PayCards, Action::GiveTile]);
    richer.play(&[Action::PayCards]);
    richer.play_cards(&cards[..=value]);
    assert_eq!((richer.s.airship, richer.s.places[1].hand.len(), richer.s.gave_up), (0, 0, 0));
    assert!(matches!(richer.s.step, Step::Truth { left: 2, .. }));
}

#[test]
fn giving_up_a_tile_means_taking_one_and_the_other_stays() {
    // GC-R26, GC-10.1, GC-10.2
    let mut table = Table::new(2);
    table.s.airship = 1;
    end_of_period(&mut table);
    table.play(&[Action::GiveTile]);
    assert_eq!(table.s.airship, 0);
    draft(&mut table);
    let taken = |seat: usize| table.s.places[seat].truth.iter().sum::<u8>();
    assert_eq!((taken(0), taken(1)), (1, 2));
}

#[test]
fn compass_counts_2_0_2_0_hands_5_3_5_4_draft_order_2_0_3_1() {
    // GC-10.2, GC-R25
    let mut table = Table::new(4);
    let cards = ["ermine.baby", "wildcat.baby", "mouse.baby", "moth.baby", "hawk.baby"];
    for (seat, (compass, hand)) in (0u8..).zip([(2, 5), (0, 3), (2, 5), (0, 4)]) {
        let suffixes = ["baby", "madonna", "thunderbolt", "hourglass"];
        let names: Vec<String> =
            cards[..hand].iter().map(|name| name.replace("baby", suffixes[usize::from(seat)])).collect();
        table.hand(seat, &names.iter().map(String::as_str).collect::<Vec<_>>());
        (table.s.places[usize::from(seat)].compass, table.s.places[usize::from(seat)].supply) =
            (compass, 14 - compass);
    }
    assert_eq!(table.game.draft_order(&table.s), [2, 0, 3, 1]);
}

#[test]
fn eight_tiles_are_opened_whatever_the_seats_and_the_rest_leaves() {
    // GC-R24, GC-10.2
    for seats in 2..=4 {
        let mut table = Table::new(seats);
        end_of_period(&mut table);
        assert_eq!(table.s.open.iter().sum::<u8>(), 8);
        draft(&mut table);
        assert_eq!(table.s.bag.iter().sum::<u8>(), 28, "what is left does not go back");
        let taken: u8 = table.s.places.iter().flat_map(|place| place.truth).sum();
        assert_eq!(taken, 2 * seats);
    }
}

#[test]
fn the_two_tiles_are_taken_one_after_the_other() {
    // GC-R37
    let mut table = Table::new(3);
    end_of_period(&mut table);
    let seat = table.s.chooser();
    let first = table.legal()[0];
    table.play(&[first]);
    assert_eq!(table.s.chooser(), seat, "nobody acts in between");
    let first = table.legal()[0];
    table.play(&[first]);
    assert_ne!(table.s.chooser(), seat);
}

#[test]
fn after_each_period_14_compass_tiles_again_hands_unchanged_and_every_other_card_in_the_draw_pile() {
    // GC-10.3, GC-R27
    let mut table = Table::new(2);
    table.hand(1, &["hawk.baby", "joker"]);
    table.discarded(&["spy", "moth.baby"]);
    table.tokens(1, &["london.4"]);
    (table.s.places[0].compass, table.s.places[0].supply) = (3, 11);
    (table.s.places[1].dust, table.s.dust) = (2, 6);
    end_of_period(&mut table);
    draft(&mut table);
    let s = &table.s;
    assert_eq!((s.period, s.step, s.lyra), (1, Step::Keep, 9));
    assert!(s.places[..2].iter().all(|place| (place.supply, place.compass) == (14, 0)));
    assert_eq!(table.names(1), ["hawk.baby", "joker"]);
    let hands = s.places[0].hand.len() + s.places[1].hand.len();
    assert_eq!((s.deck_len, s.discard_len), (38 - hands, 0));
    assert_eq!((s.places[1].dust, s.places[1].tokens.count_ones()), (2, 1));
    let green = |id: u8| id == 0 || table.game.printed().characters[usize::from(id) - 1].period == 1;
    assert!(s.places[..2].iter().all(|place| place.ally == 0 && place.dealt.iter().all(|&id| green(id))));
}

#[test]
fn passage_tiles_are_mixed_in_for_the_last_draw_and_set_aside() {
    // GC-11.1, GC-R30
    let mut table = Table::in_period(2, 2);
    table.s.bag = [0; TILE_VALUES];
    table.s.bag[0] = 20;
    table.scripted(streams::TRUTH, &[20, 0, 0, 0, 18, 0, 0, 0, 0, 0]);
    table.chance.extend(streams::CARDS, [0, 0]);
    end_of_period(&mut table);
    assert_eq!((table.s.drawn_passages, table.s.passages), (2, 1));
    assert_eq!(table.s.open.iter().sum::<u8>(), 8, "passage tiles do not count towards the eight");
    draft(&mut table);
    assert_eq!(table.s.step, Step::Over);
    assert!(table.game.outcome(&table.s).is_some());
}

#[test]
fn no_passage_tile_is_in_the_bag_before() {
    // GC-11.1
    let mut table = Table::new(2);
    table.scripted(streams::TRUTH, &[35, 34, 33, 32, 31, 30, 29, 28]);
    table.chance.extend(streams::CARDS, [0, 0]);
    end_of_period(&mut table);
    assert_eq!((table.s.drawn_passages, table.chance.fault()), (0, None));
}

#[test]
fn two_alethiometers_laid_out_and_one_further_token_unplaced_3_points_each_6_in_all() {
    // GC-R29, GC-11.2
    let mut table = Table::in_period(2, 2);
    table.lay(0, 0, &["london.alethiometer", "bolvangar.alethiometer"]);
    table.tokens(0, &["london.6"]);
    let points = table.game.points(&table.s, 0);
    assert_eq!((points.alethiometer, points.experience, points.total()), (6, 0, 6));
}

#[test]
fn three_dust_tiles_and_2_passage_tiles_drawn_6_points_none_drawn_0() {
    // GC-R30, GC-11.2
    let mut table = Table::in_period(2, 2);
    (table.s.places[0].dust, table.s.places[1].dust) = (3, 1);
    assert_eq!(table.game.points(&table.s, 0).passages, 0);
    table.s.drawn_passages = 2;
    assert_eq!(table.game.points(&table.s, 0).passages, 6);
    assert_eq!(table.game.points(&table.s, 1).passages, 2, "every one drawn scores for all");
}

#[test]
fn truth_tiles_and_tokens_laid_out_score_their_numbers() {
    // GC-11.2
    let mut table = Table::in_period(2, 2);
    table.lay(1, 0, &["london.4", "bolvangar.7"]);
    table.tokens(1, &["bolvangar.6"]);
    table.s.places[1].truth[7] = 1;
    table.s.places[1].truth[0] = 2;
    let points = table.game.points(&table.s, 1);
    assert_eq!((points.truth, points.experience, points.total()), (10, 11, 21));
}

#[test]
fn markers_do_not_count_for_the_draft() {
    // GC-R28
    let mut table = Table::in_period(2, 2);
    table.lay(0, 0, &["london.4", "bolvangar.7"]);
    (table.s.places[1].compass, table.s.places[1].supply) = (1, 13);
    assert_eq!(table.game.draft_order(&table.s)[0], 1);
}

#[test]
fn a_tie_is_a_shared_victory() {
    // GC-R31
    let mut table = Table::in_period(3, 2);
    table.s.step = Step::Over;
    table.s.places[0].truth[4] = 1;
    table.s.places[2].truth[4] = 1;
    let outcome = table.game.outcome(&table.s).expect("the end");
    assert_eq!(outcome.ranks(), [1, 3, 1]);
}

#[test]
fn a_whole_game_is_three_periods_each_begun_by_the_left_neighbour_of_the_last_seat() {
    // GC-4.1, GC-4.2
    let game = testkit::table::<GoldenCompass>(3, &[]);
    let mut before = (0, 0);
    let mut begun = 0;
    testkit::random_game(&game, 8, |episode| {
        let s = episode.state();
        if s.period > before.0 {
            assert_eq!(s.first, (before.1 + 1) % 3);
            begun += 1;
        }
        before = (s.period, s.active);
    });
    assert_eq!((before.0, begun), (2, 2));
}
