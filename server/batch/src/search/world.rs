//! The determinizations (worlds) of a search, and their rows in a step.

use std::sync::Arc;

use boardwire_api::v1::{self, RewardKind};
use boardwire_kernel::{ActionSet, GameInfo, RngStream, Seat, WORLD_STREAM};

use crate::batch::{MESSAGE_HEAD, NOBODY, flag};
use crate::play::{Insight, Play};
use crate::reward;
use crate::tables::Table;

/// A world, and the seat that it was sampled for. Clones share the episode until one of them plays.
#[derive(Clone)]
pub(super) struct World {
    pub(super) play: Arc<dyn Play>,
    pub(super) viewer: Seat,
}

impl World {
    /// Samples world `number` of a search with this seed, from the seat's information set.
    pub(super) fn sample(insight: &dyn Insight, seed: u64, number: usize) -> Self {
        Self { play: insight.imagine(world_seed(seed, number)), viewer: insight.seat() }
    }

    /// Returns the episode for playing. Copies the episode first if it is shared.
    pub(super) fn play_mut(&mut self) -> &mut dyn Play {
        if Arc::get_mut(&mut self.play).is_none() {
            self.play = self.play.copy();
        }
        Arc::get_mut(&mut self.play).expect("a new copy is not shared")
    }

    /// Returns the seat whose decision the row shows: `viewer` if it owes one, else the lowest pending seat.
    pub(super) fn decides(&self) -> Option<Seat> {
        let pending = self.play.pending();
        if pending.contains(self.viewer) { Some(self.viewer) } else { pending.lowest() }
    }

    /// Plays forced decisions until no seat has one.
    pub(super) fn skip_forced(&mut self) {
        let forced =
            |play: &dyn Play| play.pending().iter().find_map(|seat| Some((seat, play.forced(seat)?)));
        while let Some((seat, action)) = forced(&*self.play) {
            self.play_mut().apply(seat, action.into()).expect("the only legal action");
        }
    }
}

/// Returns the seed of world `number`. It differs from every episode seed of a batch with the same seed. So a world does
/// not repeat the chance events of such an episode.
pub(super) fn world_seed(seed: u64, number: usize) -> u64 {
    RngStream::new(seed, WORLD_STREAM + number as u64).seed()
}

/// Returns the size of a row in bytes.
#[must_use]
pub fn row_bytes(info: &GameInfo) -> usize {
    6 + 4 * usize::from(info.seats) + info.actions.mask_bytes() + info.layout.bytes()
}

/// Returns the number of rows that fit one message.
pub(super) fn most_rows(info: &GameInfo, message_bytes: usize) -> usize {
    message_bytes.saturating_sub(MESSAGE_HEAD) / row_bytes(info)
}

/// Returns a step with one row for each of these worlds.
pub(super) fn rows<'a>(
    table: &Table,
    reward: RewardKind,
    worlds: impl ExactSizeIterator<Item = &'a World>,
) -> v1::Step {
    let (info, rows) = (table.rules.info(), worlds.len());
    let (mask_bytes, view_bytes) = (info.actions.mask_bytes(), info.layout.bytes());
    let (mut seats, mut flags) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    let mut plies = Vec::with_capacity(4 * rows);
    let mut rewards = Vec::with_capacity(4 * usize::from(info.seats) * rows);
    let (mut masks, mut views) = (vec![0; mask_bytes * rows], vec![0; view_bytes * rows]);
    let buffers = masks.chunks_mut(mask_bytes).zip(views.chunks_mut(view_bytes));
    for (world, (mask, view)) in worlds.zip(buffers) {
        let seat = world.decides();
        seats.push(seat.map_or(NOBODY, Seat::number));
        let outcome = world.play.outcome();
        flags.push(match &outcome {
            Some(_) => flag::TERMINATED,
            None if world.play.is_truncated() => flag::TRUNCATED,
            None => 0,
        });
        plies.extend(world.play.ply().to_le_bytes());
        for seat in Seat::all(info.seats) {
            let value =
                outcome.as_ref().map_or(0.0, |end| reward::of(reward, seat, end.scores(), end.ranks()));
            rewards.extend(value.to_le_bytes());
        }
        let legal = seat.map_or(ActionSet::EMPTY, |seat| world.play.legal(seat));
        legal.write_bits(mask);
        world.play.view(seat.unwrap_or(world.viewer).into(), view);
    }
    v1::Step {
        seat: seats.into(),
        flags: flags.into(),
        ply: plies.into(),
        reward: rewards.into(),
        mask: masks.into(),
        view: views.into(),
        ..v1::Step::default()
    }
}
