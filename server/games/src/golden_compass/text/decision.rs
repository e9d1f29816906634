//! The line of the text that says who chooses what.

use std::fmt::{Result, Write};

use boardwire_kernel::{Seat, Viewer};

use super::super::GoldenCompass;
use super::super::state::{Decision, State, TargetReason};
use super::words::{counted, joined, seat_name};

impl GoldenCompass {
    /// Writes who chooses what, and what else concerns the choice.
    pub(super) fn text_decision(&self, state: &State, viewer: Viewer, out: &mut dyn Write) -> Result {
        match state.decision {
            Decision::Over => return writeln!(out, "the game is over; final scores:"),
            Decision::Keep => return self.text_keep(state, viewer, out),
            _ => {}
        }
        let seat = state.chooser().expect("one seat chooses");
        write!(out, "to choose: {}: {}", seat_name(viewer, seat), self.decision_words(state))?;
        let rest = self.remaining_power(state);
        if !rest.is_empty() {
            write!(out, "; after that the power continues: {rest}")?;
        }
        writeln!(out)?;
        if state.wild_pair_rights > 0 || state.short_triplet_rights > 0 {
            let wild = (state.wild_pair_rights, "wild pair (any two cards)");
            let short = (state.short_triplet_rights, "short triplet (two of one symbol)");
            let left = [wild, short].into_iter().filter(|(count, _)| *count > 0);
            let left = left.map(|(count, set)| format!("{count} {set}"));
            writeln!(out, "this turn the ally also allows: {}", joined(left))?;
        }
        if viewer.is_seat(state.active) && !state.just_drawn.is_empty() {
            writeln!(out, "you have just drawn: {}", self.card_names(state.just_drawn.cards()))?;
        }
        Ok(())
    }

    fn text_keep(&self, state: &State, viewer: Viewer, out: &mut dyn Write) -> Result {
        let state_of =
            |seat: Seat| if state.seats[seat].kept_index.is_some() { "has chosen" } else { "chooses" };
        let seats = viewer.first().round(self.seats);
        let seats = joined(seats.map(|seat| format!("{} {}", seat_name(viewer, seat), state_of(seat))));
        writeln!(
            out,
            "to choose: every seat keeps one of two characters as ally, hidden until all have chosen: {seats}"
        )?;
        let Some(seat) = viewer.seat() else { return Ok(()) };
        let seat_state = &state.seats[seat];
        for (at, id) in seat_state.dealt.into_iter().flatten().enumerate() {
            let kept = match seat_state.kept_index {
                None => "",
                Some(kept) if usize::from(kept) == at => ", which you keep",
                Some(_) => ", which you pass to the left",
            };
            writeln!(out, "your {} character: {}{kept}", ["first", "second"][at], self.ally_words(id))?;
        }
        Ok(())
    }

    /// Returns what the chooser must choose.
    fn decision_words(&self, state: &State) -> String {
        let due = self.due(state);
        match state.decision {
            Decision::Keep | Decision::Over => String::new(),
            Decision::Colour => "red or light blue".to_owned(),
            Decision::Action => "a light-blue action; card sets follow".to_owned(),
            Decision::Target(reason) => match reason {
                TargetReason::Airship => "the opponent that takes the airship".to_owned(),
                TargetReason::Dust => "which opponent to take 1 dust tile from".to_owned(),
                TargetReason::Cards(count) => {
                    format!("which opponent to take {} from", counted(count, "random card"))
                }
                TargetReason::Token => "which opponent to steal 1 token from".to_owned(),
                TargetReason::Compass(count) => {
                    format!("the opponent whose compass tiles, at most {count}, go back from the objective")
                }
            },
            Decision::ChooseBack { victim } => format!("which token to steal from {victim}, by its back"),
            Decision::Choose { .. } => {
                let effect = state.effect.expect("an option belongs to an effect");
                self.effect_words(self.catalogue().effect(effect))
            }
            Decision::Cost(count) => {
                format!("discard {} for the rest of the power, or decline", counted(count, "card"))
            }
            Decision::Pay { .. } => format!("discard {due} more as cost"),
            Decision::DiscardDrawn { .. } => format!("discard {due} more of the cards just drawn"),
            Decision::DiscardToLimit => self.limit_words(state),
            Decision::Steps { max } => format!("advance Lyra by 0 to {max}"),
            Decision::LayToken => "a token to lay out in the current city".to_owned(),
            Decision::Sets => "play a card set, or end the turn".to_owned(),
            Decision::NameSetCard(partial_set) => {
                format!("discard {due} more for the {}", self.set_words(partial_set.kind))
            }
            Decision::Airship => {
                format!("discard {} for the airship, or take one truth tile less", counted(due, "card"))
            }
            Decision::PayForAirship { .. } => format!("discard {due} more for the airship"),
            Decision::Truth { .. } => format!("take {} of the open ones", counted(due, "truth tile")),
        }
    }

    fn limit_words(&self, state: &State) -> String {
        let (due, limit) = (self.due(state), self.catalogue().hand_limit);
        let words = format!("discard {due} more (hand limit {limit})");
        // Cards come from red or from an effect.
        match state.axis.filter(|_| state.effect.is_none()) {
            Some(axis) => {
                let advance = self.catalogue().axis(axis).advance;
                format!("{words}; then Lyra advances {advance} and the turn ends")
            }
            None => words,
        }
    }
}
