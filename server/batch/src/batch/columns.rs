//! The rows of a step, column by column in one buffer. The batch reuses the buffer after the response has been sent.

use std::sync::{Mutex, MutexGuard, PoisonError};

use boardwire_kernel::GameInfo;
use bytes::{Bytes, BytesMut};

use super::EnvironmentConfig;

/// The value of the seat and of the advice in a row without a decision.
pub(crate) const NO_VALUE: u8 = 255;
/// The maximum number of cached buffers: two half steps that are being sent, and two that are being written.
const MAX_CACHED_BUFFERS: usize = 4;
/// The maximum number of rows in all cached buffers, counted in steps of all environments.
const MAX_CACHED_STEPS: usize = 2;
/// The minimum size in bytes of a cached buffer. The operating system must map the pages of a new buffer of this size.
const MIN_CACHED_BYTES: usize = 32 << 10;

/// A column, in the order of the buffer. Columns of four-byte numbers come first, so that they are aligned.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Column {
    Ply,
    Reward,
    Episode,
    Shares,
    Estimates,
    Seat,
    Flags,
    Mask,
    Advice,
    OracleMask,
    Oracle,
    View,
}

const COLUMNS: usize = Column::View as usize + 1;

/// The width in bytes of a row in each column; 0 for a column that was not requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Widths([usize; COLUMNS]);

impl Widths {
    pub(super) fn of(info: &GameInfo, config: &EnvironmentConfig) -> Self {
        let (seats, view) = (usize::from(info.seats), info.layout.bytes());
        let has_shares = config.adviser.as_ref().is_some_and(|adviser| adviser.shares);
        let wanted = |is_wanted: bool, bytes: usize| if is_wanted { bytes } else { 0 };
        let mut widths = [0; COLUMNS];
        for (column, bytes) in [
            (Column::Seat, 1),
            (Column::Flags, 1),
            (Column::Ply, 4),
            (Column::Reward, 4 * seats),
            (Column::Mask, info.actions.mask_bytes()),
            (Column::Episode, wanted(config.columns.episodes, 4)),
            (Column::Advice, wanted(config.adviser.is_some(), 1)),
            (Column::Shares, wanted(has_shares, 4 * info.actions.count())),
            (Column::Estimates, wanted(config.columns.estimates, 4 * info.actions.count())),
            (Column::OracleMask, wanted(config.columns.oracle, seats * info.actions.mask_bytes())),
            (Column::Oracle, wanted(config.columns.oracle, seats * view)),
            (Column::View, view),
        ] {
            widths[column as usize] = bytes;
        }
        Self(widths)
    }

    /// Returns the size in bytes of one row in all columns.
    pub(super) fn row(self) -> usize {
        self.0.iter().sum()
    }
}

/// Returns the maximum size in bytes of one environment in a step, including the end of an episode.
pub(super) fn row_bytes(info: &GameInfo, config: &EnvironmentConfig) -> usize {
    let seats = usize::from(info.seats);
    let scores = if config.columns.scores { 5 * seats } else { 0 };
    let views = if config.columns.final_views { config.agents() * info.layout.bytes() } else { 0 };
    Widths::of(info, config).row() + 4 + scores + views
}

/// Rows that a call writes.
#[derive(Debug)]
pub(super) struct Rows {
    widths: Widths,
    storage: Storage,
    /// The capacity of the whole buffer in bytes.
    capacity: usize,
    /// The first row of the current block. The row numbers of cells count from it.
    pub(super) first: usize,
}

#[derive(Debug)]
enum Storage {
    /// One thread writes all rows: a buffer, and the offset of each column.
    Whole(BytesMut, [usize; COLUMNS]),
    /// A part of every column. Each of several threads writes one part.
    Part(Box<[BytesMut; COLUMNS]>),
}

