//! The traits that every game implements, and the facts about a game and a table.

use std::fmt;
use std::hash::Hash;
use std::ops::RangeInclusive;
use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};

use crate::{
    ActionSet, ActionSpace, CheckResult, Components, Digest, LoadedCatalogue, OptionSpec, Options, Outcome,
    RandomSource, Rejection, RngStream, ScoreLine, Seat, SeatSet, SetupError, Table, ViewLayout, Viewer,
};

/// The rules of one game with fixed catalogue, seat count and options: shared and immutable.
///
/// It is the sum of small traits, one for each file of a game: [`Setup`], [`Turns`], [`Choices`], [`Scoring`],
/// [`Views`], [`Texts`], [`Hidden`] and [`Audits`]. A type that implements all of them is a game.
///
/// A game is a pure function of its arguments: no clock, random generator, history or interior mutability. A state
/// holds nothing that is unknown to every seat. An undrawn deck is the *set* of its cards, and the game draws a card
/// from `chance` when a seat first learns it. So a copied state does not reveal the future.
///
/// [`testkit::laws`](crate::testkit) tests these promises for every game.
pub trait Game: Turns + Choices + Scoring + Views + Texts + Hidden + Audits {}

impl<G: Turns + Choices + Scoring + Views + Texts + Hidden + Audits> Game for G {}

/// The types and facts of a game, and the set-up of a table. All items are required.
pub trait Setup: Sized + Send + Sync + 'static {
    /// A position as a plain value: no heap, at most 2 KiB. Of the past it holds only what determines knowledge.
    type State: Copy + Eq + Hash + fmt::Debug + Send + Sync + BorshSerialize + BorshDeserialize + 'static;
    /// An action, in the game's own terms.
    type Action: Copy + Eq + fmt::Debug;
    /// The printed components, read and validated; `()` if there are none.
    type Catalogue: Components;

    /// The facts of the game that do not depend on a table.
    const TYPE: GameType;

    /// Creates the rules for one table. The caller has checked `seats` and `options` against [`Self::TYPE`].
    ///
    /// # Errors
    /// When this catalogue does not support such a table.
    fn new(
        catalogue: Arc<LoadedCatalogue<Self::Catalogue>>,
        seats: u8,
        options: &Options,
    ) -> Result<Self, SetupError>;

    /// Returns the facts of this table: sizes, labels, layouts.
    fn info(&self) -> &GameInfo;
}

/// The course of play. All methods are required.
pub trait Turns: Setup {
    /// Returns the opening position.
    fn deal(&self, chance: &mut RandomSource) -> Self::State;

    /// Returns the seats with a pending decision; none when the game is over.
    ///
    /// Several pending seats choose simultaneously, in any order. Each choice is hidden until no decision is pending.
    fn pending(&self, state: &Self::State) -> SeatSet;

    /// Applies a legal choice, and everything that follows before the next choice.
    ///
    /// Only [`apply`] can call this: no other code can create a [`LegalChoice`] choice.
    fn advance(&self, state: &mut Self::State, choice: LegalChoice<Self::Action>, chance: &mut RandomSource);
}

/// The actions of a game. [`is_legal`](Self::is_legal) is optional: a game may have a faster check than listing all.
pub trait Choices: Setup {
    /// Returns the index of an action, below the number of labels.
    fn encode(&self, action: Self::Action) -> u8;

    /// Returns the action with this index; none beyond the action space.
    fn decode(&self, index: u8) -> Option<Self::Action>;

    /// Returns the legal actions of `seat`; empty for a seat without a pending decision.
    fn legal(&self, state: &Self::State, seat: Seat) -> ActionSet;

    /// Returns whether `seat` may choose `action` now: the same answer as [`legal`](Self::legal), for one action.
    ///
    /// It accepts any seat number and any action. For a seat that the table does not have, it returns false.
    fn is_legal(&self, state: &Self::State, seat: Seat, action: Self::Action) -> bool {
        seat.number() < self.info().seats && self.legal(state, seat).contains(self.encode(action))
    }
}

