//! The rows of a step, column by column in one buffer that is used again once the answer has been sent.

use std::sync::{Mutex, MutexGuard, PoisonError};

use boardwire_kernel::GameInfo;
use bytes::{Bytes, BytesMut};

use super::Plan;

/// The seat of a row that shows no decision, and the advice for it.
pub(crate) const NOBODY: u8 = 255;
/// The most buffers a batch keeps: two halves that are sent while two others are written.
const MAX_CACHED_BUFFERS: usize = 4;
/// The most rows that they have together, in steps of all environments.
const MAX_CACHED_STEPS: usize = 2;
/// From so many bytes on a buffer is worth being kept: a fresh one would come as pages that are still to be mapped.
const MIN_CACHED_BYTES: usize = 32 << 10;

/// A column of the rows, in the order in which they lie in the buffer: numbers of four bytes first, so that they are
/// aligned.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Column {
    Ply,
    Reward,
    Episode,
    Shares,
    Seat,
    Flags,
    Mask,
    Advice,
    OracleMask,
    Oracle,
    View,
}

/// How many columns there are.
const COLUMNS: usize = Column::View as usize + 1;

/// How many bytes a row has in each column; none in a column that is not wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Widths([usize; COLUMNS]);

impl Widths {
    /// Those of a plan at a table.
    pub(super) fn of(info: &GameInfo, plan: &Plan) -> Self {
        let (seats, view) = (usize::from(info.seats), info.layout.bytes());
        let has_shares = plan.adviser.as_ref().is_some_and(|adviser| adviser.shares);
        let wanted = |is_wanted: bool, bytes: usize| if is_wanted { bytes } else { 0 };
        let mut widths = [0; COLUMNS];
        for (column, bytes) in [
            (Column::Seat, 1),
            (Column::Flags, 1),
            (Column::Ply, 4),
            (Column::Reward, 4 * seats),
            (Column::Mask, info.actions.mask_bytes()),
            (Column::Episode, wanted(plan.columns.episodes, 4)),
            (Column::Advice, wanted(plan.adviser.is_some(), 1)),
            (Column::Shares, wanted(has_shares, 4 * info.actions.count())),
            (Column::OracleMask, wanted(plan.columns.oracle, seats * info.actions.mask_bytes())),
            (Column::Oracle, wanted(plan.columns.oracle, seats * view)),
            (Column::View, view),
        ] {
            widths[column as usize] = bytes;
        }
        Self(widths)
    }

    /// Bytes of one row in all columns.
    pub(super) fn row(self) -> usize {
        self.0.iter().sum()
    }
}

/// The most bytes a step of one environment takes, its end included.
pub(super) fn row_bytes(info: &GameInfo, plan: &Plan) -> usize {
    let seats = usize::from(info.seats);
    let scores = if plan.columns.scores { 5 * seats } else { 0 };
    let views = if plan.columns.final_views { plan.agents() * info.layout.bytes() } else { 0 };
    Widths::of(info, plan).row() + 4 + scores + views
}

/// A run of rows to be written.
#[derive(Debug)]
pub(super) struct Rows {
    widths: Widths,
    storage: Storage,
    /// How many bytes the whole buffer takes.
    capacity: usize,
    /// Where the rows begin that are being written.
    from: usize,
}

/// Where rows are written.
#[derive(Debug)]
enum Storage {
    /// All of them, by one thread: a buffer, and where each column begins in it.
    Whole(BytesMut, [usize; COLUMNS]),
    /// A part of every column, which any thread may write.
    Part(Box<[BytesMut; COLUMNS]>),
}

impl Rows {
    /// A buffer of `count` rows.
    fn whole(buffer: BytesMut, widths: Widths, count: usize) -> Self {
        let mut end = 0;
        let starts = widths.0.map(|bytes| {
            let start = end;
            end += bytes * count;
            start
        });
        Self { widths, capacity: buffer.capacity(), storage: Storage::Whole(buffer, starts), from: 0 }
    }

    /// The same, to be divided among threads.
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

    /// Takes the first `count` rows out of divided ones.
    pub(super) fn split_to(&mut self, count: usize) -> Self {
        let (widths, columns) = (self.widths, self.columns());
        let columns = std::array::from_fn(|at| split(&mut columns[at], widths.0[at] * count));
        Self { widths, storage: Storage::Part(Box::new(columns)), capacity: 0, from: 0 }
    }

    /// Puts the rows back that follow; nothing is copied, since they lie behind these.
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

    /// Writes the rows from here on.
    pub(super) fn begin_at(&mut self, row: usize) {
        self.from = row;
    }

