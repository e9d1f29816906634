mod broken;
mod broken_state;
mod flaw;
mod knowledge;
mod laws;
mod open;
mod rules;
mod snapshots;

use crate::testkit::{check_laws, every_table};

use super::Toy;

#[test]
fn the_toy_obeys_the_laws_at_every_table() {
    for game in every_table::<Toy>() {
        check_laws(&game, 0..50);
    }
}
