//! The observation of a seat: everything that a response tells it about an episode.

use boardwire_api::v1;
use boardwire_batch::reward;
use boardwire_batch::tables::Table;
use boardwire_kernel::{ActionSet, Seat};

use super::Settings;
use super::state::State;
use crate::convert::numbers;
use crate::record::{Forfeited, outcome};

impl State {
    /// The observation of `seat`, without clock readings.
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
        let seat_state = &self.by_seat[seat.index()];
        v1::Observation {
            episode: self.present.episode,
            ply: self.play.ply(),
            decision: seat_state.decision,
            view: view.into(),
            mask: mask.into(),
            pending: numbers(self.pending()),
            reward,
            terminated: outcome.is_some() && !truncated,
            truncated,
            substituted: seat_state.substituted,
            timed_out: seat_state.timed_out,
            clocks: Vec::new(),
            outcome,
            text: if extras.text { self.play.text(seat.into()) } else { String::new() },
            actions: if extras.actions { legal.iter().map(action).collect() } else { Vec::new() },
            head: if extras.head { self.present.head().to_vec().into() } else { bytes::Bytes::new() },
        }
    }
}
