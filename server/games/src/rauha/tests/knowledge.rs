//! What seats know: hidden facts do not show to other seats, and `resample` varies only hidden facts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use boardwire_kernel::{Hidden, RandomSource, RngStream, Seat, Setup, Texts, Viewer, Views, testkit};

use super::{Rauha, TestState};
use crate::rauha::action::Action;
use crate::rauha::state::{BiomeId, PACK_SIZE, Phase, State};
use testkit::ViewerSnapshot;

fn shown(setup: &TestState, seat: u8) -> ViewerSnapshot {
    ViewerSnapshot::of(&*setup.game, &setup.state, Seat::new(seat))
}

fn field(setup: &TestState, viewer: u8, name: &str) -> Vec<u8> {
    let info = setup.game.info();
    let (at, field) = info.layout.with_offsets().find(|(_, field)| field.name == name).expect("a field");
    let mut view = vec![0; info.layout.bytes()];
    setup.game.view(&setup.state, Seat::new(viewer).into(), &mut view);
    view[at..at + field.bytes()].to_vec()
}

/// Creates turn 1 of three seats after the draft. Seat 1 took the card at `pick` of its pack. Seat 0 goes first.
fn drafted(pick: usize) -> TestState {
    let mut setup = TestState::opening(3, 6);
    (setup.state.leader, setup.state.first_seat) = (Seat::FIRST, Seat::FIRST);
    for seat in 0..3 {
        let hand = setup.game.hand(&setup.state, Seat::new(seat));
        let card = hand[if seat == 1 { pick } else { 0 }];
        setup.act(seat, Action::Draft { card });
    }
    setup
}

#[test]
fn boards_counts_and_discards_are_public() {
    // RA-11.1
    let mut setup = drafted(0);
    setup.act(0, Action::TakeCrystals).act(0, Action::End);
    for (viewer, place) in [(0, 0), (1, 2), (2, 1)] {
        assert_eq!(field(&setup, viewer, "black_hole"), [1], "that a card was discarded");
        assert_eq!(field(&setup, viewer, "crystals")[2 * place], 8);
        assert_eq!(field(&setup, viewer, "undealt"), [28, 40]);
        assert_eq!(field(&setup, viewer, "pack_size"), [3]);
        assert_eq!(field(&setup, viewer, "leader"), field(&setup, viewer, "first"));
    }
}

#[test]
fn a_kept_card_is_hidden_from_other_seats_until_it_is_placed() {
    // RA-11.2
    let (one, other) = (drafted(0), drafted(3));
    assert_ne!(one.state.kept[Seat::new(1)], other.state.kept[Seat::new(1)]);
    assert_eq!(shown(&one, 0), shown(&other, 0));
    assert_eq!(shown(&one, 2), shown(&other, 2), "the next reader has not looked at the pack yet");
    assert_ne!(shown(&one, 1), shown(&other, 1));
    let placed = |mut setup: TestState| {
        setup.act(0, Action::TakeCrystals).act(0, Action::End).crystals(1, 20);
        let cell = (0..9).find(|&cell| setup.is_legal(1, Action::Place { cell })).expect("a cell");
        setup.place(1, cell);
        setup
    };
    assert_ne!(shown(&placed(one), 2), shown(&placed(other), 2));
}

#[test]
fn a_discard_is_hidden_from_other_seats() {
    // RA-11.2
    let discarded = |pick| {
        let mut setup = drafted(pick);
        setup.act(0, Action::TakeCrystals).act(0, Action::End);
        setup.act(1, Action::TakeCrystals).act(1, Action::End);
        setup
    };
    let (one, other) = (discarded(0), discarded(3));
    assert_eq!(shown(&one, 0), shown(&other, 0));
    assert_eq!(shown(&one, 2), shown(&other, 2));
    let card = one.state.pack(1, Seat::new(2))[0].index() - 1;
    assert_eq!(field(&one, 1, "memory")[card], 5, "its owner knows it to be out of play");
    assert_eq!(field(&one, 0, "memory")[card], 0);
}

