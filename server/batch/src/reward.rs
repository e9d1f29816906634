//! Rewards: what an adapter makes of an outcome. They are not rules.

use boardwire_api::v1::RewardKind;
use boardwire_kernel::{GameInfo, MAX_SEATS, Seat};

/// The reward of `seat` when `loser` has forfeited: it counts as having lost the game's greatest score.
#[must_use]
pub fn of_forfeit(kind: RewardKind, seat: Seat, loser: Seat, info: &GameInfo) -> f32 {
    let seats = usize::from(info.seats);
    let mut scores = [0; MAX_SEATS];
    scores[loser.index()] = -info.scores.1;
    of(kind, seat, &scores[..seats], &forfeit_ranks(loser, info.seats)[..seats])
}

/// The reward of `seat` for these final scores and places.
#[must_use]
pub fn of(kind: RewardKind, seat: Seat, scores: &[i32], ranks: &[u8]) -> f32 {
    let own = ranks[seat.index()];
    match kind {
        RewardKind::Unspecified | RewardKind::Rank => {
            let worse = ranks.iter().filter(|&&rank| rank > own).count();
            let better = ranks.iter().filter(|&&rank| rank < own).count();
            (small(worse) - small(better)) / small(ranks.len() - 1)
        }
        RewardKind::Win if own == 1 => 1.0 / small(ranks.iter().filter(|&&rank| rank < 2).count()),
        RewardKind::Win => 0.0,
        RewardKind::Score => exact(scores[seat.index()]),
        RewardKind::Margin => {
            let others = scores.iter().enumerate().filter(|(other, _)| *other != seat.index());
            let best = others.map(|(_, &score)| score).max().unwrap_or(0);
            exact(scores[seat.index()] - best)
        }
    }
}

/// Places by seat of an episode that `loser` has forfeited: it is last, the others share the first place.
#[must_use]
pub fn forfeit_ranks(loser: Seat, seats: u8) -> [u8; MAX_SEATS] {
    let mut ranks = [1; MAX_SEATS];
    ranks[loser.index()] = seats;
    ranks
}

/// A number of seats as a float.
fn small(seats: usize) -> f32 {
    u8::try_from(seats).unwrap_or(u8::MAX).into()
}

/// A score as a float.
#[expect(clippy::cast_precision_loss, reason = "scores are far below 2^24")]
fn exact(score: i32) -> f32 {
    score as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use boardwire_kernel::Outcome;

    fn rewards(kind: RewardKind, scores: &[i32]) -> Vec<f32> {
        let outcome = Outcome::ranked(scores, &vec![0; scores.len()]);
        let seats = Seat::all(u8::try_from(scores.len()).expect("few seats"));
        seats.map(|seat| of(kind, seat, outcome.scores(), outcome.ranks())).collect()
    }

    #[test]
    fn ranks_go_from_one_to_minus_one_in_equal_steps() {
        assert_eq!(rewards(RewardKind::Rank, &[9, 5]), [1.0, -1.0]);
        assert_eq!(rewards(RewardKind::Rank, &[1, 9, 5]), [-1.0, 1.0, 0.0]);
        assert_eq!(rewards(RewardKind::Rank, &[9, 7, 5, 3, 1]), [1.0, 0.5, 0.0, -0.5, -1.0]);
    }

    #[test]
    fn ties_share_the_mean_and_all_sums_to_zero() {
        assert_eq!(rewards(RewardKind::Rank, &[4, 4]), [0.0, 0.0]);
        assert_eq!(rewards(RewardKind::Rank, &[9, 9, 5]), [0.5, 0.5, -1.0]);
        assert_eq!(rewards(RewardKind::Rank, &[9, 4, 4, 4, 4]), [1.0, -0.25, -0.25, -0.25, -0.25]);
    }

    #[test]
    fn a_shared_victory_is_shared() {
        assert_eq!(rewards(RewardKind::Win, &[9, 9, 5]), [0.5, 0.5, 0.0]);
    }

    #[test]
    fn a_margin_is_to_the_best_other_seat() {
        assert_eq!(rewards(RewardKind::Margin, &[9, 12, 5]), [-3.0, 3.0, -7.0]);
        assert_eq!(rewards(RewardKind::Score, &[9, -2]), [9.0, -2.0]);
    }
}
