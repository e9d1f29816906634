//! A game of Boardwire in one file: poker with one card each.
//!
//! Both seats put one chip into the pot and are dealt a card. They pass or bet one more chip in turn. A pass after a
//! bet gives the pot away; otherwise the higher card wins it.

use std::fmt::{self, Write};
use std::sync::Arc;

use boardwire_kernel::{
    ActionRange, ActionSet, ActionSpace, Audits, Axis, BitSet, BySeat, CheckResult, Choices, Estimate,
    FieldSink, FieldSpec, GameInfo, GameType, Hidden, LayoutBuilder, LegalChoice, LoadedCatalogue, Options,
    Outcome, RandomSource, RngStream, Scoring, Seat, SeatOrder, SeatSet, Setup, SetupError, Texts, Turns,
    ViewWriter, Viewer, Views, ensure,
};
use borsh::{BorshDeserialize, BorshSerialize};

const SEATS: u8 = 2;
const CARDS: &[&str] = &["none", "jack", "queen", "king"];
const ACTIONS: &[&str] = &["none", "pass", "bet"];
/// The most actions of an episode: pass, bet, and the answer to the bet.
const TURNS: u8 = 3;
/// The actions 1 and 2: pass and bet.
const CHOOSE: ActionRange = ActionRange::numbers("choose", 1, 2);

/// The number of an action in [`ACTIONS`].
pub type Action = u8;

/// The actions so far, from the first; 0 where there is none yet.
type Turned = [Action; TURNS as usize];

/// A position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub struct State {
    /// The card of each seat: its number in [`CARDS`].
    pub cards: BySeat<u8, { SEATS as usize }>,
    /// The actions so far. The first seat has the first.
    pub turns: Turned,
}

impl State {
    /// Returns the number of actions so far.
    fn done(self) -> u8 {
        self.turns.iter().map(|action| u8::from(*action > 0)).sum()
    }

    /// Returns whether both seats have passed, or a bet is answered.
    fn is_over(self) -> bool {
        matches!(self.turns, [1, 1, 0] | [2, 1 | 2, 0] | [1, 2, 1 | 2])
    }

    /// Returns whether the cards are shown: nobody gave up the pot.
    fn shows_cards(self) -> bool {
        matches!(self.turns, [1, 1, 0] | [2, 2, 0] | [1, 2, 2])
    }
}

/// The rules at one table.
pub struct Kuhn {
    info: GameInfo,
}

impl Setup for Kuhn {
    type State = State;
    type Action = Action;
    type Catalogue = ();

    const TYPE: GameType = GameType {
        id: "kuhn",
        name: "Kuhn",
        rules_version: 1,
        seats: SEATS..=SEATS,
        options: &[],
        streams: &["deal"],
        catalogue: "",
        rules: include_str!("rules.md"),
    };

    fn new(catalogue: Arc<LoadedCatalogue<()>>, seats: u8, options: &Options) -> Result<Self, SetupError> {
        let (mut own, mut public) = (LayoutBuilder::for_seats(), LayoutBuilder::for_public());
        fields(&mut own);
        fields(&mut public);
        let info = GameInfo {
            actions: ActionSpace::new().add_range(CHOOSE, |number| ACTIONS[usize::from(number)].to_owned()),
            max_plies: TURNS.into(),
            layout: own.finish(),
            public_layout: public.finish(),
            scores: (-2, 2),
            ..GameInfo::new::<Self>(&catalogue, seats, options)
        };
        Ok(Self { info })
    }

    fn info(&self) -> &GameInfo {
        &self.info
    }
}

impl Turns for Kuhn {
    fn deal(&self, chance: &mut RandomSource) -> State {
        let mut deck: BitSet<1> = (1..=3).collect();
        let cards = BySeat::new([chance.draw(0, &mut deck), chance.draw(0, &mut deck)]);
        State { cards, turns: Turned::default() }
    }

    fn pending(&self, state: &State) -> SeatSet {
        if state.is_over() { SeatSet::EMPTY } else { SeatSet::only(Seat::new(state.done() % SEATS)) }
    }

    fn advance(&self, state: &mut State, choice: LegalChoice<Action>, _: &mut RandomSource) {
        state.turns[usize::from(state.done())] = choice.action();
    }
}

impl Choices for Kuhn {
    fn encode(&self, action: Action) -> u8 {
        CHOOSE.index(action)
    }

