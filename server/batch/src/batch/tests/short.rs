//! A game that is cut short, since no game of ours is long enough.

use std::fmt;
use std::sync::Arc;

use boardwire_games::faraway::{Catalogue, Faraway};
use boardwire_kernel::{
    ActionSet, CatalogueError, Chance, Estimate, Game, GameInfo, GameType, Legal, Loaded, Options, Outcome,
    Provenance, RngStream, ScoreLine, Seat, SeatSet, SetupError, Viewer, set_up,
};

use super::*;

/// Faraway for ten plies.
struct Short {
    whole: Faraway,
    info: GameInfo,
}

impl Game for Short {
    type State = <Faraway as Game>::State;
    type Action = <Faraway as Game>::Action;
    type Catalogue = Catalogue;

    const TYPE: GameType = Faraway::TYPE;

    fn catalogue(json: &str) -> Result<Catalogue, CatalogueError> {
        Faraway::catalogue(json)
    }

    fn provenance(catalogue: &Catalogue) -> Vec<Provenance> {
        Faraway::provenance(catalogue)
    }

    fn new(catalogue: Arc<Loaded<Catalogue>>, seats: u8, options: &Options) -> Result<Self, SetupError> {
        let whole = Faraway::new(catalogue, seats, options)?;
        let info = GameInfo { max_plies: 10, ..whole.info().clone() };
        Ok(Self { whole, info })
    }

    fn info(&self) -> &GameInfo {
        &self.info
    }

    fn deal(&self, chance: &mut Chance) -> Self::State {
        self.whole.deal(chance)
    }

    fn pending(&self, state: &Self::State) -> SeatSet {
        self.whole.pending(state)
    }

    fn legal(&self, state: &Self::State, seat: Seat) -> ActionSet {
        self.whole.legal(state, seat)
    }

    fn is_legal(&self, state: &Self::State, seat: Seat, action: Self::Action) -> bool {
        Game::is_legal(&self.whole, state, seat, action)
    }

    fn advance(&self, state: &mut Self::State, choice: Legal<Self::Action>, chance: &mut Chance) {
        Game::advance(&self.whole, state, choice, chance);
    }

    fn view(&self, state: &Self::State, viewer: Viewer, out: &mut [u8]) {
        Game::view(&self.whole, state, viewer, out);
    }

    fn text(&self, state: &Self::State, viewer: Viewer, out: &mut dyn fmt::Write) -> fmt::Result {
        Game::text(&self.whole, state, viewer, out)
    }

    fn outcome(&self, state: &Self::State) -> Option<Outcome> {
        self.whole.outcome(state)
    }

    fn explain(&self, state: &Self::State, seat: Seat) -> Vec<ScoreLine> {
        self.whole.explain(state, seat)
    }

    fn resample(&self, state: &mut Self::State, viewer: Seat, rng: &mut RngStream) {
        self.whole.resample(state, viewer, rng);
    }

    fn audit(&self, state: &Self::State) -> Result<(), String> {
        self.whole.audit(state)
    }

    fn encode(&self, action: Self::Action) -> u8 {
        self.whole.encode(action)
    }

    fn decode(&self, index: u8) -> Option<Self::Action> {
        self.whole.decode(index)
    }
}

impl Estimate for Short {
    type Outlook = <Faraway as Estimate>::Outlook;

    fn outlook(&self, state: &Self::State, seat: Seat) -> Self::Outlook {
        self.whole.outlook(state, seat)
    }

    fn estimate(&self, outlook: &Self::Outlook) -> i32 {
        self.whole.estimate(outlook)
    }
}

#[test]
fn a_game_without_an_end_is_cut_and_says_so() {
    let catalogue = Loaded::read::<Short>(Short::TYPE.catalogue).expect("it is valid");
    let rules = Arc::new(set_up::<Short>(Arc::new(catalogue), 2, []).expect("a table"));
    let table = Arc::new(Table { digest: rules.info().digest(), decisions: metrics::Counter::noop(), rules });
    let batch = open(&table, &plan(&["learner", "learner"]), 3, 0, 1);
    let mut shown = reset(&batch);
    for salt in 0..10 {
        assert_eq!(shown.flags(), [0; 3]);
        shown = step(&batch, choices(&shown, 0, salt)).expect("legal");
    }
    assert_eq!(shown.flags(), [flag::TRUNCATED; 3]);
    assert_eq!(shown.seat(), [255; 3]);
    assert!(
        shown
            .mask()
            .iter()
            .chain(shown.reward())
            .chain(shown.ranks())
            .chain(shown.scores())
            .all(|&byte| byte == 0)
    );
    assert_eq!((shown.ended().len(), shown.ranks().len(), shown.scores().len()), (12, 6, 24));
}
