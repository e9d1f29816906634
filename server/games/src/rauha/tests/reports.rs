//! Reports of choices, and the names that a request can exchange.

use std::fmt::Write;

use boardwire_kernel::{Choices, GameInfo, NameGroup, RngStream, Seat, Setup, Texts, Turns};

use super::text::{phrase, text};
use super::{Rauha, TestState};
use crate::rauha::action::Action;
use crate::rauha::state::{EntitySet, Phase};

/// Applies a choice and returns what `viewer` is told of it.
fn report(setup: &mut TestState, seat: u8, action: Action, viewer: u8) -> String {
    let before = setup.state;
    setup.act(seat, action);
    let mut report = String::new();
    let (choice, viewer) = ((Seat::new(seat), action), Seat::new(viewer));
    setup.game.report(&before, choice, &setup.state, viewer, &mut report).expect("memory");
    report
}

#[test]
fn drafts_are_reported_to_their_seat_only() {
    // RA-11.2
    for seats in [2, 5] {
        let mut setup = TestState::opening(seats, 1);
        for seat in 0..seats {
            let card = setup.game.hand(&setup.state, Seat::new(seat))[1];
            let viewer = (seat + 1) % seats;
            let state = setup.state;
            assert_eq!(report(&mut setup, seat, Action::Draft { card }, viewer), "");
            setup.state = state;
            let own = format!("seat {seat} (you) drafts {}\n", setup.game.catalogue.components.code(card));
            assert_eq!(report(&mut setup, seat, Action::Draft { card }, seat), own);
        }
    }
}

#[test]
fn a_discarded_card_is_reported_to_its_seat_only() {
    // RA-11.2
    let discard = |card, viewer| report(&mut TestState::keeping(2, 1, card), 0, Action::TakeCrystals, viewer);
    assert_eq!(discard(1, 1), "seat 0 discards its card: +4 crystals\n");
    assert_eq!(discard(1, 1), discard(2, 1));
    assert_eq!(discard(1, 0), "seat 0 (you) discards C2: +4 crystals\n");
    let spore = report(&mut TestState::keeping(2, 1, 1), 0, Action::TakeSpore { cell: 4 }, 1);
    assert_eq!(spore, "seat 0 discards its card: +1 Spore on mid\n");
}

#[test]
fn a_placed_card_is_reported_with_the_entities_it_takes() {
    // RA-6.1, RA-11.3
    let place = |viewer| {
        let mut setup = TestState::keeping(3, 1, 3);
        setup.cells(0, [100, 101, 102, 103, 104, 5, 106, 107, 108]).hold(2, &["kiteet"]);
        report(&mut setup, 0, Action::Place { cell: 4 }, viewer)
    };
    let placed = "places C4 on mid over the printed desert; pays 3 crystals; takes KITEET from seat 2";
    assert_eq!(place(1), format!("seat 0 {placed}\n"));
    assert_eq!(place(2), format!("seat 0 {placed} (you)\n"));
    assert_eq!(place(0), format!("seat 0 (you) {placed}\n"));
}

#[test]
fn activations_are_reported_with_what_they_give() {
    // RA-7.3, RA-10.1
    let mut setup = TestState::at(2, 1, Phase::Activate);
    setup.state.leader = Seat::new(1);
    assert_eq!(
        report(&mut setup, 0, Action::ActivateCell { cell: 0 }, 1),
        "seat 0 activates NW: +1 crystal\n"
    );
    assert_eq!(
        report(&mut setup, 0, Action::ActivateCell { cell: 6 }, 1),
        "seat 0 activates SW: +1 point\nseat 0 leads now\n"
    );
    assert_eq!(report(&mut setup, 0, Action::End, 1), "seat 0 ends the activation\n");
    let mut setup = TestState::at(2, 2, Phase::Spore);
    assert_eq!(
        report(&mut setup, 0, Action::PutSpore { cell: 8 }, 1),
        "seat 0 puts the bought Spore on SE\n"
    );
}

#[test]
fn the_last_activation_is_reported_by_what_all_seats_see() {
    // RA-7.8, RA-R15: other seats cannot distinguish the activation of NW, which gives nothing, from the end.
    let last = |cell, action, viewer| {
        let mut setup = TestState::at(2, 1, Phase::Activate);
        setup.cells(0, [cell, 101, 102, 31, 104, 105, 31, 107, 108]);
        report(&mut setup, 0, action, viewer)
    };
    let activate = Action::ActivateCell { cell: 0 };
    assert_eq!(last(8, activate, 1), "seat 0 ends the activation\n");
    assert_eq!(last(8, Action::End, 1), last(8, activate, 1));
    assert_eq!(last(8, activate, 0), "seat 0 (you) activates NW (C9): +0 points (+1 point per flying)\n");
    assert_eq!(last(16, activate, 1), "seat 0 activates NW (C17): +4 points\n");
    assert_eq!(last(16, Action::End, 1), "seat 0 ends the activation\n");
}

