mod broken;
mod broken_state;
mod flaw;
mod knowledge;
mod laws;
mod rules;
mod snapshots;

use crate::testkit::{every_table, law_abiding_game};

use super::Toy;

#[test]
fn the_toy_obeys_the_laws_at_every_table() {
    for game in every_table::<Toy>() {
        for seed in 0..50 {
            law_abiding_game(&game, seed);
        }
    }
}
