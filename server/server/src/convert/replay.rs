//! Episodes as they were played, as messages.

use boardwire_api::v1;
use boardwire_batch::release::Release;
use boardwire_kernel::Seat;

use super::match_::{config, fair_deal, outcome, seed_opening, seed_source};
use super::{numbers, to_the_second};
use crate::arbiter::{Arbiter, Cause, Depiction, Frame, Move, Replay};

/// An episode as somebody may see it.
pub(crate) fn replay(arbiter: &Arbiter, replay: Replay) -> v1::Replay {
    let table = arbiter.table();
    v1::Replay {
        match_id: arbiter.id().to_owned(),
        config: Some(config(arbiter)),
        spec_digest: table.digest.to_string(),
        episode: replay.episode,
        seed_commitment: replay.commitment.to_vec().into(),
        seed_source: seed_source(replay.source).into(),
        seed_opening: replay.revealed.map(|opened| seed_opening(opened, replay.server_part)),
        fair: replay.fair.map(fair_deal),
        viewer: replay.viewer.seat().map(|seat| seat.number().into()),
        over: replay.over,
        release: Release::OWN.to_string(),
        frames: replay.frames.into_iter().map(|shown| frame(shown, table.rules.info().seats)).collect(),
    }
}

pub(crate) fn frame(shown: Frame, seats: u8) -> v1::Frame {
    v1::Frame {
        sequence: shown.sequence,
        episode: shown.episode,
        ply: shown.ply,
        time: Some(to_the_second(shown.at)),
        view: shown.view,
        pending: numbers(shown.pending),
        seat: shown.seat.map(Seat::number).map(Into::into),
        played: shown.played.map(played),
        head: shown.head.to_vec().into(),
        took: shown.took.and_then(|took| took.charged().try_into().ok()),
        outcome: shown.ending.map(|ending| outcome(ending, seats)),
    }
}

pub(crate) fn depiction(Depiction { picture, text }: Depiction) -> v1::Depiction {
    v1::Depiction { picture, text }
}

fn played(played: Move) -> v1::PlayedAction {
    let given = if let Cause::Substituted { given, .. } = played.cause { Some(given) } else { None };
    v1::PlayedAction { action: played.action.into(), cause: cause(played.cause).into(), given }
}

/// How an action came to be played.
pub(crate) fn cause(cause: Cause) -> v1::ActionCause {
    match cause {
        Cause::Agent => v1::ActionCause::Agent,
        Cause::Substituted { .. } => v1::ActionCause::Substituted,
        Cause::Bot { .. } => v1::ActionCause::Bot,
        Cause::Forced => v1::ActionCause::Forced,
        Cause::Late { .. } => v1::ActionCause::TimedOut,
    }
}
