//! Tests a game from outside Boardwire. Unlike Boardwire's games, it has no estimate and can be truncated after a few plies.

use std::fmt;
use std::sync::Arc;

use boardwire_bots::{Bot, Choice};
use boardwire_games::faraway::{Catalogue, Faraway};
use boardwire_kernel::{
    ActionSet, Audits, BOT_STREAM, Choices, Estimate, GameInfo, GameType, Hidden, LegalChoice,
    LoadedCatalogue, Options, Outcome, RandomSource, RngStream, ScoreLine, Scoring, Seat, SeatSet, Setup,
    SetupError, Texts, Turns, Viewer, Views,
};

use super::*;

/// Faraway with another id and without its estimate, truncated after this many plies.
struct ForeignGame<const PLIES: u32> {
    faraway: Faraway,
    info: GameInfo,
}

impl<const PLIES: u32> Setup for ForeignGame<PLIES> {
    type State = <Faraway as Setup>::State;
    type Action = <Faraway as Setup>::Action;
    type Catalogue = Catalogue;

    const TYPE: GameType = GameType { id: "foreign", ..Faraway::TYPE };

    fn new(
        catalogue: Arc<LoadedCatalogue<Catalogue>>,
        seats: u8,
        options: &Options,
    ) -> Result<Self, SetupError> {
        let faraway = Faraway::new(catalogue, seats, options)?;
        let info = GameInfo { id: Self::TYPE.id, max_plies: PLIES, ..faraway.info().clone() };
        Ok(Self { faraway, info })
    }

    fn info(&self) -> &GameInfo {
        &self.info
    }
}

impl<const PLIES: u32> Turns for ForeignGame<PLIES> {
    fn deal(&self, chance: &mut RandomSource) -> Self::State {
        self.faraway.deal(chance)
    }

    fn pending(&self, state: &Self::State) -> SeatSet {
        self.faraway.pending(state)
    }

    fn advance(&self, state: &mut Self::State, choice: LegalChoice<Self::Action>, chance: &mut RandomSource) {
        self.faraway.advance(state, choice, chance);
    }
}

impl<const PLIES: u32> Choices for ForeignGame<PLIES> {
    fn encode(&self, action: Self::Action) -> u8 {
        self.faraway.encode(action)
    }

    fn decode(&self, index: u8) -> Option<Self::Action> {
        self.faraway.decode(index)
    }

    fn legal(&self, state: &Self::State, seat: Seat) -> ActionSet {
        self.faraway.legal(state, seat)
    }

    fn is_legal(&self, state: &Self::State, seat: Seat, action: Self::Action) -> bool {
        self.faraway.is_legal(state, seat, action)
    }
}

impl<const PLIES: u32> Scoring for ForeignGame<PLIES> {
    fn outcome(&self, state: &Self::State) -> Option<Outcome> {
        self.faraway.outcome(state)
    }

    fn explain(&self, state: &Self::State, seat: Seat) -> Vec<ScoreLine> {
        self.faraway.explain(state, seat)
    }
}

impl<const PLIES: u32> Views for ForeignGame<PLIES> {
    fn view(&self, state: &Self::State, viewer: Viewer, out: &mut [u8]) {
        self.faraway.view(state, viewer, out);
    }
}

impl<const PLIES: u32> Texts for ForeignGame<PLIES> {
    fn text(&self, state: &Self::State, viewer: Viewer, out: &mut dyn fmt::Write) -> fmt::Result {
        self.faraway.text(state, viewer, out)
    }
}

impl<const PLIES: u32> Hidden for ForeignGame<PLIES> {
    fn resample(&self, state: &mut Self::State, viewer: Seat, rng: &mut RngStream) {
        self.faraway.resample(state, viewer, rng);
    }
}

impl<const PLIES: u32> Audits for ForeignGame<PLIES> {
    fn audit(&self, state: &Self::State) -> Result<(), String> {
        self.faraway.audit(state)
    }
}

impl<const PLIES: u32> Estimate for ForeignGame<PLIES> {
    type Features = ();
}

#[test]
fn a_game_at_its_greatest_length_is_truncated() {
    let tables = Tables::new(Registry::standard().with::<ForeignGame<10>>());
    let table = tables.table("foreign", 2, []).expect("a table");
    let batch = open(&table, &config(&["agent", "agent"]), 3, 0, 1);
    let mut rows = reset(&batch);
    for salt in 0..10 {
        assert_eq!(rows.flags(), [0; 3]);
        rows = step(&batch, choices(&rows, 0, salt)).expect("legal");
    }
    assert_eq!(rows.flags(), [flag::TRUNCATED; 3]);
    assert_eq!(rows.seat(), [255; 3]);
    assert!(
        rows.mask()
            .iter()
            .chain(rows.reward())
            .chain(rows.ranks())
            .chain(rows.scores())
            .all(|&byte| byte == 0)
    );
    assert_eq!((rows.ended().len(), rows.ranks().len(), rows.scores().len()), (12, 6, 24));
}

/// Plays an episode between two bots; returns the winner, if there is a single one.
fn winner(table: &Table, bots: [&str; 2], seed: u64) -> Option<usize> {
    let mut episode = Arc::clone(&table.game).deal(seed.into());
    let bots = bots.map(|bot| bot.parse::<Bot>().expect("a bot"));
    let mut rng = [0, 1].map(|seat| RngStream::new(seed, BOT_STREAM + seat));
    while !episode.pending().is_empty() {
        let player = |seat: Seat| (seat, bots[seat.index()].clone(), rng[seat.index()].clone());
        let mut decisions = episode.start_bots(episode.pending().iter().map(player).collect());
        while !decisions.advance().expect("these bots always choose") {}
        for Choice { seat, action, rng: used } in decisions.choices() {
            episode.apply(seat, action.into()).expect("a legal choice");
            rng[seat.index()] = used;
        }
    }
    let outcome = episode.outcome().expect("it has ended");
    let winners: Vec<usize> =
        (0..2).filter(|&seat| outcome.is_winner(Seat::new(u8::from(seat == 1)))).collect();
    if let [single] = winners[..] { Some(single) } else { None }
}

#[test]
fn bots_beat_random_in_a_game_without_an_estimate() {
    let tables = Tables::new(Registry::standard().with::<ForeignGame<1000>>());
    let table = tables.table("foreign", 2, []).expect("a table");
    for bot in ["greedy:16", "mc:80"] {
        let wins = |seats: [&str; 2], seat| {
            (0..10).filter(|&seed| winner(&table, seats, seed) == Some(seat)).count()
        };
        let won = wins([bot, "random"], 0) + wins(["random", bot], 1);
        assert!(won >= 15, "{bot} won {won} of 20");
    }
}

#[test]
#[should_panic(expected = "two games `foreign`")]
fn an_id_belongs_to_one_game() {
    let _ = Registry::default().with::<ForeignGame<10>>().with::<ForeignGame<20>>();
}
