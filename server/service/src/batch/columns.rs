//! The rows of a step, column by column in one buffer that is used again once the answer has been sent.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

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
    /// Bytes of one row in all columns: seat, flags and ply take six.
    pub(super) fn row(self) -> usize {
        6 + self.reward + self.mask + self.episode + self.view
    }
}

/// A run of rows to be written, a slice of every column.
pub struct Rows<'a> {
    widths: Widths,
    pub(super) seat: &'a mut [u8],
    pub(super) flags: &'a mut [u8],
    ply: &'a mut [u8],
    reward: &'a mut [u8],
    mask: &'a mut [u8],
    episode: &'a mut [u8],
    view: &'a mut [u8],
}

impl<'a> Rows<'a> {
    /// Divides a buffer of `n` rows into its columns.
    fn of(buffer: &'a mut [u8], widths: Widths, n: usize) -> Self {
        let (seat, rest) = buffer.split_at_mut(n);
        let (flags, rest) = rest.split_at_mut(n);
        let (ply, rest) = rest.split_at_mut(4 * n);
        let (reward, rest) = rest.split_at_mut(widths.reward * n);
        let (mask, rest) = rest.split_at_mut(widths.mask * n);
        let (episode, view) = rest.split_at_mut(widths.episode * n);
        Self { widths, seat, flags, ply, reward, mask, episode, view }
    }

    /// The first `n` rows, and the others.
    pub(super) fn split_at(self, n: usize) -> (Self, Self) {
        let widths = self.widths;
        let (seat, seats) = self.seat.split_at_mut(n);
        let (flags, all_flags) = self.flags.split_at_mut(n);
        let (ply, plies) = self.ply.split_at_mut(4 * n);
        let (reward, rewards) = self.reward.split_at_mut(widths.reward * n);
        let (mask, masks) = self.mask.split_at_mut(widths.mask * n);
        let (episode, episodes) = self.episode.split_at_mut(widths.episode * n);
        let (view, views) = self.view.split_at_mut(widths.view * n);
        (
            Self { widths, seat, flags, ply, reward, mask, episode, view },
            Self {
                widths,
                seat: seats,
                flags: all_flags,
                ply: plies,
                reward: rewards,
                mask: masks,
                episode: episodes,
                view: views,
            },
        )
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
pub struct Ends {
    pub(super) environments: Vec<u8>,
    pub(super) scores: Vec<u8>,
    pub(super) ranks: Vec<u8>,
    pub(super) views: Vec<u8>,
}

impl Ends {
    pub(super) fn clear(&mut self) {
        self.environments.clear();
        self.scores.clear();
        self.ranks.clear();
        self.views.clear();
    }

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

/// A buffer with the rows of a step, on its way to be sent.
pub(super) struct Sheet {
    bytes: Vec<u8>,
    home: Arc<Buffers>,
    widths: Widths,
    n: usize,
}

impl Sheet {
    /// The rows, to be written: all of them, since the buffer still holds those of an earlier step.
    pub(super) fn rows(&mut self) -> Rows<'_> {
        Rows::of(&mut self.bytes, self.widths, self.n)
    }

    /// The columns, which share the buffer.
    pub(super) fn finish(self, first: u32, ends: Ends) -> Step {
        let (widths, n) = (self.widths, self.n);
        let mut rest = Bytes::from_owner(self);
        let seat = rest.split_to(n);
        let flags = rest.split_to(n);
        let ply = rest.split_to(4 * n);
        let reward = rest.split_to(widths.reward * n);
        let mask = rest.split_to(widths.mask * n);
        let episode = rest.split_to(widths.episode * n);
        Step {
            first,
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

impl AsRef<[u8]> for Sheet {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Sheet {
    fn drop(&mut self) {
        self.home.keep(std::mem::take(&mut self.bytes));
    }
}

/// Buffers that wait to be used again.
#[derive(Debug, Default)]
pub(super) struct Buffers(Mutex<Vec<Vec<u8>>>);

impl Buffers {
    /// A buffer for `n` rows.
    pub(super) fn sheet(self: &Arc<Self>, widths: Widths, n: usize) -> Sheet {
        let mut bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        bytes.resize(widths.row() * n, 0);
        Sheet { bytes, home: Arc::clone(self), widths, n }
    }

    fn keep(&self, bytes: Vec<u8>) {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < KEPT {
            idle.push(bytes);
        }
    }
}
