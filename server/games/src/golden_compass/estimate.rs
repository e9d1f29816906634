//! A rough worth of a position, in hundredths of a point ahead of the best opponent.

use super::GoldenCompass;
use super::state::{State, Step, bits};

impl GoldenCompass {
    pub(super) fn worth(&self, s: &State, seat: u8) -> i32 {
        let own = self.prospect(s, seat);
        let others = (0..self.seats).filter(|&other| other != seat);
        let best = others.map(|other| self.prospect(s, other)).max().unwrap_or(0);
        own - best
    }

    /// What a seat has, and what it can hope for.
    fn prospect(&self, s: &State, seat: u8) -> i32 {
        let points = self.points(s, seat).total() * 100;
        if s.step == Step::Over {
            return points;
        }
        points
            + self.token_hopes(s, seat)
            + self.draft_hopes(s, seat)
            + self.hand_hopes(s, seat)
            + self.other_hopes(s, seat)
    }

    /// Unplaced tokens count for less: they have to be laid out yet.
    fn token_hopes(&self, s: &State, seat: u8) -> i32 {
        let place = s.place(seat);
        let share = if self.places_tokens(s) { 35 } else { 60 };
        let worth = |token: u8| {
            let token = &self.catalogue().tokens[usize::from(token)];
            if token.alethiometer {
                600
            } else {
                i32::from(token.value) * 100
            }
        };
        bits(place.tokens).map(worth).sum::<i32>() * share / 100
    }

    /// Compass tiles on the objective buy an early draft.
    fn draft_hopes(&self, s: &State, seat: u8) -> i32 {
        if matches!(s.step, Step::Truth { .. }) {
            return 0;
        }
        let own = i32::from(s.place(seat).compass);
        let ahead = (0..self.seats).filter(|&other| other != seat && i32::from(s.place(other).compass) < own);
        let ahead = i32::try_from(ahead.count()).unwrap_or(0);
        own * 40 + ahead * 200
    }

    fn hand_hopes(&self, s: &State, seat: u8) -> i32 {
        let hand = &s.place(seat).hand;
        let mut worth = 90 * i32::from(hand.len());
        for &card in hand.as_slice() {
            worth += if self.faces[usize::from(card)].is_joker {
                90
            } else {
                0
            };
        }
        for pair in hand.as_slice().windows(2) {
            let (a, b) = (self.faces[usize::from(pair[0])], self.faces[usize::from(pair[1])]);
            worth += if a.is_ordinary && b.is_ordinary && a.daemon == b.daemon {
                60
            } else {
                0
            };
        }
        worth
    }

    fn other_hopes(&self, s: &State, seat: u8) -> i32 {
        let dust = i32::from(s.place(seat).dust) * 110;
        let airship = if s.airship == seat + 1 { -200 } else { 0 };
        let kept = s
            .place(seat)
            .kept
            .checked_sub(1)
            .map(|kept| s.place(seat).dealt[usize::from(kept)] - 1);
        let ally = kept.or(s.place(seat).ally.checked_sub(1));
        let ally = ally.map_or(0, |id| {
            i32::from(self.catalogue().characters[usize::from(id)].magisterium) * 40
        });
        dust + airship + ally
    }
}
