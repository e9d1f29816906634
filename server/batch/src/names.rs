//! Exchanges the names in a game's texts for neutral ones, for agents that may know the names from elsewhere.

use aho_corasick::AhoCorasick;
use boardwire_api::v1;
use boardwire_kernel::{LABEL_STREAM, RngStream};

use crate::play::AnyGame;

/// An exchange of the names of a table for neutral ones: in each group, `KIND 1` to `KIND n` in an order that follows from
/// a seed. Equal seeds give the same exchange.
#[derive(Debug)]
pub struct NamePermutation {
    names: AhoCorasick,
    /// The neutral name for each name.
    neutral: Vec<String>,
}

impl NamePermutation {
    /// Creates the permutation of a table's names that follows from `seed`.
    ///
    /// # Panics
    /// The names of the game take gigabytes.
    #[must_use]
    pub fn new(game: &dyn AnyGame, seed: u64) -> Self {
        let (mut names, mut neutral) = (Vec::new(), Vec::new());
        for (stream, group) in (LABEL_STREAM..).zip(game.names()) {
            let mut numbers: Vec<usize> = (1..=group.names.len()).collect();
            RngStream::new(seed, stream).shuffle(&mut numbers);
            neutral.extend(numbers.iter().map(|number| format!("{} {number}", group.kind)));
            names.extend(group.names);
        }
        let names = AhoCorasick::builder().ascii_case_insensitive(true).build(names);
        Self { names: names.expect("the names fit an automaton"), neutral }
    }

    /// Exchanges the names in a text. A name is a whole word or several, in upper or lower case, and may have a plural `s`.
    /// Of two names that overlap, the first counts; of two that begin together, the longer.
    pub fn apply(&self, text: &mut String) {
        let found = self.names.find_overlapping_iter(text.as_str());
        let mut found: Vec<_> = found.filter(|name| is_word(text, name.start(), name.end())).collect();
        found.sort_by_key(|name| (name.start(), std::cmp::Reverse(name.end())));
        let (mut permuted, mut end) = (String::with_capacity(text.len()), 0);
        for name in found {
            if name.start() >= end {
                permuted.push_str(&text[end..name.start()]);
                permuted.push_str(&self.neutral[name.pattern().as_usize()]);
                end = name.end();
            }
        }
        permuted.push_str(&text[end..]);
        *text = permuted;
    }

    /// Exchanges the names in the labels and phrases of actions.
    pub fn apply_to_actions(&self, actions: &mut [v1::LegalAction]) {
        for action in actions {
            self.apply(&mut action.label);
            self.apply(&mut action.phrase);
        }
    }

    /// Exchanges the names in all texts of an observation.
    pub fn apply_to_observation(&self, observation: &mut v1::Observation) {
        self.apply(&mut observation.text);
        self.apply(&mut observation.history);
        self.apply_to_actions(&mut observation.actions);
        let explanations = observation.outcome.iter_mut().flat_map(|outcome| &mut outcome.explanations);
        for line in explanations.flat_map(|explanation| &mut explanation.lines) {
            self.apply(&mut line.source);
        }
    }
}

/// Returns whether the bytes from `start` to `end` are a whole word or several, except for a plural `s` after them.
fn is_word(text: &str, start: usize, end: usize) -> bool {
    let continues = |next: Option<char>| next.is_some_and(|next| next.is_alphanumeric() || next == '_');
    let rest = &text[end..];
    let singular = rest.strip_prefix(['s', 'S']).unwrap_or(rest);
    !continues(text[..start].chars().next_back())
        && (!continues(rest.chars().next()) || !continues(singular.chars().next()))
}
