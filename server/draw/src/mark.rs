//! How a word of a catalogue looks: a colour, and the letters that stand for it.

/// A disc that stands for a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) fill: &'static str,
    pub(crate) letters: String,
}

/// The colours of words; white letters can be read on each.
const WORDS: &[&str] = &[
    "#8f3f3f", "#8a5a1f", "#6d6a1a", "#3f7a2f", "#1f7a5f", "#1f6f8a", "#355fa5", "#5a4aa8", "#8a3f96",
    "#9a3a68", "#5f6770", "#7a5346",
];

/// The colours of seats, from seat 0 on.
const SEATS: &[&str] = &["#1f5fa8", "#b3402e", "#2c7a3f", "#8a5a00", "#7a3f9a", "#0f7a7a"];

/// The colour of a seat.
pub(crate) fn seat_colour(seat: usize) -> &'static str {
    SEATS[seat % SEATS.len()]
}

/// The colour of a word: always the same.
pub(crate) fn colour(word: &str) -> &'static str {
    let sum = word.bytes().fold(0_usize, |sum, byte| (sum * 31 + usize::from(byte)) % 65_521);
    WORDS[sum % WORDS.len()]
}

/// The disc of a word: `Ch` for a chimera, `BS` for a biome set.
pub(crate) fn mark(word: &str) -> Mark {
    let mut words = word.split('_').filter(|word| !word.is_empty());
    let (first, second) = (words.next().unwrap_or_default(), words.next());
    let initial = |word: &str| word.chars().next().map(|letter| letter.to_ascii_uppercase());
    let mut letters: String = initial(first).into_iter().collect();
    letters.extend(second.map_or_else(|| first.chars().nth(1), initial));
    Mark { fill: colour(word), letters }
}
