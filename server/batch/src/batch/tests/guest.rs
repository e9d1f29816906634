//! Tests a game from outside Boardwire. Unlike Boardwire's games, it has no estimate and can be truncated after a few plies.

use std::fmt;
use std::sync::Arc;

use boardwire_bots::{Bot, Choice};
use boardwire_games::faraway::{Catalogue, Faraway};
use boardwire_kernel::{
    ActionSet, Audits, BOT_STREAM, Chance, Choices, Estimate, GameInfo, GameType, Hidden, Legal, Loaded,
    Options, Outcome, RngStream, ScoreLine, Scoring, Seat, SeatSet, Setup, SetupError, Texts, Turns, Viewer,
    Views,
};

use super::*;

/// Faraway without its estimate, truncated after this many plies.
struct Guest<const PLIES: u32> {
    whole: Faraway,
    info: GameInfo,
}

impl<const PLIES: u32> Setup for Guest<PLIES> {
    type State = <Faraway as Setup>::State;
    type Action = <Faraway as Setup>::Action;
    type Catalogue = Catalogue;

    const TYPE: GameType = GameType { id: "guest", ..Faraway::TYPE };

    fn new(catalogue: Arc<Loaded<Catalogue>>, seats: u8, options: &Options) -> Result<Self, SetupError> {
        let whole = Faraway::new(catalogue, seats, options)?;
        let info = GameInfo { id: Self::TYPE.id, max_plies: PLIES, ..whole.info().clone() };
        Ok(Self { whole, info })
    }

    fn info(&self) -> &GameInfo {
        &self.info
    }
}

impl<const PLIES: u32> Turns for Guest<PLIES> {
    fn deal(&self, chance: &mut Chance) -> Self::State {
        self.whole.deal(chance)
    }

    fn pending(&self, state: &Self::State) -> SeatSet {
        self.whole.pending(state)
    }

    fn advance(&self, state: &mut Self::State, choice: Legal<Self::Action>, chance: &mut Chance) {
        self.whole.advance(state, choice, chance);
    }
}

impl<const PLIES: u32> Choices for Guest<PLIES> {
    fn encode(&self, action: Self::Action) -> u8 {
        self.whole.encode(action)
    }

    fn decode(&self, index: u8) -> Option<Self::Action> {
        self.whole.decode(index)
    }

    fn legal(&self, state: &Self::State, seat: Seat) -> ActionSet {
        self.whole.legal(state, seat)
    }

    fn is_legal(&self, state: &Self::State, seat: Seat, action: Self::Action) -> bool {
        self.whole.is_legal(state, seat, action)
    }
}

impl<const PLIES: u32> Scoring for Guest<PLIES> {
    fn outcome(&self, state: &Self::State) -> Option<Outcome> {
        self.whole.outcome(state)
    }

    fn explain(&self, state: &Self::State, seat: Seat) -> Vec<ScoreLine> {
        self.whole.explain(state, seat)
    }
}

impl<const PLIES: u32> Views for Guest<PLIES> {
    fn view(&self, state: &Self::State, viewer: Viewer, out: &mut [u8]) {
        self.whole.view(state, viewer, out);
    }
}

impl<const PLIES: u32> Texts for Guest<PLIES> {
    fn text(&self, state: &Self::State, viewer: Viewer, out: &mut dyn fmt::Write) -> fmt::Result {
        self.whole.text(state, viewer, out)
    }
}

impl<const PLIES: u32> Hidden for Guest<PLIES> {
    fn resample(&self, state: &mut Self::State, viewer: Seat, rng: &mut RngStream) {
        self.whole.resample(state, viewer, rng);
    }
}

impl<const PLIES: u32> Audits for Guest<PLIES> {
    fn audit(&self, state: &Self::State) -> Result<(), String> {
        self.whole.audit(state)
    }
}

impl<const PLIES: u32> Estimate for Guest<PLIES> {
    type Outlook = ();
}

#[test]
fn a_game_at_its_greatest_length_is_truncated() {
    let tables = Tables::new(Registry::standard().with::<Guest<10>>());
    let table = tables.table("guest", 2, []).expect("a table");
    let batch = open(&table, &plan(&["agent", "agent"]), 3, 0, 1);
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

/// Plays an episode between two bots; returns the winner, if there is a single one.
fn winner(table: &Table, bots: [&str; 2], seed: u64) -> Option<usize> {
    let mut episode = Arc::clone(&table.rules).deal(seed.into());
    let bots = bots.map(|bot| bot.parse::<Bot>().expect("a bot"));
    let mut rng = [0, 1].map(|seat| RngStream::new(seed, BOT_STREAM + seat));
    while !episode.pending().is_empty() {
        let player = |seat: Seat| (seat, bots[seat.index()].clone(), rng[seat.index()].clone());
        let mut round = episode.round(episode.pending().iter().map(player).collect());
        while !round.advance().expect("these bots always choose") {}
        for Choice { seat, action, rng: used } in round.choices() {
            episode.apply(seat, action.into()).expect("a legal choice");
            rng[seat.index()] = used;
        }
    }
    let outcome = episode.outcome().expect("it has ended");
    let winners: Vec<usize> =
        (0..2).filter(|&seat| outcome.is_winner(Seat::new(u8::from(seat == 1)))).collect();
    if let [one] = winners[..] { Some(one) } else { None }
}

#[test]
fn bots_beat_random_in_a_game_without_an_estimate() {
    let tables = Tables::new(Registry::standard().with::<Guest<1000>>());
    let table = tables.table("guest", 2, []).expect("a table");
    for bot in ["greedy:16", "mc:80"] {
        let wins = |seats: [&str; 2], seat| {
            (0..10).filter(|&seed| winner(&table, seats, seed) == Some(seat)).count()
        };
        let won = wins([bot, "random"], 0) + wins(["random", bot], 1);
        assert!(won >= 15, "{bot} won {won} of 20");
    }
}

#[test]
#[should_panic(expected = "two games `guest`")]
fn an_id_belongs_to_one_game() {
    let _ = Registry::default().with::<Guest<10>>().with::<Guest<20>>();
}
