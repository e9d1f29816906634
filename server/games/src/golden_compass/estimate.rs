//! A rough estimate of a position: hundredths of a point ahead of the best opponent.
//!
//! Points already scored count in full. Unplaced tokens, the lead on the objective, dust and cards count for what they
//! may still gain. During its light-blue turn a seat also counts its best action and its sets.

use boardwire_kernel::Seat;

use super::GoldenCompass;
use super::action::Action;
use super::catalogue::{Catalogue, DaemonId, SymbolId, TokenId, TokenSet, with_ids};
use super::limits::TOKENS;
use super::state::{Decision, Hand, SetKind, State, tokens_of};

/// The worth of a lead of one compass tile over an opponent, up to `LEAD_TILES` tiles.
const LEAD: i32 = 90;
const LEAD_TILES: i32 = 4;
const DUST: i32 = 115;
const CARD: i32 = 75;
const JOKER: i32 = 60;
const AIRSHIP: i32 = -300;

/// Returns the worth of every token before it is laid out.
pub(super) fn token_worths(catalogue: &Catalogue) -> [i32; TOKENS + 1] {
    let mut worths = [0; TOKENS + 1];
    for (id, token) in with_ids(&catalogue.tokens, TokenId::new) {
        worths[id.index()] = if token.is_alethiometer { 600 } else { i32::from(token.value) * 100 };
    }
    worths
}

impl GoldenCompass {
    /// Returns the worth of the position to `seat`.
    pub(super) fn estimate(&self, state: &State, seat: Seat) -> i32 {
        let time_left = self.time_left(state);
        let others = self.others(seat).map(|other| self.seat_worth(state, other, time_left));
        self.seat_worth(state, seat, time_left) - others.max().expect("a table has at least two seats")
    }

    /// Returns the worth of what a seat has and may gain.
    fn seat_worth(&self, state: &State, seat: Seat, time_left: i32) -> i32 {
        let seat_state = &state.seats[seat];
        let points = self.score_parts(state, seat).total() * 100;
        if state.decision == Decision::Over {
            return points;
        }
        let kept = seat_state.kept_index.zip(seat_state.dealt).map(|(kept, dealt)| dealt[usize::from(kept)]);
        let symbols = kept.or(seat_state.ally).map_or(0, |ally| self.symbols[ally.index()]);
        let airship = if state.airship == Some(seat) { AIRSHIP } else { 0 };
        points
            + self.tokens_worth(seat_state.tokens, time_left)
            + self.lead(state, seat)
            + self.hand_worth(&seat_state.hand, time_left)
            + self.turn_worth(state, seat, time_left)
            + i32::from(seat_state.dust) * DUST * i32::from(state.drawn_passages == 0)
            + airship
            + 40 * i32::from(symbols)
    }

    /// Returns how much of the last period is left, in hundredths; 100 in earlier periods.
    fn time_left(&self, state: &State) -> i32 {
        if !state.is_last_period() {
            return 100;
        }
        let [_, before, end] = self.catalogue().objectives;
        100 * i32::from(end - state.lyra) / i32::from(end - before)
    }

    /// Returns the worth of unplaced tokens, which score only after they are laid out.
    fn tokens_worth(&self, tokens: TokenSet, time_left: i32) -> i32 {
        let worth: i32 = tokens_of(tokens).map(|token| self.token_worths[token.index()]).sum();
        worth * (15 + 45 * time_left / 100) / 100
    }

    /// Returns the worth of compass tiles on the objective, which give an early place in the draft.
    fn lead(&self, state: &State, seat: Seat) -> i32 {
        if matches!(state.decision, Decision::Truth { .. }) {
            return 0;
        }
        let tiles = |seat: Seat| i32::from(state.seats[seat].compass);
        let leads =
            self.others(seat).map(|other| (tiles(seat) - tiles(other)).clamp(-LEAD_TILES, LEAD_TILES));
        let lead = leads.sum::<i32>() * LEAD;
        // Division by constants is much faster.
        match self.seats {
            2 => lead / 2,
            3 => lead / 3,
            _ => lead / 4,
        }
    }

