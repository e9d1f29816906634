//! The observation of a viewer, encoded as bytes.

use boardwire_kernel::{
    Around, Axis, FieldSink, FieldSpec, LayoutBuilder, ViewLayout, ViewWriter, Viewer, Views, with_seats,
};

use super::Rauha;
use super::catalogue::{BIOMES, Catalogue, ENTITIES, STOPS};
use super::memory::WHEREABOUTS;
use super::state::{Activation, BiomeId, CARDS, CELLS, CellSet, PACK, Phase, State};

/// The names of the phases, by the value of the field `phase`.
const PHASES: [&str; 5] = ["draft", "place or discard", "activate", "spore", "over"];
/// The status of a cell or an Entity in the current activation, by value.
const USES: [&str; 4] = ["not in it", "used", "not possible now", "possible"];

/// A state with what the observation of one viewer needs.
struct Sight<'a, const N: usize> {
    game: &'a Rauha,
    state: &'a State,
    around: Around<N>,
    counts: Counts,
    in_play: Activation,
    possible: Activation,
}

/// The numbers of hidden cards, by place.
pub(super) struct Counts {
    pub(super) pack: u8,
    pub(super) undealt: [u8; 2],
    pub(super) black_hole: u8,
}

/// Upper bounds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Maxima {
    pub(super) crystals: u16,
    pub(super) points: u16,
    pub(super) water: u16,
}

impl Maxima {
    pub(super) fn new(catalogue: &Catalogue) -> Self {
        let number = |most| u16::try_from(most).expect("bounded when the catalogue was read");
        Self {
            crystals: number(catalogue.most_crystals()),
            points: number(catalogue.most_points()),
            water: number(catalogue.most_water()),
        }
    }
}

/// Returns the layouts for seats and for the public.
pub(super) fn layouts(seats: u8, maxima: Maxima) -> (ViewLayout, ViewLayout) {
    with_seats!(seats, [2, 3, 4, 5], N => {
        let layout = |mut builder: LayoutBuilder| {
            fields::<N, _>(maxima, &mut builder);
            builder.finish()
        };
        (layout(LayoutBuilder::for_seats()), layout(LayoutBuilder::for_public()))
    })
}

impl Views for Rauha {
    fn view(&self, state: &State, viewer: Viewer, out: &mut [u8]) {
        with_seats!(self.seats, [2, 3, 4, 5], N => self.write_view::<N>(state, viewer, out));
    }
}

impl Rauha {
    fn write_view<const N: usize>(&self, state: &State, viewer: Viewer, out: &mut [u8]) {
        let in_play = self.in_play(state);
        let shown = Sight {
            game: self,
            state,
            around: Around::<N>::new(viewer),
            counts: self.counts(state),
            in_play,
            possible: self.possible(&state.boards[self.actor(state)], in_play),
        };
        let mut writer = ViewWriter::new(&shown, viewer == Viewer::Public, out);
        fields(self.maxima, &mut writer);
        writer.finish();
    }

    /// Returns the public counts of hidden cards.
    pub(super) fn counts(&self, state: &State) -> Counts {
        let picks = u8::try_from(state.picks()).expect("at most three");
        let out_of_packs = if picks == 3 { 4 } else { picks };
        let kept = match state.phase {
            Phase::Draft => 0,
            Phase::Main | Phase::Activate | Phase::Spore | Phase::Between | Phase::Over => {
                state.kept.of(self.seats).iter().map(|kept| u8::from(kept.is_some())).sum()
            }
        };
        let placed = u8::try_from(state.placed.len()).expect("80 cards");
        Counts {
            pack: 4 - out_of_packs,
            undealt: [0, 1].map(|age| {
                let cards = state.undealt.intersection(self.ages[age]).len();
                u8::try_from(cards).expect("40 cards")
            }),
            black_hole: self.seats * (4 * (state.round() - 1) + out_of_packs) - placed - kept,
        }
    }
}

/// Declares every field of an observation.
fn fields<'a, const N: usize, S: FieldSink<Sight<'a, N>>>(maxima: Maxima, sink: &mut S) {
    position(sink);
    cards(sink);
    boards(maxima, sink);
    activation(sink);
}

