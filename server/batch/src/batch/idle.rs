//! The blocks of a batch that no call works on, and who waits for some.

use std::collections::VecDeque;
use std::ops::Range;

use super::taken::Piece;
use boardwire_api::Error;

/// The blocks that no call works on.
pub(super) struct Idle {
    blocks: Vec<Option<Piece>>,
    /// The calls that wait, by number, and for which blocks; the earliest first.
    waiting: VecDeque<(u64, Range<usize>)>,
    /// How many have had to wait.
    waited: u64,
    /// Why the batch has ended, if it has.
    pub(super) ended: Option<Error>,
}

impl Idle {
    /// All blocks of a batch.
    pub(super) fn new(blocks: Vec<Option<Piece>>) -> Self {
        Self { blocks, waiting: VecDeque::new(), waited: 0, ended: None }
    }

    /// Takes blocks, if no other call has any of them or has waited for one before: before the call `own`, if it waits itself.
    pub(super) fn take(
        &mut self,
        blocks: Range<usize>,
        own: Option<u64>,
    ) -> Result<Option<Vec<Piece>>, Error> {
        if let Some(reason) = &self.ended {
            return Err(reason.clone());
        }
        let mut ahead = self.waiting.iter().take_while(|(number, _)| Some(*number) != own);
        let is_behind = ahead.any(|(_, wanted)| wanted.start < blocks.end && blocks.start < wanted.end);
        let wanted = &mut self.blocks[blocks];
        let is_free = !is_behind && wanted.iter().all(Option::is_some);
        Ok(is_free.then(|| wanted.iter_mut().filter_map(Option::take).collect()))
    }

    /// Puts a block back.
    pub(super) fn give_back(&mut self, number: usize, piece: Piece) {
        self.blocks[number] = Some(piece);
    }

    /// Lets a call wait for blocks behind all that do; gives its number.
    pub(super) fn enqueue(&mut self, blocks: Range<usize>) -> u64 {
        self.waited += 1;
        self.waiting.push_back((self.waited, blocks));
        self.waited
    }

    /// Lets a call wait no longer.
    pub(super) fn leave(&mut self, own: u64) {
        self.waiting.retain(|(number, _)| *number != own);
    }
}