#[test]
fn the_first_reader_knows_at_turn_3_what_the_neighbour_took() {
    // RA-11.3: seat 0, seat 1 and again seat 0 read Satellite 1.
    let mut setup = TestState::opening(3, 6);
    (setup.state.leader, setup.state.first_seat) = (Seat::FIRST, Seat::FIRST);
    setup.idle_turn();
    let pack = *setup.state.pack(1, Seat::new(1));
    setup.draft_lowest();
    let memory = field(&setup, 0, "memory");
    for &card in &pack[1..] {
        assert_eq!(memory[card.index() - 1], 4, "passed on; which one is gone is not known yet");
    }
    let mut rng = RngStream::new(1, 0);
    let mut taken = BTreeMap::new();
    for _ in 0..3000 {
        let mut world = setup.state;
        setup.game.resample(&mut world, Seat::new(0), &mut rng);
        let drawn = *world.pack(1, Seat::new(1));
        *taken.entry(drawn[1]).or_insert(0) += 1;
        assert_eq!(drawn[0], pack[0], "the own first pick");
    }
    assert!(
        taken.keys().eq(&pack[1..]) && taken.values().all(|times| (850..1150).contains(times)),
        "{taken:?}"
    );
    while setup.state.stop == 2 {
        let acting_seat = setup.game.acting_seat(&setup.state).number();
        let main = setup.state.phase == Phase::UseCard;
        setup.act(acting_seat, if main { Action::TakeCrystals } else { Action::End });
    }
    let memory = field(&setup, 0, "memory");
    assert_eq!(memory[pack[1].index() - 1], 5, "discarded by the neighbour, by elimination");
    assert_eq!([pack[2], pack[3]].map(|card| memory[card.index() - 1]), [1, 1], "in hand");
}

#[test]
fn the_second_reader_knows_neither_the_first_pick_nor_who_got_which_of_the_rest() {
    // RA-11.3: seat 1 is the second reader of Satellite 1.
    let mut setup = TestState::opening(3, 6);
    (setup.state.leader, setup.state.first_seat) = (Seat::FIRST, Seat::FIRST);
    let pack = *setup.state.pack(1, Seat::new(1));
    for _ in 0..2 {
        setup.idle_turn();
    }
    setup.draft_lowest();
    let mut rng = RngStream::new(2, 0);
    let (mut first, mut third) = (BTreeSet::new(), BTreeMap::new());
    for _ in 0..2000 {
        let mut world = setup.state;
        setup.game.resample(&mut world, Seat::new(1), &mut rng);
        let drawn = *world.pack(1, Seat::new(1));
        first.insert(drawn[0]);
        assert_eq!(drawn[1], pack[1], "its own pick");
        *third.entry(drawn[2]).or_insert(0) += 1;
        assert_eq!(world.kept[Seat::FIRST], Some(drawn[2]), "seat 0 keeps what it took");
    }
    assert!(first.len() > 20 && !first.contains(&pack[1]) && !first.contains(&pack[2]), "{first:?}");
    assert!(
        third.keys().eq(&pack[2..]) && third.values().all(|times| (850..1150).contains(times)),
        "{third:?}"
    );
    let memory = field(&setup, 1, "memory");
    assert_eq!([pack[2], pack[3]].map(|card| memory[card.index() - 1]), [4, 4]);
    setup.crystals(0, 20);
    let cell = (0..9).find(|&cell| setup.is_legal(0, Action::Place { cell })).expect("a cell");
    setup.place(0, cell);
    let memory = field(&setup, 1, "memory");
    assert_eq!(memory[pack[2].index() - 1], 3, "placed, and so on a board");
    assert_eq!(memory[pack[3].index() - 1], 5, "and so the other is in the Black Hole");
}

#[test]
fn with_five_seats_the_second_round_of_an_age_is_what_is_left() {
    // RA-11.4
    let mut setup = TestState::opening(5, 3);
    for _ in 0..3 {
        setup.idle_turn();
    }
    assert_eq!((setup.state.stop, setup.game.counts(&setup.state).undealt), (5, [0, 40]));
    let mut rng = RngStream::new(3, 0);
    let viewer = Seat::new(2);
    let memory = field(&setup, 2, "memory");
    let unknown: BTreeSet<u8> = (1..=40).filter(|&card| memory[usize::from(card - 1)] == 0).collect();
    for _ in 0..50 {
        let mut world = setup.state;
        setup.game.resample(&mut world, viewer, &mut rng);
        for satellite in [0, 1, 3, 4].map(Seat::new) {
            let pack = world.pack(2, satellite);
            assert!(pack.iter().all(|card| unknown.contains(&card.get())), "never a card seen");
        }
    }
}

