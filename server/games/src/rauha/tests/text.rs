//! Positions as text, phrases of actions, and names.

use boardwire_kernel::{Choices, Seat, Setup, Texts, Viewer};

use super::TestState;
use crate::rauha::action::Action;
use crate::rauha::catalogue::CELL_NAMES;
use crate::rauha::state::Phase;

pub(super) fn text(setup: &TestState, viewer: impl Into<Viewer>) -> String {
    let mut text = String::new();
    setup.game.text(&setup.state, viewer.into(), &mut text).expect("memory");
    text
}

pub(super) fn phrase(setup: &TestState, seat: u8, action: Action) -> String {
    assert!(setup.is_legal(seat, action), "{action:?}");
    let mut phrase = String::new();
    setup.game.phrase(&setup.state, Seat::new(seat), action, &mut phrase).expect("memory");
    phrase
}

fn assert_has(text: &str, part: &str) {
    assert!(text.contains(part), "{part:?} is not in\n{text}");
}

#[test]
fn the_text_says_who_goes_first() {
    // RA-4.2: the lead may have changed during the turn.
    let acting_second = |first: u8, done: u8| {
        let mut setup = TestState::at(3, 2, Phase::Activate);
        (setup.state.leader, setup.state.first_seat, setup.state.seats_done) =
            (Seat::new(1), Seat::new(first), done);
        text(&setup, Seat::new(2))
    };
    let (one, other) = (acting_second(0, 1), acting_second(1, 0));
    assert_has(&one, "Order: seat 0, seat 1, seat 2 (you). Leader (begins the next stop): seat 1.");
    assert_has(&other, "Order: seat 1, seat 2 (you), seat 0. Leader (begins the next stop): seat 1.");
    assert_has(&one, "To choose: seat 1: activate or end.");
    assert_ne!(one, other);
}

#[test]
fn the_text_says_what_is_activated_now_and_later() {
    // RA-2.1
    let now = text(&TestState::at(2, 11, Phase::Activate), Seat::FIRST);
    assert_has(&now, "Rauha, round 3 of 4, turn 3 of 3: the W column (NW W SW) is activated.\n");
    assert_has(&now, "\nComing: scoring; S row, mid row, N row, scoring.\n");
    let last = text(&TestState::at(2, 16, Phase::Activate), Seat::FIRST);
    assert_has(&last, "Rauha, round 4 of 4, scoring: ");
    assert!(!last.contains("Coming"), "{last}");
}

#[test]
fn the_text_says_what_takes_part_in_an_activation_and_is_not_possible() {
    // RA-7.1, RA-7.6
    for phase in [Phase::Activate, Phase::Spore] {
        let mut setup = TestState::at(2, 1, phase);
        setup.hold(0, &["taivas", "vuori"]).crystals(0, 3);
        let held = text(&setup, Seat::new(1));
        for entity in ["taivas", "vuori"] {
            let entity = setup.entity(entity);
            setup.state.welcomed.insert(entity);
        }
        let welcomed = text(&setup, Seat::new(1));
        assert_ne!(held, welcomed);
        assert_has(&welcomed, "Not possible now: TAIVAS.");
        setup.crystals(0, 4);
        assert_has(&text(&setup, Seat::new(1)), " NW W SW TAIVAS.\n");
        setup.state.activated.cells.insert(3);
        assert_has(&text(&setup, Seat::new(1)), "Activated already: W.\n");
    }
}

#[test]
fn the_text_says_where_the_cards_are() {
    // RA-11.1
    let mut setup = TestState::opening(2, 1);
    let counts = |pack| {
        format!(
            "Cards: {pack} in each pack; not dealt: 32 of Age 1, 40 of Age 2; Black Hole (discarded or left over): 0."
        )
    };
    assert_has(&text(&setup, Viewer::Public), &counts(4));
    setup.draft_lowest();
    assert_has(&text(&setup, Viewer::Public), &counts(3));
}

#[test]
fn a_drafted_card_is_shown_to_its_seat_only() {
    // RA-11.2
    let mut setup = TestState::opening(2, 1);
    let card = setup.game.hand(&setup.state, Seat::FIRST)[0];
    let title = format!(", hidden from the others:\n {}", setup.game.card(card));
    let before = text(&setup, Seat::new(1));
    assert_has(&before, "To choose: seat 0, seat 1 (you): draft a card");
    setup.act(0, Action::Draft { card });
    assert_has(&text(&setup, Seat::FIRST), &format!("You have drafted{title}"));
    assert_eq!(
        text(&setup, Seat::new(1)).replace("seat 1 (you): draft", "seat 0, seat 1 (you): draft"),
        before
    );
    setup.draft_lowest();
    assert_has(&text(&setup, Seat::FIRST), &format!("You keep{title}"));
    assert!(!text(&setup, Seat::new(1)).contains(&title));
}

