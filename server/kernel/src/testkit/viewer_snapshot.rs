//! Everything that a viewer is shown of a position.

use crate::{ActionSet, Field, Game, Seat, SeatSet, ViewLayout, Viewer};

/// Everything that a viewer is shown of a position. Positions that differ only in what the viewer may not know show
/// it the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewerSnapshot {
    view: Vec<u8>,
    text: String,
    legal: ActionSet,
    phrases: Vec<String>,
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
        let phrases = viewer.seat().map_or(Vec::new(), |seat| phrases(game, state, seat));
        Self { view, text, legal, phrases, pending: game.pending(state) }
    }

    /// Returns the first difference from `other`, for a person: a field of the layout, or another part.
    #[must_use]
    pub fn difference(&self, other: &Self, layout: &ViewLayout) -> String {
        let of = |view: &[u8], at: usize, field: &Field| format!("{:?}", &view[at..at + field.bytes()]);
        for (at, field) in layout.with_offsets() {
            let [one, two] = [&self.view, &other.view].map(|view| of(view, at, field));
            if one != two {
                return format!("the field `{}` as {one} instead of {two}", field.name);
            }
        }
        for (one, two) in self.text.lines().zip(other.text.lines()) {
            if one != two {
                return format!("the text `{one}` instead of `{two}`");
            }
        }
        format!("{self:?} instead of {other:?}")
    }

    /// Returns the seats with a pending decision.
    #[must_use]
    pub fn pending(&self) -> SeatSet {
        self.pending
    }
}

/// Returns the phrases of the legal actions of `seat`, in index order.
///
/// # Panics
/// When the game fails to write a phrase.
pub(super) fn phrases<G: Game>(game: &G, state: &G::State, seat: Seat) -> Vec<String> {
    let phrase = |index| {
        let mut phrase = String::new();
        let action = game.decode(index).expect("a legal action is in the action space");
        game.phrase(state, seat, action, &mut phrase).expect("writing to a string does not fail");
        phrase
    };
    game.legal(state, seat).iter().map(phrase).collect()
}
