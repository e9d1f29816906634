//! Replays a game by its record. Uses only the interface that all games share.

use std::sync::Arc;

use boardwire_kernel::{Episode, FieldKind, Game, RandomSource, Seat, Viewer};
use serde::Serialize;
use serde_json::{Value, json};

/// A recorded fact that differs from the engine's.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Difference {
    /// The location in the record, such as `round 3 turn 1 take`.
    pub(crate) location: String,
    /// The value in the record.
    pub(crate) expected: Value,
    /// The value in the engine.
    pub(crate) actual: Value,
}

/// The result of a comparison: a value if there is no difference, else the first difference.
pub(crate) type CompareResult<T = ()> = Result<T, Difference>;

/// The final scores of a record without differences, or the first difference.
pub(crate) type ReplayResult = CompareResult<Vec<i32>>;

/// Returns a difference: at `location` the record has `expected`, the engine `actual`.
pub(crate) fn mismatch<T>(
    location: impl Into<String>,
    expected: impl Serialize,
    actual: impl Serialize,
) -> CompareResult<T> {
    Err(Difference { location: location.into(), expected: to_json(expected), actual: to_json(actual) })
}

/// Returns a value as JSON, without null fields.
fn to_json(value: impl Serialize) -> Value {
    let mut value = json!(value);
    if let Value::Object(fields) = &mut value {
        fields.retain(|_, field| !field.is_null());
    }
    value
}

/// Compares a recorded fact with the engine's. For objects, the first field that differs is added to `location`.
pub(crate) fn compare<T: Serialize + PartialEq>(location: &str, expected: &T, actual: &T) -> CompareResult {
    if expected == actual {
        return Ok(());
    }
    let (expected, actual) = (json!(expected), json!(actual));
    let fields = expected.as_object().zip(actual.as_object());
    let differing = fields.and_then(|(recorded, actual)| {
        let mut names = recorded.keys().chain(actual.keys());
        names.find(|&name| recorded.get(name) != actual.get(name))
    });
    match differing {
        Some(name) => {
            let gap = if location.ends_with('.') { "" } else { " " };
            mismatch(format!("{location}{gap}{name}"), &expected[name], &actual[name])
        }
        None => mismatch(location, expected, actual),
    }
}

/// Compares recorded ids with the engine's, in any order.
pub(crate) fn compare_unordered(location: &str, expected: &[u8], actual: &[u8]) -> CompareResult {
    let [expected, actual] = [expected, actual].map(|ids| {
        let mut sorted = ids.to_vec();
        sorted.sort_unstable();
        sorted
    });
    compare(location, &expected, &actual)
}

/// An action: its verb, and the row or number to which it applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ActionKey(pub(crate) &'static str, pub(crate) u8);

/// A game that is being replayed. Its random outcomes are scripted, and its choices are ordinary actions.
#[derive(Debug)]
pub(crate) struct ReplayedEpisode<G: Game> {
    episode: Episode<G>,
}

impl<G: Game> Clone for ReplayedEpisode<G> {
    fn clone(&self) -> Self {
        Self { episode: self.episode.clone() }
    }
}

impl<G: Game> ReplayedEpisode<G> {
    /// Deals with scripted outcomes for each stream. [`script`](Self::script) adds outcomes that are known later.
    pub(crate) fn deal<I: IntoIterator<Item = u8>>(
        game: G,
        outcomes: impl IntoIterator<Item = I>,
    ) -> CompareResult<Self> {
        let replayed = Self { episode: Episode::start(Arc::new(game), RandomSource::scripted(outcomes)) };
        replayed.check_scripted_outcomes("the deal")?;
        Ok(replayed)
    }

    /// Returns the episode, with its source of random outcomes.
    pub(crate) fn episode(&self) -> &Episode<G> {
        &self.episode
    }

