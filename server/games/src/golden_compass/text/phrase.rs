//! What a legal action does in this position.

use boardwire_kernel::{Choices, Seat};

use super::super::catalogue::{Blue, TokenId};
use super::super::state::{Decision, Hand, PartialSet, SetKind, State, TargetReason};
use super::super::{Action, GoldenCompass};
use super::words::counted;

impl GoldenCompass {
    /// Returns what the legal action `action` of `seat` does.
    pub(super) fn phrase_words(&self, state: &State, seat: Seat, action: Action) -> String {
        match (state.decision, action) {
            (Decision::Keep, Action::Keep(which)) => self.keep_phrase(state, seat, which),
            (_, Action::Red) => self.red_phrase(state),
            (_, Action::Blue) => {
                let axis = state.axis.expect("a turn begins with a spin");
                if self.blue_actions(state).iter().all(|(_, is_available)| !is_available) {
                    return "light blue: its action is not possible now, only card sets".to_owned();
                }
                format!(
                    "light blue: {}, then card sets",
                    self.blue_phrase(state, self.catalogue().axis(axis).blue)
                )
            }
            (_, Action::Alethiometer) => self.blue_phrase(state, Blue::Alethiometer),
            (_, Action::Magisterium) => self.blue_phrase(state, Blue::Magisterium),
            (_, Action::Ally) => self.blue_phrase(state, Blue::Ally),
            (_, Action::Dust) => self.blue_phrase(state, Blue::Dust),
            (_, Action::GiveUp) => "no light-blue action; continue with card sets".to_owned(),
            (Decision::Target(reason), Action::Opponent(left)) => {
                self.target_phrase(state, reason, state.active.clockwise(left, self.seats))
            }
            (Decision::ChooseBack { victim }, Action::StealWithBack(city)) => {
                let count = state.seats[victim].backs[city.index() - 1];
                let name = &self.catalogue().city(city).name;
                format!("steal a random token of {name} from {victim}, who has {count}")
            }
            (_, Action::Play(kind)) => self.set_phrase(state, kind),
            (_, Action::EndTurn) => "end the turn".to_owned(),
            (_, Action::Token(token)) => self.token_phrase(state, token),
            (_, Action::PayCards) => {
                format!("discard {} for the airship", counted(self.due(state), "card"))
            }
            (_, Action::GiveTile) => {
                let left = self.catalogue().tiles_each - 1;
                format!("keep your cards; take only {} in this draft", counted(left, "truth tile"))
            }
            (_, Action::Steps(0)) => "Lyra does not advance".to_owned(),
            (_, Action::Steps(steps)) => self.advance_words(state, steps),
            (Decision::Choose { first, .. }, Action::Choose(option)) => {
                let list = self.catalogue().options[usize::from(first + option)];
                format!("{} option: {}", ["first", "second"][usize::from(option)], self.power_words(list))
            }
            (Decision::Cost(count), Action::Pay) => {
                format!(
                    "discard {} to {}",
                    counted(count, "card"),
                    self.power_words(state.effect_stack.rest())
                )
            }
            (Decision::Cost(_), Action::Decline) => {
                format!("do not pay: do not {}", self.power_words(state.effect_stack.rest()))
            }
            // What an action on a card or truth tile does depends on no more than the action.
            _ => self.info.actions.label(self.encode(action)).unwrap_or_default().to_owned(),
        }
    }

    fn keep_phrase(&self, state: &State, seat: Seat, which: u8) -> String {
        let dealt = state.seats[seat].dealt.expect("two characters are dealt to every seat");
        let name = |at: u8| &self.catalogue().character(dealt[usize::from(at)]).name;
        format!("keep {} as ally and pass {} to {}", name(which), name(1 - which), self.left_of(seat))
    }

    fn red_phrase(&self, state: &State) -> String {
        let axis = self.catalogue().axis(state.axis.expect("a turn begins with a spin"));
        let excess = (state.active_seat().hand.len() + axis.draw).saturating_sub(self.catalogue().hand_limit);
        let discard = if excess > 0 { format!(", discard {excess}") } else { String::new() };
        let advance = match axis.advance {
            0 => "Lyra does not advance".to_owned(),
            steps => self.advance_words(state, steps),
        };
        format!("red: draw {}{discard}; {advance}; end the turn", counted(axis.draw, "card"))
    }

