//! Resamples the hidden information of a batch, to test that rows do not reveal it.

use std::sync::Arc;

use boardwire_kernel::RngStream;

use super::{Batch, Block};

impl Batch {
    /// Resamples the information hidden from the deciding seat, in every environment. Returns copies of the old blocks.
    ///
    /// # Panics
    /// The batch has ended.
    pub async fn determinize(self: &Arc<Self>, rng: &mut RngStream) -> Vec<Box<dyn Block>> {
        let mut checkout = self.take(self.all()).await.expect("it has not ended");
        let before = checkout.blocks.iter().map(|placed| placed.block.copy()).collect();
        for placed in &mut checkout.blocks {
            placed.block.determinize(rng);
        }
        before
    }

    /// Replaces all blocks with copies from [`determinize`](Self::determinize).
    ///
    /// # Panics
    /// The batch has ended.
    pub async fn put_back(self: &Arc<Self>, before: Vec<Box<dyn Block>>) {
        let mut checkout = self.take(self.all()).await.expect("it has not ended");
        for (placed, block) in checkout.blocks.iter_mut().zip(before) {
            placed.block = block;
        }
    }
}