    /// What a row has in a column, to be written: nothing if the column is not wanted.
    pub(super) fn cell(&mut self, column: Column, row: usize) -> &mut [u8] {
        let (bytes, row) = (self.widths.0[column as usize], self.from + row);
        match &mut self.storage {
            Storage::Whole(buffer, starts) => &mut buffer[starts[column as usize] + bytes * row..][..bytes],
            Storage::Part(columns) => &mut columns[column as usize][bytes * row..bytes * (row + 1)],
        }
    }

    /// Writes a byte.
    pub(super) fn put(&mut self, column: Column, row: usize, byte: u8) {
        self.cell(column, row).fill(byte);
    }

    /// Writes a number of four bytes, if that column is wanted.
    pub(super) fn put_number(&mut self, column: Column, row: usize, number: u32) {
        for (byte, of_number) in self.cell(column, row).iter_mut().zip(number.to_le_bytes()) {
            *byte = of_number;
        }
    }
}

/// The first bytes of a buffer. Nothing shares no memory with it, so columns that are not wanted cost nothing.
fn split(buffer: &mut BytesMut, bytes: usize) -> BytesMut {
    if bytes == 0 { BytesMut::new() } else { buffer.split_to(bytes) }
}

/// The episodes that ended in a step, column by column.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) environments: Vec<u8>,
    pub(crate) scores: Vec<u8>,
    pub(crate) ranks: Vec<u8>,
    pub(crate) views: Vec<u8>,
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

/// What a step gives back: the columns of `boardwire.v1.Step`, side by side in one buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The environment of the first row.
    pub first: u32,
    /// The number of the answer.
    pub sequence: u64,
    widths: Widths,
    rows: usize,
    bytes: Bytes,
    ends: Ends,
}

/// The columns by their names, each in one piece.
macro_rules! columns {
    ($($name:ident $column:ident),*) => { $(
        #[doc = concat!("`", stringify!($name), "` of the message; empty if it is not wanted.")]
        #[must_use]
        pub fn $name(&self) -> &[u8] {
            self.column(Column::$column)
        }
    )* };
}

impl Step {
    columns!(
        seat Seat, flags Flags, ply Ply, reward Reward, mask Mask, episode Episode, advice Advice, advice_shares Shares,
        oracle Oracle, oracle_mask OracleMask, view View
    );

    fn column(&self, column: Column) -> &[u8] {
        let before: usize = self.widths.0[..column as usize].iter().sum();
        &self.bytes[before * self.rows..][..self.widths.0[column as usize] * self.rows]
    }

    /// `ended` of the message.
    #[must_use]
    pub fn ended(&self) -> &[u8] {
        &self.ends.environments
    }

    /// `scores` of the message; empty if they are not wanted.
    #[must_use]
    pub fn scores(&self) -> &[u8] {
        &self.ends.scores
    }

    /// `ranks` of the message; empty if they are not wanted.
    #[must_use]
    pub fn ranks(&self) -> &[u8] {
        &self.ends.ranks
    }

    /// `final_view` of the message; empty if it is not wanted.
    #[must_use]
    pub fn final_view(&self) -> &[u8] {
        &self.ends.views
    }

    /// The columns, each by itself, and the ends.
    pub(crate) fn split(mut self) -> ([Bytes; COLUMNS], Ends) {
        (self.widths.0.map(|bytes| self.bytes.split_to(bytes * self.rows)), self.ends)
    }
}

/// Buffers that are used again once what they held has been sent.
#[derive(Debug)]
pub(super) struct BufferCache {
    /// The most bytes that are kept.
    max_bytes: usize,
    cached: Mutex<Vec<CachedBuffer>>,
}

/// A buffer that may still be read, and how many bytes it takes.
#[derive(Debug)]
struct CachedBuffer {
    rows: Bytes,
    capacity: usize,
}

impl BufferCache {
    /// Buffers for steps of up to `rows` rows.
    pub(super) fn new(widths: Widths, rows: usize) -> Self {
        Self { max_bytes: MAX_CACHED_STEPS * widths.row() * rows, cached: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<CachedBuffer>> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `n` rows, to be written: all of them, since the buffer still holds those of an earlier step.
    pub(super) fn rows(&self, widths: Widths, n: usize) -> Rows {
        let bytes = widths.row() * n;
        if bytes < MIN_CACHED_BYTES {
            return Rows::whole(BytesMut::zeroed(bytes), widths, n);
        }
        let mut cached = self.lock();
        let sent = cached.iter().position(|cached| cached.rows.is_unique()).map(|at| cached.swap_remove(at));
        drop(cached);
        let sent = sent.filter(|sent| sent.capacity >= bytes).and_then(|sent| sent.rows.try_into_mut().ok());
        let mut buffer = sent.unwrap_or_else(|| BytesMut::zeroed(bytes));
        buffer.resize(bytes, 0);
        Rows::whole(buffer, widths, n)
    }

    /// The columns of written rows, which share their buffer.
    pub(super) fn finish(&self, rows: Rows, first: u32, sequence: u64, ends: Ends) -> Step {
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
