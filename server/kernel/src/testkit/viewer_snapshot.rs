//! Everything that a viewer is shown of a position.

use crate::{ActionSet, Game, SeatSet, Viewer};

/// Everything that a viewer is shown of a position. Positions that differ only in what the viewer may not know show
/// it the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewerSnapshot {
    view: Vec<u8>,
    text: String,
    legal: ActionSet,
    pending: SeatSet,
}

impl ViewerSnapshot {
    /// Returns what `viewer` is shown of `state`.
    ///
    /// # Panics
    /// When the game fails to write its text.
    pub fn of<G: Game>(game: &G, state: &G::State, viewer: impl Into<Viewer>) -> Self {
        let viewer = viewer.into();
        let mut view = vec![0xff; game.info().layout_for(viewer).bytes()];
        game.view(state, viewer, &mut view);
        let mut text = String::new();
        game.text(state, viewer, &mut text).expect("writing to a string does not fail");
        let legal = viewer.seat().map_or(ActionSet::EMPTY, |seat| game.legal(state, seat));
        Self { view, text, legal, pending: game.pending(state) }
    }

    /// Returns the seats with a pending decision.
    #[must_use]
    pub fn pending(&self) -> SeatSet {
        self.pending
    }
}
