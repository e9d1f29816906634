//! The actions and their indices.
//!
//! The order is fixed, and the sizes are those of the box. The order is: two characters, two colours, five light-blue
//! choices, opponents, token backs, sets, card types, tokens, airship, truth tiles, steps, options, cost.

use boardwire_kernel::{ActionRange, ActionSpace};

use super::catalogue::{CardId, Catalogue, CityId, DaemonId, SymbolId, TileId, TokenId};
use super::limits::{
    CARD_TYPES, COLLECTING, DAEMONS, FREE_STEPS, MAX_SEATS, OPTIONS, SYMBOLS, TILE_VALUES, TOKENS, byte,
};
use super::state::SetKind;
use super::text::counted;

/// An action of The Golden Compass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Keep the first (0) or the second (1) of the dealt characters.
    Keep(u8),
    /// Carry out the red symbol.
    Red,
    /// Carry out the light-blue symbol.
    Blue,
    /// Lay a compass tile on the objective.
    Alethiometer,
    /// Name the seat that takes the airship.
    Magisterium,
    /// Use the ally's power.
    Ally,
    /// Take a dust tile.
    Dust,
    /// Give up the light-blue action.
    GiveUp,
    /// Name the opponent that sits this number of seats to the left.
    Opponent(u8),
    /// Steal a token with the back of this city.
    StealWithBack(CityId),
    /// Play a card set.
    Play(SetKind),
    /// End the turn.
    EndTurn,
    /// Name a Lyra card of this type: for a set, a cost, or the discard pile.
    Card(CardId),
    /// Lay out a token equal to this one.
    Token(TokenId),
    /// Pay cards for the airship.
    PayCards,
    /// Give up a truth tile for the airship.
    GiveTile,
    /// Take a truth tile of this value.
    Tile(TileId),
    /// Advance Lyra by this number of spaces.
    Steps(u8),
    /// Choose this option of an effect, counted from 0.
    Choose(u8),
    /// Pay the cost.
    Pay,
    /// Decline the cost.
    Decline,
}

const KEEP: ActionRange = ActionRange::numbers("keep", 0, 1);
const RED: ActionRange = ActionRange::single("red").after(&KEEP);
const BLUE: ActionRange = ActionRange::single("light_blue").after(&RED);
const ALETHIOMETER: ActionRange = ActionRange::single("alethiometer").after(&BLUE);
const MAGISTERIUM: ActionRange = ActionRange::single("magisterium").after(&ALETHIOMETER);
const ALLY: ActionRange = ActionRange::single("ally").after(&MAGISTERIUM);
const DUST: ActionRange = ActionRange::single("dust").after(&ALLY);
const GIVE_UP: ActionRange = ActionRange::single("give_up").after(&DUST);
pub(super) const OPPONENT: ActionRange =
    ActionRange::numbers("opponent", 1, byte(MAX_SEATS) - 1).after(&GIVE_UP);
pub(super) const STEAL_WITH_BACK: ActionRange =
    ActionRange::rows("steal", "cities", byte(COLLECTING)).after(&OPPONENT);

pub(super) const PAIR: ActionRange = ActionRange::numbers("pair", 1, byte(DAEMONS)).after(&STEAL_WITH_BACK);
pub(super) const TRIPLET: ActionRange = ActionRange::numbers("triplet", 1, byte(SYMBOLS)).after(&PAIR);
const SPIES: ActionRange = ActionRange::single("spies").after(&TRIPLET);
const WILD_PAIR: ActionRange = ActionRange::single("wild_pair").after(&SPIES);
pub(super) const SHORT_TRIPLET: ActionRange =
    ActionRange::numbers("short_triplet", 1, byte(SYMBOLS)).after(&WILD_PAIR);
