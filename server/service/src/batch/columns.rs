//! The rows of a step, column by column in one buffer that is used again once the answer has been sent.

use std::sync::{Mutex, MutexGuard, PoisonError};

use boardwire_kernel::GameInfo;
use bytes::{Bytes, BytesMut};

use super::{Columns, Plan};

/// The seat of a row that shows no decision.
pub(crate) const NOBODY: u8 = 255;
/// Idle buffers a batch keeps.
const KEPT: usize = 4;

/// How many bytes a row has in each column whose width is not the same for all batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Widths {
    pub(super) reward: usize,
    pub(super) mask: usize,
    pub(super) episode: usize,
    pub(super) view: usize,
}

impl Widths {
    /// Those of a table.
    pub(super) fn of(info: &GameInfo, columns: Columns) -> Self {
        Self {
            reward: 4 * usize::from(info.seats),
            mask: info.actions.mask_bytes(),
            episode: if columns.episodes { 4 } else { 0 },
            view: info.layout.bytes(),
        }
    }

    /// Bytes of one row in all columns: seat, flags and ply take six.
    pub(super) fn row(self) -> usize {
        6 + self.reward + self.mask + self.episode + self.view
    }
}

/// The most bytes a step of one environment takes, its end included.
#[must_use]
pub fn row_bytes(info: &GameInfo, plan: &Plan) -> usize {
    let seats = usize::from(info.seats);
    let scores = if plan.columns.scores { 5 * seats } else { 0 };
    let views = if plan.columns.final_views { plan.learners() * info.layout.bytes() } else { 0 };
    Widths::of(info, plan.columns).row() + 4 + scores + views
}

/// A run of rows to be written: its part of every column, which any thread may write.
#[derive(Debug)]
pub(super) struct Rows {
    widths: Widths,
    pub(super) seat: BytesMut,
    pub(super) flags: BytesMut,
    ply: BytesMut,
    reward: BytesMut,
    mask: BytesMut,
    episode: BytesMut,
    view: BytesMut,
}

impl Rows {
    /// Divides a buffer of `n` rows into its columns.
    fn of(mut buffer: BytesMut, widths: Widths, n: usize) -> Self {
        Self {
            widths,
            seat: buffer.split_to(n),
            flags: buffer.split_to(n),
            ply: buffer.split_to(4 * n),
            reward: buffer.split_to(widths.reward * n),
            mask: buffer.split_to(widths.mask * n),
            episode: buffer.split_to(widths.episode * n),
            view: buffer,
        }
    }

    /// Takes the first `n` rows out.
    pub(super) fn split_to(&mut self, n: usize) -> Self {
        let widths = self.widths;
        Self {
            widths,
            seat: self.seat.split_to(n),
            flags: self.flags.split_to(n),
            ply: self.ply.split_to(4 * n),
            reward: self.reward.split_to(widths.reward * n),
            mask: self.mask.split_to(widths.mask * n),
            episode: self.episode.split_to(widths.episode * n),
            view: self.view.split_to(widths.view * n),
        }
    }

    /// Puts the rows back that follow; nothing is copied, since they lie behind these.
    pub(super) fn join(&mut self, next: Self) {
        self.seat.unsplit(next.seat);
        self.flags.unsplit(next.flags);
        self.ply.unsplit(next.ply);
        self.reward.unsplit(next.reward);
        self.mask.unsplit(next.mask);
        self.episode.unsplit(next.episode);
        self.view.unsplit(next.view);
    }

    pub(super) fn put_ply(&mut self, row: usize, ply: u32) {
        self.ply[4 * row..4 * row + 4].copy_from_slice(&ply.to_le_bytes());
    }

    /// Writes the episode's number, if that column is wanted.
    pub(super) fn put_episode(&mut self, row: usize, number: u32) {
        if self.widths.episode > 0 {
            self.episode[4 * row..4 * row + 4].copy_from_slice(&number.to_le_bytes());
        }
    }

    /// The rewards of all seats, four bytes each.
    pub(super) fn reward(&mut self, row: usize) -> &mut [u8] {
        &mut self.reward[self.widths.reward * row..self.widths.reward * (row + 1)]
    }

    pub(super) fn mask(&mut self, row: usize) -> &mut [u8] {
        &mut self.mask[self.widths.mask * row..self.widths.mask * (row + 1)]
    }

    pub(super) fn view(&mut self, row: usize) -> &mut [u8] {
        &mut self.view[self.widths.view * row..self.widths.view * (row + 1)]
    }
}

/// The episodes that ended in a step, column by column.
#[derive(Debug, Default)]
pub(super) struct Ends {
    pub(super) environments: Vec<u8>,
    pub(super) scores: Vec<u8>,
    pub(super) ranks: Vec<u8>,
    pub(super) views: Vec<u8>,
}

impl Ends {
    /// Adds those of the environments that follow.
    pub(super) fn append(&mut self, other: &Self) {
        self.environments.extend_from_slice(&other.environments);
        self.scores.extend_from_slice(&other.scores);
        self.ranks.extend_from_slice(&other.ranks);
        self.views.extend_from_slice(&other.views);
    }
}

/// What a step gives back: the columns of `boardwire.v1.BatchStep`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the columns are documented in the protocol")]
pub struct Step {
    pub first: u32,
    pub sequence: u64,
    pub seat: Bytes,
    pub flags: Bytes,
    pub ply: Bytes,
    pub reward: Bytes,
    pub mask: Bytes,
    pub episode: Bytes,
    pub ended: Bytes,
    pub scores: Bytes,
    pub ranks: Bytes,
    pub final_view: Bytes,
    pub view: Bytes,
}

/// Buffers that are used again once what they held has been sent.
#[derive(Debug, Default)]
pub(super) struct Buffers(Mutex<Vec<Bytes>>);

impl Buffers {
    fn lock(&self) -> MutexGuard<'_, Vec<Bytes>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `n` rows, to be written: all of them, since the buffer still holds those of an earlier step.
    pub(super) fn rows(&self, widths: Widths, n: usize) -> Rows {
        let mut kept = self.lock();
        let sent = kept.iter().position(Bytes::is_unique).map(|at| kept.swap_remove(at));
        drop(kept);
        let mut buffer = sent.and_then(|bytes| bytes.try_into_mut().ok()).unwrap_or_default();
        buffer.resize(widths.row() * n, 0);
        Rows::of(buffer, widths, n)
    }

    /// The columns of written rows, which share their buffer.
    pub(super) fn finish(&self, rows: Rows, first: u32, sequence: u64, ends: Ends) -> Step {
        let (widths, n) = (rows.widths, rows.seat.len());
        let mut buffer = rows.seat;
        for column in [rows.flags, rows.ply, rows.reward, rows.mask, rows.episode, rows.view] {
            buffer.unsplit(column);
        }
        let mut rest = buffer.freeze();
        let mut kept = self.lock();
        if kept.len() < KEPT {
            kept.push(rest.clone());
        }
        drop(kept);
        let seat = rest.split_to(n);
        let flags = rest.split_to(n);
        let ply = rest.split_to(4 * n);
        let reward = rest.split_to(widths.reward * n);
        let mask = rest.split_to(widths.mask * n);
        let episode = rest.split_to(widths.episode * n);
        Step {
            first,
            sequence,
            seat,
            flags,
            ply,
            reward,
            mask,
            episode,
            ended: ends.environments.into(),
            scores: ends.scores.into(),
            ranks: ends.ranks.into(),
            final_view: ends.views.into(),
            view: rest,
        }
    }
}
