//! Invariants from ply to ply of random games.

use std::sync::Arc;

use boardwire_kernel::{Audits, Choices, Estimate, Hidden, Seat, Setup, Views, testkit};

use super::{Rauha, SIDE_A, TestState};
use crate::rauha::state::{BiomeId, CardSet, Phase, State};

#[test]
fn spores_stay_points_never_fall_and_each_seat_keeps_twelve_cards() {
    // RA-5.2 RA-9.2
    for seats in 2..=5 {
        for seed in 0..30 {
            let game: Arc<Rauha> = testkit::table(seats, &[("side", "B")]);
            let mut before: Option<State> = None;
            let mut kept = 0;
            testkit::random_game(&game, seed, |episode| {
                let state = *episode.state();
                if let Some(before) = before {
                    for (old, new) in before.boards.all().iter().zip(state.boards.all()) {
                        assert!(old.spores.difference(new.spores).is_empty(), "a Spore never disappears");
                        assert!(new.points() >= old.points(), "points never fall");
                    }
                }
                if state.phase == Phase::UseCard
                    && before.is_none_or(|before| {
                        before.phase != Phase::UseCard || before.seats_done != state.seats_done
                    })
                {
                    kept += 1;
                }
                before = Some(state);
            });
            assert_eq!(kept, 12 * u32::from(seats));
        }
    }
}

#[test]
fn audits_notice_what_cannot_be() {
    let sound = |spoil: &dyn Fn(&mut State)| {
        let mut setup = TestState::opening(3, 1);
        setup.draft_lowest();
        assert_eq!(setup.game.audit(&setup.state), Ok(()));
        spoil(&mut setup.state);
        setup.game.audit(&setup.state)
    };
    let other = Seat::new(1);
    let broken: [&dyn Fn(&mut State); 22] = [
        &|state| state.stop = 0,
        &|state| state.stop = 17,
        &|state| state.leader = Seat::new(3),
        &|state| state.first_seat = Seat::new(3),
        &|state| state.seats_done = 4,
        &|state| state.phase = Phase::StopFinished,
        &|state| state.phase = Phase::Over,
        &|state| state.undealt.insert(127),
        &|state| state.pack_mut(1, Seat::FIRST)[0] = state.pack(1, other)[0],
        &|state| state.packs[0][other] = None,
        &|state| state.packs[3][other] = Some([50, 51, 52, 53].map(BiomeId::new)),
        &|state| state.kept[other] = None,
        &|state| state.kept[Seat::new(4)] = Some(BiomeId::new(1)),
        &|state| state.boards[Seat::new(4)].crystals = 1,
        &|state| state.boards[other].cells[0] = BiomeId::new(99),
        &|state| state.boards[other].cells[0] = BiomeId::new(1),
        &|state| state.boards[other].spores.insert(9),
        &|state| state.boards[other].entities.insert(8),
        &|state| Seat::all(2).for_each(|seat| state.boards[seat].entities.insert(1)),
        &|state| state.welcomed.insert(1),
        &|state| state.boards[other].gained = [u16::MAX; 4],
        &|state| state.placed = CardSet::below(128),
    ];
    for (number, spoil) in broken.into_iter().enumerate() {
        assert!(sound(spoil).is_err(), "spoiled position {number}");
    }
}

