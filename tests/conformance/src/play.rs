//! Replays a game by its record. Uses only the interface that all games share.

use std::sync::Arc;

use boardwire_kernel::{Chance, Episode, FieldKind, Game, Seat, Viewer};
use serde::Serialize;
use serde_json::{Value, json};

/// A recorded fact that differs from the engine's.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Difference {
    /// The location in the record, such as `round 3 turn 1 take`.
    pub(crate) at: String,
    /// The value in the record.
    pub(crate) expected: Value,
    /// The value in the engine.
    pub(crate) got: Value,
}

/// The result of a comparison: a value if there is no difference, else the first difference.
pub(crate) type Compared<T = ()> = Result<T, Difference>;

/// The final scores of a record without differences, or the first difference.
pub(crate) type Replayed = Compared<Vec<i32>>;

/// Returns a difference: at `at` the record has `expected`, the engine `got`.
pub(crate) fn differs<T>(
    at: impl Into<String>,
    expected: impl Serialize,
    got: impl Serialize,
) -> Compared<T> {
    Err(Difference { at: at.into(), expected: told(expected), got: told(got) })
}

/// Returns a value as JSON, without null fields.
fn told(value: impl Serialize) -> Value {
    let mut value = json!(value);
    if let Value::Object(fields) = &mut value {
        fields.retain(|_, field| !field.is_null());
    }
    value
}

/// Compares a recorded fact with the engine's. For objects, the first field that differs is added to `at`.
pub(crate) fn same<T: Serialize + PartialEq>(at: &str, expected: &T, got: &T) -> Compared {
    if expected == got {
        return Ok(());
    }
    let (expected, got) = (json!(expected), json!(got));
    let fields = expected.as_object().zip(got.as_object());
    let differing = fields.and_then(|(stated, got)| {
        let mut names = stated.keys().chain(got.keys());
        names.find(|&name| stated.get(name) != got.get(name))
    });
    match differing {
        Some(name) => {
            let gap = if at.ends_with('.') { "" } else { " " };
            differs(format!("{at}{gap}{name}"), &expected[name], &got[name])
        }
        None => differs(at, expected, got),
    }
}

/// Compares recorded ids with the engine's, in any order.
pub(crate) fn same_set(at: &str, expected: &[u8], got: &[u8]) -> Compared {
    let [expected, got] = [expected, got].map(|ids| {
        let mut sorted = ids.to_vec();
        sorted.sort_unstable();
        sorted
    });
    same(at, &expected, &got)
}

/// An action: its verb, and the row or number to which it applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Move(pub(crate) &'static str, pub(crate) u8);

/// A game that is being replayed. Its random outcomes are scripted, and its choices are ordinary actions.
#[derive(Debug)]
pub(crate) struct Play<G: Game> {
    episode: Episode<G>,
}

impl<G: Game> Clone for Play<G> {
    fn clone(&self) -> Self {
        Self { episode: self.episode.clone() }
    }
}

impl<G: Game> Play<G> {
    /// Deals with scripted outcomes for each stream. [`script`](Self::script) adds outcomes that are known later.
    pub(crate) fn deal<I: IntoIterator<Item = u8>>(
        game: G,
        outcomes: impl IntoIterator<Item = I>,
    ) -> Compared<Self> {
        let play = Self { episode: Episode::start(Arc::new(game), Chance::scripted(outcomes)) };
        play.is_possible("the deal")?;
        Ok(play)
    }

    /// Returns the episode, with its source of random outcomes.
    pub(crate) fn episode(&self) -> &Episode<G> {
        &self.episode
    }

    /// Appends outcomes to a stream of random numbers.
    pub(crate) fn script(&mut self, stream: usize, outcomes: impl IntoIterator<Item = u8>) {
        self.episode.chance_mut().extend(stream, outcomes);
    }

    /// Returns the values of a field in the view of `viewer`.
    pub(crate) fn field(&self, viewer: Viewer, name: &str) -> Vec<u16> {
        field(&**self.episode.game(), self.episode.state(), viewer, name)
    }

    /// Returns the first byte of a field in seat 0's view. Seats in it are counted from 1, beginning with seat 0.
    pub(crate) fn number(&self, name: &str) -> u8 {
        bytes(&self.field(Seat::FIRST.into(), name))[0]
    }