    fn hand_worth(&self, hand: &Hand, time_left: i32) -> i32 {
        let mut worth = CARD * i32::from(hand.len().min(6));
        let mut last = 0;
        for &card in hand.as_slice() {
            worth += if self.card_sets.is_joker(card) { JOKER } else { 0 };
            worth += if self.card_sets.are_pair(last, card) { 50 } else { 0 };
            last = card;
        }
        worth * (10 + 90 * time_left / 100) / 100
    }

    /// Returns what the active seat may gain in the rest of a light-blue turn.
    fn turn_worth(&self, state: &State, seat: Seat, time_left: i32) -> i32 {
        if seat != state.active || state.is_red {
            return 0;
        }
        let action = match state.decision {
            Decision::Action => {
                let offered = self.blue_actions(state).into_iter().filter(|(_, can)| *can);
                offered.map(|(action, _)| Self::action_gain(state, action)).max().unwrap_or(0)
            }
            Decision::Sets => 0,
            Decision::Target(_)
            | Decision::Choose { .. }
            | Decision::Cost(_)
            | Decision::LayToken
            | Decision::ChooseBack { .. } => 120,
            Decision::NameSetCard(partial_set) => {
                return self.set_gain(state, partial_set.kind, time_left) + 2 * CARD;
            }
            Decision::Keep
            | Decision::Colour
            | Decision::Pay { .. }
            | Decision::DiscardDrawn { .. }
            | Decision::DiscardToLimit
            | Decision::Steps { .. }
            | Decision::Airship
            | Decision::PayForAirship { .. }
            | Decision::Truth { .. }
            | Decision::Over => return 0,
        };
        let sets = self.sets(state);
        let (mut best, mut sum) = (0, 0);
        // Sets of one kind have the same worth for every daemon or symbol.
        for (count, kind) in [
            (sets.pairs.len(), SetKind::Pair(DaemonId::new(1))),
            (sets.wild_pair.into(), SetKind::WildPair),
            (sets.triplets.len(), SetKind::Triplet(SymbolId::new(1))),
            (sets.short_triplets.len(), SetKind::ShortTriplet(SymbolId::new(1))),
            (sets.spies.into(), SetKind::Spies),
        ] {
            if count > 0 {
                let gain = self.set_gain(state, kind, time_left).max(0);
                best = best.max(gain);
                sum += gain * i32::try_from(count).expect("few sets");
            }
        }
        action + sum.min(best * i32::from(state.active_seat().hand.len() / 2))
    }

    fn action_gain(state: &State, action: Action) -> i32 {
        match action {
            Action::Alethiometer => LEAD,
            Action::Magisterium if state.airship == Some(state.active) => -2 * AIRSHIP,
            Action::Magisterium => -AIRSHIP * i32::from(state.airship.is_none()),
            Action::Dust => DUST,
            _ => 120,
        }
    }

    /// Returns the gain of a set beyond the cards that it costs.
    fn set_gain(&self, state: &State, kind: SetKind, time_left: i32) -> i32 {
        match kind {
            SetKind::Pair(_) | SetKind::WildPair if state.is_last_period() => {
                let worth =
                    tokens_of(state.active_seat().tokens).map(|token| self.token_worths[token.index()]);
                worth.max().unwrap_or(0) / 2 - 2 * CARD * time_left / 100
            }
            SetKind::Pair(_) | SetKind::WildPair => 270 - 2 * CARD,
            SetKind::Triplet(_) => 2 * LEAD - 3 * CARD,
            SetKind::ShortTriplet(_) => 2 * LEAD - 2 * CARD,
            SetKind::Spies => 450 * time_left / 100 - 2 * CARD,
        }
    }
}
