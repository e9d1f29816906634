//! The contract every game fulfils.

use std::fmt;
use std::hash::Hash;
use std::ops::RangeInclusive;
use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};

use crate::{
    ActionLabels, ActionSet, CatalogueError, Chance, Digest, Loaded, OptionSpec, Options, Outcome, RngStream,
    ScoreLine, Seat, SeatSet, SetupError, Table, ViewLayout,
};

/// The rules of one game with its catalogue, seat count and options fixed: shared and immutable.
///
/// A game is a pure function of its arguments: no clock, generator, history or interior mutability. A
/// state holds nothing that nobody knows: an undrawn deck is the *set* of cards in it, and a card is drawn
/// from `chance` when it becomes known to somebody. So a copied state cannot tell the future.
///
/// [`testkit::laws`](crate::testkit) tests what is promised here, for every game alike.
pub trait Game: Sized + Send + Sync + 'static {
    /// A position as a plain value: no heap, no history, at most 2 KiB.
    type State: Clone + Eq + Hash + fmt::Debug + Send + Sync + BorshSerialize + BorshDeserialize + 'static;
    /// A choice, in the game's own words.
    type Action: Copy + Eq + fmt::Debug;
    /// The printed components, read and validated.
    type Catalogue: Send + Sync + 'static;

    /// What is known of the game before it is set up.
    const TYPE: GameType;

    /// Reads and validates a catalogue.
    ///
    /// # Errors
    /// The section, row and field that cannot be, and what would be right.
    fn catalogue(json: &str) -> Result<Self::Catalogue, CatalogueError>;

    /// Where the values of the catalogue's sections were read, section by section.
    fn provenance(catalogue: &Self::Catalogue) -> Vec<Provenance>;

    /// Fixes the rules for one table; `seats` and `options` have been checked against [`Self::TYPE`].
    ///
    /// # Errors
    /// When this catalogue cannot serve such a table.
    fn new(catalogue: Arc<Loaded<Self::Catalogue>>, seats: u8, options: &Options)
    -> Result<Self, SetupError>;

    /// The facts of this table: sizes, labels, layouts.
    fn info(&self) -> &GameInfo;

    /// The opening position.
    fn deal(&self, chance: &mut Chance) -> Self::State;

    /// The seats that owe a choice; none when the game is over.
    ///
    /// Several at once choose simultaneously: each choice is hidden, in any order, until none is owed.
    fn pending(&self, state: &Self::State) -> SeatSet;

    /// What `seat` may choose now; empty for a seat that owes nothing.
    fn legal(&self, state: &Self::State, seat: Seat) -> ActionSet;

    /// Plays a legal action of a pending seat, and all that follows without a choice.
    ///
    /// Only [`apply`] calls this: it has checked that `action` is in `legal(state, seat)`.
    fn advance(&self, state: &mut Self::State, seat: Seat, action: Self::Action, chance: &mut Chance);

    /// Writes what `viewer` may know, as laid out in [`GameInfo::layout`], into exactly that many bytes.
    fn view(&self, state: &Self::State, viewer: Seat, out: &mut [u8]);

    /// Writes the same for people and language models, over several lines.
    ///
    /// # Errors
    /// Those of `out`.
    fn text(&self, state: &Self::State, viewer: Seat, out: &mut dyn fmt::Write) -> fmt::Result;

    /// The result, once nobody owes a choice.
    fn outcome(&self, state: &Self::State) -> Option<Outcome>;

    /// Where the points of `seat` come from in a finished game; they sum up to its score.
    fn explain(&self, state: &Self::State, seat: Seat) -> Vec<ScoreLine>;

    /// Draws anew, uniformly over what is consistent, everything that `viewer` cannot know.
    ///
    /// Changes neither the view nor the legal set of `viewer`.
    fn resample(&self, state: &mut Self::State, viewer: Seat, rng: &mut RngStream);

    /// A rough worth of the position to `seat`, greater is better, comparable only within one game.
    ///
    /// It may read all of `state`, which bots only have after [`resample`](Self::resample).
    fn estimate(&self, state: &Self::State, seat: Seat) -> i32;

    /// Checks what holds in every reachable position: counts of components, ranges, phases.
    ///
    /// # Errors
    /// What does not hold. A snapshot from outside is refused for it.
    fn audit(&self, state: &Self::State) -> Result<(), String>;

    /// The index of an action, below the number of labels.
    fn encode(&self, action: Self::Action) -> u8;

    /// The action with this index; none beyond the action space.
    fn decode(&self, index: u8) -> Option<Self::Action>;
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

/// Where the values of one catalogue section were read.
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize)]
pub struct Provenance {
    /// The section's name in the catalogue.
    pub section: String,
    /// Where its values come from, in a few words.
    pub source: String,
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
    /// The labels of the action space.
    pub actions: ActionLabels,
    /// No game is longer than this; one that would be is truncated.
    pub max_plies: u32,
    /// The fields of a view.
    pub layout: ViewLayout,
    /// The catalogue as integer matrices.
    pub tables: Vec<Table>,
    /// Every final score lies in this range, from the least to the most.
    pub scores: (i32, i32),
}

impl GameInfo {
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
) -> Result<(), crate::Rejection> {
    use crate::Rejection::{Illegal, NoSeat, NotPending, OutOfRange, Over};
    let pending = game.pending(state);
    let info = game.info();
    if pending.is_empty() {
        return Err(Over);
    }
    if seat.number() >= info.seats {
        return Err(NoSeat { seat, seats: info.seats });
    }
    let known = u8::try_from(action).ok().and_then(|index| Some((index, game.decode(index)?)));
    let Some((index, choice)) = known else {
        let actions = u32::try_from(info.actions.count()).unwrap_or(u32::MAX);
        return Err(OutOfRange { action, actions });
    };
    if !pending.contains(seat) {
        return Err(NotPending { seat });
    }
    if !game.legal(state, seat).contains(index) {
        return Err(Illegal { seat, action: index });
    }
    game.advance(state, seat, choice, chance);
    Ok(())
}
