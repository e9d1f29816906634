//! Names of values, and sizes of fields.

use boardwire_kernel::{Axis, Viewer};

use super::super::catalogue::{Catalogue, count_of};
use super::super::limits::{HAND, byte};
use super::super::state::{Decision, SetKind, TargetReason};

/// The names of the decisions, by code.
pub(super) const DECISIONS: [&str; 22] = [
    "keep an ally",
    "red or light blue",
    "action",
    "who takes the airship",
    "whose dust",
    "whose cards",
    "whose token",
    "whose compass tiles",
    "back of the token",
    "option",
    "pay or decline",
    "card to pay",
    "card just drawn to discard",
    "card over the hand limit",
    "steps",
    "token to lay out",
    "set or end of turn",
    "card of a set",
    "airship: cards or tile",
    "card for the airship",
    "truth tile",
    "none: the game is over",
];

pub(super) const SETS: [&str; 6] = ["none", "pair", "triplet", "spies", "wild pair", "short triplet"];
pub(super) const KEPT: [&str; 3] = ["not yet", "the first, or another seat's choice", "the second"];

pub(super) fn decision(decision: Decision) -> u8 {
    match decision {
        Decision::Keep => 0,
        Decision::Colour => 1,
        Decision::Action => 2,
        Decision::Target(TargetReason::Airship) => 3,
        Decision::Target(TargetReason::Dust) => 4,
        Decision::Target(TargetReason::Cards(_)) => 5,
        Decision::Target(TargetReason::Token) => 6,
        Decision::Target(TargetReason::Compass(_)) => 7,
        Decision::ChooseBack { .. } => 8,
        Decision::Choose { .. } => 9,
        Decision::Cost(_) => 10,
        Decision::Pay { .. } => 11,
        Decision::DiscardDrawn { .. } => 12,
        Decision::DiscardToLimit => 13,
        Decision::Steps { .. } => 14,
        Decision::LayToken => 15,
        Decision::Sets => 16,
        Decision::NameSetCard(_) => 17,
        Decision::Airship => 18,
        Decision::PayForAirship { .. } => 19,
        Decision::Truth { .. } => 20,
        Decision::Over => 21,
    }
}

/// Returns the code of the incomplete set, and its daemon or symbol.
pub(super) fn partial_set_code(decision: Decision) -> (u8, u8) {
    let Decision::NameSetCard(partial_set) = decision else { return (0, 0) };
    match partial_set.kind {
        SetKind::Pair(daemon) => (1, daemon.get()),
        SetKind::Triplet(symbol) => (2, symbol.get()),
        SetKind::Spies => (3, 0),
        SetKind::WildPair => (4, 0),
        SetKind::ShortTriplet(symbol) => (5, symbol.get()),
    }
}

/// Returns a name for every subset of `places`. Bit `n` of a subset means `places[n]`.
fn subset_names(places: &[String], none: &str) -> Vec<String> {
    let words = |mask: usize| {
        let named = places.iter().enumerate().filter(|(place, _)| mask >> place & 1 == 1);
        let named: Vec<_> = named.map(|(_, name)| name.as_str()).collect();
        if named.is_empty() { none.to_owned() } else { named.join(" or ") }
    };
    (0..1 << places.len()).map(words).collect()
}

/// Field sizes and maximum values. They follow from the catalogue and the seat count.
#[derive(Debug)]
pub(in crate::golden_compass) struct Sizes {
    pub(super) seats: u8,
    /// The number of places for cards taken from a hand.
    pub(super) taken_places: u8,
    pub(super) copies: u8,
    pub(super) most_copies: u8,
    pub(super) effects: u8,
    pub(super) max_draw_keep: u8,
    pub(super) most_tiles: u8,
    pub(super) most_slots: u8,
    pub(super) most_symbols: u8,
    pub(super) steps: u8,
    /// Names for where a token may be, and for the seats that may hold a card.
    pub(super) token_places: Vec<String>,
    pub(super) holders: Vec<String>,
}

impl Sizes {
    pub(in crate::golden_compass) fn new(catalogue: &Catalogue, viewer: Viewer, seats: u8) -> Self {
        let others: Vec<_> = (1..seats).map(|left| format!("seat +{left}")).collect();
        let first = if viewer == Viewer::Public { "with seat +0" } else { "the viewer's" };
        let mut places = vec!["at its city or gone".to_owned(), first.to_owned()];
        places.extend(others.iter().map(|other| format!("with {other}")));
        let mut token_places = subset_names(&places, "nowhere");
        for seat in 0..seats {
            let cities = catalogue.placing().iter();
            token_places.extend(cities.map(|city| format!("laid out by seat +{seat} in {}", city.name)));
        }
        let maximum = |numbers: &mut dyn Iterator<Item = u8>| numbers.max().expect("no section is empty");
        Self {
            seats,
            taken_places: (seats - 1) * byte(HAND),
            copies: catalogue.copies(seats).sum(),
            most_copies: maximum(&mut catalogue.copies(seats)),
            effects: count_of(&catalogue.ops),
            max_draw_keep: catalogue.max_draw_keep(),
            most_tiles: maximum(&mut catalogue.tiles.iter().map(|tile| tile.count)),
            most_slots: maximum(&mut catalogue.cities.iter().map(|city| city.slots)),
            most_symbols: maximum(&mut catalogue.characters.iter().map(|card| card.magisterium)),
            steps: catalogue.steps(),
            token_places,
            holders: subset_names(&others, "none"),
        }
    }

    pub(super) fn seat(&self) -> Axis {
        Axis::seats(self.seats)
    }

    /// Returns the axis of the other seats, for fields that the public does not have.
    pub(super) fn other(&self) -> Axis {
        Axis::other_seats(self.seats - 1)
    }
}
