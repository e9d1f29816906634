//! The result of a finished game.

use crate::{MAX_SEATS, Seat};

/// The result of a finished game: integer scores and ranks, by seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    seats: u8,
    scores: [i32; MAX_SEATS],
    ranks: [u8; MAX_SEATS],
}

impl Outcome {
    /// Ranks seats by `scores`, and seats with equal scores by `tie_breaks`; higher is better.
    ///
    /// Seats equal in both share a rank: ranks are 1, 1, 3 and so on. A game without a tie-break passes zeros.
    ///
    /// # Panics
    /// When the slices differ in length, or have no seat or more than [`MAX_SEATS`].
    #[must_use]
    pub fn ranked(scores: &[i32], tie_breaks: &[i32]) -> Self {
        assert_eq!(scores.len(), tie_breaks.len(), "a score and a tie-break for every seat");
        assert!((1..=MAX_SEATS).contains(&scores.len()), "{} seats", scores.len());
        let mut outcome = Self { seats: 0, scores: [0; MAX_SEATS], ranks: [0; MAX_SEATS] };
        for (seat, own) in scores.iter().zip(tie_breaks).enumerate() {
            outcome.scores[seat] = *own.0;
            outcome.ranks[seat] =
                scores.iter().zip(tie_breaks).fold(1, |rank, other| rank + u8::from(other > own));
            outcome.seats += 1;
        }
        outcome
    }

    /// Returns the scores by seat.
    #[must_use]
    pub fn scores(&self) -> &[i32] {
        &self.scores[..usize::from(self.seats)]
    }

    /// Returns the ranks by seat. Rank 1 is the best; tied seats have the same rank.
    #[must_use]
    pub fn ranks(&self) -> &[u8] {
        &self.ranks[..usize::from(self.seats)]
    }

    /// Returns whether `seat` has rank 1, alone or tied.
    #[must_use]
    pub fn is_winner(&self, seat: Seat) -> bool {
        self.ranks[seat.index()] == 1
    }
}

/// One source of a seat's score, for explanations: a card and its points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScoreLine {
    /// The source, named as in the texts: `"R27"`.
    pub source: String,
    /// The points from this source.
    pub points: i32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seats_share_a_rank_and_the_next_is_skipped() {
        let outcome = Outcome::ranked(&[5, 9, 9, 5], &[0, 0, 0, 1]);
        assert_eq!(outcome.ranks(), [4, 1, 1, 3]);
        assert!(outcome.is_winner(Seat::new(2)) && !outcome.is_winner(Seat::new(3)));
    }
}
