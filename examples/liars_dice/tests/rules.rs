//! The rules, with scripted dice.

use boardwire_kernel::testkit::{act, table, text};
use boardwire_kernel::{
    Audits, Choices, Episode, LoadedCatalogue, RandomSource, Seat, SeatSet, Setup, SetupError, Texts, Viewer,
    set_up,
};
use liars_dice::{Action, AllDice, Bid, Dice, LiarsDice, State};

/// Starts a game with these dice under the cups, in seat order.
fn start<const N: usize>(cups: [&[u8]; N]) -> Episode<LiarsDice> {
    let seats = u8::try_from(N).expect("there are few seats");
    let game = table::<LiarsDice>(seats, &[("dice", &cups[0].len().to_string())]);
    Episode::start(game, RandomSource::scripted([cups.concat()]))
}

/// Plays actions of these seats. Each must be legal, and must use all scripted dice.
fn play(episode: &mut Episode<LiarsDice>, actions: &[(u8, &str)]) {
    for &(seat, label) in actions {
        act(episode, seat, label);
        assert_eq!(episode.random_source().script_error(), None, "after {label}");
    }
    assert_eq!(episode.random_source().usage(), [0], "some scripted dice were not rolled");
}

/// Plays a challenge. `dice` are the dice of the next round: first those of the seat that loses a die, then clockwise.
fn challenge(episode: &mut Episode<LiarsDice>, seat: u8, dice: &[u8]) {
    episode.random_source_mut().extend(0, dice.iter().copied());
    play(episode, &[(seat, "challenge")]);
}

/// Returns the labels of the legal actions of the seat in turn.
fn legal(episode: &Episode<LiarsDice>) -> Vec<&str> {
    let actions = episode.game().legal(episode.state(), episode.state().turn);
    actions.iter().map(|action| episode.game().info().actions.label(action).expect("a label")).collect()
}

/// Returns the number of dice of each seat.
fn counts(episode: &Episode<LiarsDice>) -> Vec<u8> {
    let seats = episode.game().info().seats;
    episode.state().cups.of(seats).iter().map(Dice::len).collect()
}

#[test]
fn the_order_of_the_dice_is_not_stored() {
    assert_eq!(start([&[1, 2, 2], &[6, 4, 5]]).state(), start([&[2, 1, 2], &[4, 5, 6]]).state());
}

#[test]
fn a_round_begins_with_any_bid_on_the_dice_in_play() {
    let episode = start([&[1], &[2]]);
    assert_eq!(episode.pending(), SeatSet::only(Seat::FIRST));
    let bids = (1..=2).flat_map(|quantity| (1..=6).map(move |face| format!("bid {quantity} x {face}")));
    assert_eq!(legal(&episode), bids.collect::<Vec<_>>());
}

#[test]
fn a_bid_needs_a_higher_quantity_or_a_higher_face() {
    let mut episode = start([&[1], &[2]]);
    play(&mut episode, &[(0, "bid 1 x 5")]);
    let higher = ["challenge", "bid 1 x 6", "bid 2 x 1", "bid 2 x 2", "bid 2 x 3", "bid 2 x 4", "bid 2 x 5"];
    assert_eq!(legal(&episode), [&higher[..], &["bid 2 x 6"]].concat());
    play(&mut episode, &[(1, "bid 2 x 4")]);
    assert_eq!(legal(&episode), ["challenge", "bid 2 x 5", "bid 2 x 6"]);
    play(&mut episode, &[(0, "bid 2 x 6")]);
    assert_eq!(legal(&episode), ["challenge"]);
}

#[test]
fn a_die_that_is_lost_lowers_the_highest_bid() {
    let mut episode = start([&[1, 1], &[2, 2]]);
    play(&mut episode, &[(0, "bid 1 x 1")]);
    assert_eq!(legal(&episode).last(), Some(&"bid 4 x 6"));
    challenge(&mut episode, 1, &[3, 3, 3]);
    assert_eq!(legal(&episode).last(), Some(&"bid 3 x 6"));
}

#[test]
fn a_challenger_of_a_bid_that_holds_loses_a_die_and_begins() {
    let mut episode = start([&[2, 2], &[5, 2]]);
    play(&mut episode, &[(0, "bid 3 x 2")]);
    challenge(&mut episode, 1, &[4, 1, 3]);
    assert_eq!((counts(&episode), episode.pending()), (vec![2, 1], SeatSet::only(Seat::new(1))));
    assert!(!legal(&episode).contains(&"challenge"));
}

