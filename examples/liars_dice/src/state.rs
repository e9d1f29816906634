//! A position and an action as plain values.

use std::fmt;

use boardwire_kernel::{BitSet, BySeat, Multiset, Seat};
use borsh::{BorshDeserialize, BorshSerialize};

/// The maximum number of seats of a table.
pub(crate) const MAX_SEATS: u8 = 6;
/// The same number, for arrays by seat.
pub(crate) const SEATS: usize = MAX_SEATS as usize;
/// The highest face of a die. The lowest is 1.
pub(crate) const FACES: u8 = 6;
/// The maximum number of dice of a seat.
pub(crate) const MAX_DICE: u8 = 5;

/// Dice without an order: how many show each face. Nothing is stored at face 0.
pub type Dice = Multiset<{ FACES as usize + 1 }>;
/// The dice of each seat.
pub type AllDice = BySeat<Dice, SEATS>;

/// Rolls `count` dice one after another. `draw` returns a random member of the set of faces.
pub(crate) fn roll(count: u8, mut draw: impl FnMut(&mut BitSet<1>) -> u8) -> Dice {
    let faces: BitSet<1> = (1..=FACES).collect();
    (0..count).map(|_| draw(&mut faces.clone())).collect()
}

/// A bid: at least `quantity` dice under all cups show `face`. The order of bids is that of the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize)]
pub struct Bid {
    /// The minimum number of dice.
    pub quantity: u8,
    /// The face, from 1 to 6.
    pub face: u8,
}

impl Bid {
    /// Returns the number of the bid. The lowest bid has number 1, the next higher bid number 2, and so on.
    pub(crate) fn number(self) -> u8 {
        FACES * (self.quantity - 1) + self.face
    }

    /// Returns the bid with this number.
    pub(crate) fn at(number: u8) -> Self {
        Self { quantity: (number - 1) / FACES + 1, face: (number - 1) % FACES + 1 }
    }

    /// Returns how many of the dice show the face of the bid.
    pub(crate) fn matches(self, dice: &AllDice) -> u8 {
        dice.all().iter().map(|dice| dice.count(self.face)).sum()
    }

    /// Returns whether the bid holds on these dice.
    pub(crate) fn holds(self, dice: &AllDice) -> bool {
        self.matches(dice) >= self.quantity
    }
}

impl fmt::Display for Bid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x {}", self.quantity, self.face)
    }
}

/// An action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Challenge the last bid.
    Challenge,
    /// Make this bid.
    Bid(Bid),
}

/// A position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub struct State {
    /// The dice under each cup. Only their seat sees them. At the end, the winner's dice are those that it showed.
    pub cups: AllDice,
    /// The seat in turn. At the end, it is the winner.
    pub turn: Seat,
    /// The last bid of this round, and the seat that made it.
    pub bid: Option<(Seat, Bid)>,
    /// The dice that the seats showed at the end of the previous round. In the first round, there are none.
    pub shown: AllDice,
    /// The position of each seat in the order of elimination, from 1. It is 0 for a seat with dice.
    pub eliminated: BySeat<u8, SEATS>,
}

impl State {
    /// Returns whether only one seat has dice.
    pub(crate) fn is_over(&self) -> bool {
        self.cups.all().iter().filter(|dice| !dice.is_empty()).count() == 1
    }
}

/// Returns the number of dice of all seats.
pub(crate) fn total(dice: &AllDice) -> u8 {
    dice.all().iter().map(Dice::len).sum()
}