#[test]
fn no_seat_knows_the_cards_not_dealt() {
    // RA-11.4: a state stores these cards as a set, so different chance continues equal deals differently.
    let setup = TestState::opening(4, 3);
    assert_eq!(setup.state.undealt.len(), 80 - 16);
    let deal_on = |seed| {
        let mut chance = boardwire_kernel::RandomSource::seeded(seed, 3);
        let mut state = setup.state;
        state.stop = 4;
        state.phase = Phase::StopFinished;
        setup.game.do_automatic_step(&mut state, &mut chance);
        state.packs[1]
    };
    assert_ne!(deal_on(1), deal_on(2));
}

/// Returns the names of the differences between a state and a determinization sampled for a seat.
fn differences(game: &Rauha, true_state: &State, world: &State, viewer: Seat) -> BTreeSet<&'static str> {
    let mut names = BTreeSet::new();
    if world.undealt != true_state.undealt {
        names.insert("cards not dealt");
    }
    for seat in Seat::all(game.seats).filter(|&seat| seat != viewer) {
        if world.kept[seat] != true_state.kept[seat] {
            names.insert(if true_state.phase == Phase::Draft {
                "a choice in the draft"
            } else {
                "a kept card"
            });
        }
    }
    for (round, satellite) in game.dealt(true_state) {
        let at = |state: &State, place: usize| state.pack(round, satellite)[place];
        let now = round == true_state.round();
        let picks = if now { true_state.picks() } else { 3 };
        let [first, second] = game.pack_readers(round, satellite);
        for place in (0..PACK_SIZE).filter(|&place| at(true_state, place) != at(world, place)) {
            let name = match place {
                _ if viewer == first && place == 1 => "what the neighbour took",
                _ if viewer == first => "what the neighbour left",
                0 if viewer == second => "the first pick",
                _ if viewer == second && picks == 3 => "which of two was kept",
                _ if viewer == second => "a pack to be read",
                3 if picks == 3 => "a card left over",
                _ if place >= picks => "a pack of others",
                _ => "a discard of others",
            };
            names.insert(name);
        }
    }
    names
}

#[test]
fn resample_varies_every_hidden_kind_and_nothing_known() {
    // RA-11.1 RA-11.2 RA-11.3
    let mut varied = BTreeSet::new();
    for seats in [2, 3, 5] {
        let game: Arc<Rauha> = testkit::table(seats, &[]);
        let mut rng = RngStream::new(4, 0);
        for seed in 0..4 {
            testkit::random_game(&game, seed, |episode| {
                let state = episode.state();
                for viewer in Seat::all(seats) {
                    let mut world = *state;
                    game.resample(&mut world, viewer, &mut rng);
                    varied.extend(differences(&game, state, &world, viewer));
                    assert_eq!(world.boards, state.boards);
                    assert_eq!(world.kept[viewer], state.kept[viewer]);
                    assert_eq!(
                        (world.stop, world.phase, world.leader, world.first_seat, world.seats_done),
                        (state.stop, state.phase, state.leader, state.first_seat, state.seats_done)
                    );
                    assert_eq!(game.hand(&world, viewer), game.hand(state, viewer));
                    for round in 1..=state.round() {
                        for turn in 1..=3 {
                            if (round, usize::from(turn)) <= (state.round(), state.picks()) {
                                let own = |state| game.drafted(state, viewer, round, turn);
                                assert_eq!(own(&world), own(state), "own drafts, discards included");
                            }
                        }
                    }
                }
            });
        }
    }
    let kinds = [
        "a card left over",
        "a choice in the draft",
        "a discard of others",
        "a kept card",
        "a pack of others",
        "a pack to be read",
        "cards not dealt",
        "the first pick",
        "what the neighbour left",
        "what the neighbour took",
        "which of two was kept",
    ];
    assert!(varied.iter().eq(&kinds), "{varied:?}");
}

