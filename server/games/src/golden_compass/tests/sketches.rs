//! What is drawn for estimates.

use boardwire_kernel::{RESAMPLE_STREAM, RngStream, testkit};

use super::super::GoldenCompass;
use super::super::state::Step;
use super::support::{Table, seat};

#[test]
fn a_sketch_follows_from_what_its_seat_knows_alone() {
    // GC-13.1: of all worlds that the seat may be in the sketches are the same. Only where its hand must leave another seat
    // a choice, and no hand drawn does, a world is drawn instead.
    let mut rng = RngStream::new(6, RESAMPLE_STREAM);
    let (mut same, mut drawn) = (0, 0);
    for seats in 2..=4 {
        let game = testkit::table::<GoldenCompass>(seats, &[]);
        for seed in 0..4 {
            testkit::random_game(&game, seed, |episode| {
                let state = episode.state();
                for viewer in game.all_seats() {
                    let mut world = *state;
                    game.resample(&mut world, viewer, &mut rng);
                    let laid = [state, &world]
                        .map(|state| (state.circles, state.places.all().map(|place| place.laid)));
                    if world.memory[viewer] != state.memory[viewer] || laid[0] != laid[1] {
                        continue; // Equal tokens have other numbers.
                    }
                    let sketches = [*state, world].map(|mut state| {
                        game.sketch(&mut state, viewer, &mut rng.clone());
                        state
                    });
                    if sketches[0].trace.is_condensed {
                        assert_eq!(sketches[0], sketches[1]);
                        same += 1;
                    } else {
                        assert!(matches!(state.step, Step::Fill(_)) && viewer != state.active);
                        drawn += 1;
                    }
                }
            });
        }
    }
    assert!(same > 1000 && drawn > 0, "{same} sketches, {drawn} worlds");
}

#[test]
fn a_sketch_has_a_card_surely_among_five_gone_once_in_two() {
    // GC-13.2: a world has it gone once in five, as it is likely.
    let mut table = Table::new(3);
    table.hand(1, &["moth.baby", "mouse.baby", "hawk.madonna", "spy"]);
    table.hand(0, &["hawk.baby"]);
    for (thief, victim) in [(1, 0), (2, 1)] {
        table.state.active = seat(thief);
        table.game.steal_card(&mut table.state, seat(victim), &mut table.chance);
    }
    let hawk = table.card("hawk.baby");
    let mut rng = RngStream::new(5, RESAMPLE_STREAM);
    let (draws, mut gone) = (40_000, 0);
    for _ in 0..draws {
        let mut sketch = table.state;
        table.game.sketch(&mut sketch, seat(0), &mut rng);
        gone += u32::from(sketch.places[seat(2)].hand.contains(hawk));
    }
    // Where it has not, the other copy is the card stolen once in 75. The standard deviation is 100.
    let expected = draws / 2 + draws / (2 * 75);
    assert!(gone.abs_diff(expected) < 400, "{gone}, not {expected}");
}