/// Returns the axis of the Divine Entities.
const fn by_entity() -> Axis {
    Axis::rows("entity", "entities", ENTITIES)
}

/// Returns a small number as a byte.
#[expect(clippy::cast_possible_truncation, reason = "the number is small")]
const fn count<const N: usize>() -> u8 {
    assert!(N < 256);
    N as u8
}

#[inline]
fn position<'a, const N: usize, S: FieldSink<Sight<'a, N>>>(sink: &mut S) {
    let seats = const { count::<N>() };
    sink.field(FieldSpec::id("stop", "track", STOPS, "The stop of all Avatars."), |shown, out| {
        out.put(shown.state.stop);
    });
    sink.field(FieldSpec::category("phase", &PHASES, "What is due."), |shown, out| {
        out.put(match shown.state.phase {
            Phase::Draft => 0,
            Phase::Main => 1,
            Phase::Activate => 2,
            Phase::Spore => 3,
            Phase::Between | Phase::Over => 4,
        });
    });
    let leader = FieldSpec::seat("leader", seats, "Whose token is on top of the furthest ones.");
    sink.field(leader, |shown, out| out.put(shown.around.relative(shown.state.leader)));
    let first = FieldSpec::seat("first", seats, "Who goes first at this stop.");
    sink.field(first, |shown, out| out.put(shown.around.relative(shown.state.first)));
    let acting = FieldSpec::seat("acting", seats, "Whose turn it is; none in a draft.");
    sink.field(acting, |shown, out| {
        out.put(match shown.state.phase {
            Phase::Draft | Phase::Over => 0,
            Phase::Main | Phase::Activate | Phase::Spore | Phase::Between => {
                shown.around.relative(shown.game.actor(shown.state))
            }
        });
    });
    let chosen = FieldSpec::flag("chosen", "Which seats have chosen in this draft.");
    sink.field(chosen.by(Axis::seats(seats)), |shown, out| {
        let is_draft = shown.state.phase == Phase::Draft;
        for &seat in shown.around.seats() {
            out.put(u8::from(is_draft && shown.state.kept[seat].is_some()));
        }
    });
}

#[inline]
fn cards<'a, const N: usize, S: FieldSink<Sight<'a, N>>>(sink: &mut S) {
    let doc = "The card the viewer has chosen and not yet placed or discarded.";
    sink.field(FieldSpec::id("kept", "biomes", BIOMES, doc).own(), |shown, out| {
        out.put(BiomeId::row(shown.state.kept[shown.around.viewer().first()]));
    });
    let doc = "The pack the viewer chooses from, ascending; none outside a draft.";
    let pack = FieldSpec::id("pack", "biomes", BIOMES, doc)
        .by(Axis::unordered("card", const { count::<PACK>() }))
        .own();
    sink.field(pack, |shown, out| {
        let hand = shown.game.hand(shown.state, shown.around.viewer().first());
        out.put_ids(hand.iter().map(|card| card.get()));
    });
    if N == 2 {
        // With more seats each pack has a different pair of readers, so the observations of all seats together contain this.
        let doc = "The cards passed on that the viewer picks from next, ascending; of three one may be gone by then.";
        let coming = FieldSpec::id("coming_back", "biomes", BIOMES, doc)
            .by(Axis::unordered("card", const { count::<PACK>() } - 1))
            .own();
        sink.field(coming, |shown, out| {
            out.put_ids(shown.game.coming_back(shown.state, shown.around.viewer().first()));
        });
    }
    let doc = "Cards on each Satellite or, in a draft, in each hand.";
    sink.field(FieldSpec::count("pack_size", 4, doc), |shown, out| out.put(shown.counts.pack));
    let undealt = FieldSpec::count("undealt", 40, "Cards left in the decks of Age 1 and 2.");
    sink.field(undealt.by(Axis::sequence("age", 2)), |shown, out| out.put_all(&shown.counts.undealt));
    let black_hole = FieldSpec::count("black_hole", CARDS.into(), "Cards in the Black Hole.");
    sink.field(black_hole, |shown, out| out.put(shown.counts.black_hole));
}