#[test]
fn a_resampled_choice_in_the_draft_is_one_of_the_pack_seen() {
    // RA-11.3: at turn 2 seat 0 knows the three cards seat 1 chooses from.
    let mut setup = TestState::opening(3, 6);
    setup.idle_turn();
    let pack = *setup.state.pack(1, Seat::new(1));
    setup.act(1, Action::Draft { card: pack[1] });
    let mut rng = RngStream::new(5, 0);
    let chosen: BTreeSet<BiomeId> = (0..200)
        .map(|_| {
            let mut world = setup.state;
            setup.game.resample(&mut world, Seat::new(0), &mut rng);
            assert_eq!(*world.pack(1, Seat::new(1)), pack);
            world.kept[Seat::new(1)].expect("a choice")
        })
        .collect();
    assert!(chosen.iter().eq(&pack[1..]), "{chosen:?}");
}

/// Returns a field of the public observation.
fn public_field(setup: &TestState, name: &str) -> Vec<u8> {
    let layout = &setup.game.info().public_layout;
    let (at, field) = layout.with_offsets().find(|(_, field)| field.name == name).expect("a field");
    let mut view = vec![0; layout.bytes()];
    setup.game.view(&setup.state, Viewer::Public, &mut view);
    view[at..at + field.bytes()].to_vec()
}

#[test]
fn the_public_is_shown_what_all_know() {
    // RA-11.1 RA-11.2
    let public = |setup: &TestState| ViewerSnapshot::of(&*setup.game, &setup.state, Viewer::Public);
    let (one, other) = (drafted(0), drafted(3));
    assert_eq!(public(&one), public(&other), "what is kept is no more public than to the other seats");
    let mut text = String::new();
    one.game.text(&one.state, Viewer::Public, &mut text).expect("memory");
    assert!(!text.to_lowercase().contains("you"), "{text}");
    let mut setup = drafted(0);
    setup.crystals(0, 20);
    let cell = (0..9).find(|&cell| setup.is_legal(0, Action::Place { cell })).expect("a cell");
    let card = setup.state.kept[Seat::FIRST].expect("a kept card");
    setup.place(0, cell);
    let memory = public_field(&setup, "memory");
    assert_eq!(memory[card.index() - 1], 3, "placed, and so on a board");
    assert_eq!(memory.iter().filter(|&&location| location != 0).count(), 1);
    setup.board(0).cells[usize::from(cell)] = setup.game.opening_board.cells[0];
    let memory = public_field(&setup, "memory");
    assert_eq!(memory[card.index() - 1], 5, "covered, and so out of play");
    for name in ["kept", "pack"] {
        let fields = &setup.game.info().public_layout.fields;
        assert!(fields.iter().all(|field| field.name != name), "{name} is its seat's own");
    }
}

#[test]
fn at_two_seats_the_view_says_which_cards_passed_on_come_back() {
    // RA-3.3: the field lists them until the next pick from the pack. It omits a card that the neighbour has placed.
    let game = testkit::table::<Rauha>(2, &[]);
    let of = |state: &State, viewer: u8, name: &str| {
        let setup = TestState { game: Arc::clone(&game), state: *state, chance: RandomSource::seeded(0, 3) };
        let mut ids = field(&setup, viewer, name);
        ids.retain(|&id| id != 0);
        ids
    };
    let (mut coming, mut came, mut placed) = ([vec![], vec![]], 0, 0);
    for seed in 0..10 {
        testkit::random_game(&game, seed, |episode| {
            let state = episode.state();
            for viewer in 0..2 {
                let now = of(state, viewer, "coming_back");
                let pack = of(state, viewer, "pack");
                if state.phase == Phase::Draft
                    && state.turn() == 3
                    && state.kept.all().iter().all(Option::is_none)
                {
                    let before: &Vec<u8> = &coming[usize::from(viewer)];
                    assert!(pack.iter().all(|card| before.contains(card)), "{pack:?} of {before:?}");
                    placed += usize::from(before.len() == 2);
                    came += 1;
                }
                if state.turn() < 3 {
                    let due = if state.phase == Phase::Draft && state.turn() == 1 { 0..=0 } else { 2..=3 };
                    assert!(due.contains(&now.len()), "{now:?} at {} {:?}", state.stop, state.phase);
                } else {
                    assert_eq!(now, [0; 0]);
                }
                coming[usize::from(viewer)] = now;
            }
        });
    }
    assert!(came > 50 && placed > 10, "{came} packs came back, {placed} after a card was placed");
}
