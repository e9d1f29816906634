//! The observation: everything a viewer can know with perfect memory, encoded as bytes.

use boardwire_kernel::{
    Axis, FieldSink, FieldSpec, LayoutBuilder, SeatOrder, Turns, ViewLayout, ViewWriter, Viewer, Views,
    with_seats,
};

use super::Faraway;
use super::catalogue::{REGION_COUNT, SANCTUARY_COUNT};
use super::legal::choosable;
use super::memory::{hidden_hand, last_returned, public_hand};
use super::quests::QUEST_STATUSES;
use super::state::{RegionId, SanctuaryId, State};
use super::turn::count;

/// The most sanctuaries in one deal: one, plus one for each clue on 8 regions and 6 sanctuaries.
pub(super) const MAX_DEALT: u8 = 15;

/// The names of the phases, in the order of the enum.
const PHASES: [&str; 5] = ["set_aside", "explore", "take", "place", "over"];

/// A state with its seats in the viewer's relative order.
struct ViewContext<'a, const N: usize> {
    game: &'a Faraway,
    state: &'a State,
    seat_order: SeatOrder<N>,
}

impl Views for Faraway {
    fn view(&self, state: &State, viewer: Viewer, out: &mut [u8]) {
        with_seats!(self.seats, [2, 3, 4, 5, 6], N => {
            let context = ViewContext::<N> { game: self, state, seat_order: SeatOrder::new(viewer) };
            let others = context.seat_order.other_seats().len();
            let mut writer = ViewWriter::new(&context, viewer == Viewer::Public, out);
            fields(u8::try_from(others).expect("at most 6 seats"), &mut writer);
            writer.finish();
        });
    }
}

impl Faraway {
    /// Returns the fields for seats and the fields for the public.
    pub(super) fn layouts(seats: u8) -> [ViewLayout; 2] {
        [LayoutBuilder::for_seats(), LayoutBuilder::for_public()].map(|mut builder| {
            let others = if builder.is_public() { seats } else { seats - 1 };
            with_seats!(seats, [2, 3, 4, 5, 6], N => fields::<N, _>(others, &mut builder));
            builder.finish()
        })
    }
}

fn regions(name: &'static str, doc: &'static str) -> FieldSpec<'static> {
    FieldSpec::id(name, "regions", REGION_COUNT, doc)
}

fn sanctuaries(name: &'static str, doc: &'static str) -> FieldSpec<'static> {
    FieldSpec::id(name, "sanctuaries", SANCTUARY_COUNT, doc)
}

/// Declares every field and how it is written.
#[inline]
fn fields<'a, const N: usize, S: FieldSink<ViewContext<'a, N>>>(others: u8, sink: &mut S) {
    let seats = u8::try_from(N).expect("at most 6 seats");
    let seat = Axis::seats(seats);
    let other = Axis::other_seats(others);
    situation_fields(seats, sink);
    open_card_fields(seats, sink);
    own_card_fields(sink);
    hand_fields(other, sink);
    deck_fields(seat, sink);
}

#[inline]
fn situation_fields<'a, const N: usize, S: FieldSink<ViewContext<'a, N>>>(seats: u8, sink: &mut S) {
    let seat = Axis::seats(seats);
    let round = FieldSpec::count("round", 8, "The round, from 1 to 8.");
    sink.field(round, |context, out| out.write_byte(context.state.round));
    let phase = FieldSpec::category("phase", &PHASES, "The phase: the decision that is due.");
    sink.field(phase, |context, out| out.write_byte(context.state.phase as u8));
    let pending =
        FieldSpec::flag("pending", "Whether each seat has a pending choice, viewer first.").axis(seat);
    sink.field(pending, |context, out| {
        let pending = context.game.pending(context.state);
        for &seat in context.seat_order.seats() {
            out.write_byte(pending.contains(seat).into());
        }
    });
    let order = FieldSpec::seat(
        "order",
        seats,
        "The seats in the order of their turns to take and place; zeros while regions are being chosen.",
    );
    sink.field(order.axis(Axis::sequence("turn", seats)), |context, out| {
        if context.state.phase.has_turns() {
            for &seat in &context.state.order[..N] {
                out.write_byte(context.seat_order.relative(seat));
            }
        }
    });
}

