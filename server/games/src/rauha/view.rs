//! The observation of a viewer, encoded as bytes.

use boardwire_kernel::{
    Axis, FieldSink, FieldSpec, LayoutBuilder, SeatOrder, ViewLayout, ViewWriter, Viewer, Views, with_seats,
};

use super::Rauha;
use super::catalogue::{BIOME_COUNT, Catalogue, ENTITY_COUNT, STOP_COUNT};
use super::memory::CARD_LOCATIONS;
use super::state::{ActivationSet, BiomeId, CARD_COUNT, CELL_COUNT, CellSet, PACK_SIZE, Phase, State};

/// The names of the phases, by the value of the field `phase`.
const PHASES: [&str; 5] = ["draft", "place or discard", "activate", "spore", "over"];
/// The status of a cell or an Entity in the current activation, by value.
const USES: [&str; 4] = ["not in it", "used", "not possible now", "possible"];

/// A state with what the observation of one viewer needs.
struct ViewContext<'a, const N: usize> {
    game: &'a Rauha,
    state: &'a State,
    seat_order: SeatOrder<N>,
    counts: Counts,
    unused_items: ActivationSet,
    possible: ActivationSet,
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
        let number = |maximum| u16::try_from(maximum).expect("bounded when the catalogue was read");
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
        let unused_items = self.unused_items(state);
        let context = ViewContext {
            game: self,
            state,
            seat_order: SeatOrder::<N>::new(viewer),
            counts: self.counts(state),
            unused_items,
            possible: self.possible_now(&state.boards[self.acting_seat(state)], unused_items),
        };
        let mut writer = ViewWriter::new(&context, viewer == Viewer::Public, out);
        fields(self.maxima, &mut writer);
        writer.finish();
    }

    /// Returns the public counts of hidden cards.
    pub(super) fn counts(&self, state: &State) -> Counts {
        let picks = u8::try_from(state.picks()).expect("at most three");
        let out_of_packs = if picks == 3 { 4 } else { picks };
        let kept = match state.phase {
            Phase::Draft => 0,
            Phase::UseCard | Phase::Activate | Phase::Spore | Phase::StopFinished | Phase::Over => {
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
fn fields<'a, const N: usize, S: FieldSink<ViewContext<'a, N>>>(maxima: Maxima, sink: &mut S) {
    position_fields(sink);
    cards_fields(sink);
    boards_fields(maxima, sink);
    activation_fields(sink);
}

/// Returns the axis of the Entities.
const fn by_entity() -> Axis {
    Axis::rows("entity", "entities", ENTITY_COUNT)
}

/// Returns a small number as a byte.
#[expect(clippy::cast_possible_truncation, reason = "the number is small")]
const fn count<const N: usize>() -> u8 {
    assert!(N < 256);
    N as u8
}

#[inline]
fn position_fields<'a, const N: usize, S: FieldSink<ViewContext<'a, N>>>(sink: &mut S) {
    let seats = const { count::<N>() };
    sink.field(FieldSpec::id("stop", "track", STOP_COUNT, "The stop of all Avatars."), |context, out| {
        out.write_byte(context.state.stop);
    });
    sink.field(
        FieldSpec::category("phase", &PHASES, "The phase: the decision that is due."),
        |context, out| {
            out.write_byte(match context.state.phase {
                Phase::Draft => 0,
                Phase::UseCard => 1,
                Phase::Activate => 2,
                Phase::Spore => 3,
                Phase::StopFinished | Phase::Over => 4,
            });
        },
    );
    let leader =
        FieldSpec::seat("leader", seats, "The leader: the token on top of the furthest occupied space.");
    sink.field(leader, |context, out| out.write_byte(context.seat_order.relative(context.state.leader)));
    let first = FieldSpec::seat("first", seats, "Who goes first at this stop.");
    sink.field(first, |context, out| out.write_byte(context.seat_order.relative(context.state.first_seat)));
    let acting = FieldSpec::seat("acting", seats, "Whose turn it is; none in a draft.");
    sink.field(acting, |context, out| {
        out.write_byte(match context.state.phase {
            Phase::Draft | Phase::Over => 0,
            Phase::UseCard | Phase::Activate | Phase::Spore | Phase::StopFinished => {
                context.seat_order.relative(context.game.acting_seat(context.state))
            }
        });
    });
    let chosen = FieldSpec::flag("chosen", "Which seats have chosen in this draft.");
    sink.field(chosen.axis(Axis::seats(seats)), |context, out| {
        let is_draft = context.state.phase == Phase::Draft;
        for &seat in context.seat_order.seats() {
            out.write_byte(u8::from(is_draft && context.state.kept[seat].is_some()));
        }
    });
}

#[inline]
fn cards_fields<'a, const N: usize, S: FieldSink<ViewContext<'a, N>>>(sink: &mut S) {
    let doc = "The card the viewer has chosen and not yet placed or discarded.";
    sink.field(FieldSpec::id("kept", "biomes", BIOME_COUNT, doc).private(), |context, out| {
        out.write_byte(BiomeId::to_row(context.state.kept[context.seat_order.viewer().first()]));
    });
    let doc = "The pack the viewer chooses from, ascending; none outside a draft.";
    let pack = FieldSpec::id("pack", "biomes", BIOME_COUNT, doc)
        .axis(Axis::unordered("card", const { count::<PACK_SIZE>() }))
        .private();
    sink.field(pack, |context, out| {
        let hand = context.game.hand(context.state, context.seat_order.viewer().first());
        out.write_ids(hand.iter().map(|card| card.get()));
    });
    if N == 2 {
        // With more seats each pack has a different pair of readers, so the observations of all seats together contain this.
        let doc = "The cards the viewer passed on and picks from next, ascending. The other seat takes one of them.";
        let coming = FieldSpec::id("coming_back", "biomes", BIOME_COUNT, doc)
            .axis(Axis::unordered("card", const { count::<PACK_SIZE>() } - 1))
            .private();
        sink.field(coming, |context, out| {
            out.write_ids(context.game.returning_cards(context.state, context.seat_order.viewer().first()));
        });
    }
    let doc = "Cards on each Satellite or, in a draft, in each hand.";
    sink.field(FieldSpec::count("pack_size", 4, doc), |context, out| out.write_byte(context.counts.pack));
    let undealt = FieldSpec::count("undealt", 40, "Cards left in the decks of Age 1 and 2.");
    sink.field(undealt.axis(Axis::sequence("age", 2)), |context, out| {
        out.write_bytes(&context.counts.undealt);
    });
    let black_hole = FieldSpec::count("black_hole", CARD_COUNT.into(), "Cards in the Black Hole.");
    sink.field(black_hole, |context, out| out.write_byte(context.counts.black_hole));
}

#[inline]
fn boards_fields<'a, const N: usize, S: FieldSink<ViewContext<'a, N>>>(maxima: Maxima, sink: &mut S) {
    let seats = const { count::<N>() };
    let (by_seat, by_cell) = (Axis::seats(seats), Axis::new("cell", CELL_COUNT));
    let cells = FieldSpec::id("cells", "biomes", BIOME_COUNT, "The visible biomes of every seat.");
    sink.field(cells.axis(by_seat).axis(by_cell), |context, out| {
        for (row, board) in out.rest().as_chunks_mut::<9>().0.iter_mut().zip(context.boards()) {
            row.iter_mut().zip(&board.cells).for_each(|(cell, id)| *cell = id.get());
        }
    });
    let spores = FieldSpec::flag("spores", "Which cells have a Spore.");
    sink.field(spores.axis(by_seat).axis(by_cell), |context, out| {
        for (flags, board) in out.rest().as_chunks_mut::<9>().0.iter_mut().zip(context.boards()) {
            board.spores.write_flags(flags);
        }
    });
    // `usually` is what strong and random play seldom exceed; the maxima are bounds that no game comes near.
    let crystals = FieldSpec::count("crystals", maxima.crystals, "Crystals by seat.").usual_max(40);
    sink.field(crystals.axis(by_seat), |context, out| {
        context.boards().for_each(|board| out.write_value(board.crystals));
    });
    let points = FieldSpec::count("points", maxima.points, "Life Energy by seat.").usual_max(120);
    sink.field(points.axis(by_seat), |context, out| {
        context.boards().for_each(|board| out.write_value(board.points()));
    });
    let doc = "Water Sources by seat, those of Entities included.";
    sink.field(FieldSpec::count("water", maxima.water, doc).axis(by_seat), |context, out| {
        context.boards().for_each(|board| out.write_value(context.game.water(board).into()));
    });
    let entities = FieldSpec::seat("entities", seats, "Who holds each Entity.");
    sink.field(entities.axis(by_entity()), |context, out| {
        for (&seat, board) in context.seat_order.seats().iter().zip(context.boards()) {
            for entity in board.entities {
                out.rest()[usize::from(entity - 1)] = context.seat_order.relative(seat);
            }
        }
    });
}

#[inline]
fn activation_fields<'a, const N: usize, S: FieldSink<ViewContext<'a, N>>>(sink: &mut S) {
    let doc = "The status of each cell in the acting seat's activation.";
    let cells = FieldSpec::category("cell_use", &USES, doc).axis(Axis::new("cell", CELL_COUNT));
    sink.field(cells, |context, out| {
        let ViewContext { state, unused_items, possible, .. } = context;
        put_uses(out.rest(), [state.activated, *unused_items, *possible].map(|items| items.cells), 0);
    });
    let doc = "The status of each Entity in the acting seat's activation.";
    let entities = FieldSpec::category("entity_use", &USES, doc).axis(by_entity());
    sink.field(entities, |context, out| {
        let ViewContext { state, unused_items, possible, .. } = context;
        put_uses(out.rest(), [state.activated, *unused_items, *possible].map(|items| items.entities), 1);
    });
    let doc = "What the viewer knows of each card, by id from 1.";
    let memory =
        FieldSpec::category("memory", &CARD_LOCATIONS, doc).axis(Axis::rows("card", "biomes", CARD_COUNT));
    sink.field(memory, |context, out| {
        out.write_bytes(context.game.memory(context.state, context.seat_order.viewer()).up_to(CARD_COUNT));
    });
}

impl<const N: usize> ViewContext<'_, N> {
    /// Returns the boards, the viewer's first.
    fn boards(&self) -> impl Iterator<Item = &super::state::Board> {
        self.seat_order.seats().iter().map(|&seat| &self.state.boards[seat])
    }
}

/// Writes the status of each cell, or of each Entity by id, in an activation.
#[inline]
fn put_uses(out: &mut [u8], [activated, unused_items, possible]: [CellSet; 3], first: u8) {
    for (set, value) in [(activated, 1), (unused_items, 2), (possible, 3)] {
        for number in set {
            out[usize::from(number - first)] = value;
        }
    }
}
