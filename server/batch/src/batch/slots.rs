//! The blocks of a batch that no call works on, and who waits for some.

use std::collections::VecDeque;
use std::ops::Range;

use super::checkout::PlacedBlock;
use boardwire_api::Error;

/// The blocks that no call works on.
pub(super) struct Slots {
    blocks: Vec<Option<PlacedBlock>>,
    /// The calls that wait, by number, and for which blocks; the earliest first.
    queue: VecDeque<(u64, Range<usize>)>,
    /// How many have had to wait.
    last_number: u64,
    /// Why the batch has ended, if it has.
    pub(super) ended: Option<Error>,
}

impl Slots {
    /// All blocks of a batch.
    pub(super) fn new(blocks: Vec<Option<PlacedBlock>>) -> Self {
        Self { blocks, queue: VecDeque::new(), last_number: 0, ended: None }
    }

    /// Takes blocks, if no other call has any of them or has waited for one before: before the call `own`, if it waits itself.
    pub(super) fn take(
        &mut self,
        blocks: Range<usize>,
        waiter: Option<u64>,
    ) -> Result<Option<Vec<PlacedBlock>>, Error> {
        if let Some(reason) = &self.ended {
            return Err(reason.clone());
        }
        let mut ahead = self.queue.iter().take_while(|(number, _)| Some(*number) != waiter);
        let is_behind = ahead.any(|(_, wanted)| wanted.start < blocks.end && blocks.start < wanted.end);
        let wanted = &mut self.blocks[blocks];
        let is_free = !is_behind && wanted.iter().all(Option::is_some);
        Ok(is_free.then(|| wanted.iter_mut().filter_map(Option::take).collect()))
    }

    /// Puts a block back.
    pub(super) fn give_back(&mut self, slot: usize, placed: PlacedBlock) {
        self.blocks[slot] = Some(placed);
    }

    /// Lets a call wait for blocks behind all that do; gives its number.
    pub(super) fn enqueue(&mut self, blocks: Range<usize>) -> u64 {
        self.last_number += 1;
        self.queue.push_back((self.last_number, blocks));
        self.last_number
    }

    /// Lets a call wait no longer.
    pub(super) fn leave(&mut self, waiter: u64) {
        self.queue.retain(|(number, _)| *number != waiter);
    }
}
