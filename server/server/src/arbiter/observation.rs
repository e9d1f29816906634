//! What one seat is told of an episode: the same in every answer, and nothing beside it.

use boardwire_api::v1;
use boardwire_batch::play::Play;
use boardwire_batch::reward::{self, forfeit_ranks};
use boardwire_batch::tables::Table;
use boardwire_kernel::{ActionSet, ScoreLine, Seat};

use super::Settings;
use super::event::Forfeited;
use super::standing::Standing;
use crate::convert::numbers;

impl Standing {
    /// The observation of `seat`, without the clocks.
    pub(super) fn observe(
        &self,
        table: &Table,
        settings: &Settings,
        seat: Seat,
        extras: v1::Extras,
    ) -> v1::Observation {
        let info = table.rules.info();
        let mut view = vec![0; info.layout.bytes()];
        self.play.view(seat.into(), &mut view);
        let mut mask = vec![0; info.actions.mask_bytes()];
        let forfeited = self.present.forfeited;
        let legal = if forfeited.is_some() { ActionSet::EMPTY } else { self.play.legal(seat) };
        legal.write_bits(&mut mask);
        let reward = match (forfeited, self.play.outcome()) {
            (Some(Forfeited { seat: loser, .. }), _) => {
                reward::of_forfeit(settings.reward, seat, loser, info)
            }
            (None, Some(end)) => reward::of(settings.reward, seat, end.scores(), end.ranks()),
            (None, None) => 0.0,
        };
        let action = |index: u8| v1::LegalAction {
            index: index.into(),
            label: info.actions.label(index).unwrap_or_default().to_owned(),
        };
        let outcome = outcome(&*self.play, forfeited, info.seats, extras.explanation);
        let truncated = forfeited.is_none() && self.play.is_truncated();
        let place = &self.places[seat.index()];
        v1::Observation {
            episode: self.present.episode,
            ply: self.play.ply(),
            decision: place.decision,
            view: view.into(),
            mask: mask.into(),
            pending: numbers(self.pending()),
            reward,
            terminated: outcome.is_some() && !truncated,
            truncated,
            substituted: place.substituted,
            timed_out: place.timed_out,
            clocks: Vec::new(),
            outcome,
            text: if extras.text { self.play.text(seat.into()) } else { String::new() },
            actions: if extras.actions { legal.iter().map(action).collect() } else { Vec::new() },
            head: if extras.head { self.present.head().to_vec().into() } else { bytes::Bytes::new() },
        }
    }
}

/// How an episode ended, if it has. A truncated one has neither scores nor ranks, a forfeited one no scores.
pub(super) fn outcome(
    play: &dyn Play,
    forfeited: Option<Forfeited>,
    seats: u8,
    explain: bool,
) -> Option<v1::Outcome> {
    if let Some(Forfeited { seat: loser, why }) = forfeited {
        let ranks = forfeit_ranks(loser, seats).into_iter().take(seats.into()).map(Into::into);
        let forfeit = |seat| if seat == loser { why } else { v1::Forfeit::Unspecified };
        let forfeits = Seat::all(seats).map(|seat| forfeit(seat).into());
        return Some(v1::Outcome {
            ranks: ranks.collect(),
            forfeits: forfeits.collect(),
            ..v1::Outcome::default()
        });
    }
    if play.is_truncated() {
        return Some(v1::Outcome::default());
    }
    let end = play.outcome()?;
    let line = |line: ScoreLine| v1::ScoreLine { source: line.source, points: line.points };
    let explanation = |seat| v1::Explanation { lines: play.explain(seat).into_iter().map(line).collect() };
    Some(v1::Outcome {
        scores: end.scores().to_vec(),
        ranks: end.ranks().iter().map(|&rank| rank.into()).collect(),
        forfeits: Vec::new(),
        explanations: if explain { Seat::all(seats).map(explanation).collect() } else { Vec::new() },
    })
}
