//! Tests of snapshots that cannot be restored.

use std::sync::Arc;

use super::super::Toy;
use super::super::state::State;
use crate::testkit::table;
use crate::{Episode, Key};

/// The contents of a snapshot.
type Parts = (u32, Option<Key>, Vec<u64>, State);

fn dealt() -> (Arc<Toy>, Parts) {
    let game = table::<Toy>(2, &[]);
    let episode = Episode::seeded(Arc::clone(&game), 7);
    (game, (0, episode.random_source().key(), episode.random_source().usage(), *episode.state()))
}

fn refused((game, parts): (Arc<Toy>, Parts)) -> String {
    let bytes = borsh::to_vec(&parts).expect("writing to memory does not fail");
    Episode::restore(game, &bytes).map(drop).expect_err("it cannot be restored")
}

#[test]
fn a_snapshot_with_its_parts_is_restored() {
    let (game, parts) = dealt();
    let bytes = borsh::to_vec(&parts).expect("writing to memory does not fail");
    let restored = Episode::restore(Arc::clone(&game), &bytes).expect("nothing is wrong with it");
    assert_eq!(restored.digest(), Episode::seeded(Arc::clone(&game), 7).digest());
    assert!(Episode::restore(Arc::clone(&game), &bytes[1..]).is_err());
    assert!(Episode::restore(game, &[bytes, vec![0]].concat()).is_err(), "a byte too many");
}

#[test]
fn an_impossible_position_is_refused() {
    let (game, mut parts) = dealt();
    let card = parts.3.deck.lowest().expect("cards are left");
    parts.3.deck.remove(card);
    assert!(refused((game, parts)).contains("card"));
}

#[test]
fn an_impossible_random_source_is_refused() {
    let (game, mut parts) = dealt();
    parts.1 = None;
    assert_eq!(refused((game, parts)), "a scripted game cannot be restored");
    let (game, mut parts) = dealt();
    parts.2.pop();
    assert_eq!(refused((game, parts)), "snapshot has 1 random streams; this game has 2");
    let (game, mut parts) = dealt();
    parts.2[1] = u64::MAX;
    assert!(refused((game, parts)).starts_with("word count 18446744073709551615 of a random stream exceeds"));
}
