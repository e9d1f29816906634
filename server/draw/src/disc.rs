//! The look of a catalogue word: a colour, and its letters.

/// A disc that represents a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Disc {
    pub(crate) fill: &'static str,
    pub(crate) letters: String,
}

/// The colours of words. White letters are readable on each.
const WORD_COLOURS: &[&str] = &[
    "#8f3f3f", "#8a5a1f", "#6d6a1a", "#3f7a2f", "#1f7a5f", "#1f6f8a", "#355fa5", "#5a4aa8", "#8a3f96",
    "#9a3a68", "#5f6770", "#7a5346",
];

/// The colours of seats, from seat 0.
const SEAT_COLOURS: &[&str] = &["#1f5fa8", "#b3402e", "#2c7a3f", "#8a5a00", "#7a3f9a", "#0f7a7a"];

/// Returns the colour of a seat.
pub(crate) fn seat_colour(seat: usize) -> &'static str {
    SEAT_COLOURS[seat % SEAT_COLOURS.len()]
}

/// Returns the colour of a word. A word always has the same colour.
pub(crate) fn word_colour(word: &str) -> &'static str {
    let sum = word.bytes().fold(0_usize, |sum, byte| (sum * 31 + usize::from(byte)) % 65_521);
    WORD_COLOURS[sum % WORD_COLOURS.len()]
}

/// Returns the disc of a word: `Ch` for a chimera, `BS` for a biome set.
pub(crate) fn word_disc(word: &str) -> Disc {
    let mut words = word.split('_').filter(|word| !word.is_empty());
    let (first, second) = (words.next().unwrap_or_default(), words.next());
    let initial = |word: &str| word.chars().next().map(|letter| letter.to_ascii_uppercase());
    let mut letters: String = initial(first).into_iter().collect();
    letters.extend(second.map_or_else(|| first.chars().nth(1), initial));
    Disc { fill: word_colour(word), letters }
}