#[inline]
fn open_card_fields<'a, const N: usize, S: FieldSink<ViewContext<'a, N>>>(seats: u8, sink: &mut S) {
    let seat = Axis::seats(seats);
    let lines = regions("lines", "Each seat's regions, viewer first, in the order played.");
    sink.field(lines.axis(seat).axis(Axis::sequence("round", 8)), |context, out| {
        for &seat in context.seat_order.seats() {
            out.write_bytes(&RegionId::to_rows(context.state.lines[seat]));
        }
    });
    let statuses = FieldSpec::category(
        "quests",
        &QUEST_STATUSES,
        "The status of each quest in `lines`, as if the line were finished: met, or the wonders it lacks.",
    );
    sink.field(statuses.axis(seat).axis(Axis::sequence("round", 8)), |context, out| {
        for &seat in context.seat_order.seats() {
            out.write_bytes(&context.state.quests[seat]);
        }
    });
    let placed = sanctuaries(
        "sanctuaries",
        "The sanctuary each seat placed in rounds 2 to 8, viewer first; 0 where none was found.",
    );
    sink.field(placed.axis(seat).axis(Axis::sequence("round from 2", 7)), |context, out| {
        for &seat in context.seat_order.seats() {
            out.write_bytes(&SanctuaryId::to_rows(context.state.placed[seat]));
        }
    });
    let display = regions("display", "The regions that can be taken, ascending.");
    sink.field(display.axis(Axis::unordered("card", seats + 1)), |context, out| {
        out.write_ids(context.state.display);
    });
    let left_over =
        regions("left_over", "The region left over in the display of rounds 1 to 7, out of the game.");
    sink.field(left_over.axis(Axis::sequence("round", 7)), |context, out| {
        out.write_bytes(&RegionId::to_rows(context.state.left_over));
    });
}

/// The viewer's private fields, written for seats only.
#[inline]
fn own_card_fields<'a, const N: usize, S: FieldSink<ViewContext<'a, N>>>(sink: &mut S) {
    let hand = regions("hand", "The viewer's hand, ascending, without what it has chosen or set aside.");
    sink.field(hand.axis(Axis::unordered("card", 5)).private(), |context, out| {
        let viewer = context.seat_order.viewer().first();
        let mut hand = choosable(context.state, viewer);
        hand.remove(RegionId::to_row(context.state.chosen[viewer]));
        out.write_ids(hand);
    });
    let chosen =
        regions("chosen", "The region the viewer has chosen, while other seats have not chosen yet.");
    sink.field(chosen.private(), |context, out| {
        out.write_byte(RegionId::to_row(context.state.chosen[context.seat_order.viewer().first()]));
    });
    let set_aside = regions(
        "set_aside",
        "The regions the viewer has set aside and that have not come to the display since, ascending.",
    );
    sink.field(set_aside.axis(Axis::unordered("card", 2)).private(), |context, out| {
        let aside = RegionId::to_rows(context.state.set_aside[context.seat_order.viewer().first()]);
        out.write_ids(aside.into_iter().filter(|&id| !context.state.revealed.contains(id)));
    });
    let found =
        sanctuaries("found", "The sanctuaries the viewer can choose from, ascending. It places one of them.");
    sink.field(found.axis(Axis::unordered("card", MAX_DEALT)).private(), |context, out| {
        out.write_ids(context.state.found(context.seat_order.viewer().first()));
    });
    let returned = FieldSpec::count(
        "returned",
        8,
        "By sanctuary id: the last round in which the viewer put it under the deck; 0 when it never did, or has \
         found it again, or it has been placed.",
    );
    sink.field(
        returned.axis(Axis::rows("sanctuary", "sanctuaries", SANCTUARY_COUNT)).private(),
        |context, out| {
            last_returned::<N>(context.state, context.seat_order.viewer().first(), out.rest());
        },
    );
}

#[inline]
fn hand_fields<'a, const N: usize, S: FieldSink<ViewContext<'a, N>>>(other: Axis, sink: &mut S) {
    let known = regions(
        "known_hands",
        "What each other seat took from the display and has not shown again, clockwise, ascending.",
    );
    sink.field(known.axis(other).axis(Axis::unordered("card", 3)), |context, out| {
        for &seat in context.seat_order.other_seats() {
            let mut row = [0; 3];
            for (place, id) in row.iter_mut().zip(public_hand(context.state, seat)) {
                *place = id;
            }
            out.write_bytes(&row);
        }
    });
    let unknown =
        FieldSpec::count("unknown_hands", 5, "How many further regions each other seat holds, clockwise.");
    sink.field(unknown.axis(other), |context, out| {
        for &seat in context.seat_order.other_seats() {
            out.write_byte(count(hidden_hand(context.state, seat)));
        }
    });
}

#[inline]
fn deck_fields<'a, const N: usize, S: FieldSink<ViewContext<'a, N>>>(seat: Axis, sink: &mut S) {
    let maximum = MAX_DEALT.into();
    let dealt = FieldSpec::count(
        "dealt",
        maximum,
        "The number of sanctuaries each seat can choose from, viewer first.",
    );
    sink.field(dealt.axis(seat), |context, out| {
        for &seat in context.seat_order.seats() {
            out.write_byte(count(context.state.found(seat)));
        }
    });
    let owed = FieldSpec::count(
        "owed",
        maximum,
        "Sanctuaries still owed to each seat because the deck ran out, viewer first.",
    );
    sink.field(owed.axis(seat), |context, out| {
        for &seat in context.seat_order.seats() {
            out.write_byte(context.state.owed[seat]);
        }
    });
    let deck = FieldSpec::count("region_deck", REGION_COUNT.into(), "How many regions are in the deck.");
    sink.field(deck, |context, out| out.write_byte(count(context.state.deck)));
    let deck =
        FieldSpec::count("sanctuary_deck", SANCTUARY_COUNT.into(), "How many sanctuaries are in the deck.");
    sink.field(deck, |context, out| out.write_byte(context.state.sanctuary_deck));
}