const END_TURN: ActionRange = ActionRange::single("end_turn").after(&SHORT_TRIPLET);
pub(super) const CARD: ActionRange = ActionRange::rows("card", "cards", byte(CARD_TYPES)).after(&END_TURN);
pub(super) const TOKEN: ActionRange = ActionRange::rows("lay_out", "tokens", byte(TOKENS)).after(&CARD);
const PAY_CARDS: ActionRange = ActionRange::single("pay_cards").after(&TOKEN);
const GIVE_TILE: ActionRange = ActionRange::single("give_tile").after(&PAY_CARDS);
pub(super) const TILE: ActionRange = ActionRange::rows("take", "tiles", byte(TILE_VALUES)).after(&GIVE_TILE);
pub(super) const STEPS: ActionRange = ActionRange::numbers("advance", 0, FREE_STEPS).after(&TILE);
pub(super) const CHOOSE: ActionRange = ActionRange::numbers("option", 0, byte(OPTIONS) - 1).after(&STEPS);
const PAY: ActionRange = ActionRange::single("pay").after(&CHOOSE);
const DECLINE: ActionRange = ActionRange::single("decline").after(&PAY);

/// Returns every action in index order. The rules cache the list, because they decode an action at every ply.
pub(super) fn in_order() -> Vec<Action> {
    let mut all: Vec<Action> = KEEP.iter_numbers().map(Action::Keep).collect();
    all.extend([Action::Red, Action::Blue]);
    all.extend([Action::Alethiometer, Action::Magisterium, Action::Ally, Action::Dust, Action::GiveUp]);
    all.extend(OPPONENT.iter_numbers().map(Action::Opponent));
    all.extend(STEAL_WITH_BACK.iter_numbers().map(|city| Action::StealWithBack(CityId::new(city))));
    all.extend(PAIR.iter_numbers().map(|daemon| Action::Play(SetKind::Pair(DaemonId::new(daemon)))));
    all.extend(TRIPLET.iter_numbers().map(|symbol| Action::Play(SetKind::Triplet(SymbolId::new(symbol)))));
    all.extend([SetKind::Spies, SetKind::WildPair].map(Action::Play));
    all.extend(
        SHORT_TRIPLET.iter_numbers().map(|symbol| Action::Play(SetKind::ShortTriplet(SymbolId::new(symbol)))),
    );
    all.push(Action::EndTurn);
    all.extend(CARD.iter_numbers().map(|card| Action::Card(CardId::new(card))));
    all.extend(TOKEN.iter_numbers().map(|token| Action::Token(TokenId::new(token))));
    all.extend([Action::PayCards, Action::GiveTile]);
    all.extend(TILE.iter_numbers().map(|tile| Action::Tile(TileId::new(tile))));
    all.extend(STEPS.iter_numbers().map(Action::Steps));
    all.extend(CHOOSE.iter_numbers().map(Action::Choose));
    all.extend([Action::Pay, Action::Decline]);
    all
}

impl Action {
    #[inline]
    pub(super) fn index(self) -> u8 {
        match self {
            Self::Keep(which) => KEEP.index(which),
            Self::Red => RED.index(0),
            Self::Blue => BLUE.index(0),
            Self::Alethiometer => ALETHIOMETER.index(0),
            Self::Magisterium => MAGISTERIUM.index(0),
            Self::Ally => ALLY.index(0),
            Self::Dust => DUST.index(0),
            Self::GiveUp => GIVE_UP.index(0),
            Self::Opponent(left) => OPPONENT.index(left),
            Self::StealWithBack(city) => STEAL_WITH_BACK.index(city.get()),
            Self::Play(SetKind::Pair(daemon)) => PAIR.index(daemon.get()),
            Self::Play(SetKind::Triplet(symbol)) => TRIPLET.index(symbol.get()),
            Self::Play(SetKind::Spies) => SPIES.index(0),
            Self::Play(SetKind::WildPair) => WILD_PAIR.index(0),
            Self::Play(SetKind::ShortTriplet(symbol)) => SHORT_TRIPLET.index(symbol.get()),
            Self::EndTurn => END_TURN.index(0),
            Self::Card(card) => CARD.index(card.get()),
            Self::Token(token) => TOKEN.index(token.get()),
            Self::PayCards => PAY_CARDS.index(0),
            Self::GiveTile => GIVE_TILE.index(0),
            Self::Tile(tile) => TILE.index(tile.get()),
            Self::Steps(steps) => STEPS.index(steps),
            Self::Choose(option) => CHOOSE.index(option),
            Self::Pay => PAY.index(0),
            Self::Decline => DECLINE.index(0),
        }
    }
}