/// The scoring of a game. [`explain`](Self::explain) is optional.
pub trait Scoring: Setup {
    /// Returns the result, once no decision is pending.
    fn outcome(&self, state: &Self::State) -> Option<Outcome>;

    /// Returns the sources of the points of `seat` in a finished game. Their sum is its score.
    fn explain(&self, state: &Self::State, seat: Seat) -> Vec<ScoreLine> {
        let score = self.outcome(state).map(|outcome| outcome.scores()[seat.index()]);
        score.map(|points| ScoreLine { source: "score".to_owned(), points }).into_iter().collect()
    }
}

/// The views for agents. This trait is required.
pub trait Views: Setup {
    /// Writes what `viewer` may know. `out` is exactly as long as the layout: [`GameInfo::layout`] for a seat,
    /// [`GameInfo::public_layout`] for the public. The method overwrites every byte.
    fn view(&self, state: &Self::State, viewer: Viewer, out: &mut [u8]);
}

/// The texts for people and language models. Only [`text`](Self::text) is required.
///
/// All texts use the same name for the same thing, and a name stands for one thing only.
pub trait Texts: Choices {
    /// Writes the content of `viewer`'s view as text of several lines. The reader has no other source: the text
    /// describes every component that it names.
    ///
    /// # Errors
    /// The errors of `out`.
    fn text(&self, state: &Self::State, viewer: Viewer, out: &mut dyn fmt::Write) -> fmt::Result;

    /// Writes what the legal action `action` of `seat` does in this position, without a line break. No two legal
    /// actions have the same phrase. It depends only on what `seat` knows. The default is the label.
    ///
    /// # Errors
    /// The errors of `out`.
    fn phrase(
        &self,
        _state: &Self::State,
        _seat: Seat,
        action: Self::Action,
        out: &mut dyn fmt::Write,
    ) -> fmt::Result {
        out.write_str(self.info().actions.label(self.encode(action)).unwrap_or_default())
    }

    /// Writes what `viewer` saw when `choice.0` chose `choice.1`, in lines of text. The choice led from `before` to
    /// `after`.
    ///
    /// For the choice of another seat, the report depends only on the views of `viewer` before and after. By default it
    /// is empty then, and for the viewer's own choice it is the phrase.
    ///
    /// # Errors
    /// The errors of `out`.
    fn report(
        &self,
        before: &Self::State,
        choice: (Seat, Self::Action),
        _after: &Self::State,
        viewer: Seat,
        out: &mut dyn fmt::Write,
    ) -> fmt::Result {
        let (seat, action) = choice;
        if seat != viewer {
            return Ok(());
        }
        write!(out, "{seat} (you): ")?;
        self.phrase(before, seat, action, out)?;
        out.write_str("\n")
    }

    /// Returns the names in texts, phrases, labels and rules that a reader may know from elsewhere. A request can
    /// exchange them for neutral ones.
    fn names(&self) -> Vec<NameGroup> {
        Vec::new()
    }
}

/// Names of one kind, such as the cities of a board. A permutation exchanges `names[i]` for `KIND j`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameGroup {
    /// The neutral word, such as `city`.
    pub kind: &'static str,
    /// The names as the texts write them. Upper and lower case count as equal, and a plural with `s` is found too.
    pub names: Vec<String>,
}

/// The hidden information of a game. For games that hide nothing, all is optional: `impl Hidden for MyGame {}`.
pub trait Hidden: Setup {
    /// Replaces everything that `viewer` cannot know by a sample: a determinization of its information set.
    ///
    /// The sample depends only on what `viewer` knows, never on the true state. Every state consistent with that knowledge
    /// can be sampled. Random outcomes have their own probabilities. A hidden choice of another seat is uniform over the
    /// actions that it had. A choice that all seats saw shows only that it was legal. `docs/games/<game>.md` states where
    /// a game departs from these probabilities, and by how much. The method changes neither the view nor the legal set
    /// of `viewer`. It cannot fail.
    fn resample(&self, _state: &mut Self::State, _viewer: Seat, _rng: &mut RngStream) {}
}