#[test]
fn the_text_says_who_drafts_from_the_cards_passed_on() {
    // RA-3.3, RA-11.3: seat 0 of three shares a pack with seat 1 at turns 1 and 3, and one with seat 2 at turn 2.
    let mut setup = TestState::opening(3, 1);
    let [first, second] = setup.game.satellites(1, Seat::FIRST);
    assert_has(
        &text(&setup, Seat::FIRST),
        "Your pack (seat 1 drafts from the rest in turn 2, you from the last two in turn 3):\n",
    );
    setup.draft_lowest();
    let cards = |setup: &TestState, satellite, from: usize| {
        let cards = setup.state.pack(1, satellite)[from..].iter();
        cards.map(|&card| format!(" {}\n", setup.game.card(card))).collect::<Vec<_>>().concat()
    };
    let title = "You passed on; seat 1 drafts one in turn 2, you draft from the others in turn 3:\n";
    assert_has(&text(&setup, Seat::FIRST), &format!("{title}{}", cards(&setup, first, 1)));
    setup.idle_rest();
    assert_has(&text(&setup, Seat::FIRST), "Your pack (seat 2 drafts from the last two in turn 3):\n");
    setup.draft_lowest();
    let title = "You passed on; seat 2 drafts one in turn 3, the other leaves play:\n";
    assert_has(&text(&setup, Seat::FIRST), &format!("{title}{}", cards(&setup, second, 2)));
    assert_has(
        &text(&setup, Seat::FIRST),
        "You passed on; seat 1 has drafted one, you draft from the others",
    );
    setup.idle_rest();
    assert_has(&text(&setup, Seat::FIRST), "Your pack (the other card leaves play):\n");
    setup.draft_lowest();
    assert_has(&text(&setup, Seat::FIRST), "You passed on; seat 2 has drafted one in turn 3");
    assert_has(&text(&setup, Seat::FIRST), "Known out of play (Age 1): C");
}

#[test]
fn boards_say_what_each_biome_does() {
    // RA-6.6, RA-8.2: VUORI counts, so seat 0 has 3 Water Sources and the others 1.
    let mut setup = TestState::at(2, 1, Phase::Activate);
    setup.cells(0, [3, 101, 102, 103, 104, 105, 106, 107, 36]).hold(0, &["vuori"]);
    let shown = text(&setup, Seat::new(1));
    assert_has(
        &shown,
        "\nBoards (no code: printed biome):\nseat 1 (you): 0 points, 4 crystals, 1 Water Source\n",
    );
    let head = "seat 0: 0 points, 4 crystals, 3 Water Sources (+3 in a scoring now)";
    assert_has(&shown, &format!("\n{head}; holds: VUORI (mountain) 2 Water Sources while held\n"));
    assert_has(&shown, "\n NW C4 quartz, flying: +1 point per flying | N forest: +1 point | NE desert\n");
    assert_has(&shown, " | SE C37 mushroom, mountain, land, marine\n");
    assert_has(&shown, "\nEntities on the table: KITEET (quartz) +3 points; MAA (land) +1 point per Spore; ");
    assert!(!shown.split("seat 1").next().expect("a beginning").contains("VUORI"), "{shown}");
    let own = text(&setup, Seat::FIRST);
    assert_has(&own, "(+3 in a scoring now); animals: 1 flying, 1 land, 1 marine; holds: VUORI");
    setup.spores(0, &[1]);
    let shown = text(&setup, Seat::new(1));
    assert_has(&shown, "(* has a Spore; no code: printed biome):\n");
    assert_has(&shown, " | N* forest: +1 point | ");
}

