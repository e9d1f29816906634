//! Tests of truth tiles, the clean-up and the end.

use boardwire_kernel::{Scoring, Seat, Setup, testkit};

use super::super::GoldenCompass;
use super::super::action::Action;
use super::super::state::Decision;
use super::super::streams;
use super::support::{Table, default_catalogue, seat, tiles};

/// Ends a period: a red symbol moves Lyra from the space before the objective onto it.
fn end_of_period(table: &mut Table) {
    table.state.lyra = table.objective(table.state.period) - 1;
    table.needle(2, 1);
    table.play(&[Action::Red]);
}

/// Drafts the first open tile until the draft is over.
fn draft(table: &mut Table) {
    let period = table.state.period;
    while matches!(table.state.decision, Decision::Truth { .. }) && table.state.period == period {
        let first = table.legal()[0];
        table.play(&[first]);
    }
}

#[test]
fn magisterium_value_3_and_3_cards_only_giving_up_a_tile_is_legal_with_4_both_are() {
    // GC-10.1, GC-R23
    let mut table = Table::new(2);
    table.ally(1, "Lord Asriel");
    table.state.seats[seat(1)].card_under_ally = table.state.seats[seat(0)].ally;
    let under = table.state.seats[seat(1)].card_under_ally.expect("a card under the ally");
    let value = 3 + usize::from(table.game.catalogue().character(under).magisterium);
    let cards = ["hawk baby", "hawk madonna", "moth baby", "mouse baby", "joker", "flying spy", "flying spy"];
    table.state.airship = Some(seat(1));
    table.hand(1, &cards[..value]);
    let mut richer = table.copied();
    end_of_period(&mut table);
    assert_eq!(table.legal(), [Action::GiveTile]);
    richer.hand(1, &cards[..=value]);
    end_of_period(&mut richer);
    assert_eq!(richer.legal(), [Action::PayCards, Action::GiveTile]);
    richer.play(&[Action::PayCards]);
    richer.play_cards(&cards[..=value]);
    assert_eq!(
        (richer.state.airship, richer.state.seats[seat(1)].hand.len(), richer.state.gave_up),
        (None, 0, None)
    );
    assert!(matches!(richer.state.decision, Decision::Truth { left: 2, .. }));
}

#[test]
fn giving_up_a_tile_means_taking_one_and_the_other_stays() {
    // GC-R26, GC-10.1, GC-10.2
    let mut table = Table::new(2);
    table.state.airship = Some(seat(0));
    end_of_period(&mut table);
    table.play(&[Action::GiveTile]);
    assert_eq!(table.state.airship, None);
    draft(&mut table);
    let taken = |seat| table.state.seats[Seat::new(seat)].truth.len();
    assert_eq!((taken(0), taken(1)), (1, 2));
}

#[test]
fn compass_counts_2_0_2_0_hands_5_3_5_4_draft_order_2_0_3_1() {
    // GC-10.2, GC-R25
    let mut table = Table::new(4);
    let cards = ["ermine baby", "wildcat baby", "mouse baby", "moth baby", "hawk baby"];
    for (seat, (compass, hand)) in (0u8..).zip([(2, 5), (0, 3), (2, 5), (0, 4)]) {
        let suffixes = ["baby", "madonna", "thunderbolt", "hourglass"];
        let names: Vec<String> =
            cards[..hand].iter().map(|name| name.replace("baby", suffixes[usize::from(seat)])).collect();
        table.hand(seat, &names.iter().map(String::as_str).collect::<Vec<_>>());
        let seat_state = &mut table.state.seats[Seat::new(seat)];
        (seat_state.compass, seat_state.supply) = (compass, 14 - compass);
    }
    assert_eq!(table.game.draft_order(&table.state).map(Seat::number), [2, 0, 3, 1]);
}