    /// Returns the name of the category in a field of seat 0's view.
    pub(crate) fn word(&self, name: &str) -> &str {
        let layout = &self.episode.game().info().layout;
        let field = layout.fields.iter().find(|field| field.name == name).expect("such a field");
        let FieldKind::Category { names } = &field.kind else { panic!("{name} has no words") };
        &names[usize::from(self.number(name))]
    }

    /// Returns the legal actions of `seat`, in the order of the actions.
    pub(crate) fn offered(&self, seat: Seat) -> Vec<Move> {
        let actions = self.episode.game().info().actions.all();
        let offered = self.legal(seat).map(|index| &actions[usize::from(index)]);
        offered.map(|action| Move(action.verb, action.row)).collect()
    }

    /// Returns the rows of the legal actions of `seat` with this verb.
    pub(crate) fn rows(&self, seat: Seat, verb: &str) -> Vec<u8> {
        self.offered(seat).into_iter().filter(|offered| offered.0 == verb).map(|offered| offered.1).collect()
    }

    fn legal(&self, seat: Seat) -> impl Iterator<Item = u8> {
        self.episode.game().legal(self.episode.state(), seat).into_iter()
    }

    /// Returns the labels of the legal actions of `seat`, or null if it owes no decision.
    pub(crate) fn legal_labels(&self, seat: Seat) -> Value {
        if !self.episode.pending().contains(seat) {
            return Value::Null;
        }
        self.legal(seat).filter_map(|index| self.episode.game().info().actions.label(index)).collect()
    }

    /// Returns the index and the label of an action.
    pub(crate) fn index(&self, Move(verb, row): Move) -> Option<(u8, &str)> {
        let actions = self.episode.game().info().actions.all();
        let at = actions.iter().position(|action| action.verb == verb && action.row == row)?;
        Some((u8::try_from(at).ok()?, actions[at].label.as_str()))
    }

    /// Plays a recorded choice. Reports a difference if the action is illegal or a scripted outcome is impossible.
    pub(crate) fn choose(&mut self, at: &str, seat: Seat, choice: Move) -> Compared {
        let Some((index, label)) = self.index(choice) else {
            return differs(at, format!("{} {}", choice.0, choice.1), self.legal_labels(seat));
        };
        if self.episode.check(seat, index.into()).is_err() {
            return differs(at, label, self.legal_labels(seat));
        }
        self.episode.apply(seat, index.into()).expect("it was looked at");
        self.is_possible(at)
    }

    fn is_possible(&self, at: &str) -> Compared {
        match self.episode.chance().fault() {
            None => Ok(()),
            Some(fault) => differs(at, "a possible draw", fault.to_string()),
        }
    }

    /// Returns the final scores. Reports a difference if the game is not over.
    pub(crate) fn scores(&self, at: &str) -> Compared<Vec<i32>> {
        match self.episode.outcome() {
            Some(outcome) => Ok(outcome.scores().to_vec()),
            None => differs(
                at,
                "the end of the game",
                self.episode.pending().iter().map(Seat::number).collect::<Vec<_>>(),
            ),
        }
    }
}

/// Returns the values of a field in the view of `viewer`.
pub(crate) fn field<G: Game>(game: &G, state: &G::State, viewer: Viewer, name: &str) -> Vec<u16> {
    let layout = game.info().layout_for(viewer);
    let mut view = vec![0; layout.bytes()];
    game.view(state, viewer, &mut view);
    let (offset, field) = layout.with_offsets().find(|(_, field)| field.name == name).expect("such a field");
    let values = view[offset..offset + field.bytes()].chunks(field.width());
    values.map(|bytes| bytes.iter().rev().fold(0, |high, &low| high << 8 | u16::from(low))).collect()
}

/// Converts values that fit a byte each.
pub(crate) fn bytes(values: &[u16]) -> Vec<u8> {
    values.iter().map(|&value| u8::try_from(value).expect("a field of bytes")).collect()
}

/// Returns the rows in a field of ids, without zeros.
pub(crate) fn ids(values: &[u16]) -> Vec<u8> {
    bytes(values).into_iter().filter(|&id| id > 0).collect()
}
