//! The order in which the pool serves owners and groups: by the time that they have used.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::SLICE_MICROS;

/// Owners or groups with queued work, ordered by the time that they have used.
#[derive(Debug, Default)]
pub(super) struct Queue<T> {
    pub(super) members: BTreeMap<u64, QueueMember<T>>,
    /// The used time and the number of each member. The pool serves the first one next.
    by_used_time: BTreeSet<(u64, u64)>,
}

#[derive(Debug)]
pub(super) struct QueueMember<T> {
    pub(super) account: Arc<TimeAccount>,
    /// The used time in microseconds, as in `by_used_time`.
    used: u64,
    pub(super) queued: T,
}

impl<T: Default> Queue<T> {
    /// Returns a member's queued work, and adds a missing member. It starts at `start_time`, so that idle time gives no
    /// credit.
    pub(super) fn add(&mut self, account: &Arc<TimeAccount>, start_time: &AtomicU64) -> &mut T {
        let member = self.members.entry(account.number).or_insert_with(|| {
            let start_time = start_time.load(Ordering::Relaxed);
            let used = account.used.fetch_max(start_time, Ordering::Relaxed).max(start_time);
            QueueMember { account: Arc::clone(account), used, queued: T::default() }
        });
        self.by_used_time.insert((member.used, account.number));
        &mut member.queued
    }

    /// Removes a member and returns its queued work.
    pub(super) fn remove(&mut self, number: u64) -> Option<T> {
        let member = self.members.remove(&number)?;
        self.by_used_time.remove(&(member.used, number));
        Some(member.queued)
    }

    /// Takes work from the member that has used the least time. New members start at this time.
    pub(super) fn next<R>(
        &mut self,
        start_time: &AtomicU64,
        is_empty: impl FnOnce(&T) -> bool,
        take: impl FnOnce(&mut QueueMember<T>) -> Option<R>,
    ) -> Option<R> {
        let (used, number) = self.by_used_time.pop_first()?;
        start_time.fetch_max(used, Ordering::Relaxed);
        let member = self.members.get_mut(&number)?;
        let taken = take(member);
        if is_empty(&member.queued) {
            self.members.remove(&number);
        } else {
            // Counts the slice that begins now, so that several threads do not all serve this member.
            member.used = member.account.used.load(Ordering::Relaxed).max(used) + SLICE_MICROS;
            self.by_used_time.insert((member.used, number));
        }
        taken
    }
}

/// The time that an owner or a group has used.
#[derive(Debug, Default)]
pub(super) struct TimeAccount {
    pub(super) number: u64,
    /// The used thread time in microseconds.
    pub(super) used: AtomicU64,
    /// In a group: the used time of the owner that was served last. New owners start at this time.
    pub(super) start_time: AtomicU64,
    /// Changes when the owner cancels all its work.
    pub(super) generation: Arc<AtomicU64>,
    /// The owner's group. `None` in a group.
    pub(super) group: Option<Arc<TimeAccount>>,
}

impl TimeAccount {
    /// Adds the time since `start`; at least 1 microsecond, so that owners alternate.
    pub(super) fn add_time(&self, start: Instant) {
        let micros = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX).max(1);
        self.used.fetch_add(micros, Ordering::Relaxed);
        if let Some(group) = &self.group {
            group.used.fetch_add(micros, Ordering::Relaxed);
        }
    }
}
