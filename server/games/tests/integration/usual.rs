//! Checks the `usual_max` of fields against the values in random games.

use std::sync::Arc;

use boardwire_games::{IDS, Visitor, visit};
use boardwire_kernel::{Episode, Estimate, Field, Game, Seat, testkit};

/// The number of random games per table.
const GAMES: u64 = 10;

struct UsualMax;

impl Visitor for UsualMax {
    type Output = ();

    fn visit<G: Estimate>(self) {
        for game in testkit::every_table::<G>() {
            for (offset, field) in game.info().layout.with_offsets() {
                if field.usual_max < field.max {
                    check_usual_max_of_field(&game, offset, field);
                }
            }
        }
    }
}

fn check_usual_max_of_field<G: Game>(game: &Arc<G>, offset: usize, field: &Field) {
    let mut seen: Vec<u16> = Vec::new();
    for seed in 0..GAMES {
        let mut view = vec![0; game.info().layout.bytes()];
        testkit::random_game(game, seed, |episode: &Episode<G>| {
            game.view(episode.state(), Seat::FIRST.into(), &mut view);
            let values = view[offset..][..field.bytes()].chunks(field.width());
            seen.extend(
                values.map(|value| value.iter().rev().fold(0, |high, &low| high << 8 | u16::from(low))),
            );
        });
    }
    let (name, usual) = (field.name, field.usual_max);
    let above = seen.iter().filter(|&&value| value > usual).count();
    assert!(above * 50 <= seen.len(), "{above} of {} values of {name} are above {usual}", seen.len());
    let maximum = seen.iter().max().expect("a game has positions");
    assert!(maximum * 4 >= usual, "{name} is usually at most {usual}, and never was above {maximum}");
}

#[test]
fn few_values_exceed_usual_max() {
    for id in IDS {
        visit(id, UsualMax).expect("the registry knows its own ids");
    }
}
