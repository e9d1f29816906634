//! Replays a recorded episode, frame by frame.

use boardwire_api::v1;
use boardwire_batch::play::AnyEpisode;
use boardwire_batch::reward::forfeit_ranks;
use boardwire_batch::tables::Table;
use boardwire_draw::draw;
use boardwire_kernel::{ScoreLine, Seat, Viewer};

use super::{Cause, Forfeited, InvalidEvent, Move, Record, after_decision, after_forfeit};
use crate::convert::{seat_numbers, whole_seconds};

/// A recorded episode, replayed up to one frame.
pub(crate) struct Replayer {
    play: Box<dyn AnyEpisode>,
    key: [u8; 32],
    head: [u8; 32],
    /// The index of the next frame in the episode.
    next: usize,
}

impl Replayer {
    /// Creates a replayer that stands before the first frame.
    pub(crate) fn new(table: &Table, record: &Record) -> Self {
        let key = record.key.key;
        let play = table.game.clone().deal(key);
        Self { play, key: *key.as_bytes(), head: record.commitment, next: 0 }
    }

    /// Returns the next frame as `viewer` may see it; `None` after the last.
    ///
    /// # Errors
    /// The record has an action that is not legal, or a forfeit after the end.
    pub(crate) fn advance(
        &mut self,
        table: &Table,
        record: &Record,
        viewer: Viewer,
        visible: VisibleDecisions,
    ) -> Result<Option<v1::Frame>, InvalidEvent> {
        let index = self.next;
        let sequence = record.first_sequence.checked_add(index as u64);
        let sequence = sequence
            .ok_or_else(|| InvalidEvent(format!("the sequence number of frame {index} exceeds 2^64 - 1")))?;
        let played = index.checked_sub(1).and_then(|at| record.moves.get(at));
        let forfeited = record.forfeited.filter(|_| index == record.moves.len() + 1);
        if index > 0 && played.is_none() && forfeited.is_none() {
            return Ok(None);
        }
        if let Some(played) = played {
            let refused = |error| InvalidEvent(format!("ply {index}: {error}"));
            self.play.apply(played.seat, u32::from(played.action)).map_err(refused)?;
            self.head = after_decision(&self.key, &self.head, played);
        }
        if let Some(forfeited) = forfeited {
            if self.play.pending().is_empty() {
                return Err(InvalidEvent(format!(
                    "frame {index} has a forfeit, but the episode is already over"
                )));
            }
            self.head = after_forfeit(&self.key, &self.head, forfeited);
        }
        self.next += 1;
        let info = table.game.info();
        let mut view = vec![0; info.layout_for(viewer).bytes()];
        self.play.view(viewer, &mut view);
        let is_visible =
            |played: &&Move| visible == VisibleDecisions::All || viewer == Viewer::from(played.seat);
        Ok(Some(v1::Frame {
            sequence,
            episode: record.episode,
            ply: self.play.ply(),
            time: Some(whole_seconds(record.frame_time(sequence))),
            view: view.into(),
            pending: if forfeited.is_some() { Vec::new() } else { seat_numbers(self.play.pending()) },
            seat: played.map(|played| played.seat.number().into()),
            took: played.and_then(|played| played.decision_time?.counted().try_into().ok()),
            played: played.filter(is_visible).copied().map(Move::to_message),
            head: self.head.to_vec().into(),
            outcome: outcome(&*self.play, forfeited, info.seats, false),
        }))
    }

    /// Checks that the next action can have its recorded cause.
    pub(crate) fn check_cause(&self, played: &Move, is_bot: bool) -> Result<(), &'static str> {
        let Move { seat, action, cause, .. } = *played;
        match cause {
            Cause::Bot { .. } if is_bot => Ok(()),
            Cause::Bot { .. } => Err("the cause says that a bot chose for an agent"),
            Cause::Agent | Cause::Substituted { .. } | Cause::Forced | Cause::TimedOut { .. } if is_bot => {
                Err("the cause says that an agent chose for a bot")
            }
            Cause::Substituted { given, .. } if self.play.check(seat, given).is_ok() => {
                Err("the action that was replaced was legal")
            }
            Cause::Forced if self.play.forced(seat) != Some(action) => {
                Err("the cause says that the action was forced, but the seat had a choice")
            }
            Cause::Agent | Cause::Substituted { .. } | Cause::Forced | Cause::TimedOut { .. } => Ok(()),
        }
    }

    /// Returns the last frame as a picture and as text, as `viewer` sees it.
    pub(crate) fn draw_frame(
        &self,
        table: &Table,
        viewer: Viewer,
        frame: &v1::Frame,
    ) -> Result<v1::Depiction, InvalidEvent> {
        let picture = draw(table.game.info(), viewer, &frame.view).map_err(InvalidEvent)?;
        Ok(v1::Depiction { picture: picture.svg(), text: self.play.text(viewer) })
    }
}

/// Which decisions a viewer sees: only its own, or all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VisibleDecisions {
    Own,
    All,
}

/// Returns the outcome of an ended episode. A truncated one has no scores and no ranks, a forfeited one has no scores.
pub(crate) fn outcome(
    play: &dyn AnyEpisode,
    forfeited: Option<Forfeited>,
    seats: u8,
    explain: bool,
) -> Option<v1::Outcome> {
    if let Some(Forfeited { seat: loser, reason }) = forfeited {
        let ranks = forfeit_ranks(loser, seats).into_iter().take(seats.into()).map(Into::into).collect();
        let forfeit = |seat| if seat == loser { reason } else { v1::Forfeit::Unspecified };
        let forfeits = Seat::all(seats).map(|seat| forfeit(seat).into()).collect();
        return Some(v1::Outcome { ranks, forfeits, ..v1::Outcome::default() });
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
