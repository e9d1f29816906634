//! The work of one call, on the blocks that it has taken out of its batch.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use super::block::Block;
use super::columns::{Ends, Rows, Step};
use super::snapshot::Saved;
use super::{Autoreset, Batch, Begin};
use crate::arbiter::IllegalActions;
use crate::error::ServiceError;

/// A block with what it needs for a step.
pub(super) struct Piece {
    pub(super) block: Box<dyn Block>,
    /// The environment at its first place.
    pub(super) first: usize,
    pub(super) ends: Ends,
}

/// Blocks that a call has taken out of its batch; they go back when it is dropped.
pub(super) struct Taken {
    pub(super) batch: Arc<Batch>,
    pub(super) pieces: Vec<Piece>,
    pub(super) range: Range<usize>,
    pub(super) effort: Effort,
}

/// How much a call has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effort {
    /// Less than asking for help costs.
    Alone,
    /// Little enough to keep the thread that has read the call.
    Together,
    /// So much that the pool does it while other calls are read.
    Apart,
}

/// A run of environments within one piece, with their rows.
struct Job<'a> {
    piece: &'a mut Piece,
    /// Places in the block.
    within: Range<usize>,
    rows: Rows<'a>,
}

impl Taken {
    /// Refuses actions that may not be chosen, naming the first environment.
    pub(super) fn check(&self, actions: &[u8]) -> Result<(), ServiceError> {
        let (batch, plan) = (&*self.batch, &*self.batch.plan);
        let labels = &batch.table.rules.info().actions;
        let mut actions = actions.iter();
        for piece in &self.pieces {
            let within = self.within(piece);
            for (due, at) in piece.block.dues()[within.clone()].iter().zip(piece.first + within.start..) {
                let Some(&action) = actions.next() else { return Ok(()) };
                let environment = at;
                match due.seat {
                    None if plan.autoreset == Autoreset::Disabled => {
                        return Err(ServiceError::EnvironmentOver { environment });
                    }
                    None => {}
                    Some(_) if due.legal.contains(action) => {}
                    Some(seat) => match labels.get(action) {
                        None => {
                            let (action, actions) = (action, labels.count());
                            return Err(ServiceError::BatchActionOutOfRange { environment, action, actions });
                        }
                        Some(label) if plan.illegal_actions == IllegalActions::Reject => {
                            let label = label.to_owned();
                            return Err(ServiceError::BatchActionIllegal {
                                environment,
                                seat,
                                action,
                                label,
                            });
                        }
                        Some(_) => {}
                    },
                }
            }
        }
        Ok(())
    }

    /// The places of a piece that the call is about.
    fn within(&self, piece: &Piece) -> Range<usize> {
        let end = self.range.end.min(piece.first + piece.block.dues().len());
        self.range.start.max(piece.first) - piece.first..end - piece.first
    }

    /// Does a call's work: apart if there is much of it.
    pub(super) async fn work<T: Send + 'static>(
        mut self,
        task: impl FnOnce(&mut Self) -> T + Send + 'static,
    ) -> Result<T, ServiceError> {
        if self.effort != Effort::Apart {
            return Ok(task(&mut self));
        }
        let (batch, (done, answer)) = (Arc::clone(&self.batch), oneshot::channel());
        batch.pool.spawn(move || {
            let answer = task(&mut self);
            drop(self);
            let _ = done.send(answer);
        });
        let lost = |_| ServiceError::Internal { place: batch.id.clone(), what: "a step panicked".to_owned() };
        answer.await.map_err(lost)
    }

    /// Lets `task` write the rows of every piece, side by side if there is much to do.
    fn write(&mut self, task: impl Fn(Job<'_>) + Send + Sync) -> Step {
        let first = u32::try_from(self.range.start).unwrap_or(u32::MAX);
        let mut sheet = self.batch.buffers.sheet(self.batch.widths, self.range.len());
        let withins: Vec<_> = self.pieces.iter().map(|piece| self.within(piece)).collect();
        let mut rest = sheet.rows();
        let mut jobs = Vec::with_capacity(withins.len());
        for (piece, within) in self.pieces.iter_mut().zip(withins) {
            let (rows, others) = rest.split_at(within.len());
            rest = others;
            piece.ends.clear();
            jobs.push(Job { piece, within, rows });
        }
        let jobs = Mutex::new(jobs.into_iter());
        let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
        let help = || std::iter::from_fn(next).for_each(&task);
        let pool = &self.batch.pool;
        let helpers = if self.effort == Effort::Alone { 0 } else { pool.current_num_threads() - 1 };
        pool.in_place_scope(|scope| {
            (0..helpers).for_each(|_| scope.spawn(|_| help()));
            help();
        });
        let mut ends = Ends::default();
        self.pieces.iter().for_each(|piece| ends.append(&piece.ends));
        sheet.finish(first, ends)
    }

    pub(super) fn step(&mut self, actions: &[u8]) -> Step {
        let start = self.range.start;
        self.write(|Job { piece, within, rows }| {
            let at = piece.first + within.start;
            let actions = &actions[at - start..at - start + within.len()];
            let first = u32::try_from(at).unwrap_or(u32::MAX);
            piece.block.step(within.start, actions, rows, &mut piece.ends, first);
        })
    }

    /// Begins the episodes that `hows` names, by environment.
    pub(super) fn reset(&mut self, hows: &[Option<Begin>]) -> Step {
        self.write(|Job { piece, within, rows }| {
            for at in within.clone() {
                if let Some(how) = hows[piece.first + at] {
                    piece.block.begin(at, how);
                }
            }
            piece.block.show(within.start, rows);
        })
    }

    pub(super) fn show(&mut self) -> Step {
        self.write(|Job { piece, within, rows }| piece.block.show(within.start, rows))
    }

    /// Saves an environment; all blocks have been taken.
    pub(super) fn save(&self, at: usize) -> Saved {
        let piece = &self.pieces[at / self.batch.per_block];
        piece.block.save(at - piece.first)
    }

    /// Loads an environment, or only looks whether it could be; all blocks have been taken.
    pub(super) fn load(&mut self, at: usize, saved: &Saved, only_look: bool) -> Result<(), String> {
        let piece = &mut self.pieces[at / self.batch.per_block];
        piece.block.load(at - piece.first, saved, only_look)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut idle = self.batch.lock();
        if std::thread::panicking() {
            let what = "a step panicked".to_owned();
            let reason = ServiceError::Internal { place: self.batch.id.clone(), what };
            idle.ended.get_or_insert(reason);
        }
        for piece in self.pieces.drain(..) {
            let at = piece.first / self.batch.per_block;
            idle.blocks[at] = Some(piece);
        }
        drop(idle);
        self.batch.freed.notify_waiters();
    }
}
