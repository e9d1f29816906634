//! Rebuilds a history, pack by pack, for each determinization sampled for a seat.

use boardwire_kernel::testkit::{self, History, Replayable, check_histories};
use boardwire_kernel::{BySeat, Seat, Setup};

use super::Rauha;
use crate::rauha::action::Action;
use crate::rauha::state::{BiomeId, MAX_SEATS, State};
use crate::rauha::turn::{LEADER_STREAM, age_of};

impl Replayable for Rauha {
    fn history(&self, world: &State, choices: &[(Seat, u8)], viewer: Seat) -> Option<History> {
        let mut outcomes = vec![vec![]; Self::TYPE.streams.len()];
        for (round, satellite) in self.dealt(world) {
            outcomes[age_of(round)].extend(world.pack(round, satellite).map(BiomeId::get));
        }
        // After all have drafted, the first leader makes the next choice.
        let leader = choices.get(usize::from(self.seats)).map_or(world.first_seat, |&(seat, _)| seat);
        outcomes[LEADER_STREAM].push(leader.number());
        let mut drafts = BySeat::<u8, MAX_SEATS>::default();
        let mut as_the_world_has_it = |&(seat, action): &(Seat, u8)| {
            if seat == viewer || !matches!(Action::at(action), Some(Action::Draft { .. })) {
                return Some((seat, action));
            }
            let (round, turn) = (drafts[seat] / 3 + 1, drafts[seat] % 3 + 1);
            drafts[seat] += 1;
            let is_taken = round < world.round() || usize::from(turn) <= world.picks();
            let card = if is_taken { self.drafted(world, seat, round, turn) } else { world.kept[seat]? };
            Some((seat, Action::Draft { card }.index()))
        };
        let choices = choices.iter().map(&mut as_the_world_has_it).collect::<Option<_>>()?;
        Some(History { outcomes, choices })
    }
}

#[test]
fn every_world_drawn_has_a_history_that_showed_the_seat_the_same() {
    // RA-11.3
    for (seed, game) in (0..).zip(testkit::every_table::<Rauha>()) {
        check_histories(&game, seed);
    }
}
