//! What seats know: hidden facts do not show to other seats, and `resample` varies only hidden facts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use boardwire_kernel::{Chance, Hidden, RngStream, Seat, Setup, Texts, Viewer, Views, testkit};

use super::{Rauha, Scene};
use crate::rauha::action::Action;
use crate::rauha::state::{BiomeId, PACK, Phase, State};
use testkit::Shown;

fn shown(scene: &Scene, seat: u8) -> Shown {
    Shown::to(&*scene.game, &scene.state, Seat::new(seat))
}

fn field(scene: &Scene, viewer: u8, name: &str) -> Vec<u8> {
    let info = scene.game.info();
    let (at, field) = info.layout.with_offsets().find(|(_, field)| field.name == name).expect("a field");
    let mut view = vec![0; info.layout.bytes()];
    scene.game.view(&scene.state, Seat::new(viewer).into(), &mut view);
    view[at..at + field.bytes()].to_vec()
}

/// Creates turn 1 of three seats after the draft. Seat 1 took the card at `pick` of its pack. Seat 0 goes first.
fn drafted(pick: usize) -> Scene {
    let mut scene = Scene::opening(3, 6);
    (scene.state.leader, scene.state.first) = (Seat::FIRST, Seat::FIRST);
    for seat in 0..3 {
        let hand = scene.game.hand(&scene.state, Seat::new(seat));
        let card = hand[if seat == 1 { pick } else { 0 }];
        scene.act(seat, Action::Draft { card });
    }
    scene
}

#[test]
fn boards_counts_and_discards_are_public() {
    // RA-11.1
    let mut scene = drafted(0);
    scene.act(0, Action::TakeCrystals).act(0, Action::End);
    for (viewer, place) in [(0, 0), (1, 2), (2, 1)] {
        assert_eq!(field(&scene, viewer, "black_hole"), [1], "that a card was discarded");
        assert_eq!(field(&scene, viewer, "crystals")[2 * place], 8);
        assert_eq!(field(&scene, viewer, "undealt"), [28, 40]);
        assert_eq!(field(&scene, viewer, "pack_size"), [3]);
        assert_eq!(field(&scene, viewer, "leader"), field(&scene, viewer, "first"));
    }
}

#[test]
fn a_kept_card_shows_to_nobody_else_until_it_is_placed() {
    // RA-11.2
    let (one, other) = (drafted(0), drafted(3));
    assert_ne!(one.state.kept[Seat::new(1)], other.state.kept[Seat::new(1)]);
    assert_eq!(shown(&one, 0), shown(&other, 0));
    assert_eq!(shown(&one, 2), shown(&other, 2), "the next reader has not looked at the pack yet");
    assert_ne!(shown(&one, 1), shown(&other, 1));
    let placed = |mut scene: Scene| {
        scene.act(0, Action::TakeCrystals).act(0, Action::End).crystals(1, 20);
        let cell = (0..9).find(|&cell| scene.is_legal(1, Action::Place { cell })).expect("a cell");
        scene.place(1, cell);
        scene
    };
    assert_ne!(shown(&placed(one), 2), shown(&placed(other), 2));
}

