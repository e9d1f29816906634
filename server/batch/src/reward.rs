//! Rewards: numbers that a client requests, computed from the outcome. They are not part of the rules.

use boardwire_api::v1::RewardKind;
use boardwire_kernel::{GameInfo, MAX_SEATS, Seat};

/// Returns the reward of `seat` after `loser` forfeited. The loser scores minus the game's maximum score, other seats 0.
#[must_use]
pub fn of_forfeit(kind: RewardKind, seat: Seat, loser: Seat, info: &GameInfo) -> f32 {
    let seats = usize::from(info.seats);
    let mut scores = [0; MAX_SEATS];
    scores[loser.index()] = -info.scores.1;
    of(kind, seat, &scores[..seats], &forfeit_ranks(loser, info.seats)[..seats])
}

/// Returns the reward of `seat` for these final scores and ranks.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "seats are few, and scores are far below 2^24")]
pub fn of(kind: RewardKind, seat: Seat, scores: &[i32], ranks: &[u8]) -> f32 {
    let (score, seat_rank) = (scores[seat.index()], ranks[seat.index()]);
    match kind {
        RewardKind::Unspecified | RewardKind::Rank => {
            let worse = ranks.iter().filter(|&&rank| rank > seat_rank).count();
            let better = ranks.iter().filter(|&&rank| rank < seat_rank).count();
            (worse as f32 - better as f32) / (ranks.len() - 1) as f32
        }
        RewardKind::Win if seat_rank == 1 => 1.0 / ranks.iter().filter(|&&rank| rank < 2).count() as f32,
        RewardKind::Win => 0.0,
        RewardKind::Score => score as f32,
        RewardKind::Margin => {
            let others = scores.iter().enumerate().filter(|(other, _)| *other != seat.index());
            let best = others.map(|(_, &score)| score).max().unwrap_or(0);
            (score - best) as f32
        }
    }
}

/// Returns the ranks by seat after `loser` forfeited: it is last, and all other seats share rank 1.
#[must_use]
pub fn forfeit_ranks(loser: Seat, seats: u8) -> [u8; MAX_SEATS] {
    let mut ranks = [1; MAX_SEATS];
    ranks[loser.index()] = seats;
    ranks
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
    fn rank_rewards_go_from_one_to_minus_one_in_equal_steps() {
        assert_eq!(rewards(RewardKind::Rank, &[9, 5]), [1.0, -1.0]);
        assert_eq!(rewards(RewardKind::Rank, &[1, 9, 5]), [-1.0, 1.0, 0.0]);
        assert_eq!(rewards(RewardKind::Rank, &[9, 7, 5, 3, 1]), [1.0, 0.5, 0.0, -0.5, -1.0]);
    }

    #[test]
    fn tied_seats_share_the_mean_and_rank_rewards_sum_to_zero() {
        assert_eq!(rewards(RewardKind::Rank, &[4, 4]), [0.0, 0.0]);
        assert_eq!(rewards(RewardKind::Rank, &[9, 9, 5]), [0.5, 0.5, -1.0]);
        assert_eq!(rewards(RewardKind::Rank, &[9, 4, 4, 4, 4]), [1.0, -0.25, -0.25, -0.25, -0.25]);
    }

    #[test]
    fn tied_winners_share_the_win_reward() {
        assert_eq!(rewards(RewardKind::Win, &[9, 9, 5]), [0.5, 0.5, 0.0]);
    }

    #[test]
    fn a_margin_is_the_difference_to_the_best_other_seat() {
        assert_eq!(rewards(RewardKind::Margin, &[9, 12, 5]), [-3.0, 3.0, -7.0]);
        assert_eq!(rewards(RewardKind::Score, &[9, -2]), [9.0, -2.0]);
    }
}
