//! How a finished game ended.

use crate::{MAX_SEATS, Seat};

/// The result of a finished game: integer scores and places, by seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    seats: u8,
    scores: [i32; MAX_SEATS],
    ranks: [u8; MAX_SEATS],
}

impl Outcome {
    /// Ranks seats by `scores`, higher first, and among equal scores by `tie_breaks`, higher first.
    ///
    /// Seats equal in both share a place: ranks are 1, 1, 3 and so on. A game without a tie-break gives
    /// zeros.
    ///
    /// # Panics
    /// When the slices differ in length or hold no seat or more than [`MAX_SEATS`].
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

    /// Scores by seat.
    #[must_use]
    pub fn scores(&self) -> &[i32] {
        &self.scores[..usize::from(self.seats)]
    }

    /// Places by seat: 1 is first; seats that share a place have the same number.
    #[must_use]
    pub fn ranks(&self) -> &[u8] {
        &self.ranks[..usize::from(self.seats)]
    }

    /// Whether `seat` shares the first place or has it alone.
    #[must_use]
    pub fn is_winner(&self, seat: Seat) -> bool {
        self.ranks[seat.index()] == 1
    }
}

/// One source of a seat's score, for explanations: a card and what it gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScoreLine {
    /// What gave the points, in the rulebook's words: `"region 27"`.
    pub source: String,
    /// The points it gave.
    pub points: i32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seats_share_a_place_and_the_next_is_skipped() {
        let outcome = Outcome::ranked(&[5, 9, 9, 5], &[0, 0, 0, 1]);
        assert_eq!(outcome.ranks(), [4, 1, 1, 3]);
        assert!(outcome.is_winner(Seat::new(2)) && !outcome.is_winner(Seat::new(3)));
    }
}
