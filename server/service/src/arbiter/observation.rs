//! What one seat is told of an episode: the same in every answer, and nothing beside it.

use boardwire_kernel::{ActionSet, GameInfo, ScoreLine, Seat, SeatSet};
use bytes::Bytes;

use super::Settings;
use super::event::Forfeited;
use super::standing::Standing;
use crate::reward::{RewardKind, forfeit_ranks};
use crate::tables::Table;

/// Parts of an observation that are made on request only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extras {
    /// The position as text.
    pub text: bool,
    /// Where everybody's points came from, once the episode is over.
    pub explanation: bool,
    /// The legal actions as a set.
    pub actions: bool,
}

/// What one seat sees.
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
    /// How it ended.
    pub ending: Option<Ending>,
    /// The position as text.
    pub text: Option<String>,
    /// Its legal actions, as a set.
    pub actions: Option<ActionSet>,
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
        let legal = if self.forfeited.is_some() { ActionSet::EMPTY } else { self.play.legal(seat) };
        legal.write_bits(&mut mask);
        let ending = self.ending(info.seats, extras);
        let reward = match &ending {
            Some(ending) => reward(ending, settings.reward, seat, info),
            None => 0.0,
        };
        let truncated = self.forfeited.is_none() && self.play.is_truncated();
        let place = &self.places[seat.index()];
        Observation {
            episode: self.episode,
            ply: self.play.ply(),
            decision: place.decision,
            view: view.into(),
            mask: mask.into(),
            pending: self.pending(),
            reward,
            terminated: ending.is_some() && !truncated,
            truncated,
            substituted: place.substituted,
            ending,
            text: extras.text.then(|| self.play.text(seat.into())),
            actions: extras.actions.then_some(legal),
        }
    }

    /// How the episode ended, if it has.
    fn ending(&self, seats: u8, extras: Extras) -> Option<Ending> {
        let nothing = Ending { scores: vec![], ranks: vec![], forfeited: None, explanations: vec![] };
        if let Some(forfeited) = self.forfeited {
            let ranks = forfeit_ranks(forfeited.seat, seats)[..usize::from(seats)].to_vec();
            return Some(Ending { ranks, forfeited: Some(forfeited), ..nothing });
        }
        if self.play.is_truncated() {
            return Some(nothing);
        }
        let outcome = self.play.outcome()?;
        let explain = || Seat::all(seats).map(|seat| self.play.explain(seat)).collect();
        Some(Ending {
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
