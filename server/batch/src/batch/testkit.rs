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
        let mut checkout = self.take(self.all()).await.expect("it goes on");
        let before = checkout.blocks.iter().map(|placed| placed.block.copy()).collect();
        for placed in &mut checkout.blocks {
            placed.block.determinize(rng);
        }
        before
    }

    /// Puts blocks back as they were.
    ///
    /// # Panics
    /// If it has ended.
    pub async fn put_back(self: &Arc<Self>, before: Vec<Box<dyn Block>>) {
        let mut checkout = self.take(self.all()).await.expect("it goes on");
        for (placed, block) in checkout.blocks.iter_mut().zip(before) {
            placed.block = block;
        }
    }
}