impl Rows {
    /// Returns the rows of a buffer that holds `count` rows.
    fn whole(buffer: BytesMut, widths: Widths, count: usize) -> Self {
        let mut end = 0;
        let starts = widths.0.map(|bytes| {
            let start = end;
            end += bytes * count;
            start
        });
        Self { widths, capacity: buffer.capacity(), storage: Storage::Whole(buffer, starts), first: 0 }
    }

    /// Divides the buffer into columns, so that several threads can write.
    pub(super) fn divided(self, count: usize) -> Self {
        let widths = self.widths;
        let storage = match self.storage {
            Storage::Whole(mut buffer, _) => {
                Storage::Part(Box::new(widths.0.map(|bytes| split(&mut buffer, bytes * count))))
            }
            part @ Storage::Part(_) => part,
        };
        Self { storage, ..self }
    }

    /// Splits off the first `count` rows. The buffer must be divided.
    pub(super) fn split_to(&mut self, count: usize) -> Self {
        let (widths, columns) = (self.widths, self.columns());
        let columns = std::array::from_fn(|column| split(&mut columns[column], widths.0[column] * count));
        Self { widths, storage: Storage::Part(Box::new(columns)), capacity: 0, first: 0 }
    }

    /// Appends the rows that follow in the same buffer, without a copy.
    pub(super) fn join(&mut self, mut next: Self) {
        for (column, next) in self.columns().iter_mut().zip(next.columns()) {
            column.unsplit(std::mem::take(next));
        }
    }

    fn columns(&mut self) -> &mut [BytesMut; COLUMNS] {
        match &mut self.storage {
            Storage::Part(columns) => columns,
            Storage::Whole(..) => unreachable!("it has been divided"),
        }
    }

    /// Returns the bytes of a row in a column; empty if the column was not requested.
    pub(super) fn cell(&mut self, column: Column, row: usize) -> &mut [u8] {
        let (bytes, row) = (self.widths.0[column as usize], self.first + row);
        match &mut self.storage {
            Storage::Whole(buffer, starts) => &mut buffer[starts[column as usize] + bytes * row..][..bytes],
            Storage::Part(columns) => &mut columns[column as usize][bytes * row..bytes * (row + 1)],
        }
    }

    pub(super) fn put(&mut self, column: Column, row: usize, byte: u8) {
        self.cell(column, row).fill(byte);
    }

    /// Writes a four-byte number, if the column was requested.
    pub(super) fn put_number(&mut self, column: Column, row: usize, number: u32) {
        for (to, from) in self.cell(column, row).iter_mut().zip(number.to_le_bytes()) {
            *to = from;
        }
    }
}

/// Splits off the first bytes of a buffer. An empty part does not share the buffer, so it costs nothing.
fn split(buffer: &mut BytesMut, bytes: usize) -> BytesMut {
    if bytes == 0 { BytesMut::new() } else { buffer.split_to(bytes) }
}

/// The episodes that have ended in a step, column by column.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct EpisodeEndColumns {
    pub(crate) environments: Vec<u8>,
    pub(crate) scores: Vec<u8>,
    pub(crate) ranks: Vec<u8>,
    pub(crate) views: Vec<u8>,
}

impl EpisodeEndColumns {
    /// Appends the ends of the environments that follow.
    pub(super) fn append(&mut self, other: &Self) {
        self.environments.extend_from_slice(&other.environments);
        self.scores.extend_from_slice(&other.scores);
        self.ranks.extend_from_slice(&other.ranks);
        self.views.extend_from_slice(&other.views);
    }
}

/// The result of a step: the columns of `boardwire.v1.Step`, one after another in one buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The environment of the first row.
    pub first: u32,
    /// The sequence number of the response.
    pub sequence: u64,
    widths: Widths,
    rows: usize,
    bytes: Bytes,
    ends: EpisodeEndColumns,
}

