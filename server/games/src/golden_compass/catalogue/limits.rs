//! The greatest sizes a catalogue may have: what the flat state and the action space have room for.

/// Seats at a table.
pub(in super::super) const SEATS: usize = 4;
/// Periods: the rules know three.
pub(in super::super) const PERIODS: usize = 3;
/// Cities: two a period.
pub(in super::super) const CITIES: usize = 6;
/// Cities whose tokens are collected: two in each of the first two periods.
pub(in super::super) const COLLECTING: usize = 4;
/// Cities where tokens are laid out: two in the last period.
pub(in super::super) const PLACING: usize = 2;
/// Spaces of one city.
pub(in super::super) const CITY_SPACES: u8 = 20;
/// Kinds of daemon.
pub(in super::super) const DAEMONS: usize = 16;
/// Alethiometer symbols.
pub(in super::super) const SYMBOLS: usize = 8;
/// Types of Lyra card: rows of `lyra_deck.cards`.
pub(in super::super) const CARD_TYPES: usize = 64;
/// Lyra cards of all decks in play together.
pub(in super::super) const CARDS: usize = 100;
/// Cards a hand can hold for a moment: the hand limit and the largest gain at once.
pub(in super::super) const HAND: usize = 16;
/// Cards one effect or red symbol may give.
pub(in super::super) const GAIN: u8 = 8;
/// Experience tokens in all.
pub(in super::super) const TOKENS: usize = 32;
/// Experience tokens of one city.
pub(in super::super) const CITY_TOKENS: u8 = 8;
/// Different values of truth tiles.
pub(in super::super) const TILE_VALUES: usize = 12;
/// Truth tiles in all.
pub(in super::super) const TILES: u32 = 80;
/// The value of a truth tile or experience token.
pub(in super::super) const VALUE: u8 = 30;
/// Truth tiles one seat drafts in a scoring.
pub(in super::super) const TILES_EACH: u8 = 4;
/// Dust tiles, and passage tiles.
pub(in super::super) const SMALL_TILES: u8 = 40;
/// Compass tiles of a seat, and tiles laid at once.
pub(in super::super) const COMPASS: u8 = 60;
/// Axes of the wheel.
pub(in super::super) const AXES: usize = 64;
/// The sum of the weights of all axes.
pub(in super::super) const WEIGHTS: u32 = 256;
/// Spaces one red symbol advances.
pub(in super::super) const ADVANCE: u8 = 9;
/// Characters of all periods together.
pub(in super::super) const CHARACTERS: usize = 64;
/// Magisterium symbols on one character.
pub(in super::super) const MAGISTERIUM: u8 = 12;
/// Effects of all characters together, those inside options included.
pub(in super::super) const EFFECTS: usize = 250;
/// Options of one `choose_one`.
pub(in super::super) const OPTIONS: usize = 4;
/// Lists within lists: a character's own list is the first.
pub(in super::super) const NESTING: usize = 4;
/// Steps of one free advance.
pub(in super::super) const FREE_STEPS: u8 = 8;
/// Cards that opponents took from his hand which a viewer remembers, at most.
pub(in super::super) const KNOWN: usize = 16;
/// Hand places of all opponents.
pub(in super::super) const PLACES: usize = (SEATS - 1) * HAND;

/// A number of what these limits keep below 256, as a byte.
#[inline]
pub(in super::super) fn few(number: impl TryInto<u8>) -> u8 {
    number.try_into().ok().expect("every limit is below 256")
}

// A place in a hidden hand or pile, in the masks of the memories: one bit a seat, one for the table.
const _: () = assert!(SEATS < 8 && TOKENS <= 32 && CARDS < 254);