#[test]
fn eight_tiles_are_opened_whatever_the_seats_and_the_rest_leaves() {
    // GC-R24, GC-10.2
    for seats in 2..=4 {
        let mut table = Table::new(seats);
        end_of_period(&mut table);
        assert_eq!(table.state.open_tiles.len(), 8);
        draft(&mut table);
        assert_eq!(table.state.bag.len(), 28, "what is left does not go back");
        let taken: u8 = table.state.seats.all().iter().map(|seat_state| seat_state.truth.len()).sum();
        assert_eq!(taken, 2 * seats);
    }
}

#[test]
fn the_two_tiles_are_taken_one_after_the_other() {
    // GC-R37
    let mut table = Table::new(3);
    end_of_period(&mut table);
    let seat = table.state.chooser();
    let first = table.legal()[0];
    table.play(&[first]);
    assert_eq!(table.state.chooser(), seat, "no other seat acts in between");
    let first = table.legal()[0];
    table.play(&[first]);
    assert_ne!(table.state.chooser(), seat);
}

#[test]
fn after_each_period_14_compass_tiles_again_hands_unchanged_and_every_other_card_in_the_draw_pile() {
    // GC-10.3, GC-R27
    let mut table = Table::new(2);
    table.hand(1, &["hawk baby", "joker"]);
    table.discarded(&["flying spy", "moth baby"]);
    table.tokens(1, &["London token worth 4"]);
    (table.state.seats[seat(0)].compass, table.state.seats[seat(0)].supply) = (3, 11);
    (table.state.seats[seat(1)].dust, table.state.dust) = (2, 6);
    end_of_period(&mut table);
    draft(&mut table);
    let s = &table.state;
    assert_eq!((s.period, s.decision, s.lyra), (1, Decision::Keep, 9));
    assert!(s.seats.of(2).iter().all(|seat_state| (seat_state.supply, seat_state.compass) == (14, 0)));
    assert_eq!(table.names(1), ["hawk baby", "joker"]);
    let hands = s.seats[seat(0)].hand.len() + s.seats[seat(1)].hand.len();
    assert_eq!((s.deck.len(), s.discard.len()), (38 - hands, 0));
    assert_eq!((s.seats[seat(1)].dust, s.seats[seat(1)].tokens.len()), (2, 1));
    let blue = |id| table.game.catalogue().character(id).period == 1;
    let dealt = s.seats.of(2).iter().filter_map(|seat_state| seat_state.dealt).flatten();
    assert!(
        dealt.map(blue).eq([true; 4]) && s.seats.of(2).iter().all(|seat_state| seat_state.ally.is_none())
    );
}

#[test]
fn passage_tiles_are_mixed_in_for_the_last_draw_and_set_aside() {
    // GC-11.1, GC-R30
    let mut table = Table::in_period(2, 2);
    table.state.bag = tiles(&[(0, 20)]);
    table.scripted(streams::TRUTH, &[20, 0, 0, 0, 18, 0, 0, 0, 0, 0]);
    table.chance.extend(streams::CARDS, [0, 0]);
    end_of_period(&mut table);
    assert_eq!((table.state.drawn_passages, table.state.passages), (2, 1));
    assert_eq!(table.state.open_tiles.len(), 8, "passage tiles do not count towards the eight");
    draft(&mut table);
    assert_eq!(table.state.decision, Decision::Over);
    assert!(table.game.outcome(&table.state).is_some());
}

#[test]
fn no_passage_tile_is_in_the_bag_before() {
    // GC-11.1
    let mut table = Table::new(2);
    table.scripted(streams::TRUTH, &[35, 34, 33, 32, 31, 30, 29, 28]);
    table.chance.extend(streams::CARDS, [0, 0]);
    end_of_period(&mut table);
    assert_eq!((table.state.drawn_passages, table.chance.script_error()), (0, None));
}