#[test]
fn a_bidder_whose_bid_does_not_hold_loses_a_die_and_begins() {
    let mut episode = start([&[2, 1], &[5, 2]]);
    play(&mut episode, &[(0, "bid 3 x 2")]);
    challenge(&mut episode, 1, &[4, 1, 3]);
    assert_eq!((counts(&episode), episode.pending()), (vec![1, 2], SeatSet::only(Seat::new(0))));
}

#[test]
fn the_next_seat_begins_after_an_elimination_and_the_eliminated_seat_is_skipped() {
    let mut episode = start([&[1], &[2], &[3]]);
    play(&mut episode, &[(0, "bid 1 x 1"), (1, "bid 1 x 6")]);
    challenge(&mut episode, 2, &[4, 5]);
    assert_eq!((counts(&episode), episode.pending()), (vec![1, 0, 1], SeatSet::only(Seat::new(2))));
    play(&mut episode, &[(2, "bid 1 x 4"), (0, "bid 1 x 5"), (2, "bid 2 x 1")]);
    assert_eq!(episode.pending(), SeatSet::only(Seat::new(0)));
}

#[test]
fn the_last_seat_wins_and_each_score_counts_the_seats_eliminated_before() {
    let mut episode = start([&[1], &[2], &[3]]);
    play(&mut episode, &[(0, "bid 1 x 6")]);
    challenge(&mut episode, 1, &[5, 4]);
    assert_eq!(episode.outcome(), None);
    play(&mut episode, &[(1, "bid 1 x 5")]);
    challenge(&mut episode, 2, &[]);
    let outcome = episode.outcome().expect("one seat has dice");
    assert_eq!((outcome.scores(), outcome.ranks()), ([0, 2, 1].as_slice(), [3, 1, 2].as_slice()));
    assert!(text(&episode, Viewer::Public).ends_with("the game is over: seat 1 wins\n"));
}

#[test]
fn the_longest_game_has_the_maximum_number_of_plies() {
    let mut episode = start([&[1], &[1]]);
    for number in 0..12 {
        let bid = legal(&episode)[usize::from(number > 0)].to_owned();
        play(&mut episode, &[(number % 2, &bid)]);
    }
    challenge(&mut episode, 0, &[]);
    assert_eq!(episode.ply(), episode.game().info().max_plies);
    assert!(episode.outcome().is_some());
}

#[test]
fn all_viewers_read_the_dice_of_the_previous_round_and_no_other_dice() {
    let mut episode = start([&[2, 6], &[5, 2]]);
    play(&mut episode, &[(0, "bid 2 x 2")]);
    challenge(&mut episode, 1, &[4, 3, 1]);
    play(&mut episode, &[(1, "bid 1 x 4")]);
    let expected = "\
seat 0 has 2 of the 3 dice
seat 1 has 1 of the 3 dice
at the end of the previous round, seat 0 showed 2 6
at the end of the previous round, seat 1 showed 2 5
seat 1 bid 1 x 4: at least 1 of the 3 dice show 4
seat 0 makes a higher bid or challenges
";
    assert_eq!(text(&episode, Viewer::Public), expected);
    let own = text(&episode, Seat::FIRST);
    assert_eq!(own, format!("your dice: 1 3\n{}", expected.replacen("seat 0", "seat 0 (you)", 1)));
}

#[test]
fn the_report_of_a_challenge_has_the_dice_and_the_result() {
    let mut episode = start([&[2], &[5]]);
    play(&mut episode, &[(0, "bid 2 x 2")]);
    let before = *episode.state();
    challenge(&mut episode, 1, &[]);
    let report = |viewer| {
        let (mut report, choice) = (String::new(), (Seat::new(1), Action::Challenge));
        let written = episode.game().report(&before, choice, episode.state(), Seat::new(viewer), &mut report);
        written.expect("writing to a string does not fail");
        report
    };
    let result = "seat 0 showed 2\nseat 1 showed 5\n\
        1 of the 2 dice showed 2: the bid 2 x 2 of seat 0 did not hold, seat 0 lost a die\n";
    assert_eq!(report(0), format!("seat 1: challenge\n{result}"));
    assert_eq!(report(1), format!("seat 1 (you): challenge\n{result}"));
}

