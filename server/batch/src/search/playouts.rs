//! The playouts of a rollout. Playouts of one group advance together, so that a policy evaluates them in batches.

use boardwire_api::v1::RewardKind;
use boardwire_bots::{BotError, PlayoutEnd, Rollout, RunningPlayout};
use boardwire_kernel::{BySeat, MAX_SEATS, Seat};

use crate::reward;

/// The number of playouts in a group that asks a policy: twice the rows of an evaluation, because playouts end at
/// different times.
const POLICY_GROUP: usize = 32;
/// The approximate maximum number of groups without a policy. They divide the work between threads.
const MAX_GROUPS: usize = 1 << 10;

/// The reward of each seat.
pub(super) type Rewards = BySeat<f32, MAX_SEATS>;

/// Returns the number of playouts in each group of a rollout with this many playouts.
pub(super) fn group_size(rollout: &Rollout, playouts: usize) -> usize {
    match rollout {
        Rollout::Estimate | Rollout::Random => playouts.div_ceil(MAX_GROUPS),
        Rollout::Policy { .. } => POLICY_GROUP,
    }
}

/// Plays a group to the end of each playout. Returns their rewards, in order.
pub(super) fn finish_all(
    mut running: Vec<Box<dyn RunningPlayout>>,
    kind: RewardKind,
    seats: u8,
) -> Result<Vec<Rewards>, BotError> {
    let mut ends: Vec<Option<Rewards>> = vec![None; running.len()];
    while ends.contains(&None) {
        for (playout, end) in running.iter_mut().zip(&mut ends).filter(|(_, end)| end.is_none()) {
            *end = playout.advance()?.map(|end| rewards(&end, kind, seats));
        }
    }
    Ok(ends.into_iter().flatten().collect())
}

/// Returns the rewards for an end; 0 if the playout was truncated.
fn rewards(end: &PlayoutEnd, kind: RewardKind, seats: u8) -> Rewards {
    let mut rewards = Rewards::default();
    match end {
        PlayoutEnd::Outcome(outcome) => {
            for seat in Seat::all(seats) {
                rewards[seat] = reward::of(kind, seat, outcome.scores(), outcome.ranks());
            }
        }
        PlayoutEnd::Truncated => {}
        PlayoutEnd::Leaf(values) => {
            for &(seat, value) in values {
                rewards[seat] = points(value);
            }
            if let (2, &[(seat, value)]) = (seats, &values[..]) {
                rewards[Seat::new(1 - seat.number())] = -points(value);
            }
        }
    }
    rewards
}

/// Returns thousandths of a point in points.
#[expect(clippy::cast_possible_truncation, reason = "a reward needs no more than a float has")]
pub(super) fn points(thousandths: i32) -> f32 {
    (f64::from(thousandths) / 1_000.0) as f32
}

/// Returns the means of each row, seat by seat.
#[expect(clippy::cast_precision_loss, reason = "there are at most 65,536 playouts")]
pub(super) fn mean(rewards: &[Rewards], playouts: usize, seats: u8) -> Vec<f32> {
    let of = |row: &[Rewards], seat| row.iter().map(|one| one[seat]).sum::<f32>() / playouts as f32;
    rewards.chunks(playouts).flat_map(|row| Seat::all(seats).map(move |seat| of(row, seat))).collect()
}