#[test]
fn a_discard_shows_to_nobody_else() {
    // RA-11.2
    let discarded = |pick| {
        let mut scene = drafted(pick);
        scene.act(0, Action::TakeCrystals).act(0, Action::End);
        scene.act(1, Action::TakeCrystals).act(1, Action::End);
        scene
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
    let mut scene = Scene::opening(3, 6);
    (scene.state.leader, scene.state.first) = (Seat::FIRST, Seat::FIRST);
    scene.idle_turn();
    let pack = *scene.state.pack(1, Seat::new(1));
    scene.draft_lowest();
    let memory = field(&scene, 0, "memory");
    for &card in &pack[1..] {
        assert_eq!(memory[card.index() - 1], 4, "passed on; which one is gone is not known yet");
    }
    let mut rng = RngStream::new(1, 0);
    let mut taken = BTreeMap::new();
    for _ in 0..3000 {
        let mut world = scene.state;
        scene.game.resample(&mut world, Seat::new(0), &mut rng);
        let drawn = *world.pack(1, Seat::new(1));
        *taken.entry(drawn[1]).or_insert(0) += 1;
        assert_eq!(drawn[0], pack[0], "the own first pick");
    }
    assert!(
        taken.keys().eq(&pack[1..]) && taken.values().all(|times| (850..1150).contains(times)),
        "{taken:?}"
    );
    while scene.state.stop == 2 {
        let actor = scene.game.actor(&scene.state).number();
        let main = scene.state.phase == Phase::Main;
        scene.act(actor, if main { Action::TakeCrystals } else { Action::End });
    }
    let memory = field(&scene, 0, "memory");
    assert_eq!(memory[pack[1].index() - 1], 5, "discarded by the neighbour, by elimination");
    assert_eq!([pack[2], pack[3]].map(|card| memory[card.index() - 1]), [1, 1], "in hand");
}

#[test]
fn the_second_reader_knows_neither_the_first_pick_nor_who_got_which_of_the_rest() {
    // RA-11.3: seat 1 is the second reader of Satellite 1.
    let mut scene = Scene::opening(3, 6);
    (scene.state.leader, scene.state.first) = (Seat::FIRST, Seat::FIRST);
    let pack = *scene.state.pack(1, Seat::new(1));
    for _ in 0..2 {
        scene.idle_turn();
    }
    scene.draft_lowest();
    let mut rng = RngStream::new(2, 0);
    let (mut first, mut third) = (BTreeSet::new(), BTreeMap::new());
    for _ in 0..2000 {
        let mut world = scene.state;
        scene.game.resample(&mut world, Seat::new(1), &mut rng);
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
    let memory = field(&scene, 1, "memory");
    assert_eq!([pack[2], pack[3]].map(|card| memory[card.index() - 1]), [4, 4]);
    scene.crystals(0, 20);
    let cell = (0..9).find(|&cell| scene.is_legal(0, Action::Place { cell })).expect("a cell");
    scene.place(0, cell);
    let memory = field(&scene, 1, "memory");
    assert_eq!(memory[pack[2].index() - 1], 3, "placed, and so on a board");
    assert_eq!(memory[pack[3].index() - 1], 5, "and so the other is in the Black Hole");
}

#[test]
fn with_five_seats_the_second_round_of_an_age_is_what_is_left() {
    // RA-11.4
    let mut scene = Scene::opening(5, 3);
    for _ in 0..3 {
        scene.idle_turn();
    }
    assert_eq!((scene.state.stop, scene.game.counts(&scene.state).undealt), (5, [0, 40]));
    let mut rng = RngStream::new(3, 0);
    let viewer = Seat::new(2);
    let memory = field(&scene, 2, "memory");
    let unknown: BTreeSet<u8> = (1..=40).filter(|&card| memory[usize::from(card - 1)] == 0).collect();
    for _ in 0..50 {
        let mut world = scene.state;
        scene.game.resample(&mut world, viewer, &mut rng);
        for satellite in [0, 1, 3, 4].map(Seat::new) {
            let pack = world.pack(2, satellite);
            assert!(pack.iter().all(|card| unknown.contains(&card.get())), "never a card seen");
        }
    }
}

#[test]
fn nobody_knows_the_cards_not_dealt() {
    // RA-11.4: a state stores these cards as a set, so different chance continues equal deals differently.
    let scene = Scene::opening(4, 3);
    assert_eq!(scene.state.undealt.len(), 80 - 16);
    let deal_on = |seed| {
        let mut chance = boardwire_kernel::Chance::seeded(seed, 3);
        let mut state = scene.state;
        state.stop = 4;
        state.phase = Phase::Between;
        scene.game.follow(&mut state, &mut chance);
        state.packs[1]
    };
    assert_ne!(deal_on(1), deal_on(2));
}

/// Returns the names of the differences between a state and a determinization (world) sampled for a seat.
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
        let [first, second] = game.readers(round, satellite);
        for place in (0..PACK).filter(|&place| at(true_state, place) != at(world, place)) {
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
                        (world.stop, world.phase, world.leader, world.first, world.done),
                        (state.stop, state.phase, state.leader, state.first, state.done)
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
    let mut scene = Scene::opening(3, 6);
    scene.idle_turn();
    let pack = *scene.state.pack(1, Seat::new(1));
    scene.act(1, Action::Draft { card: pack[1] });
    let mut rng = RngStream::new(5, 0);
    let chosen: BTreeSet<BiomeId> = (0..200)
        .map(|_| {
            let mut world = scene.state;
            scene.game.resample(&mut world, Seat::new(0), &mut rng);
            assert_eq!(*world.pack(1, Seat::new(1)), pack);
            world.kept[Seat::new(1)].expect("a choice")
        })
        .collect();
    assert!(chosen.iter().eq(&pack[1..]), "{chosen:?}");
}

/// Returns a field of the public observation.
fn public_field(scene: &Scene, name: &str) -> Vec<u8> {
    let layout = &scene.game.info().public_layout;
    let (at, field) = layout.with_offsets().find(|(_, field)| field.name == name).expect("a field");
    let mut view = vec![0; layout.bytes()];
    scene.game.view(&scene.state, Viewer::Public, &mut view);
    view[at..at + field.bytes()].to_vec()
}

#[test]
fn the_public_is_shown_what_all_know() {
    // RA-11.1 RA-11.2
    let public = |scene: &Scene| Shown::to(&*scene.game, &scene.state, Viewer::Public);
    let (one, other) = (drafted(0), drafted(3));
    assert_eq!(public(&one), public(&other), "what is kept is no more public than to the other seats");
    let mut text = String::new();
    one.game.text(&one.state, Viewer::Public, &mut text).expect("memory");
    assert!(!text.to_lowercase().contains("you"), "{text}");
    let mut scene = drafted(0);
    scene.crystals(0, 20);
    let cell = (0..9).find(|&cell| scene.is_legal(0, Action::Place { cell })).expect("a cell");
    let card = scene.state.kept[Seat::FIRST].expect("a kept card");
    scene.place(0, cell);
    let memory = public_field(&scene, "memory");
    assert_eq!(memory[card.index() - 1], 3, "placed, and so on a board");
    assert_eq!(memory.iter().filter(|&&whereabouts| whereabouts != 0).count(), 1);
    scene.board(0).cells[usize::from(cell)] = scene.game.opening_board.cells[0];
    let memory = public_field(&scene, "memory");
    assert_eq!(memory[card.index() - 1], 5, "covered, and so out of play");
    for name in ["kept", "pack"] {
        let fields = &scene.game.info().public_layout.fields;
        assert!(fields.iter().all(|field| field.name != name), "{name} is its seat's own");
    }
}

#[test]
fn at_two_seats_the_view_says_which_cards_passed_on_come_back() {
    // RA-3.3: the field lists them until the next pick from the pack. It omits a card that the neighbour has placed.
    let game = testkit::table::<Rauha>(2, &[]);
    let of = |state: &State, viewer: u8, name: &str| {
        let scene = Scene { game: Arc::clone(&game), state: *state, chance: Chance::seeded(0, 3) };
        let mut ids = field(&scene, viewer, name);
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
