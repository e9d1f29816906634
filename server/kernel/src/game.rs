//! The contract that every game fulfils: small traits, and what is known of a game and of a table.

use std::fmt;
use std::hash::Hash;
use std::ops::RangeInclusive;
use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};

use crate::{
    ActionSet, ActionSpace, Audit, Chance, Components, Digest, Loaded, OptionSpec, Options, Outcome,
    Rejection, RngStream, ScoreLine, Seat, SeatSet, SetupError, Table, ViewLayout, Viewer,
};

/// The rules of one game with its catalogue, seat count and options fixed: shared and immutable.
///
/// It is the sum of small traits, one for each file of a game: [`Setup`], [`Turns`], [`Choices`], [`Scoring`],
/// [`Views`], [`Texts`], [`Hidden`] and [`Audits`]. A type that has them all is a game; there is nothing else to write.
///
/// A game is a pure function of its arguments: no clock, generator, history or interior mutability. A
/// state holds nothing that nobody knows: an undrawn deck is the *set* of cards in it, and a card is drawn
/// from `chance` when it becomes known to somebody. So a copied state cannot tell the future.
///
/// [`testkit::laws`](crate::testkit) tests what is promised here, for every game alike.
pub trait Game: Turns + Choices + Scoring + Views + Texts + Hidden + Audits {}

impl<G: Turns + Choices + Scoring + Views + Texts + Hidden + Audits> Game for G {}

/// What a game consists of, and how a table is set up. All is required.
pub trait Setup: Sized + Send + Sync + 'static {
    /// A position as a plain value: no heap, no more of its past than knowledge follows from, at most 2 KiB.
    type State: Copy + Eq + Hash + fmt::Debug + Send + Sync + BorshSerialize + BorshDeserialize + 'static;
    /// A choice, in the game's own words.
    type Action: Copy + Eq + fmt::Debug;
    /// The printed components, read and validated; `()` if there are none.
    type Catalogue: Components;

    /// What is known of the game before it is set up.
    const TYPE: GameType;

    /// Fixes the rules for one table; `seats` and `options` have been checked against [`Self::TYPE`].
    ///
    /// # Errors
    /// When this catalogue cannot serve such a table.
    fn new(catalogue: Arc<Loaded<Self::Catalogue>>, seats: u8, options: &Options)
    -> Result<Self, SetupError>;

    /// The facts of this table: sizes, labels, layouts.
    fn info(&self) -> &GameInfo;
}

/// The course of play. All is required.
pub trait Turns: Setup {
    /// The opening position.
    fn deal(&self, chance: &mut Chance) -> Self::State;

    /// The seats that owe a choice; none when the game is over.
    ///
    /// Several at once choose simultaneously: each choice is hidden, in any order, until none is owed.
    fn pending(&self, state: &Self::State) -> SeatSet;

    /// Plays a legal choice, and all that follows without one.
    ///
    /// Only [`apply`] can call this: nobody else can make a [`Legal`] choice.
    fn advance(&self, state: &mut Self::State, choice: Legal<Self::Action>, chance: &mut Chance);
}

/// What may be chosen. [`is_legal`](Self::is_legal) is optional: a game that can answer faster than by listing everything does.
pub trait Choices: Setup {
    /// The index of an action, below the number of labels.
    fn encode(&self, action: Self::Action) -> u8;

    /// The action with this index; none beyond the action space.
    fn decode(&self, index: u8) -> Option<Self::Action>;

    /// What `seat` may choose now; empty for a seat that owes nothing.
    fn legal(&self, state: &Self::State, seat: Seat) -> ActionSet;

    /// Whether `seat` may choose `action` now: what [`legal`](Self::legal) says of it, without the others.
    ///
    /// It answers for any seat number and any action: no for a seat that the table does not have.
    fn is_legal(&self, state: &Self::State, seat: Seat, action: Self::Action) -> bool {
        seat.number() < self.info().seats && self.legal(state, seat).contains(self.encode(action))
    }
}

