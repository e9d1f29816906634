//! The rows of worlds.

use boardwire_api::v1::{self, RewardKind};
use boardwire_kernel::{ActionSet, GameInfo, Seat};

use super::world::World;
use crate::batch::{MESSAGE_HEAD, NOBODY, flag};
use crate::reward;
use crate::tables::Table;

/// The bytes of one row.
#[must_use]
pub fn row_bytes(info: &GameInfo) -> usize {
    6 + 4 * usize::from(info.seats) + info.actions.mask_bytes() + info.layout.bytes()
}

/// The most rows of a message.
pub(super) fn most_rows(info: &GameInfo, message_bytes: usize) -> usize {
    message_bytes.saturating_sub(MESSAGE_HEAD) / row_bytes(info)
}

/// The rows of these worlds.
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
    let each = masks.chunks_mut(mask_bytes).zip(views.chunks_mut(view_bytes));
    for (world, (mask, view)) in worlds.zip(each) {
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
            let own = outcome.as_ref().map_or(0.0, |end| reward::of(reward, seat, end.scores(), end.ranks()));
            rewards.extend(own.to_le_bytes());
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