#[inline]
fn boards<'a, const N: usize, S: FieldSink<Sight<'a, N>>>(maxima: Maxima, sink: &mut S) {
    let seats = const { count::<N>() };
    let (by_seat, by_cell) = (Axis::seats(seats), Axis::new("cell", CELLS));
    let cells = FieldSpec::id("cells", "biomes", BIOMES, "The visible biomes of every seat.");
    sink.field(cells.by(by_seat).by(by_cell), |shown, out| {
        for (shown, board) in out.rest().as_chunks_mut::<9>().0.iter_mut().zip(shown.boards()) {
            shown.iter_mut().zip(&board.cells).for_each(|(shown, id)| *shown = id.get());
        }
    });
    let spores = FieldSpec::flag("spores", "Which cells have a Spore.");
    sink.field(spores.by(by_seat).by(by_cell), |shown, out| {
        for (flags, board) in out.rest().as_chunks_mut::<9>().0.iter_mut().zip(shown.boards()) {
            board.spores.write_flags(flags);
        }
    });
    // `usually` is what strong and random play seldom exceed; the maxima are bounds that no game comes near.
    let crystals = FieldSpec::count("crystals", maxima.crystals, "Crystals by seat.").usually(40);
    sink.field(crystals.by(by_seat), |shown, out| {
        shown.boards().for_each(|board| out.put_number(board.crystals));
    });
    let points = FieldSpec::count("points", maxima.points, "Life Energy by seat.").usually(120);
    sink.field(points.by(by_seat), |shown, out| {
        shown.boards().for_each(|board| out.put_number(board.points()));
    });
    let doc = "Water Sources by seat, those of Entities included.";
    sink.field(FieldSpec::count("water", maxima.water, doc).by(by_seat), |shown, out| {
        shown.boards().for_each(|board| out.put_number(shown.game.water(board).into()));
    });
    let entities = FieldSpec::seat("entities", seats, "Who holds each Divine Entity.");
    sink.field(entities.by(by_entity()), |shown, out| {
        for (&seat, board) in shown.around.seats().iter().zip(shown.boards()) {
            for entity in board.entities {
                out.rest()[usize::from(entity - 1)] = shown.around.relative(seat);
            }
        }
    });
}

#[inline]
fn activation<'a, const N: usize, S: FieldSink<Sight<'a, N>>>(sink: &mut S) {
    let doc = "How the acting seat's cells stand in its activation.";
    let cells = FieldSpec::category("cell_use", &USES, doc).by(Axis::new("cell", CELLS));
    sink.field(cells, |shown, out| {
        let Sight { state, in_play, possible, .. } = shown;
        put_uses(out.rest(), [state.used, *in_play, *possible].map(|some| some.cells), 0);
    });
    let doc = "How the acting seat's Entities stand in its activation.";
    let entities = FieldSpec::category("entity_use", &USES, doc).by(by_entity());
    sink.field(entities, |shown, out| {
        let Sight { state, in_play, possible, .. } = shown;
        put_uses(out.rest(), [state.used, *in_play, *possible].map(|some| some.entities), 1);
    });
    let doc = "What the viewer knows of each card, by id from 1.";
    let memory = FieldSpec::category("memory", &WHEREABOUTS, doc).by(Axis::rows("card", "biomes", CARDS));
    sink.field(memory, |shown, out| {
        out.put_all(shown.game.memory(shown.state, shown.around.viewer()).up_to(CARDS));
    });
}

impl<const N: usize> Sight<'_, N> {
    /// Returns the boards, the viewer's first.
    fn boards(&self) -> impl Iterator<Item = &super::state::Board> {
        self.around.seats().iter().map(|&seat| &self.state.boards[seat])
    }
}

/// Writes the status of each cell, or of each Entity by id, in an activation.
#[inline]
fn put_uses(out: &mut [u8], [used, in_play, possible]: [CellSet; 3], first: u8) {
    for (set, value) in [(used, 1), (in_play, 2), (possible, 3)] {
        for number in set {
            out[usize::from(number - first)] = value;
        }
    }
}
