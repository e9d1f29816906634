//! The actions of a seat, with the index and label of each.

use super::catalogue::{CARDS, CardId, Catalogue};
use crate::{ActionRange, ActionSpace};

pub(super) const PLAY: ActionRange = ActionRange::rows("play", "cards", CARDS);
pub(super) const KEEP: ActionRange = ActionRange::single("keep").after(&PLAY);
pub(super) const BURY: ActionRange = ActionRange::single("bury").after(&KEEP);

/// An action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Play this card of the hand.
    Play(CardId),
    /// Keep the drawn card.
    Keep,
    /// Bury the drawn card under the deck.
    Bury,
}

impl Action {
    pub(super) fn index(self) -> u8 {
        match self {
            Self::Play(card) => PLAY.index(card.get()),
            Self::Keep => KEEP.index(0),
            Self::Bury => BURY.index(0),
        }
    }

    pub(super) fn at(index: u8) -> Option<Self> {
        let play = PLAY.number(index).map(|card| Self::Play(CardId::new(card)));
        let keep = KEEP.number(index).map(|_| Self::Keep);
        play.or(keep).or(BURY.number(index).map(|_| Self::Bury))
    }

    /// Returns all actions with their labels.
    pub(super) fn space(catalogue: &Catalogue) -> ActionSpace {
        let name = |card: u8| &catalogue.cards[usize::from(card) - 1].name;
        ActionSpace::new()
            .add_range(PLAY, |card| format!("play {}", name(card)))
            .add_range(KEEP, |_| "keep".to_owned())
            .add_range(BURY, |_| "bury".to_owned())
    }
}
