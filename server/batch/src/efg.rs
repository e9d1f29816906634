//! Writes a small game in the extensive form of Gambit (EFG), which `OpenSpiel` reads too.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use boardwire_kernel::{ActionSet, Game, RandomSource, Seat, Viewer, apply};
use thiserror::Error;

/// The reason for which a game has no extensive form.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EfgError {
    /// The game tree is too large.
    #[error("{game} has more than {max} nodes at {seats} seats: raise --max-nodes, or export a smaller game")]
    TooLarge {
        /// The game.
        game: &'static str,
        /// The number of seats.
        seats: u8,
        /// The maximum number of nodes.
        max: u64,
    },
    /// An episode can be truncated, so it has no scores.
    #[error("{game} can be truncated after {plies} plies, and a truncated episode has no scores")]
    Truncated {
        /// The game.
        game: &'static str,
        /// The maximum number of plies.
        plies: u32,
    },
}

/// Returns a game in Gambit's EFG format. It walks through all chance events and choices.
///
/// The payoffs are the scores. An information set is what a seat saw and did: its views, each time that its view changes,
/// and its own actions. Its name is the view at the decision, in hexadecimal. Of several seats that choose
/// simultaneously, the lowest is first; the others do not see its choice.
///
/// # Errors
/// The game has more than `max_nodes` nodes, or an episode can be truncated.
pub fn efg<G: Game>(game: &G, max_nodes: u64) -> Result<String, EfgError> {
    let info = game.info();
    let players: Vec<String> = Seat::all(info.seats).map(|seat| format!("\"{seat}\"")).collect();
    let text = format!("EFG 2 R \"{}\" {{ {} }}\n\"\"\n\n", G::TYPE.name, players.join(" "));
    let mut walk = Walk {
        game,
        text,
        nodes: 0,
        max_nodes,
        chance_nodes: 0,
        information_sets: vec![BTreeMap::new(); info.seats.into()],
        outcomes: BTreeMap::new(),
    };
    let deals = walk.merge(RandomSource::enumerate(|chance| game.deal(chance)))?;
    walk.chance(&deals, &vec![History::new(); info.seats.into()], 0)?;
    Ok(walk.text)
}

/// A probability: a numerator and a denominator.
type Fraction = (u128, u128);

/// What a seat saw and did.
type History = Vec<Event>;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// Its view changed to this one.
    Saw(Vec<u8>),
    /// It chose the action with this index.
    Did(u8),
}

struct Walk<'a, G: Game> {
    game: &'a G,
    text: String,
    nodes: u64,
    max_nodes: u64,
    chance_nodes: u64,
    /// For each seat, the numbers of its information sets.
    information_sets: Vec<BTreeMap<History, usize>>,
    /// The numbers of the outcomes.
    outcomes: BTreeMap<Vec<i32>, usize>,
}

impl<G: Game> Walk<'_, G> {
    /// Writes the node of a chance event, if there are several states, and the nodes of the states.
    fn chance(
        &mut self,
        states: &[(G::State, Fraction)],
        histories: &[History],
        ply: u32,
    ) -> Result<(), EfgError> {
        if states.len() > 1 {
            self.count_node()?;
            self.chance_nodes += 1;
            let _ = write!(self.text, "c \"\" {} \"\" {{", self.chance_nodes);
            for (number, (_, (numerator, denominator))) in (1..).zip(states) {
                let _ = write!(self.text, " \"{number}\" {numerator}/{denominator}");
            }
            self.text.push_str(" } 0\n");
        }
        states.iter().try_for_each(|(state, _)| self.position(state, histories, ply))
    }

    fn position(&mut self, state: &G::State, histories: &[History], ply: u32) -> Result<(), EfgError> {
        self.count_node()?;
        let (game, info) = (self.game, self.game.info());
        let Some(seat) = game.pending(state).lowest() else {
            self.end(state);
            return Ok(());
        };
        if ply >= info.max_plies {
            return Err(EfgError::Truncated { game: info.id, plies: info.max_plies });
        }
        let histories: Vec<History> = Seat::all(info.seats)
            .zip(histories)
            .map(|(seat, history)| watch(history, view(game, state, seat)))
            .collect();
        let sets = &mut self.information_sets[seat.index()];
        let next = sets.len() + 1;
        let number = *sets.entry(histories[seat.index()].clone()).or_insert(next);
        let _ = write!(self.text, "p \"\" {} {number} \"", seat.number() + 1);
        for byte in view(game, state, seat) {
            let _ = write!(self.text, "{byte:02x}");
        }
        self.text.push_str("\" {");
        let legal: ActionSet = game.legal(state, seat);
        for action in legal {
            let label = info.actions.label(action).expect("a legal action has a label");
            let _ = write!(self.text, " \"{}\"", label.replace('"', "'"));
        }
        self.text.push_str(" } 0\n");
        for action in legal {
            let states = self.merge(RandomSource::enumerate(|chance| {
                let mut next = *state;
                apply(game, &mut next, seat, action.into(), chance).expect("a legal action is accepted");
                next
            }))?;
            let mut histories = histories.clone();
            histories[seat.index()].push(Event::Did(action));
            self.chance(&states, &histories, ply + 1)?;
        }
        Ok(())
    }

    fn end(&mut self, state: &G::State) {
        let outcome = self.game.outcome(state).expect("a game that is over has an outcome");
        let next = self.outcomes.len() + 1;
        let number = *self.outcomes.entry(outcome.scores().to_vec()).or_insert(next);
        let scores: Vec<String> = outcome.scores().iter().map(ToString::to_string).collect();
        let _ = writeln!(self.text, "t \"\" {number} \"\" {{ {} }}", scores.join(", "));
    }

    /// Returns the different states, each with its probability. A state with `n` has the probability `1 / n`.
    fn merge(
        &self,
        sequences: impl Iterator<Item = (G::State, u128)>,
    ) -> Result<Vec<(G::State, Fraction)>, EfgError> {
        let mut known: HashMap<G::State, usize> = HashMap::new();
        let mut states: Vec<(G::State, Fraction)> = Vec::new();
        for ((state, n), sequences) in sequences.zip(1..) {
            let place = *known.entry(state).or_insert(states.len());
            match states.get_mut(place) {
                Some((_, sum)) => *sum = reduced(sum.0 * n + sum.1, sum.1 * n),
                None => states.push((state, (1, n))),
            }
            self.check_size(sequences)?;
        }
        Ok(states)
    }

    fn count_node(&mut self) -> Result<(), EfgError> {
        self.nodes += 1;
        self.check_size(self.nodes)
    }

    fn check_size(&self, nodes: u64) -> Result<(), EfgError> {
        let (info, max) = (self.game.info(), self.max_nodes);
        if nodes > max { Err(EfgError::TooLarge { game: info.id, seats: info.seats, max }) } else { Ok(()) }
    }
}