/// How a game ends. [`explain`](Self::explain) is optional.
pub trait Scoring: Setup {
    /// The result, once nobody owes a choice.
    fn outcome(&self, state: &Self::State) -> Option<Outcome>;

    /// Where the points of `seat` come from in a finished game; they sum up to its score.
    fn explain(&self, state: &Self::State, seat: Seat) -> Vec<ScoreLine> {
        let score = self.outcome(state).map(|outcome| outcome.scores()[seat.index()]);
        score.map(|points| ScoreLine { source: "score".to_owned(), points }).into_iter().collect()
    }
}

/// What is shown to agents. It is required.
pub trait Views: Setup {
    /// Writes what `viewer` may know into exactly as many bytes as its layout has: [`GameInfo::layout`] for a
    /// seat, [`GameInfo::public_layout`] for the public. Nothing is left of what they were before.
    fn view(&self, state: &Self::State, viewer: Viewer, out: &mut [u8]);
}

/// What is shown to people and language models. It is required.
pub trait Texts: Setup {
    /// Writes what the view of `viewer` says over several lines.
    ///
    /// # Errors
    /// Those of `out`.
    fn text(&self, state: &Self::State, viewer: Viewer, out: &mut dyn fmt::Write) -> fmt::Result;
}

/// What a seat cannot know. It is optional, for games that hide nothing: `impl Hidden for MyGame {}`.
pub trait Hidden: Setup {
    /// Replaces everything that `viewer` cannot know by a sample: another state that `viewer` cannot tell from this one.
    ///
    /// What is sampled follows from what `viewer` knows alone, never from the true state, and every state that agrees
    /// with it can be sampled. Chance has its own probabilities; a hidden choice of another seat is as likely to be any
    /// that it had, and a choice that all saw says no more than that it could be made. `docs/games/<game>.md` states
    /// where a game departs from these probabilities, and by how much. Changes neither the view nor the legal set of
    /// `viewer`. It cannot fail.
    fn resample(&self, _state: &mut Self::State, _viewer: Seat, _rng: &mut RngStream) {}
}

/// What a position must be like to be one of the game. It is required.
pub trait Audits: Setup {
    /// Checks what holds in every reachable position: counts of components, ranges, phases.
    ///
    /// # Errors
    /// What does not hold. A snapshot from outside is refused for it.
    fn audit(&self, state: &Self::State) -> Audit;
}

/// A rough value of positions, for bots that look ahead. Everything is optional: `impl Estimate for MyGame { type Outlook = (); }`
/// is a game without one, whose bots play on at random instead.
///
/// It comes in two steps, so that a bot estimates once what many sampled states have in common.
pub trait Estimate: Game {
    /// What of a position its value to a seat depends on.
    type Outlook: Copy + Eq + Send + 'static;

    /// What the value of this position to `seat` depends on; none, always, in a game without an estimate.
    ///
    /// It may read all of `state`, which bots only have after [`resample`](Hidden::resample).
    fn outlook(&self, _state: &Self::State, _seat: Seat) -> Option<Self::Outlook> {
        None
    }

    /// What that is worth, greater is better, comparable only within one game.
    fn estimate(&self, _outlook: &Self::Outlook) -> i32 {
        0
    }

    /// What a position is worth to `seat`, if the game has an estimate.
    fn value(&self, state: &Self::State, seat: Seat) -> Option<i32> {
        self.outlook(state, seat).map(|outlook| self.estimate(&outlook))
    }

    /// Stops keeping what playouts do not ask for: what only views show, what seats remember.
    ///
    /// Legal actions, outlooks and the outcome stay as they would have been, now and later. The state can be resampled
    /// until the next choice is applied. Views, texts and the audit must not be asked for again. A game that gains nothing from it does
    /// nothing.
    fn forget(&self, _state: &mut Self::State) {}
}

