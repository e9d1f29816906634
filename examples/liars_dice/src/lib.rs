//! A game of Boardwire: liar's dice, in which each seat bids on the dice under all cups.
//!
//! The game has hidden random outcomes, public choices, elimination, and an option. `rules.md` states its rules.

mod audit;
mod state;
mod text;
mod turn;
mod view;

use std::sync::Arc;

use boardwire_kernel::{
    ActionRange, ActionSet, ActionSpace, Choices, Estimate, GameInfo, GameType, Hidden, LoadedCatalogue,
    OptionKind, OptionSpec, Options, Outcome, RngStream, Scoring, Seat, Setup, SetupError, Turns,
};

pub use state::{Action, AllDice, Bid, Dice, State};
use state::{FACES, MAX_DICE, MAX_SEATS, SEATS, roll, total};

/// The random stream of all dice.
const DICE_STREAM: usize = 0;
/// The action 0. The action with the number of a bid is this bid.
const CHALLENGE: ActionRange = ActionRange::single("challenge");

/// The rules at one table.
#[derive(Debug, Clone)]
pub struct LiarsDice {
    info: GameInfo,
    seats: u8,
    /// The dice of each seat at the start.
    dice: u8,
    /// The bids that the dice at the start allow, by number.
    bids: ActionRange,
}

impl Setup for LiarsDice {
    type State = State;
    type Action = Action;
    type Catalogue = ();

    const TYPE: GameType = GameType {
        id: "liars_dice",
        name: "Liar's dice",
        rules_version: 1,
        seats: 2..=MAX_SEATS,
        options: &[OptionSpec {
            name: "dice",
            kind: OptionKind::Int(1, MAX_DICE as i64),
            default: "3",
            doc: "the number of dice of each seat at the start",
        }],
        streams: &["dice"],
        catalogue: "",
        rules: include_str!("rules.md"),
    };

    fn new(catalogue: Arc<LoadedCatalogue<()>>, seats: u8, options: &Options) -> Result<Self, SetupError> {
        let dice = u8::try_from(options.int("dice")).expect("the option is at most 5");
        let bids = ActionRange::numbers("bid", 1, FACES * seats * dice).after(&CHALLENGE);
        let actions = ActionSpace::new()
            .add_range(CHALLENGE, |_| "challenge".to_owned())
            .add_range(bids, |number| format!("bid {}", Bid::at(number)));
        let (layout, public_layout) = view::layouts(seats, dice);
        let info = GameInfo {
            actions,
            // A round has each bid at most once, and a challenge. It removes one die. The last round has two or more.
            max_plies: (2..=u32::from(seats * dice)).map(|in_play| u32::from(FACES) * in_play + 1).sum(),
            layout,
            public_layout,
            scores: (0, i32::from(seats) - 1),
            ..GameInfo::new::<Self>(&catalogue, seats, options)
        };
        Ok(Self { info, seats, dice, bids })
    }

    fn info(&self) -> &GameInfo {
        &self.info
    }
}

impl Choices for LiarsDice {
    fn encode(&self, action: Action) -> u8 {
        match action {
            Action::Challenge => CHALLENGE.index(0),
            Action::Bid(bid) => self.bids.index(bid.number()),
        }
    }

    fn decode(&self, index: u8) -> Option<Action> {
        let bid = self.bids.number(index).map(|number| Action::Bid(Bid::at(number)));
        bid.or(CHALLENGE.number(index).map(|_| Action::Challenge))
    }

    fn legal(&self, state: &State, seat: Seat) -> ActionSet {
        if !self.pending(state).contains(seat) {
            return ActionSet::EMPTY;
        }
        let up_to = |number: u8| ActionSet::below(usize::from(number) + 1);
        let last = state.bid.map_or(0, |(_, bid)| bid.number());
        let higher = self.bids.actions_for(up_to(FACES * total(&state.cups)).difference(up_to(last)));
        if state.bid.is_some() { higher.union(CHALLENGE.all()) } else { higher }
    }
}

impl Scoring for LiarsDice {
    fn outcome(&self, state: &State) -> Option<Outcome> {
        let score = |&order: &u8| i32::from(if order > 0 { order } else { self.seats }) - 1;
        let scores: Vec<i32> = state.eliminated.of(self.seats).iter().map(score).collect();
        state.is_over().then(|| Outcome::ranked(&scores, &[0; SEATS][..scores.len()]))
    }
}

impl Hidden for LiarsDice {
    /// Rolls the dice of the other seats again. A bid shows only that it was legal, so it changes no probabilities.
    fn resample(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        // At the end, all seats have seen the dice of the winner.
        if !state.is_over() {
            for seat in viewer.round(self.seats).skip(1) {
                state.cups[seat] = roll(state.cups[seat].len(), |faces| rng.draw(faces));
            }
        }
    }
}

/// Without an estimate, bots play random playouts.
impl Estimate for LiarsDice {
    type Features = ();
}

/// The extension for Python, if the feature `python` is on.
#[cfg(feature = "python")]
#[pyo3::pymodule(gil_used = true)]
fn liars_dice_core(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
    boardwire_python::init(module, boardwire::Registry::standard().with::<LiarsDice>())
}