    /// Appends outcomes to a stream of random numbers.
    pub(crate) fn script(&mut self, stream: usize, outcomes: impl IntoIterator<Item = u8>) {
        self.episode.random_source_mut().extend(stream, outcomes);
    }

    /// Returns the values of a field in the view of `viewer`.
    pub(crate) fn field(&self, viewer: Viewer, name: &str) -> Vec<u16> {
        field(&**self.episode.game(), self.episode.state(), viewer, name)
    }

    /// Returns the first byte of a field in seat 0's view. Seats in it are counted from 1, beginning with seat 0.
    pub(crate) fn public_byte(&self, name: &str) -> u8 {
        bytes(&self.field(Seat::FIRST.into(), name))[0]
    }

    /// Returns the name of the category in a field of seat 0's view.
    pub(crate) fn category_name(&self, name: &str) -> &str {
        let layout = &self.episode.game().info().layout;
        let field = layout.fields.iter().find(|field| field.name == name).expect("the view has this field");
        let FieldKind::Category { names } = &field.kind else { panic!("{name} has no category names") };
        &names[usize::from(self.public_byte(name))]
    }

    /// Returns the legal actions of `seat`, in the order of the actions.
    pub(crate) fn legal_actions(&self, seat: Seat) -> Vec<ActionKey> {
        let actions = self.episode.game().info().actions.all();
        let legal = self.legal_indices(seat).map(|index| &actions[usize::from(index)]);
        legal.map(|action| ActionKey(action.verb, action.row)).collect()
    }

    /// Returns the rows of the legal actions of `seat` with this verb.
    pub(crate) fn rows(&self, seat: Seat, verb: &str) -> Vec<u8> {
        self.legal_actions(seat).into_iter().filter(|key| key.0 == verb).map(|key| key.1).collect()
    }

    fn legal_indices(&self, seat: Seat) -> impl Iterator<Item = u8> {
        self.episode.game().legal(self.episode.state(), seat).into_iter()
    }

    /// Returns the labels of the legal actions of `seat`, or null if it owes no decision.
    pub(crate) fn legal_labels(&self, seat: Seat) -> Value {
        if !self.episode.pending().contains(seat) {
            return Value::Null;
        }
        self.legal_indices(seat).filter_map(|index| self.episode.game().info().actions.label(index)).collect()
    }

    /// Returns the index and the label of an action.
    pub(crate) fn index(&self, ActionKey(verb, row): ActionKey) -> Option<(u8, &str)> {
        let actions = self.episode.game().info().actions.all();
        let index = actions.iter().position(|action| action.verb == verb && action.row == row)?;
        Some((u8::try_from(index).ok()?, actions[index].label.as_str()))
    }

    /// Plays a recorded choice. Reports a difference if the action is illegal or a scripted outcome is impossible.
    pub(crate) fn choose(&mut self, location: &str, seat: Seat, choice: ActionKey) -> CompareResult {
        let Some((index, label)) = self.index(choice) else {
            return mismatch(location, format!("{} {}", choice.0, choice.1), self.legal_labels(seat));
        };
        if self.episode.check(seat, index.into()).is_err() {
            return mismatch(location, label, self.legal_labels(seat));
        }
        self.episode.apply(seat, index.into()).expect("the action was checked");
        self.check_scripted_outcomes(location)
    }

    fn check_scripted_outcomes(&self, location: &str) -> CompareResult {
        match self.episode.random_source().script_error() {
            None => Ok(()),
            Some(fault) => mismatch(location, "a possible draw", fault.to_string()),
        }
    }

    /// Returns the final scores. Reports a difference if the game is not over.
    pub(crate) fn scores(&self, location: &str) -> CompareResult<Vec<i32>> {
        match self.episode.outcome() {
            Some(outcome) => Ok(outcome.scores().to_vec()),
            None => mismatch(
                location,
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
    let (offset, field) =
        layout.with_offsets().find(|(_, field)| field.name == name).expect("the view has this field");
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
