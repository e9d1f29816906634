//! A small complete game, for the kernel's tests and as a template for new games.
//!
//! Eight cards have the values 1 to 8. Each seat is dealt two. In each of two rounds all seats secretly choose a card
//! of their hand and reveal it simultaneously. The greatest value wins the values of all cards played. The winner then
//! draws a card that only it sees, and keeps it or buries it under the deck. At the end, every card left in a hand
//! costs its value.
//!
//! It uses every part of the game traits. It is so small that tests can enumerate all its histories. The files have
//! the same roles in every game; `CONTRIBUTING.md` explains them.

mod action;
mod audit;
mod catalogue;
mod estimate;
mod legal;
mod memory;
mod resample;
mod scoring;
mod state;
mod text;
mod turn;
mod view;

use std::sync::Arc;

use crate::{GameInfo, GameType, LoadedCatalogue, OptionKind, OptionSpec, Options, Setup, SetupError};

pub use action::Action;
pub use catalogue::{CARDS, Card, CardId, Catalogue};
pub use state::{Cards, Draw, Phase, Placement, ROUNDS, State};

/// The random stream that deals the hands.
const DEAL_STREAM: usize = 0;
/// The random stream from which the winners of rounds draw.
const DRAW_STREAM: usize = 1;

/// The rules of the toy game at one table.
#[derive(Debug, Clone)]
pub struct Toy {
    catalogue: Arc<LoadedCatalogue<Catalogue>>,
    info: GameInfo,
    seats: u8,
    /// Whether all seats see a card that is kept.
    shows_kept: bool,
}

impl Toy {
    fn card(&self, id: CardId) -> &Card {
        &self.catalogue.components.cards[id.index() - 1]
    }
}

impl Setup for Toy {
    type State = State;
    type Action = Action;
    type Catalogue = Catalogue;

    const TYPE: GameType = GameType {
        id: "toy",
        name: "Toy",
        rules_version: 1,
        seats: 2..=3,
        options: &[OptionSpec {
            name: "kept",
            kind: OptionKind::Choice(&["shown", "hidden"]),
            default: "shown",
            doc: "whether a card that is kept is shown to all",
        }],
        streams: &["deal", "draw"],
        catalogue: include_str!("catalogue.json"),
        rules: include_str!("rules.md"),
    };

    fn new(
        catalogue: Arc<LoadedCatalogue<Catalogue>>,
        seats: u8,
        options: &Options,
    ) -> Result<Self, SetupError> {
        let (layout, public_layout) = view::layouts(seats);
        let info = GameInfo {
            actions: Action::space(&catalogue.components),
            // In each round every seat plays a card, and the winner keeps or buries a card.
            max_plies: u32::from(ROUNDS) * (u32::from(seats) + 1),
            layout,
            public_layout,
            tables: vec![catalogue.components.table()],
            scores: scoring::range(&catalogue.components),
            ..GameInfo::new::<Self>(&catalogue, seats, options)
        };
        let shows_kept = options.word("kept") == "shown";
        Ok(Self { catalogue, info, seats, shows_kept })
    }

    fn info(&self) -> &GameInfo {
        &self.info
    }
}

#[cfg(test)]
mod tests;