    /// Returns how far Lyra comes with this number of steps.
    fn advance_words(&self, state: &State, steps: u8) -> String {
        let to = (state.lyra + steps).min(self.objective(state));
        format!("Lyra advances {} to {}", to - state.lyra, self.space_words(state, to))
    }

    fn blue_phrase(&self, state: &State, blue: Blue) -> String {
        match blue {
            Blue::Alethiometer => {
                let count = self.catalogue().action_compass.min(state.active_seat().supply);
                format!("lay {} on the objective", counted(count, "compass tile"))
            }
            Blue::Magisterium => "name the opponent that takes the airship".to_owned(),
            Blue::Ally => {
                format!("use your ally's power ({})", self.power_words(self.power(state.active_seat())))
            }
            Blue::Dust if state.dust == 0 => "take 1 dust tile from an opponent".to_owned(),
            Blue::Dust => "take 1 dust tile from the supply".to_owned(),
            Blue::FreeChoice => "alethiometer, Magisterium, ally or dust".to_owned(),
        }
    }

    fn target_phrase(&self, state: &State, reason: TargetReason, target: Seat) -> String {
        let seat_state = &state.seats[target];
        match reason {
            TargetReason::Airship => {
                let price = self.airship_price(seat_state);
                format!("{target} takes the airship (price: {} or a truth tile)", counted(price, "card"))
            }
            TargetReason::Dust => format!("take 1 dust tile from {target}"),
            TargetReason::Cards(count) => {
                let count = count.min(seat_state.hand.len());
                format!("take {} from the hand of {target}", counted(count, "random card"))
            }
            TargetReason::Token => format!("steal a token from {target}"),
            TargetReason::Compass(count) => {
                format!("send back {} of {target}", counted(count.min(seat_state.compass), "compass tile"))
            }
        }
    }

    fn set_phrase(&self, state: &State, kind: SetKind) -> String {
        let cards = match self.only_cards(state, kind) {
            Some(cards) => self.card_names(cards.cards()),
            None => "you choose the cards".to_owned(),
        };
        format!("play a {} ({cards}): {}", self.set_words(kind), self.set_effect(state, kind))
    }

    /// Returns the cards of a set, if the hand has only one choice of card types for it.
    fn only_cards(&self, state: &State, kind: SetKind) -> Option<Hand> {
        let (mut hand, mut cards) = (state.active_seat().hand, Hand::default());
        let mut partial_set = PartialSet::new(kind);
        while partial_set.left > 0 {
            if self.card_sets.has_choice(&hand, partial_set) {
                return None;
            }
            let card = self.card_sets.completing(&hand, partial_set).lowest()?;
            hand.remove(card);
            cards.insert(card);
            partial_set = partial_set.with(self.card_sets.is_joker(card));
        }
        Some(cards)
    }

    fn set_effect(&self, state: &State, kind: SetKind) -> String {
        let city = || {
            let city = self.current_city(state).expect("a pair needs a current city");
            &self.catalogue().city(city).name
        };
        match kind {
            SetKind::Triplet(_) | SetKind::ShortTriplet(_) => {
                let count = self.catalogue().triplet_compass.min(state.active_seat().supply);
                format!("lay {}", counted(count, "compass tile"))
            }
            SetKind::Spies => "steal a token from an opponent".to_owned(),
            SetKind::Pair(_) | SetKind::WildPair if state.is_last_period() => {
                format!("lay out a token in {}", city())
            }
            SetKind::Pair(_) | SetKind::WildPair => format!("take a random token of {}", city()),
        }
    }

    fn token_phrase(&self, state: &State, token: TokenId) -> String {
        let name = self.token_name(token);
        if !self.catalogue().token(token).is_alethiometer {
            return format!("lay out the {name}");
        }
        let seat_state = state.active_seat();
        let owned = seat_state.tokens.len() + seat_state.laid_out.len();
        format!("lay out the {name}, worth 1 point for each of your tokens ({owned} now)")
    }
}
