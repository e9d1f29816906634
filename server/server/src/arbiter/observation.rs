//! What one seat is told of an episode: the same in every answer, and nothing beside it.

use boardwire_batch::play::Play;
use boardwire_batch::reward::{RewardKind, forfeit_ranks};
use boardwire_batch::tables::Table;
use boardwire_kernel::{ActionSet, GameInfo, ScoreLine, Seat, SeatSet};
use bytes::Bytes;

use super::Settings;
use super::clock::Reading;
use super::event::Forfeited;
use super::standing::Standing;

/// Parts of an observation that are made on request only.
#[allow(clippy::struct_excessive_bools, reason = "each is asked for by itself")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extras {
    /// The position as text.
    pub text: bool,
    /// Where everybody's points came from, once the episode is over.
    pub explanation: bool,
    /// The legal actions as a set.
    pub actions: bool,
    /// What all decisions of the episode chain up to.
    pub head: bool,
}

/// What one seat sees.
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// The episode.
    pub episode: u32,
    /// How many actions have been applied in it.
    pub ply: u32,
    /// How many decisions the seat has made in it.
    pub decision: u32,
    /// What the seat may know.
    pub view: Bytes,
    /// Its legal actions, a bit each.
    pub mask: Bytes,
    /// The seats that owe a decision.
    pub pending: SeatSet,
    /// The reward since its last decision.
    pub reward: f32,
    /// Whether the episode has ended by the rules or by a forfeit.
    pub terminated: bool,
    /// Whether it was cut at its greatest length.
    pub truncated: bool,
    /// Whether another action was played for its last one.
    pub substituted: bool,
    /// Whether its last decision was made for it, since its time had run out.
    pub timed_out: bool,
    /// What the clock of each seat shows; empty where nobody has one.
    pub clocks: Vec<Option<Reading>>,
    /// How it ended.
    pub ending: Option<Ending>,
    /// The position as text.
    pub text: Option<String>,
    /// Its legal actions, as a set.
    pub actions: Option<ActionSet>,
    /// What all decisions of the episode chain up to.
    pub head: Option<[u8; 32]>,
}

/// How an episode ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// Final scores by seat; none when it was truncated or forfeited.
    pub scores: Vec<i32>,
    /// Places by seat; none when it was truncated.
    pub ranks: Vec<u8>,
    /// Who forfeited it, and why.
    pub forfeited: Option<Forfeited>,
    /// Where the points of each seat came from.
    pub explanations: Vec<Vec<ScoreLine>>,
}

impl Standing {
    /// What `seat` sees now.
    pub(super) fn observe(
        &self,
        table: &Table,
        settings: &Settings,
        seat: Seat,
        extras: Extras,
    ) -> Observation {
        let info = table.rules.info();
        let mut view = vec![0; info.layout.bytes()];
        self.play.view(seat.into(), &mut view);
        let mut mask = vec![0; info.actions.mask_bytes()];
        let legal = if self.present.forfeited.is_some() { ActionSet::EMPTY } else { self.play.legal(seat) };
        legal.write_bits(&mut mask);
        let ending = Ending::of(&*self.play, self.present.forfeited, info.seats, extras);
        let reward = match &ending {
            Some(ending) => reward(ending, settings.reward, seat, info),
            None => 0.0,
        };
        let truncated = self.present.forfeited.is_none() && self.play.is_truncated();
        let place = &self.places[seat.index()];
        Observation {
            episode: self.present.episode,
            ply: self.play.ply(),
            decision: place.decision,
            view: view.into(),
            mask: mask.into(),
            pending: self.pending(),
            reward,
            terminated: ending.is_some() && !truncated,
            truncated,
            substituted: place.substituted,
            timed_out: place.timed_out,
            clocks: Vec::new(),
            ending,
            text: extras.text.then(|| self.play.text(seat.into())),
            actions: extras.actions.then_some(legal),
            head: extras.head.then(|| self.present.head()),
        }
    }
}

impl Ending {
    /// How an episode ended, if it has.
    pub(super) fn of(
        play: &dyn Play,
        forfeited: Option<Forfeited>,
        seats: u8,
        extras: Extras,
    ) -> Option<Self> {
        let nothing = Self { scores: vec![], ranks: vec![], forfeited: None, explanations: vec![] };
        if let Some(forfeited) = forfeited {
            let ranks = forfeit_ranks(forfeited.seat, seats)[..usize::from(seats)].to_vec();
            return Some(Self { ranks, forfeited: Some(forfeited), ..nothing });
        }
        if play.is_truncated() {
            return Some(nothing);
        }
        let outcome = play.outcome()?;
        let explain = || Seat::all(seats).map(|seat| play.explain(seat)).collect();
        Some(Self {
            scores: outcome.scores().to_vec(),
            ranks: outcome.ranks().to_vec(),
            forfeited: None,
            explanations: if extras.explanation { explain() } else { Vec::new() },
        })
    }
}

/// The reward of `seat`. A truncated episode rewards nobody.
fn reward(ending: &Ending, kind: RewardKind, seat: Seat, info: &GameInfo) -> f32 {
    match ending.forfeited {
        Some(Forfeited { seat: loser, .. }) => kind.of_forfeit(seat, loser, info),
        None if ending.ranks.is_empty() => 0.0,
        None => kind.of(seat, &ending.scores, &ending.ranks),
    }
}
