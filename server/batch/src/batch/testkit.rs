//! Batches whose hidden parts are drawn anew, to test that nobody is told of them.

use std::sync::Arc;

use boardwire_kernel::RngStream;

use super::{Batch, Block};

impl Batch {
    /// Draws anew, in every environment, what the seat cannot know that decides; gives the blocks as they were.
    ///
    /// # Panics
    /// If it has ended.
    pub async fn determinize(self: &Arc<Self>, rng: &mut RngStream) -> Vec<Box<dyn Block>> {
        let mut taken = self.take(self.all()).await.expect("it goes on");
        let before = taken.pieces.iter().map(|piece| piece.block.copy()).collect();
        for piece in &mut taken.pieces {
            piece.block.determinize(rng);
        }
        before
    }

    /// Puts blocks back as they were.
    ///
    /// # Panics
    /// If it has ended.
    pub async fn put_back(self: &Arc<Self>, before: Vec<Box<dyn Block>>) {
        let mut taken = self.take(self.all()).await.expect("it goes on");
        for (piece, block) in taken.pieces.iter_mut().zip(before) {
            piece.block = block;
        }
    }
}