/// Returns the action space with its labels.
pub(super) fn actions(catalogue: &Catalogue) -> ActionSpace {
    let single = |label: &'static str| move |_| label.to_owned();
    // A catalogue may have fewer rows than the box. Unused actions still have an index.
    let row = |names: &[String], row: u8| {
        names.get(usize::from(row) - 1).cloned().unwrap_or_else(|| format!("nothing (row {row})"))
    };
    let cards: Vec<_> = catalogue.cards.iter().map(|card| card.name.clone()).collect();
    let tiles: Vec<_> = catalogue.tiles.iter().map(|tile| tile.value.to_string()).collect();
    let back = |city| format!("steal a token with the back of {}", catalogue.city(CityId::new(city)).name);

    ActionSpace::new()
        .add_range(KEEP, |which| format!("keep the {} dealt character as ally", ordinal(which)))
        .add_range(RED, single("choose red"))
        .add_range(BLUE, single("choose light blue"))
        .add_range(ALETHIOMETER, single("alethiometer: lay compass tiles"))
        .add_range(MAGISTERIUM, single("Magisterium: name the seat that takes the airship"))
        .add_range(ALLY, single("ally: use its power"))
        .add_range(DUST, single("dust: take a dust tile"))
        .add_range(GIVE_UP, single("take no light-blue action"))
        .add_range(OPPONENT, |left| format!("name the opponent {} to your left", counted(left, "seat")))
        .add_range(STEAL_WITH_BACK, back)
        .add_range(PAIR, |id| format!("play a pair of {}", row(&catalogue.daemons, id)))
        .add_range(TRIPLET, |id| format!("play a triplet of {}", row(&catalogue.symbols, id)))
        .add_range(SPIES, single("play a pair of flying spies"))
        .add_range(WILD_PAIR, single("play a wild pair"))
        .add_range(SHORT_TRIPLET, |id| format!("play a short triplet of {}", row(&catalogue.symbols, id)))
        .add_range(END_TURN, single("end the turn"))
        .add_range(CARD, |id| format!("discard {}", row(&cards, id)))
        .add_range(TOKEN, |token| token_label(catalogue, token))
        .add_range(PAY_CARDS, single("airship: discard cards"))
        .add_range(GIVE_TILE, single("airship: give up a truth tile"))
        .add_range(TILE, |id| format!("take a truth tile worth {}", row(&tiles, id)))
        .add_range(STEPS, |steps| format!("advance Lyra by {}", counted(steps, "space")))
        .add_range(CHOOSE, |option| format!("carry out the {} option of the effect", ordinal(option)))
        .add_range(PAY, single("pay the cost of the effect"))
        .add_range(DECLINE, single("decline the cost of the effect"))
}

/// Returns the word for a place in an order, counted from 0. No order of equal tokens is longer.
fn ordinal(at: u8) -> &'static str {
    ["first", "second", "third", "fourth", "fifth", "sixth"][usize::from(at)]
}

/// Returns the label of a token action. Of equal tokens only the first is ever legal; the rest still have an index.
fn token_label(catalogue: &Catalogue, id: u8) -> String {
    let Some(token) = catalogue.tokens.get(usize::from(id) - 1) else {
        return format!("lay out nothing (row {id})");
    };
    let before = catalogue.tokens[..usize::from(id) - 1].iter().filter(|other| other.kind == token.kind);
    match u8::try_from(before.count()).expect("few tokens") {
        0 => format!("lay out the {}", token.name),
        before => format!("lay out the {} {}", ordinal(before), token.name),
    }
}
