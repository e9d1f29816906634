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
        let mut checkout = self.check_out(self.all()).await.expect("the batch has not ended");
        let originals = checkout.blocks.iter().map(|placed| placed.block.copy()).collect();
        for placed in &mut checkout.blocks {
            placed.block.determinize(rng);
        }
        originals
    }

    /// Replaces all blocks with copies from [`determinize`](Self::determinize).
    ///
    /// # Panics
    /// The batch has ended.
    pub async fn restore_blocks(self: &Arc<Self>, originals: Vec<Box<dyn Block>>) {
        let mut checkout = self.check_out(self.all()).await.expect("the batch has not ended");
        for (placed, block) in checkout.blocks.iter_mut().zip(originals) {
            placed.block = block;
        }
    }
}