#[test]
fn equal_last_purchases_are_reported_together() {
    // RA-7.6: each purchase of 3 crystals for 5 points makes the other impossible.
    let mut setup = TestState::at(2, 1, Phase::Activate);
    setup.cells(0, [1, 101, 102, 1, 104, 105, 35, 107, 108]);
    let seen = report(&mut setup, 0, Action::ActivateCell { cell: 3 }, 1);
    let effect = "pay 3 crystals, +5 points";
    assert_eq!(seen, format!("seat 0 activates NW (C2): {effect} or W (C2): {effect}\n"));
}

#[test]
fn a_scoring_is_reported_with_the_points_for_water() {
    // RA-8.2, RA-7.8: seats without anything to activate end the scoring by themselves.
    let scoring = |stop| {
        let mut setup = TestState::at(3, stop, Phase::Activate);
        setup.spores(0, &[1]).hold(2, &["vuori"]).state.leader = Seat::FIRST;
        setup
    };
    let end = report(&mut scoring(16), 0, Action::ActivateCell { cell: 1 }, 2);
    let water = "seat 2 (you): +3 points for Water Sources\nseat 2 (you) leads now\n";
    assert_eq!(end, format!("seat 0 activates N: +1 point\n{water}"));
    // The last seat of a turn ends it. Nothing can be activated in the scoring that follows.
    let mut setup = scoring(3);
    setup.spores(0, &[]).hold(0, &["vuori"]).state.boards[Seat::new(2)].entities = EntitySet::EMPTY;
    setup.state.seats_done = 2;
    let end = report(&mut setup, 2, Action::End, 1);
    assert_eq!(end, "seat 2 ends the activation\nseat 0: +3 points for Water Sources\n");
    assert_eq!(setup.state.stop, 5);
}

/// Exchanges whole words, also plurals, of any case: the longest name first.
fn exchange(text: &str, groups: &[NameGroup]) -> String {
    let of = |group: &NameGroup| {
        let kind = group.kind;
        let numbered = (1..).zip(group.names.clone());
        numbered
            .map(move |(number, name)| (name.to_lowercase(), format!("{kind} {number}")))
            .collect::<Vec<_>>()
    };
    let mut names: Vec<(String, String)> = groups.iter().flat_map(of).collect();
    names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    let (mut out, mut rest, mut is_word) = (String::new(), text, false);
    while let Some(first) = rest.chars().next() {
        let ends = |tail: &str| !tail.starts_with(|c: char| c.is_alphanumeric());
        let found = names.iter().filter(|_| !is_word).find_map(|(name, other)| {
            let tail = rest.get(name.len()..).filter(|_| rest[..name.len()].eq_ignore_ascii_case(name))?;
            let tail = if ends(tail) { tail } else { tail.strip_prefix('s').filter(|tail| ends(tail))? };
            Some((tail, other))
        });
        if let Some((tail, other)) = found {
            write!(out, "{other}").expect("memory");
            (rest, is_word) = (tail, true);
        } else {
            out.push(first);
            (rest, is_word) = (&rest[first.len_utf8()..], first.is_alphanumeric());
        }
    }
    out
}

/// Returns every text, phrase and report that the seats get in a random game.
fn written(seats: u8, seed: u64) -> String {
    let (mut setup, mut rng) = (TestState::opening(seats, seed), RngStream::new(seed, 0));
    let mut all = String::new();
    while let Some(seat) = setup.game.pending(&setup.state).lowest() {
        let legal = setup.game.legal(&setup.state, seat);
        all += &text(&setup, seat);
        for index in legal {
            all += &phrase(&setup, seat.number(), setup.game.decode(index).expect("legal"));
            all.push('\n');
        }
        let action = setup.game.decode(rng.draw(&mut legal.clone())).expect("legal");
        all += &report(&mut setup, seat.number(), action, 0);
    }
    all + &text(&setup, Seat::FIRST)
}

#[test]
fn the_names_can_be_exchanged_everywhere() {
    // RA-6.6
    let setup = TestState::opening(2, 1);
    let groups = setup.game.names();
    let GameInfo { actions, .. } = setup.game.info();
    let labels = actions.labels().collect::<Vec<_>>().join("\n");
    let all = [labels, Rauha::TYPE.rules.to_owned(), written(2, 1), written(5, 2)].concat();
    let exchanged = exchange(&all, &groups).to_lowercase();
    for name in groups.iter().filter(|group| group.kind != "card").flat_map(|group| &group.names) {
        let at = exchanged.find(&name.to_lowercase());
        assert!(
            at.is_none(),
            "{name} is left: {:?}",
            at.map(|at| &exchanged[at.saturating_sub(60)..at + 20])
        );
    }
    for name in groups.iter().flat_map(|group| &group.names) {
        assert!(all.to_lowercase().contains(&name.to_lowercase()), "{name} is not used");
    }
    assert_eq!(exchange("discard C13s Water Sources, C1", &groups), "discard card 13 resource 3, card 1");
}
