//! The sizes of the box, for which the flat state, the action space and the fields of a view have room, and bounds of other
//! numbers. A catalogue may have other values and fewer components.

/// Seats at a table.
pub(super) const SEATS: usize = 4;
/// Periods: the rules know three.
pub(super) const PERIODS: usize = 3;
/// Cities: two a period.
pub(super) const CITIES: usize = 6;
/// Cities whose tokens are collected: two in each of the first two periods.
pub(super) const COLLECTING: usize = 4;
/// Cities where tokens are laid out: two in the last period.
pub(super) const PLACING: usize = 2;
/// Spaces of one city.
pub(super) const CITY_SPACES: u8 = 20;
/// Kinds of daemon.
pub(super) const DAEMONS: usize = 8;
/// Alethiometer symbols.
pub(super) const SYMBOLS: usize = 4;
/// Types of Lyra card: rows of `lyra_deck.cards`.
pub(super) const CARD_TYPES: usize = 34;
/// Lyra cards of all decks in play together.
pub(super) const CARDS: usize = 76;
/// Cards a hand can hold for a moment: the hand limit and the largest gain at once.
pub(super) const HAND: usize = 11;
/// Cards one effect or red symbol may give.
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
/// Truth tiles one seat drafts in a scoring.
pub(super) const TILES_EACH: u8 = 2;
/// Dust tiles.
pub(super) const DUST: u8 = 8;
/// Passage tiles.
pub(super) const PASSAGES: u8 = 3;
/// Compass tiles of a seat, and tiles laid at once.
pub(super) const COMPASS: u8 = 14;
/// Axes of the wheel.
pub(super) const AXES: usize = 15;
/// The sum of the weights of all axes.
pub(super) const WEIGHTS: u32 = 256;
/// Spaces one red symbol advances.
pub(super) const ADVANCE: u8 = 9;
/// Characters of all periods together.
pub(super) const CHARACTERS: usize = 30;
/// Magisterium symbols on one character.
pub(super) const MAGISTERIUM: u8 = 12;
/// Effects of all characters together, those inside options included.
pub(super) const EFFECTS: usize = 250;
/// Options of one `choose_one`.
pub(super) const OPTIONS: usize = 2;
/// Lists within lists: a character's own list is the first.
pub(super) const NESTING: usize = 4;
/// Steps of one free advance.
pub(super) const FREE_STEPS: u8 = 3;
/// Cards that opponents took from his hand which a viewer remembers, at most.
pub(super) const KNOWN: usize = 16;
/// Hand places of all opponents.
pub(super) const PLACES: usize = (SEATS - 1) * HAND;

/// One of these sizes as a byte.
#[expect(clippy::cast_possible_truncation, reason = "the size is small")]
pub(super) const fn byte(size: usize) -> u8 {
    assert!(size < 256);
    size as u8
}

/// A number of what these limits keep below 256, as a byte.
#[inline]
pub(super) fn to_byte(number: impl TryInto<u8>) -> u8 {
    number.try_into().ok().expect("every limit is below 256")
}

// A place in a hidden hand or pile, in the masks of the memories: one bit a seat, one for the table.
const _: () = assert!(SEATS < 8 && TOKENS <= 32 && CARDS < 254);
