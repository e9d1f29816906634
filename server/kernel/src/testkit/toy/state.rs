//! A position as a plain value.

use borsh::{BorshDeserialize, BorshSerialize};

use super::catalogue::CardId;
use crate::{BitSet, BySeat, Seat};

/// The maximum number of seats of a table.
pub(super) const MAX_TOY_SEATS: u8 = 3;
/// The same number, for arrays by seat.
pub(super) const SEATS: usize = MAX_TOY_SEATS as usize;
/// The number of rounds.
pub const ROUNDS: u8 = 2;
/// The number of cards that a seat is dealt.
pub(super) const HAND: u8 = 2;

/// A set of cards, by id.
pub type Cards = BitSet<1>;

/// The pending decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub enum Phase {
    /// All seats secretly choose a card to play.
    Play,
    /// The winner of the round keeps or buries its drawn card.
    Place,
    /// No decision: the game is over.
    Over,
}

/// The place of a drawn card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub enum Placement {
    /// Not placed yet: the decision is pending.
    Open,
    /// In the hand of its seat, which may have played it since.
    Kept,
    /// Under the deck.
    Buried,
}

/// A card that the winner of a round drew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub struct Draw {
    /// The seat that won the round.
    pub seat: Seat,
    /// The drawn card.
    pub card: CardId,
    /// The place of the card.
    pub placement: Placement,
}

/// A position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub struct State {
    /// The round, counted from 0. When the game is over, it stays at the last round.
    pub round: u8,
    /// The pending decision.
    pub phase: Phase,
    /// The hands. They contain the cards chosen in this round until the reveal.
    pub hands: BySeat<Cards, SEATS>,
    /// The card of each seat in each round. In [`Phase::Play`] the cards of the current round are hidden choices.
    pub plays: [BySeat<Option<CardId>, SEATS>; ROUNDS as usize],
    /// The draw of each round's winner: the memory of all kept and buried cards.
    pub draws: [Option<Draw>; ROUNDS as usize],
    /// The undrawn cards, without the buried cards under them.
    pub deck: Cards,
}

impl State {
    /// Returns the cards chosen in this round.
    pub(super) fn plays(&self) -> &BySeat<Option<CardId>, SEATS> {
        &self.plays[usize::from(self.round)]
    }

    /// Returns the revealed cards of each round so far.
    pub(super) fn revealed(&self) -> &[BySeat<Option<CardId>, SEATS>] {
        let open = usize::from(self.phase != Phase::Play);
        &self.plays[..usize::from(self.round) + open]
    }

    /// Returns the draws of `seat`.
    pub(super) fn draws_of(&self, seat: Seat) -> impl Iterator<Item = &Draw> {
        self.draws.iter().flatten().filter(move |draw| draw.seat == seat)
    }
}