#[test]
fn no_bytes_from_outside_make_the_engine_panic() {
    let game: Arc<Rauha> = testkit::table(3, &[]);
    let mut rng = boardwire_kernel::RngStream::new(5, 0);
    let mut accepted = 0;
    testkit::random_game(&game, 8, |episode| {
        let bytes = borsh::to_vec(episode.state()).expect("memory");
        for _ in 0..20 {
            let mut bytes = bytes.clone();
            let at = rng.below(u32::try_from(bytes.len()).expect("small")) as usize;
            bytes[at] = u8::try_from(rng.below(256)).expect("a byte");
            let Ok(state) = borsh::from_slice::<State>(&bytes) else {
                continue;
            };
            if game.audit(&state).is_err() {
                continue;
            }
            accepted += 1;
            let mut chance = boardwire_kernel::RandomSource::seeded(1, 3);
            let mut view = vec![0; game.info().layout.bytes()];
            for seat in Seat::all(3) {
                game.view(&state, seat.into(), &mut view);
                assert_eq!(game.info().layout.check(&view), Ok(()));
                let mut world = state;
                game.resample(&mut world, seat, &mut rng);
                game.value(&world, seat);
                for action in game.legal(&state, seat) {
                    let mut next = state;
                    let done = boardwire_kernel::apply(&*game, &mut next, seat, action.into(), &mut chance);
                    assert_eq!(done, Ok(()));
                }
            }
        }
    });
    assert!(accepted > 0, "some changed bytes are another sound position");
}

#[test]
fn a_spore_bought_is_worth_as_much_as_on_its_best_cell() {
    let mut bought = 0;
    for seed in 0..40 {
        let game: Arc<Rauha> = testkit::table(2, &[]);
        testkit::random_game(&game, seed, |episode| {
            let state = episode.state();
            let Some(seat) = episode.pending().lowest().filter(|_| state.phase == Phase::Spore) else {
                return;
            };
            let value = |state: &State| game.value(state, seat).expect("an estimate");
            let puts = game.legal(state, seat).iter().map(|action| {
                let mut next = *state;
                let mut chance = boardwire_kernel::RandomSource::seeded(1, 3);
                boardwire_kernel::apply(&*game, &mut next, seat, action.into(), &mut chance)
                    .expect("it is legal");
                next
            });
            let after: Vec<State> = puts.collect();
            // If the Spore ends the turn, more has changed than the board.
            if after.iter().all(|next| next.phase == Phase::Activate && next.seats_done == state.seats_done) {
                assert_eq!(Some(value(state)), after.iter().map(value).max());
                bought += 1;
            }
        });
    }
    assert!(bought > 10, "{bought} Spores");
}

#[test]
fn the_view_names_what_is_possible_and_what_is_used() {
    let mut setup = TestState::at(2, 8, Phase::Activate);
    setup.cells(0, SIDE_A).spores(0, &[1, 5, 8]).crystals(0, 2);
    let field = |setup: &TestState, name: &str| {
        let info = setup.game.info();
        let (at, field) = info.layout.with_offsets().find(|(_, field)| field.name == name).expect("a field");
        let mut view = vec![0; info.layout.bytes()];
        setup.game.view(&setup.state, Seat::new(1).into(), &mut view);
        view[at..at + field.bytes()].to_vec()
    };
    assert_eq!(field(&setup, "cell_use"), [0, 3, 0, 0, 0, 2, 0, 0, 3], "2: no crystals for it now");
    setup.activate(0, 8);
    assert_eq!(field(&setup, "cell_use"), [0, 3, 0, 0, 0, 2, 0, 0, 1]);
    assert_eq!(field(&setup, "acting"), [2], "seat 0 is the next but one of seat 1's round");
}

#[test]
fn the_sizes_on_the_page_are_those_of_the_layout() {
    for seats in 2..=5 {
        let info = testkit::table::<Rauha>(seats, &[]).info().clone();
        let returning_cards = if seats == 2 { 3 } else { 0 };
        assert_eq!(info.layout.bytes(), 165 + 24 * usize::from(seats - 2) + returning_cards);
        assert_eq!(
            info.layout.bytes() - info.public_layout.bytes(),
            5 + returning_cards,
            "`kept`, `pack` and `coming_back` are the viewer's own"
        );
        assert_eq!(info.actions.count(), 125);
        assert_eq!(info.max_plies, 233 * u32::from(seats));
        let maximum =
            |name| info.layout.fields.iter().find(|field| field.name == name).map(|field| field.max);
        assert_eq!(
            (maximum("crystals"), maximum("points"), maximum("water")),
            (Some(460), Some(3708), Some(29))
        );
        assert_eq!(info.scores, (0, 3708));
    }
}
