//! A position as a plain value.

use borsh::{BorshDeserialize, BorshSerialize};

use super::catalogue::CardId;
use crate::{BitSet, BySeat, Seat};

/// The most seats of a table.
pub(super) const MOST_SEATS: u8 = 3;
/// The same, for arrays by seat.
pub(super) const SEATS: usize = MOST_SEATS as usize;
/// How many rounds are played.
pub const ROUNDS: u8 = 2;
/// How many cards a seat is dealt.
pub(super) const HAND: u8 = 2;

/// A set of cards, by id.
pub type Cards = BitSet<1>;

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub enum Phase {
    /// All seats secretly choose a card to play.
    Play,
    /// The winner of the round keeps or buries the card it has drawn.
    Place,
    /// Nothing: the game is over.
    Over,
}

/// Where a card that has been drawn was put.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub enum Placement {
    /// Nowhere yet: its seat still has the choice.
    Open,
    /// Into the hand of its seat, which may have played it since.
    Kept,
    /// Under the deck.
    Buried,
}

/// A card that the winner of a round has drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub struct Draw {
    /// Who won the round.
    pub seat: Seat,
    /// What it drew.
    pub card: CardId,
    /// Where it put the card.
    pub placement: Placement,
}

/// A position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub struct State {
    /// The round, counted from 0; the last one stays when the game is over.
    pub round: u8,
    /// What is due.
    pub phase: Phase,
    /// The hands, with the cards chosen in this round until they are turned up.
    pub hands: BySeat<Cards, SEATS>,
    /// The card of each seat in each round; in the phase [`Phase::Play`] those of the round are hidden choices.
    pub plays: [BySeat<Option<CardId>, SEATS>; ROUNDS as usize],
    /// What the winner of each round drew: the memory of all that was kept or buried.
    pub draws: [Option<Draw>; ROUNDS as usize],
    /// The undrawn cards, without those buried under them.
    pub deck: Cards,
}

impl State {
    /// The cards chosen in this round.
    pub(super) fn plays(&self) -> &BySeat<Option<CardId>, SEATS> {
        &self.plays[usize::from(self.round)]
    }

    /// The cards turned up in each round that has come so far.
    pub(super) fn revealed(&self) -> &[BySeat<Option<CardId>, SEATS>] {
        let open = usize::from(self.phase != Phase::Play);
        &self.plays[..usize::from(self.round) + open]
    }

    /// The draws of `seat`.
    pub(super) fn draws_of(&self, seat: Seat) -> impl Iterator<Item = &Draw> {
        self.draws.iter().flatten().filter(move |draw| draw.seat == seat)
    }
}