#[test]
fn two_alethiometers_laid_out_and_one_further_token_unplaced_3_points_each_6_in_all() {
    // GC-R29, GC-11.2
    let mut table = Table::in_period(2, 2);
    table.lay(0, 0, &["London alethiometer token", "Bolvangar alethiometer token"]);
    table.tokens(0, &["London token worth 6"]);
    let points = table.game.score_parts(&table.state, seat(0));
    assert_eq!((points.alethiometer, points.experience, points.total()), (6, 0, 6));
}

#[test]
fn three_dust_tiles_and_2_passage_tiles_drawn_6_points_none_drawn_0() {
    // GC-R30, GC-11.2
    let mut table = Table::in_period(2, 2);
    (table.state.seats[seat(0)].dust, table.state.seats[seat(1)].dust) = (3, 1);
    assert_eq!(table.game.score_parts(&table.state, seat(0)).passages, 0);
    table.state.drawn_passages = 2;
    assert_eq!(table.game.score_parts(&table.state, seat(0)).passages, 6);
    assert_eq!(table.game.score_parts(&table.state, seat(1)).passages, 2, "every one drawn scores for all");
}

#[test]
fn truth_tiles_and_tokens_laid_out_score_their_numbers() {
    // GC-11.2
    let mut table = Table::in_period(2, 2);
    table.lay(1, 0, &["London token worth 4", "Bolvangar token worth 7"]);
    table.tokens(1, &["Bolvangar token worth 6"]);
    table.state.seats[seat(1)].truth = tiles(&[(7, 1), (0, 2)]);
    let points = table.game.score_parts(&table.state, seat(1));
    assert_eq!((points.truth, points.experience, points.total()), (10, 11, 21));
}

#[test]
fn no_seat_can_have_more_than_everything_there_is() {
    // GC-11.2: truth tiles give 120, tokens 103, each of two alethiometers 24, each of 3 passage tiles 8 (dust tiles).
    let table = Table::new(2);
    assert_eq!(table.game.info().scores, (0, 120 + 103 + 2 * 24 + 3 * 8));
}

#[test]
fn markers_do_not_count_for_the_draft() {
    // GC-R28
    let mut table = Table::in_period(2, 2);
    table.lay(0, 0, &["London token worth 4", "Bolvangar token worth 7"]);
    (table.state.seats[seat(1)].compass, table.state.seats[seat(1)].supply) = (1, 13);
    assert_eq!(table.game.draft_order(&table.state)[0], seat(1));
}

#[test]
fn a_tie_is_a_shared_victory() {
    // GC-R31
    let mut table = Table::in_period(3, 2);
    table.state.decision = Decision::Over;
    table.state.seats[seat(0)].truth = tiles(&[(4, 1)]);
    table.state.seats[seat(2)].truth = tiles(&[(4, 1)]);
    let outcome = table.game.outcome(&table.state).expect("the end");
    assert_eq!(outcome.ranks(), [1, 3, 1]);
}

#[test]
fn a_whole_game_is_three_periods_each_begun_by_the_left_neighbour_of_the_last_seat() {
    // GC-4.1, GC-4.2
    let game = testkit::table::<GoldenCompass>(3, &[]);
    let mut before = (0, Seat::FIRST);
    let mut periods_begun = 0;
    testkit::random_game(&game, 8, |episode| {
        let s = episode.state();
        if s.period > before.0 {
            assert_eq!(s.first_seat, before.1.clockwise(1, 3));
            periods_begun += 1;
        }
        before = (s.period, s.active);
    });
    assert_eq!((before.0, periods_begun), (2, 2));
}

#[test]
fn where_each_drafts_one_tile_who_gives_it_up_takes_none() {
    // GC-10.1, GC-R26
    let mut file = default_catalogue();
    file["rules_values"]["truth_tiles_per_player"] = 1.into();
    let mut table = Table::by(&file, 2);
    table.state.airship = Some(seat(0));
    end_of_period(&mut table);
    table.play(&[Action::GiveTile]);
    draft(&mut table);
    let taken = |number| table.state.seats[seat(number)].truth.len();
    assert_eq!((taken(0), taken(1), table.state.period), (0, 1, 1));
}