#[test]
fn the_last_text_has_the_scores_and_their_sources() {
    // RA-9.1
    let mut setup = TestState::at(3, 16, Phase::Activate);
    setup.spores(0, &[1]).points(0, 10).points(1, 30).points(2, 30).activate(0, 1);
    let last = text(&setup, Seat::FIRST);
    let none = "Entities 0, Water Sources 0";
    assert_has(
        &last,
        &format!(
            "Rauha: the game is over. Final scores:\n\
             place 1: seat 1, 30 points (biomes in turns 30, Spores in scorings 0, {none})\n\
             place 1: seat 2, 30 points (biomes in turns 30, Spores in scorings 0, {none})\n\
             place 3: seat 0 (you), 11 points (biomes in turns 10, Spores in scorings 1, {none})\n"
        ),
    );
}

#[test]
fn phrases_say_what_an_action_does_now() {
    // RA-5.1, RA-5.3, RA-5.4, RA-6.1
    let mut setup = TestState::keeping(3, 1, 2);
    setup.cells(0, [100, 101, 102, 103, 104, 5, 106, 107, 108]).hold(2, &["kiteet"]).spores(0, &[0]);
    let place = |setup: &TestState, cell| phrase(setup, 0, Action::Place { cell });
    assert_eq!(place(&setup, 4), "place C3 on mid over the printed desert; take KITEET from seat 2");
    assert_eq!(place(&setup, 5), "place C3 on E over C6");
    assert_eq!(
        place(&setup, 0),
        "place C3 on NW over the printed desert; a Spore is there; in this turn's line"
    );
    assert_eq!(phrase(&setup, 0, Action::TakeCrystals), "discard C3: +4 crystals");
    assert_eq!(
        phrase(&setup, 0, Action::TakeSpore { cell: 5 }),
        "discard C3: +1 Spore on E (C6 quartz, marine: +2 crystals)"
    );
    setup.state.kept[Seat::FIRST] = Some(super::id(3));
    assert_eq!(
        place(&setup, 4),
        "place C4 on mid over the printed desert; pay 3 crystals; take KITEET from seat 2"
    );
}

#[test]
fn phrases_of_activations_say_what_they_give_now() {
    // RA-7.5, RA-8.2
    let mut setup = TestState::at(2, 4, Phase::Activate);
    setup
        .cells(0, [3, 101, 102, 103, 104, 105, 106, 107, 10])
        .spores(0, &[0, 5])
        .hold(0, &["taivas", "vuori"]);
    let activate = |cell| phrase(&setup, 0, Action::ActivateCell { cell });
    assert_eq!(activate(0), "activate NW (C4): +2 points (+1 point per flying)");
    assert_eq!(activate(5), "activate E: pay 3 crystals, +1 Spore");
    let entity = setup.entity("taivas");
    assert_eq!(
        phrase(&setup, 0, Action::ActivateEntity { entity }),
        "activate TAIVAS: pay 4 crystals, +7 points"
    );
    assert_eq!(
        phrase(&setup, 0, Action::End),
        "end the activation without NW E TAIVAS; then +3 points for Water Sources"
    );
    setup.activate(0, 5);
    assert_eq!(
        phrase(&setup, 0, Action::PutSpore { cell: 1 }),
        "put the bought Spore on N (printed forest: +1 point)"
    );
}

#[test]
fn phrases_of_drafts_describe_the_card() {
    // RA-3.1, RA-5.1
    let setup = TestState::opening(2, 1);
    for &card in setup.game.hand(&setup.state, Seat::FIRST) {
        assert_eq!(phrase(&setup, 0, Action::Draft { card }), format!("draft {}", setup.game.card(card)));
    }
    assert_eq!(setup.game.card(super::id(3)), "C4 quartz, flying: +1 point per flying; costs 3 crystals");
    assert_eq!(setup.game.card(super::id(1)), "C2 quartz: pay 3 crystals, +5 points; only on SW S SE");
}

#[test]
fn labels_use_the_names_of_the_texts() {
    // RA-1.5: no card is twice in the box, so a code is one card.
    let setup = TestState::opening(2, 1);
    let codes = setup.game.catalogue.components.codes();
    assert!((1..).zip(codes).all(|(number, code)| *code == format!("C{number}")));
    assert!(CELL_NAMES.iter().all(|cell| !codes.iter().any(|code| code == cell)));
    let labels: Vec<&str> = setup.game.info().actions.labels().collect();
    let index = |action| usize::from(setup.game.encode(action));
    assert_eq!(labels[index(Action::Draft { card: super::id(12) })], "draft C13");
    assert_eq!(labels[index(Action::Place { cell: 4 })], "place the kept card on cell mid");
    assert_eq!(labels[index(Action::PutSpore { cell: 8 })], "put the bought Spore on cell SE");
}