fn view<G: Game>(game: &G, state: &G::State, seat: Seat) -> Vec<u8> {
    let mut view = vec![0; game.info().layout.bytes()];
    game.view(state, Viewer::Seat(seat), &mut view);
    view
}

/// Returns what a seat saw and did, with the view that it has now.
fn watch(history: &History, view: Vec<u8>) -> History {
    let last = history.iter().rev().find_map(|event| match event {
        Event::Saw(view) => Some(view),
        Event::Did(_) => None,
    });
    let mut history = history.clone();
    if last != Some(&view) {
        history.push(Event::Saw(view));
    }
    history
}

fn reduced(numerator: u128, denominator: u128) -> Fraction {
    let (mut one, mut other) = (numerator, denominator);
    while other != 0 {
        (one, other) = (other, one % other);
    }
    (numerator / one, denominator / one)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use boardwire_kernel::testkit::table;
    use boardwire_kernel::testkit::toy::Toy;

    use super::*;
    use crate::registry::Registry;
    use crate::tables::Tables;

    /// Returns the parts of a line in quotes, and the others.
    fn parts(line: &str) -> (Vec<&str>, Vec<&str>) {
        let (mut quoted, mut others) = (Vec::new(), Vec::new());
        for (at, part) in line.split('"').enumerate() {
            if at % 2 == 1 { quoted.push(part) } else { others.extend(part.split_whitespace()) }
        }
        (quoted, others)
    }

    #[test]
    fn probabilities_sum_to_one_and_an_information_set_has_the_same_actions() {
        let text = efg(&*table::<Toy>(2, &[]), 10_000_000).expect("the toy is small");
        let (mut chance_nodes, mut ends, mut sets) = (0, 0, BTreeMap::new());
        for line in text.lines().skip(3) {
            let (quoted, others) = parts(line);
            match others[0] {
                "c" => {
                    chance_nodes += 1;
                    let probability = |text: &&str| -> Option<f64> {
                        let (numerator, denominator) = text.split_once('/')?;
                        Some(numerator.parse::<f64>().ok()? / denominator.parse::<f64>().ok()?)
                    };
                    let sum: f64 = others.iter().filter_map(probability).sum();
                    assert!((sum - 1.0).abs() < 1e-9, "{line}");
                }
                "p" => {
                    let known =
                        sets.entry([others[1], others[2]].map(str::to_owned)).or_insert(quoted[1..].to_vec());
                    assert_eq!(*known, quoted[1..], "{line}");
                }
                _ => ends += 1,
            }
        }
        // 8 * 7 cards of the first seat are 28 hands, as are those of the second from six: 15.
        assert!(text.contains("\"420\" 1/420 }") && !text.contains("\"421\""));
        // Of a seat's first decisions there are as many as hands.
        let first = sets.values().filter(|parts| parts[0].starts_with("0100")).count();
        assert_eq!((first, chance_nodes > 1, ends > chance_nodes), (2 * 28, true, true));
    }

    #[test]
    fn a_large_game_is_refused_at_once() {
        let tables = Tables::new(Registry::standard());
        let table = tables.table("faraway", 2, []).expect("a table");
        let refused = table.game.efg(1000).expect_err("it is too large").to_string();
        assert!(refused.starts_with("faraway has more than 1000 nodes at 2 seats"), "{refused}");
    }
}