    fn decode(&self, index: u8) -> Option<Action> {
        CHOOSE.number(index)
    }

    fn legal(&self, state: &State, seat: Seat) -> ActionSet {
        if self.pending(state).contains(seat) { CHOOSE.all() } else { ActionSet::EMPTY }
    }
}

impl Scoring for Kuhn {
    fn outcome(&self, state: &State) -> Option<Outcome> {
        let first_wins = match state.turns {
            [2, 1, 0] => true,
            [1, 2, 1] => false,
            _ if state.is_over() => state.cards[Seat::new(0)] > state.cards[Seat::new(1)],
            _ => return None,
        };
        let chips = if state.shows_cards() && state.turns.contains(&2) { 2 } else { 1 };
        let scores = if first_wins { [chips, -chips] } else { [-chips, chips] };
        Some(Outcome::ranked(&scores, &[0, 0]))
    }
}

/// Passes every field to `sink`. The layouts and the views come from this list.
fn fields<S: FieldSink<(State, SeatOrder<{ SEATS as usize }>)>>(sink: &mut S) {
    let first = FieldSpec::seat("first", SEATS, "The seat that acts first.");
    sink.field(first, |(_, order), out| out.write_byte(order.relative(Seat::FIRST)));
    let actions = FieldSpec::category("actions", ACTIONS, "The actions, in turn.");
    sink.field(actions.axis(Axis::sequence("turn", TURNS)), |(state, _), out| out.write_bytes(&state.turns));
    let card = FieldSpec::category("card", CARDS, "The viewer's card.");
    sink.field(card.private(), |(state, order), out| out.write_byte(state.cards[order.seats()[0]]));
    let shown = FieldSpec::category("shown", CARDS, "The cards that are shown at the end.");
    sink.field(shown.axis(Axis::seats(SEATS)), |(state, order), out| {
        let card = |seat: Seat| if state.shows_cards() { state.cards[seat] } else { 0 };
        out.write_ids(order.seats().map(card));
    });
}

impl Views for Kuhn {
    fn view(&self, state: &State, viewer: Viewer, out: &mut [u8]) {
        let seen = (*state, SeatOrder::new(viewer));
        let mut writer = ViewWriter::new(&seen, viewer == Viewer::Public, out);
        fields(&mut writer);
        writer.finish();
    }
}

impl Texts for Kuhn {
    fn text(&self, state: &State, viewer: Viewer, out: &mut dyn Write) -> fmt::Result {
        if let Some(seat) = viewer.seat() {
            writeln!(out, "your card: {}", CARDS[usize::from(state.cards[seat])])?;
        }
        for (turn, &action) in (0..state.done()).zip(&state.turns) {
            writeln!(out, "{}: {}", Seat::new(turn % SEATS), ACTIONS[usize::from(action)])?;
        }
        for seat in Seat::all(SEATS).filter(|_| state.shows_cards()) {
            writeln!(out, "{seat} shows {}", CARDS[usize::from(state.cards[seat])])?;
        }
        Ok(())
    }
}

impl Hidden for Kuhn {
    fn resample(&self, state: &mut State, viewer: Seat, rng: &mut RngStream) {
        if !state.shows_cards() {
            let mut unseen: BitSet<1> = (1..=3).filter(|card| *card != state.cards[viewer]).collect();
            state.cards[viewer.clockwise(1, SEATS)] = rng.draw(&mut unseen);
        }
    }
}

impl Audits for Kuhn {
    fn audit(&self, state: &State) -> CheckResult {
        let [first, second] = *state.cards.all();
        let are_cards = [first, second].iter().all(|card| (1..=3).contains(card));
        ensure(are_cards && first != second, || format!("the cards are {first} and {second}"))?;
        let is_begun = matches!(state.turns, [0..=2, 0, 0] | [1, 2, 0]);
        ensure(is_begun || state.is_over(), || format!("the actions are {:?}", state.turns))
    }
}

/// Without an estimate, bots play random playouts.
impl Estimate for Kuhn {
    type Features = ();
}

/// The extension for Python, if the feature `python` is on.
#[cfg(feature = "python")]
#[pyo3::pymodule(gil_used = true)]
fn kuhn_core(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
    boardwire_python::init(module, boardwire::Registry::standard().with::<Kuhn>())
}
