//! A rough worth of a position, in hundredths of a point ahead of the best opponent.
//!
//! What is scored counts in full; unplaced tokens, the lead on the objective, dust and cards count for what they
//! may still become. While its light-blue turn lasts, a seat also hopes for its best action and its sets.

use super::GoldenCompass;
use super::action::Action;
use super::state::{Kind, State, Step, bits};

/// What being a compass tile ahead of an opponent is worth, up to some tiles.
const LEAD: i32 = 90;
const LEAD_TILES: i32 = 4;
const DUST: i32 = 115;
const CARD: i32 = 75;
const JOKER: i32 = 60;
const AIRSHIP: i32 = -300;

impl GoldenCompass {
    pub(super) fn worth(&self, s: &State, seat: u8) -> i32 {
        let own = self.prospect(s, seat);
        let others = (0..self.seats).filter(|&other| other != seat);
        own - others.map(|other| self.prospect(s, other)).max().unwrap_or(0)
    }

    /// What a seat has, and what it can hope for.
    fn prospect(&self, s: &State, seat: u8) -> i32 {
        let place = s.place(seat);
        let points = self.points(s, seat).total() * 100;
        if s.step == Step::Over {
            return points;
        }
        let kept = place.kept.checked_sub(1).map(|kept| place.dealt[usize::from(kept)]);
        let ally = usize::from(kept.unwrap_or(place.ally));
        let symbols = ally.checked_sub(1).map_or(0, |id| self.printed().characters[id].magisterium);
        let airship = if s.airship == seat + 1 { AIRSHIP } else { 0 };
        points
            + self.token_hopes(s, seat)
            + self.lead(s, seat)
            + self.hand_hopes(s, seat)
            + self.turn_hopes(s, seat)
            + i32::from(place.dust) * DUST * i32::from(s.drawn_passages == 0)
            + airship
            + 40 * i32::from(symbols)
    }

    /// How much of the last period is still to come, in hundredths; all of it before.
    fn time_left(&self, s: &State) -> i32 {
        if !s.places_tokens() {
            return 100;
        }
        let [_, before, end] = self.printed().objectives;
        100 * i32::from(end - s.lyra) / i32::from(end - before)
    }

    /// Unplaced tokens have to be laid out before they score.
    fn token_hopes(&self, s: &State, seat: u8) -> i32 {
        let worth = |token: u8| self.token_worth(token);
        let tokens: i32 = bits(s.place(seat).tokens).map(worth).sum();
        tokens * (15 + 45 * self.time_left(s) / 100) / 100
    }

    fn token_worth(&self, token: u8) -> i32 {
        let token = &self.printed().tokens[usize::from(token)];
        if token.alethiometer { 600 } else { i32::from(token.value) * 100 }
    }

    /// Compass tiles on the objective buy an early draft.
    fn lead(&self, s: &State, seat: u8) -> i32 {
        if matches!(s.step, Step::Truth { .. }) {
            return 0;
        }
        let tiles = |seat: u8| i32::from(s.place(seat).compass);
        let others = (0..self.seats).filter(|&other| other != seat);
        let leads = others.map(|other| (tiles(seat) - tiles(other)).clamp(-LEAD_TILES, LEAD_TILES));
        leads.sum::<i32>() * LEAD / i32::from(self.seats)
    }

    fn hand_hopes(&self, s: &State, seat: u8) -> i32 {
        let hand = s.place(seat).hand.as_slice();
        let mut worth = CARD * i32::try_from(hand.len().min(6)).unwrap_or(0);
        for &card in hand {
            worth += if self.faces[usize::from(card)].is_joker { JOKER } else { 0 };
        }
        for pair in hand.windows(2) {
            let (a, b) = (self.faces[usize::from(pair[0])], self.faces[usize::from(pair[1])]);
            let alike = a.is_ordinary && b.is_ordinary && a.daemon == b.daemon;
            worth += if alike { 50 } else { 0 };
        }
        worth * (10 + 90 * self.time_left(s) / 100) / 100
    }

    /// What the rest of a light-blue turn promises the active seat.
    fn turn_hopes(&self, s: &State, seat: u8) -> i32 {
        if seat != s.active || s.red {
            return 0;
        }
        let action = match s.step {
            Step::Action => {
                self.blue_actions(s).map(|action| Self::action_hope(s, action)).max().unwrap_or(0)
            }
            Step::Sets => 0,
            Step::Target(_) | Step::Choose { .. } | Step::Cost(_) | Step::Lay | Step::Back { .. } => 120,
            Step::Fill(begun) => return self.set_hope(s, begun.kind) + 2 * CARD,
            _ => return 0,
        };
        let (mut best, mut sum) = (0, 0);
        self.sets(s, |kind| {
            let hope = self.set_hope(s, kind).max(0);
            best = best.max(hope);
            sum += hope;
        });
        let sets = i32::from(s.own().hand.len() / 2);
        action + sum.min(best * sets)
    }

    fn action_hope(s: &State, action: Action) -> i32 {
        match action {
            Action::Alethiometer => LEAD,
            Action::Magisterium if s.airship == s.active + 1 => -2 * AIRSHIP,
            Action::Magisterium => -AIRSHIP * i32::from(s.airship == 0),
            Action::Dust => DUST,
            _ => 120,
        }
    }

    /// What a set gains beyond the cards it costs.
    fn set_hope(&self, s: &State, kind: Kind) -> i32 {
        match kind {
            Kind::Pair(_) | Kind::Wild if s.places_tokens() => {
                let best = bits(s.own().tokens).map(|token| self.token_worth(token)).max().unwrap_or(0);
                best / 2 - 2 * CARD * self.time_left(s) / 100
            }
            Kind::Pair(_) | Kind::Wild => 270 - 2 * CARD,
            Kind::Triplet(_) => 2 * LEAD - 3 * CARD,
            Kind::Short(_) => 2 * LEAD - 2 * CARD,
            Kind::Spies => 450 * self.time_left(s) / 100 - 2 * CARD,
        }
    }
}