/// A choice that [`apply`] has found legal; nobody else can make one.
///
/// ```compile_fail
/// // A choice cannot be called legal from outside.
/// let choice = boardwire_kernel::Legal { seat: boardwire_kernel::Seat::new(0), action: 3 };
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Legal<A> {
    seat: Seat,
    action: A,
}

impl<A: Copy> Legal<A> {
    /// Who chooses.
    #[inline]
    pub fn seat(&self) -> Seat {
        self.seat
    }

    /// What is chosen.
    #[inline]
    pub fn action(&self) -> A {
        self.action
    }
}

/// What is known of a game before it is set up.
#[derive(Debug, Clone)]
pub struct GameType {
    /// The id everywhere: module, catalogue, page, environment: `golden_compass`.
    pub id: &'static str,
    /// The name on the box.
    pub name: &'static str,
    /// Moves when the same actions no longer give the same states.
    pub rules_version: u32,
    /// The seat counts it is played with.
    pub seats: RangeInclusive<u8>,
    /// The options of a match.
    pub options: &'static [OptionSpec],
    /// What each stream of chance is for, in stream order.
    pub streams: &'static [&'static str],
    /// The catalogue compiled in, as JSON.
    pub catalogue: &'static str,
}

/// The facts of one table: a game with its catalogue, seats and options.
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize)]
pub struct GameInfo {
    /// The game's id.
    pub id: &'static str,
    /// Its rules version.
    pub rules_version: u32,
    /// The digest of the catalogue's text.
    pub catalogue: Digest,
    /// How many seats there are.
    pub seats: u8,
    /// Every option with the value it has.
    pub options: Options,
    /// The action space.
    pub actions: ActionSpace,
    /// No game is longer than this; one that would be is truncated.
    pub max_plies: u32,
    /// The fields of a seat's view.
    pub layout: ViewLayout,
    /// The fields of the public's view.
    pub public_layout: ViewLayout,
    /// The catalogue as integer matrices.
    pub tables: Vec<Table>,
    /// Every final score lies in this range, from the least to the most.
    pub scores: (i32, i32),
}

impl GameInfo {
    /// What every game fills in in the same way. Actions, fields, tables, the range of scores and the greatest length are still
    /// those of no game.
    #[must_use]
    pub fn new<G: Game>(catalogue: &Loaded<G::Catalogue>, seats: u8, options: &Options) -> Self {
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

    /// The fields of what `viewer` is shown.
    #[must_use]
    pub fn layout_for(&self, viewer: Viewer) -> &ViewLayout {
        match viewer {
            Viewer::Seat(_) => &self.layout,
            Viewer::Public => &self.public_layout,
        }
    }

    /// The digest of everything here: clients compare it to notice a changed game.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(self)
    }
}

/// Sets up a table: checks seats and options against the game type and fixes the rules.
///
/// # Errors
/// A seat count, option name or option value the game does not have.
pub fn set_up<'a, G: Game>(
    catalogue: Arc<Loaded<G::Catalogue>>,
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

/// Plays the action with index `action` for `seat`: the only door through which a state changes.
///
/// # Errors
/// A seat that owes no choice, an index beyond the action space, an action that is not legal now. The state
/// and the chance are then as they were.
pub fn apply<G: Game>(
    game: &G,
    state: &mut G::State,
    seat: Seat,
    action: u32,
    chance: &mut Chance,
) -> Result<(), Rejection> {
    let legal = check(game, state, seat, action)?;
    game.advance(state, legal, chance);
    Ok(())
}

/// The action with index `action`, which `seat` may choose now.
///
/// # Errors
/// As [`apply`].
pub(crate) fn check<G: Game>(
    game: &G,
    state: &G::State,
    seat: Seat,
    action: u32,
) -> Result<Legal<G::Action>, Rejection> {
    let known = u8::try_from(action).ok().and_then(|index| game.decode(index));
    match known {
        Some(action) if game.is_legal(state, seat, action) => Ok(Legal { seat, action }),
        Some(_) | None => Err(rejection(game, state, seat, action, known.is_some())),
    }
}

/// Why an action is refused, the first reason that holds.
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