#[test]
fn a_table_has_two_to_six_seats_and_one_to_five_dice_each() {
    let catalogue = std::sync::Arc::new(LoadedCatalogue::read("").expect("there are no components"));
    let try_table = |seats, dice| set_up::<LiarsDice>(catalogue.clone(), seats, [("dice", dice)]).map(|_| ());
    for (seats, dice) in [(2, "1"), (6, "5")] {
        assert_eq!(try_table(seats, dice), Ok(()), "{seats} seats with {dice} dice");
    }
    for seats in [1, 7] {
        assert!(matches!(try_table(seats, "3"), Err(SetupError::Seats { .. })), "{seats} seats");
    }
    for dice in ["0", "6"] {
        assert!(matches!(try_table(2, dice), Err(SetupError::OptionValue { .. })), "{dice} dice");
    }
}

#[test]
fn the_audit_refuses_positions_that_no_game_reaches() {
    fn refused(episode: &Episode<LiarsDice>, change: impl FnOnce(&mut State)) -> String {
        let mut state = *episode.state();
        change(&mut state);
        episode.game().audit(&state).expect_err("no game reaches this position")
    }
    let bid = |seat, quantity, face| Some((Seat::new(seat), Bid { quantity, face }));
    let [first, second, third, absent] = [0, 1, 2, 3].map(Seat::new);
    let mut game = start([&[1, 1], &[2, 2], &[3, 3]]);
    for number in [3, 7] {
        assert!(refused(&game, |state| state.turn = Seat::new(number)).contains("in turn without dice"));
        assert!(refused(&game, |state| state.bid = bid(number, 1, 1)).contains("cannot act after"));
    }
    assert!(refused(&game, |state| state.cups = AllDice::default()).contains("in turn without dice"));
    assert!(refused(&game, |state| state.turn = second).contains("begins the round, not seat 0"));
    assert!(refused(&game, |state| state.cups[absent].insert(1)).contains("cannot have the dice"));
    assert!(refused(&game, |state| state.cups[first].insert(1)).contains("cannot have the dice"));
    assert!(refused(&game, |state| state.shown[first].insert(0)).contains("cannot have the dice"));
    assert!(refused(&game, |state| _ = state.cups[second].remove(2)).contains("lost other dice"));
    assert!(refused(&game, |state| state.eliminated[second] = 1).contains("order of elimination 1"));
    assert!(refused(&game, |state| state.bid = bid(1, 1, 1)).contains("seat 0 cannot act after"));
    for (quantity, face) in [(0, 1), (7, 1), (1, 0), (1, 7)] {
        assert!(
            refused(&game, |state| state.bid = bid(2, quantity, face)).contains("is not a bid on 6 dice")
        );
    }

    play(&mut game, &[(0, "bid 1 x 6")]);
    challenge(&mut game, 1, &[4, 4, 4, 4, 4]);
    assert!(refused(&game, |state| state.turn = second).contains("begins the round, not seat 0"));
    assert!(refused(&game, |state| state.shown = state.cups).contains("lost other dice"));
    assert!(refused(&game, |state| state.shown = AllDice::default()).contains("lost other dice"));

    play(&mut game, &[(0, "bid 1 x 1")]);
    challenge(&mut game, 1, &[4, 4, 4, 4]);
    assert!(refused(&game, |state| state.eliminated[first] = 0).contains("order of elimination 0"));
    assert!(
        refused(&game, |state| state.eliminated[first] = 2).contains("order of elimination 1 is missing")
    );

    for dice in [[5, 5, 5].as_slice(), &[]] {
        play(&mut game, &[(1, "bid 1 x 1")]);
        challenge(&mut game, 2, dice);
    }
    let swap = |state: &mut State| (state.eliminated[first], state.eliminated[second]) = (2, 1);
    assert!(refused(&game, swap).contains("seat 1 cannot have the order of elimination 1"));
    let other_dice = |state: &mut State| state.cups[third] = [1, 1].into_iter().collect();
    assert!(refused(&game, other_dice).contains("the winner, seat 2, has other dice than it showed"));
}