/// The invariants of a game's positions. This trait is required.
pub trait Audits: Setup {
    /// Checks what holds in every reachable position: counts of components, ranges, phases.
    ///
    /// # Errors
    /// The condition that does not hold. `Episode::restore` then refuses a snapshot from outside.
    fn audit(&self, state: &Self::State) -> CheckResult;
}

/// A heuristic value of positions, for bots that look ahead. All items are optional. A game without an estimate has
/// `impl Estimate for MyGame { type Features = (); }`, and its bots use random playouts instead.
///
/// There are two steps, so that a bot computes the estimate once for many sampled states with the same features.
pub trait Estimate: Game {
    /// The part of a position that determines its value to a seat.
    type Features: Copy + Eq + Send + 'static;

    /// Returns what determines the value of this position to `seat`; always none in a game without an estimate.
    ///
    /// It may read all of `state`. Bots get a state only from [`resample`](Hidden::resample).
    fn features(&self, _state: &Self::State, _seat: Seat) -> Option<Self::Features> {
        None
    }

    /// Returns the value of features. Greater is better. Values are comparable only within one game.
    fn estimate(&self, _features: &Self::Features) -> i32 {
        0
    }

    /// Returns the value of a position to `seat`, if the game has an estimate.
    fn value(&self, state: &Self::State, seat: Seat) -> Option<i32> {
        self.features(state, seat).map(|features| self.estimate(&features))
    }

    /// Drops what playouts do not need: data that only views show, and memories of seats.
    ///
    /// Legal actions, features and the outcome stay the same, now and later. The caller can resample the state until it
    /// applies the next choice. It must no longer ask for views, texts or the audit. A game that gains nothing from this
    /// does nothing.
    fn reduce_for_playouts(&self, _state: &mut Self::State) {}
}

/// A choice that [`apply`] has found legal. No other code can create one.
///
/// ```compile_fail
/// // Code outside this crate cannot create a legal choice.
/// let choice = boardwire_kernel::LegalChoice { seat: boardwire_kernel::Seat::new(0), action: 3 };
/// ```
#[derive(Debug, Clone, Copy)]
pub struct LegalChoice<A> {
    seat: Seat,
    action: A,
}

impl<A: Copy> LegalChoice<A> {
    /// Returns the seat that chooses.
    #[inline]
    pub fn seat(&self) -> Seat {
        self.seat
    }

    /// Returns the chosen action.
    #[inline]
    pub fn action(&self) -> A {
        self.action
    }
}

/// The facts of a game that do not depend on a table.
#[derive(Debug, Clone)]
pub struct GameType {
    /// The id, which names the game's module, catalogue, page and environment: `golden_compass`.
    pub id: &'static str,
    /// The name on the box.
    pub name: &'static str,
    /// Changes when the same actions no longer give the same states.
    pub rules_version: u32,
    /// The allowed seat counts.
    pub seats: RangeInclusive<u8>,
    /// The options of a match.
    pub options: &'static [OptionSpec],
    /// The purpose of each random stream, in stream order.
    pub streams: &'static [&'static str],
    /// The catalogue compiled into the binary, as JSON.
    pub catalogue: &'static str,
    /// The rules in Markdown. The section `## How to play` is a summary for players, at most 250 words.
    pub rules: &'static str,
}

impl GameType {
    /// Returns the section `How to play` of the rules, without its heading; empty if there is none.
    #[must_use]
    pub fn how_to_play(&self) -> &'static str {
        let section = self.rules.split_once("\n## How to play\n").map_or("", |(_, rest)| rest);
        section.split_once("\n## ").map_or(section, |(section, _)| section).trim()
    }
}

/// The facts of one table: a game with its catalogue, seats and options.
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize)]
pub struct GameInfo {
    /// The game's id.
    pub id: &'static str,
    /// The game's rules version.
    pub rules_version: u32,
    /// The digest of the catalogue's text.
    pub catalogue: Digest,
    /// The number of seats.
    pub seats: u8,
    /// Every option with its value.
    pub options: Options,
    /// The action space.
    pub actions: ActionSpace,
    /// The maximum number of plies. A longer game is truncated.
    pub max_plies: u32,
    /// The fields of a seat's view.
    pub layout: ViewLayout,
    /// The fields of the public's view.
    pub public_layout: ViewLayout,
    /// The catalogue as integer matrices.
    pub tables: Vec<Table>,
    /// The minimum and maximum of every final score.
    pub scores: (i32, i32),
}

