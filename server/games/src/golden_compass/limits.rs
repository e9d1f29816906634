//! The component counts of the box, and bounds of other numbers. The flat state, the action space and the view fields
//! have room for them. A catalogue may have other values and fewer components.

/// Seats at a table.
pub(super) const MAX_SEATS: usize = 4;
/// Periods: the rules have three.
pub(super) const PERIODS: usize = 3;
/// Cities: two per period.
pub(super) const CITIES: usize = 6;
/// Cities whose tokens are collected: two in each of the first two periods.
pub(super) const COLLECTING: usize = 4;
/// Cities where tokens are laid out: two in the last period.
pub(super) const PLACING: usize = 2;
/// Spaces of one city on the path.
pub(super) const CITY_SPACES: u8 = 20;
/// Kinds of daemon.
pub(super) const DAEMONS: usize = 8;
/// Alethiometer symbols.
pub(super) const SYMBOLS: usize = 4;
/// Types of Lyra card: rows of `lyra_deck.cards`.
pub(super) const CARD_TYPES: usize = 34;
/// Lyra cards of all decks in play together.
pub(super) const CARDS: usize = 76;
/// Cards that a hand can hold at any moment: the hand limit plus the largest number of cards gained together.
pub(super) const HAND: usize = 11;
/// Cards that one effect or red symbol may give.
pub(super) const GAIN: u8 = 4;
/// Experience tokens in all.
pub(super) const TOKENS: usize = 24;
/// Experience tokens of one city.
pub(super) const CITY_TOKENS: u8 = 6;
/// Different values of truth tiles.
pub(super) const TILE_VALUES: usize = 8;
/// Truth tiles in all.
pub(super) const TILES: u32 = 36;
/// The value of a truth tile or experience token.
pub(super) const VALUE: u8 = 30;
/// Truth tiles that one seat drafts in a scoring.
pub(super) const TILES_EACH: u8 = 2;
/// Dust tiles.
pub(super) const DUST: u8 = 8;
/// Passage tiles.
pub(super) const PASSAGES: u8 = 3;
/// Compass tiles of a seat, and compass tiles laid out together.
pub(super) const COMPASS: u8 = 14;
/// Axes of the wheel.
pub(super) const AXES: usize = 15;
/// The sum of the weights of all axes.
pub(super) const WEIGHTS: u32 = 256;
/// Spaces that one red symbol advances.
pub(super) const ADVANCE: u8 = 9;
/// Characters of all periods together.
pub(super) const CHARACTERS: usize = 30;
/// Magisterium symbols on one character.
pub(super) const MAGISTERIUM: u8 = 12;
/// Effects of all characters together, including those inside options.
pub(super) const EFFECTS: usize = 250;
/// Options of one `choose_one`.
pub(super) const OPTIONS: usize = 2;
/// Nesting depth of effect lists; a character's own list is the first level.
pub(super) const NESTING: usize = 4;
/// Steps that one free advance offers.
pub(super) const FREE_STEPS: u8 = 3;
/// Cards taken from a seat's hand that its memory holds, at most.
pub(super) const MAX_TAKEN: usize = 16;
/// Hand places of all opponents.
pub(super) const OPPONENT_HAND_PLACES: usize = (MAX_SEATS - 1) * HAND;

/// Converts one of these sizes to a byte.
#[expect(clippy::cast_possible_truncation, reason = "the size is small")]
pub(super) const fn byte(size: usize) -> u8 {
    assert!(size < 256);
    size as u8
}

/// Converts a number to a byte. These limits keep the number below 256.
#[inline]
pub(super) fn to_byte(number: impl TryInto<u8>) -> u8 {
    number.try_into().ok().expect("every limit is below 256")
}

// A place mask of a memory has one bit per seat and one for the table.
const _: () = assert!(MAX_SEATS < 8 && TOKENS <= 32 && CARDS < 254);
