//! What worlds show: the columns of `boardwire.v1.WorldStep`.

use boardwire_api::v1::RewardKind;
use boardwire_kernel::{ActionSet, GameInfo, Seat};

use super::world::World;
use crate::batch::{MESSAGE_HEAD, NOBODY, flag};
use crate::reward;
use crate::tables::Table;

/// The rows of some worlds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the columns are documented in the protocol")]
pub struct WorldStep {
    pub seat: Vec<u8>,
    pub flags: Vec<u8>,
    pub ply: Vec<u8>,
    pub reward: Vec<u8>,
    pub mask: Vec<u8>,
    pub view: Vec<u8>,
}

/// The bytes of one row.
#[must_use]
pub fn row_bytes(info: &GameInfo) -> usize {
    6 + 4 * usize::from(info.seats) + info.actions.mask_bytes() + info.layout.bytes()
}

/// The most rows of a message.
pub(super) fn most_rows(info: &GameInfo, message_bytes: usize) -> usize {
    message_bytes.saturating_sub(MESSAGE_HEAD) / row_bytes(info)
}

impl WorldStep {
    /// The rows of these worlds.
    pub(super) fn of(table: &Table, reward: RewardKind, worlds: &[World]) -> Self {
        let (info, rows) = (table.rules.info(), worlds.len());
        let (mask, view) = (info.actions.mask_bytes(), info.layout.bytes());
        let mut step = Self {
            seat: Vec::with_capacity(rows),
            flags: Vec::with_capacity(rows),
            ply: Vec::with_capacity(4 * rows),
            reward: Vec::with_capacity(4 * usize::from(info.seats) * rows),
            mask: vec![0; mask * rows],
            view: vec![0; view * rows],
        };
        let rows = step.mask.chunks_mut(mask).zip(step.view.chunks_mut(view));
        for (world, (mask, view)) in worlds.iter().zip(rows) {
            let seat = world.decides();
            step.seat.push(seat.map_or(NOBODY, Seat::number));
            let outcome = world.play.outcome();
            step.flags.push(match &outcome {
                Some(_) => flag::TERMINATED,
                None if world.play.is_truncated() => flag::TRUNCATED,
                None => 0,
            });
            step.ply.extend(world.play.ply().to_le_bytes());
            for seat in Seat::all(info.seats) {
                let own =
                    outcome.as_ref().map_or(0.0, |end| reward::of(reward, seat, end.scores(), end.ranks()));
                step.reward.extend(own.to_le_bytes());
            }
            let legal = seat.map_or(ActionSet::EMPTY, |seat| world.play.legal(seat));
            legal.write_bits(mask);
            world.play.view(seat.unwrap_or(world.viewer).into(), view);
        }
        step
    }
}
