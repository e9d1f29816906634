//! What a seat can choose, and the index and label of each choice.

use super::catalogue::{CARDS, CardId, Catalogue};
use crate::{ActionRange, ActionSpace};

pub(super) const PLAY: ActionRange = ActionRange::rows("play", "cards", CARDS);
pub(super) const KEEP: ActionRange = ActionRange::single("keep").after(&PLAY);
pub(super) const BURY: ActionRange = ActionRange::single("bury").after(&KEEP);

/// A choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Play this card of the hand.
    Play(CardId),
    /// Keep the card drawn.
    Keep,
    /// Bury the card drawn under the deck.
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

    /// All actions with their labels.
    pub(super) fn space(catalogue: &Catalogue) -> ActionSpace {
        let name = |card: u8| &catalogue.cards[usize::from(card) - 1].name;
        ActionSpace::new()
            .with(PLAY, |card| format!("play {}", name(card)))
            .with(KEEP, |_| "keep".to_owned())
            .with(BURY, |_| "bury".to_owned())
    }
}
