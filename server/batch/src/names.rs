//! Exchanges the names in a game's texts for neutral ones, for agents that may know the names from elsewhere.

use aho_corasick::AhoCorasick;
use boardwire_api::v1;
use boardwire_kernel::{LABEL_STREAM, NameGroup, RngStream};

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
        Self::of(game.names(), seed)
    }

    fn of(groups: Vec<NameGroup>, seed: u64) -> Self {
        let (mut names, mut neutral) = (Vec::new(), Vec::new());
        for (stream, group) in (LABEL_STREAM..).zip(groups) {
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use boardwire_kernel::{GameType, Seat, Viewer};

    use super::*;
    use crate::play::AnyEpisode;
    use crate::registry::Registry;
    use crate::tables::Tables;

    const SEEDS: std::ops::Range<u64> = 0..50;

    fn groups() -> Vec<NameGroup> {
        let group = |kind, names: &[&str]| NameGroup {
            kind,
            names: names.iter().map(|&name| name.to_owned()).collect(),
        };
        vec![
            group("city", &["Oxford", "Oslo", "New Denmark", "Denmark", "Åbo"]),
            group("region", &["region 1", "region 12", "region 2"]),
        ]
    }

    fn permuted(permutation: &NamePermutation, text: &str) -> String {
        let mut text = text.to_owned();
        permutation.apply(&mut text);
        text
    }

    #[test]
    fn names_of_a_group_get_distinct_neutral_names() {
        let mut orders = BTreeSet::new();
        for seed in SEEDS {
            let permutation = NamePermutation::of(groups(), seed);
            for group in groups() {
                let neutral: Vec<_> = group.names.iter().map(|name| permuted(&permutation, name)).collect();
                let numbered = (1..=group.names.len()).map(|number| format!("{} {number}", group.kind));
                assert_eq!(neutral.iter().cloned().collect::<BTreeSet<_>>(), numbered.collect());
                orders.insert(neutral);
            }
            let again = NamePermutation::of(groups(), seed);
            let names = "Oxford, Oslo, New Denmark, Denmark, Åbo; region 1, region 12, region 2";
            assert_eq!(permuted(&permutation, names), permuted(&again, names));
        }
        assert!(orders.len() > 30, "{} orders", orders.len());
    }

    #[test]
    fn names_are_whole_words_in_any_case_with_a_plural() {
        let permutation = NamePermutation::of(groups(), 1);
        let of = |text| permuted(&permutation, text);
        let [oslo, new, denmark] = ["Oslo", "New Denmark", "Denmark"].map(of);
        let (one, twelve) = (of("region 1"), of("region 12"));
        assert_eq!(
            of("OSLO's port, (oslo), OsloS: to Oslo"),
            format!("{oslo}'s port, ({oslo}), {oslo}S: to {oslo}")
        );
        assert_eq!(of("new denmark and Old Denmark"), format!("{new} and Old {denmark}"));
        assert_eq!(of("region 12, region 1s, region 1"), format!("{twelve}, {one}s, {one}"));
        for unknown in
            ["", "Oslofjord", "xOslo", "Oslo_1", "Osloss", "éOslo", "region 123", "New York", "city 9"]
        {
            assert_eq!(of(unknown), unknown);
        }
    }

    #[test]
    fn a_group_does_not_change_the_order_of_another() {
        let mut longer = groups();
        longer[0].names.push("Bergen".to_owned());
        for seed in SEEDS {
            let [one, two] = [groups(), longer.clone()].map(|groups| NamePermutation::of(groups, seed));
            assert_eq!(permuted(&one, "region 1"), permuted(&two, "region 1"));
        }
    }

    /// Returns the rules and labels of a game, and all texts, phrases and reports of an episode with random actions.
    fn all_texts(game: &dyn AnyGame, game_type: &GameType, mut episode: Box<dyn AnyEpisode>) -> String {
        let (info, mut rng) = (game.info(), RngStream::new(1, 0));
        let mut all = [game_type.rules, &info.actions.labels().collect::<Vec<_>>().join("\n")].join("\n");
        while let Some(seat) = episode.pending().lowest() {
            let legal = episode.legal(seat);
            for viewer in Viewer::all(info.seats) {
                all += &episode.text(viewer);
            }
            for action in legal {
                all += &episode.phrase(seat, action);
                all.push('\n');
            }
            let action = rng.draw(&mut legal.clone());
            for viewer in Seat::all(info.seats) {
                let mut copy = episode.copy();
                let copy = Arc::get_mut(&mut copy).expect("a new copy is not shared");
                copy.report(seat, action, viewer, &mut all).expect("a legal action");
            }
            episode.apply(seat, action.into()).expect("a legal action");
        }
        all + &episode.text(Viewer::Public)
    }

    #[test]
    fn the_names_of_each_game_are_distinct_used_and_exchanged_everywhere() {
        let tables = Tables::new(Registry::standard());
        for game_type in tables.registry().game_types() {
            let (mut all, mut names) = (String::new(), Vec::new());
            for seats in [*game_type.seats.start(), *game_type.seats.end()] {
                let table = tables.table(game_type.id, seats.into(), []).expect("a table");
                names = table.game.names();
                for seed in 0..4 {
                    all += &all_texts(&*table.game, &game_type, Arc::clone(&table.game).deal(seed.into()));
                }
            }
            let lower: Vec<_> =
                names.iter().flat_map(|group| &group.names).map(|name| name.to_lowercase()).collect();
            let distinct: BTreeSet<_> = lower.iter().cloned().collect();
            assert_eq!(lower.len(), distinct.len(), "{}: {lower:?}", game_type.id);
            let permutation = NamePermutation::of(names, 3);
            for name in &lower {
                assert!(!distinct.contains(&format!("{name}s")), "{name} has a plural that is a name");
                assert!(all.to_lowercase().contains(name), "{name} is not used");
            }
            let exchanged = permuted(&permutation, &all);
            let left = exchanged.lines().find(|line| permuted(&permutation, line) != **line);
            assert_eq!(left, None, "a name of {} is left", game_type.id);
        }
    }
}