impl GameInfo {
    /// Creates the facts that every game fills in the same way. The game itself must set actions, layouts, tables, the
    /// range of scores and the maximum length.
    #[must_use]
    pub fn new<G: Game>(catalogue: &LoadedCatalogue<G::Catalogue>, seats: u8, options: &Options) -> Self {
        Self {
            id: G::TYPE.id,
            rules_version: G::TYPE.rules_version,
            catalogue: catalogue.digest,
            seats,
            options: options.clone(),
            actions: ActionSpace::new(),
            max_plies: 0,
            layout: ViewLayout::default(),
            public_layout: ViewLayout::default(),
            tables: Vec::new(),
            scores: (0, 0),
        }
    }

    /// Returns the layout of the view of `viewer`.
    #[must_use]
    pub fn layout_for(&self, viewer: Viewer) -> &ViewLayout {
        match viewer {
            Viewer::Seat(_) => &self.layout,
            Viewer::Public => &self.public_layout,
        }
    }

    /// Returns the digest of all these facts. Clients compare it to detect a changed game.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(self)
    }
}

/// Sets up a table: checks seats and options against the game type and fixes the rules.
///
/// # Errors
/// A seat count, option name or option value that the game does not have.
pub fn set_up<'a, G: Game>(
    catalogue: Arc<LoadedCatalogue<G::Catalogue>>,
    seats: u32,
    given: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<G, SetupError> {
    let (min, max) = (*G::TYPE.seats.start(), *G::TYPE.seats.end());
    let checked = u8::try_from(seats).ok().filter(|seats| G::TYPE.seats.contains(seats));
    let Some(checked) = checked else {
        return Err(SetupError::Seats { game: G::TYPE.id, given: seats, min, max });
    };
    G::new(catalogue, checked, &Options::resolve(&G::TYPE, given)?)
}

/// Applies the action with index `action` for `seat`. In play, no other function changes a state.
///
/// # Errors
/// A seat without a pending decision, an index beyond the action space, or an action that is not legal now. State
/// and random streams are then unchanged.
pub fn apply<G: Game>(
    game: &G,
    state: &mut G::State,
    seat: Seat,
    action: u32,
    chance: &mut RandomSource,
) -> Result<(), Rejection> {
    let legal = check(game, state, seat, action)?;
    game.advance(state, legal, chance);
    Ok(())
}

/// Returns the action with index `action`, if `seat` may choose it now.
///
/// # Errors
/// As [`apply`].
pub(crate) fn check<G: Game>(
    game: &G,
    state: &G::State,
    seat: Seat,
    action: u32,
) -> Result<LegalChoice<G::Action>, Rejection> {
    let known = u8::try_from(action).ok().and_then(|index| game.decode(index));
    match known {
        Some(action) if game.is_legal(state, seat, action) => Ok(LegalChoice { seat, action }),
        Some(_) | None => Err(rejection(game, state, seat, action, known.is_some())),
    }
}

/// Returns why an action is refused: the first reason that applies.
#[cold]
fn rejection<G: Game>(game: &G, state: &G::State, seat: Seat, action: u32, is_known: bool) -> Rejection {
    let (pending, info) = (game.pending(state), game.info());
    if pending.is_empty() {
        Rejection::Over
    } else if seat.number() >= info.seats {
        Rejection::NoSeat { seat, seats: info.seats }
    } else if !is_known {
        let actions = u32::try_from(info.actions.count()).unwrap_or(u32::MAX);
        Rejection::OutOfRange { action, actions }
    } else if !pending.contains(seat) {
        Rejection::NotPending { seat }
    } else {
        Rejection::Illegal { seat, action: u8::try_from(action).unwrap_or(u8::MAX) }
    }
}