/// Defines accessors for columns and for fields of [`EpisodeEndColumns`].
macro_rules! accessors {
    ($($name:ident $column:ident),*; $($end:ident $field:ident),*) => {
        $(accessors!($name, |step| step.column(Column::$column));)*
        $(accessors!($end, |step| &step.ends.$field);)*
    };
    ($name:ident, |$step:ident| $value:expr) => {
        #[doc = concat!("`", stringify!($name), "` of the message; empty if it was not requested or has no rows.")]
        #[must_use]
        pub fn $name(&self) -> &[u8] {
            let $step = self;
            $value
        }
    };
}

impl Step {
    accessors!(
        seat Seat, flags Flags, ply Ply, reward Reward, mask Mask, episode Episode, advice Advice, advice_shares Shares,
        estimates Estimates, oracle Oracle, oracle_mask OracleMask, view View;
        ended environments, scores scores, ranks ranks, final_view views
    );

    fn column(&self, column: Column) -> &[u8] {
        let before: usize = self.widths.0[..column as usize].iter().sum();
        &self.bytes[before * self.rows..][..self.widths.0[column as usize] * self.rows]
    }

    /// Returns each column as bytes, and the ends.
    pub(crate) fn split(mut self) -> ([Bytes; COLUMNS], EpisodeEndColumns) {
        (self.widths.0.map(|bytes| self.bytes.split_to(bytes * self.rows)), self.ends)
    }
}

/// The buffers that the batch reuses after their response has been sent.
#[derive(Debug)]
pub(super) struct BufferCache {
    max_bytes: usize,
    cached: Mutex<Vec<CachedBuffer>>,
}

/// A buffer, which may still be in use.
#[derive(Debug)]
struct CachedBuffer {
    rows: Bytes,
    /// In bytes.
    capacity: usize,
}

impl BufferCache {
    /// Returns a cache for steps of up to `rows` rows.
    pub(super) fn new(widths: Widths, rows: usize) -> Self {
        Self { max_bytes: MAX_CACHED_STEPS * widths.row() * rows, cached: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<CachedBuffer>> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns `n` rows. The caller must write all of them, because the buffer may still hold an earlier step.
    pub(super) fn rows(&self, widths: Widths, n: usize) -> Rows {
        let bytes = widths.row() * n;
        if bytes < MIN_CACHED_BYTES {
            return Rows::whole(BytesMut::zeroed(bytes), widths, n);
        }
        let mut cached = self.lock();
        let sent =
            cached.iter().position(|cached| cached.rows.is_unique()).map(|index| cached.swap_remove(index));
        drop(cached);
        let sent = sent.filter(|sent| sent.capacity >= bytes).and_then(|sent| sent.rows.try_into_mut().ok());
        let mut buffer = sent.unwrap_or_else(|| BytesMut::zeroed(bytes));
        buffer.resize(bytes, 0);
        Rows::whole(buffer, widths, n)
    }

    /// Creates a step from written rows and caches their buffer, without a copy.
    pub(super) fn finish(&self, rows: Rows, first: u32, sequence: u64, ends: EpisodeEndColumns) -> Step {
        let Rows { widths, storage, capacity, .. } = rows;
        let buffer = match storage {
            Storage::Whole(buffer, _) => buffer,
            Storage::Part(columns) => columns.into_iter().fold(BytesMut::new(), |mut buffer, column| {
                buffer.unsplit(column);
                buffer
            }),
        };
        let (rows, bytes) = (buffer.len() / widths.row(), buffer.freeze());
        if bytes.len() >= MIN_CACHED_BYTES {
            let mut cached = self.lock();
            let total: usize = cached.iter().map(|cached| cached.capacity).sum();
            if cached.len() < MAX_CACHED_BUFFERS && total + capacity <= self.max_bytes {
                cached.push(CachedBuffer { rows: bytes.clone(), capacity });
            }
        }
        Step { first, sequence, widths, rows, bytes, ends }
    }
}

#[cfg(test)]
mod tests;
