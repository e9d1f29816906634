//! The worlds (determinizations) of a search, and their rows in a step.

use std::sync::Arc;

use boardwire_api::v1::{self, RewardKind};
use boardwire_kernel::{ActionSet, DETERMINIZATION_STREAM, GameInfo, PLAYOUT_STREAM, RngStream, Seat};

use crate::batch::{MAX_MESSAGE_OVERHEAD_BYTES, NO_VALUE, flag};
use crate::play::{AnyEpisode, InformationSet};
use crate::reward;
use crate::tables::Table;

/// A world, and the seat that it was sampled for. Clones share the episode until one of them plays.
#[derive(Clone)]
pub(super) struct World {
    pub(super) episode: Arc<dyn AnyEpisode>,
    pub(super) viewer: Seat,
    /// The number of the world among those of its seat. Clones keep it, so the playouts after different actions of one
    /// world have the same chance events.
    pub(super) number: u64,
}

impl World {
    /// Samples a world with this seed from a seat's information set. `number` counts the worlds of the seat.
    pub(super) fn sample(information_set: &dyn InformationSet, seed: u64, number: usize) -> Self {
        let (episode, viewer) = (information_set.sample_determinization(seed), information_set.seat());
        Self { episode, viewer, number: number as u64 }
    }

    /// Samples a world from what `seat` knows in this world. It keeps the number, so it has the same chance events in
    /// playouts.
    pub(super) fn redeterminized(&self, seat: Seat, seed: u64) -> Self {
        let episode = self.episode.information_set(seat).sample_determinization(seed);
        Self { episode, viewer: seat, number: self.number }
    }

    /// Returns the episode for playing. Copies the episode first if it is shared.
    pub(super) fn episode_mut(&mut self) -> &mut dyn AnyEpisode {
        if Arc::get_mut(&mut self.episode).is_none() {
            self.episode = self.episode.copy();
        }
        Arc::get_mut(&mut self.episode).expect("a new copy is not shared")
    }

    /// Returns the seat whose decision the row shows: `viewer` if it owes one, else the lowest pending seat.
    pub(super) fn deciding_seat(&self) -> Option<Seat> {
        let pending = self.episode.pending();
        if pending.contains(self.viewer) { Some(self.viewer) } else { pending.lowest() }
    }

    /// Plays forced decisions until no seat has one.
    pub(super) fn skip_forced(&mut self) {
        let forced = |episode: &dyn AnyEpisode| {
            episode.pending().iter().find_map(|seat| Some((seat, episode.forced(seat)?)))
        };
        while let Some((seat, action)) = forced(&*self.episode) {
            self.episode_mut().apply(seat, action.into()).expect("the only legal action");
        }
    }
}

/// Returns the seed of world `number`. It differs from every episode seed of a batch with the same seed. So a world does
/// not repeat the chance events of such an episode.
pub(super) fn world_seed(seed: u64, number: usize) -> u64 {
    RngStream::new(seed, DETERMINIZATION_STREAM + number as u64).next_seed()
}

/// Returns the seed of row `row` of a call that samples worlds from worlds. It differs from that of a world with the same
/// seed, because the sample would have the same cards.
pub(super) fn redeterminization_seed(seed: u64, row: usize) -> u64 {
    // A seed takes two words, and `world_seed` uses the first two.
    RngStream::resume(seed.into(), DETERMINIZATION_STREAM + row as u64, 2).next_seed()
}

/// Returns the seed of playout `playout` of a world, under the seed of a rollout.
pub(super) fn playout_seed(seed: u64, world: u64, playout: usize) -> u64 {
    // A seed takes two words.
    RngStream::resume(seed.into(), PLAYOUT_STREAM + world, 2 * playout as u64).next_seed()
}

/// Returns the size of a row in bytes.
#[must_use]
pub fn row_bytes(info: &GameInfo) -> usize {
    6 + 4 * usize::from(info.seats) + info.actions.mask_bytes() + info.layout.bytes()
}

/// Returns the number of rows that fit one message.
pub(super) fn max_rows(info: &GameInfo, message_bytes: usize) -> usize {
    message_bytes.saturating_sub(MAX_MESSAGE_OVERHEAD_BYTES) / row_bytes(info)
}

/// Returns a step with one row for each of these worlds.
pub(super) fn rows<'a>(
    table: &Table,
    reward: RewardKind,
    worlds: impl ExactSizeIterator<Item = &'a World>,
) -> v1::Step {
    let (info, rows) = (table.game.info(), worlds.len());
    let (mask_bytes, view_bytes) = (info.actions.mask_bytes(), info.layout.bytes());
    let (mut seats, mut flags) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    let mut plies = Vec::with_capacity(4 * rows);
    let mut rewards = Vec::with_capacity(4 * usize::from(info.seats) * rows);
    let (mut masks, mut views) = (vec![0; mask_bytes * rows], vec![0; view_bytes * rows]);
    let buffers = masks.chunks_mut(mask_bytes).zip(views.chunks_mut(view_bytes));
    for (world, (mask, view)) in worlds.zip(buffers) {
        let seat = world.deciding_seat();
        seats.push(seat.map_or(NO_VALUE, Seat::number));
        let outcome = world.episode.outcome();
        flags.push(match &outcome {
            Some(_) => flag::TERMINATED,
            None if world.episode.is_truncated() => flag::TRUNCATED,
            None => 0,
        });
        plies.extend(world.episode.ply().to_le_bytes());
        for seat in Seat::all(info.seats) {
            let value =
                outcome.as_ref().map_or(0.0, |end| reward::of(reward, seat, end.scores(), end.ranks()));
            rewards.extend(value.to_le_bytes());
        }
        let legal = seat.map_or(ActionSet::EMPTY, |seat| world.episode.legal(seat));
        legal.write_bits(mask);
        world.episode.view(seat.unwrap_or(world.viewer).into(), view);
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
