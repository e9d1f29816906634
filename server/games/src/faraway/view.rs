//! The observation: everything a viewer can know with perfect memory, encoded as bytes.

use boardwire_kernel::{
    Around, Axis, FieldSink, FieldSpec, LayoutBuilder, Turns, ViewLayout, ViewWriter, Viewer, Views,
    with_seats,
};

use super::Faraway;
use super::catalogue::{REGIONS, SANCTUARIES};
use super::legal::choosable;
use super::memory::{hidden_hand, last_returned, public_hand};
use super::quests::STANDINGS;
use super::state::{RegionId, SanctuaryId, State};
use super::turn::count;

/// The most sanctuaries in one deal: one, plus one for each clue on 8 regions and 6 sanctuaries.
pub(super) const MOST_DEALT: u8 = 15;

/// The names of the phases, in the order of the enum.
const PHASES: [&str; 5] = ["set_aside", "explore", "take", "place", "over"];

/// A state with its seats in the viewer's relative order.
struct Sight<'a, const N: usize> {
    game: &'a Faraway,
    state: &'a State,
    around: Around<N>,
}

impl Views for Faraway {
    fn view(&self, state: &State, viewer: Viewer, out: &mut [u8]) {
        with_seats!(self.seats, [2, 3, 4, 5, 6], N => {
            let shown = Sight::<N> { game: self, state, around: Around::new(viewer) };
            let others = shown.around.others().len();
            let mut writer = ViewWriter::new(&shown, viewer == Viewer::Public, out);
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
    FieldSpec::id(name, "regions", REGIONS, doc)
}

fn sanctuaries(name: &'static str, doc: &'static str) -> FieldSpec<'static> {
    FieldSpec::id(name, "sanctuaries", SANCTUARIES, doc)
}

/// Declares every field and how it is written.
#[inline]
fn fields<'a, const N: usize, S: FieldSink<Sight<'a, N>>>(others: u8, sink: &mut S) {
    let seats = u8::try_from(N).expect("at most 6 seats");
    let seat = Axis::seats(seats);
    let other = Axis::other_seats(others);
    situation(seats, sink);
    open_cards(seats, sink);
    own_cards(sink);
    hands(other, sink);
    decks(seat, sink);
}

#[inline]
fn situation<'a, const N: usize, S: FieldSink<Sight<'a, N>>>(seats: u8, sink: &mut S) {
    let seat = Axis::seats(seats);
    let round = FieldSpec::count("round", 8, "The round, from 1 to 8.");
    sink.field(round, |shown, out| out.put(shown.state.round));
    let phase = FieldSpec::category("phase", &PHASES, "What is being chosen.");
    sink.field(phase, |shown, out| out.put(shown.state.phase as u8));
    let pending = FieldSpec::flag("pending", "Whether each seat owes a choice, viewer first.").by(seat);
    sink.field(pending, |shown, out| {
        let pending = shown.game.pending(shown.state);
        for &seat in shown.around.seats() {
            out.put(pending.contains(seat).into());
        }
    });
    let order = FieldSpec::seat(
        "order",
        seats,
        "The seats in the order of their turns to take and place; zeros while regions are being chosen.",
    );
    sink.field(order.by(Axis::sequence("turn", seats)), |shown, out| {
        if shown.state.phase.has_turns() {
            for &seat in &shown.state.order[..N] {
                out.put(shown.around.relative(seat));
            }
        }
    });
}

#[inline]
fn open_cards<'a, const N: usize, S: FieldSink<Sight<'a, N>>>(seats: u8, sink: &mut S) {
    let seat = Axis::seats(seats);
    let lines = regions("lines", "Each seat's regions, viewer first, in the order played.");
    sink.field(lines.by(seat).by(Axis::sequence("round", 8)), |shown, out| {
        for &seat in shown.around.seats() {
            out.put_all(&RegionId::rows(shown.state.lines[seat]));
        }
    });
    let standings = FieldSpec::category(
        "quests",
        &STANDINGS,
        "How the quest of each region in `lines` stands as if the line were finished: met, short of one wonder, or of \
         more.",
    );
    sink.field(standings.by(seat).by(Axis::sequence("round", 8)), |shown, out| {
        for &seat in shown.around.seats() {
            out.put_all(&shown.state.quests[seat]);
        }
    });
    let placed = sanctuaries(
        "sanctuaries",
        "The sanctuary each seat placed in rounds 2 to 8, viewer first; 0 where none was found.",
    );
    sink.field(placed.by(seat).by(Axis::sequence("round from 2", 7)), |shown, out| {
        for &seat in shown.around.seats() {
            out.put_all(&SanctuaryId::rows(shown.state.placed[seat]));
        }
    });
    let display = regions("display", "The regions that can be taken, ascending.");
    sink.field(display.by(Axis::unordered("card", seats + 1)), |shown, out| {
        out.put_ids(shown.state.display);
    });
    let left_over =
        regions("left_over", "The region left over in the display of rounds 1 to 7, out of the game.");
    sink.field(left_over.by(Axis::sequence("round", 7)), |shown, out| {
        out.put_all(&RegionId::rows(shown.state.left_over));
    });
}

/// The viewer's private fields, written for seats only.
#[inline]
fn own_cards<'a, const N: usize, S: FieldSink<Sight<'a, N>>>(sink: &mut S) {
    let hand = regions("hand", "The viewer's hand, ascending, without what it has chosen or set aside.");
    sink.field(hand.by(Axis::unordered("card", 5)).own(), |shown, out| {
        let viewer = shown.around.viewer().first();
        let mut hand = choosable(shown.state, viewer);
        hand.remove(RegionId::row(shown.state.chosen[viewer]));
        out.put_ids(hand);
    });
    let chosen = regions("chosen", "The region the viewer has chosen while others still owe their choice.");
    sink.field(chosen.own(), |shown, out| {
        out.put(RegionId::row(shown.state.chosen[shown.around.viewer().first()]));
    });
    let set_aside = regions(
        "set_aside",
        "The regions the viewer has set aside and that have not come to the display since, ascending.",
    );
    sink.field(set_aside.by(Axis::unordered("card", 2)).own(), |shown, out| {
        let aside = RegionId::rows(shown.state.set_aside[shown.around.viewer().first()]);
        out.put_ids(aside.into_iter().filter(|&id| !shown.state.revealed.contains(id)));
    });
    let found =
        sanctuaries("found", "The sanctuaries before the viewer, of which it will place one, ascending.");
    sink.field(found.by(Axis::unordered("card", MOST_DEALT)).own(), |shown, out| {
        out.put_ids(shown.state.found(shown.around.viewer().first()));
    });
    let returned = FieldSpec::count(
        "returned",
        8,
        "By sanctuary id: the last round in which the viewer put it under the deck; 0 when it never did, or has \
         found it again, or it has been placed.",
    );
    sink.field(returned.by(Axis::rows("sanctuary", "sanctuaries", SANCTUARIES)).own(), |shown, out| {
        last_returned::<N>(shown.state, shown.around.viewer().first(), out.rest());
    });
}

#[inline]
fn hands<'a, const N: usize, S: FieldSink<Sight<'a, N>>>(other: Axis, sink: &mut S) {
    let known = regions(
        "known_hands",
        "What each other seat took from the display and has not shown again, clockwise, ascending.",
    );
    sink.field(known.by(other).by(Axis::unordered("card", 3)), |shown, out| {
        for &seat in shown.around.others() {
            let mut row = [0; 3];
            for (place, id) in row.iter_mut().zip(public_hand(shown.state, seat)) {
                *place = id;
            }
            out.put_all(&row);
        }
    });
    let unknown =
        FieldSpec::count("unknown_hands", 5, "How many further regions each other seat holds, clockwise.");
    sink.field(unknown.by(other), |shown, out| {
        for &seat in shown.around.others() {
            out.put(count(hidden_hand(shown.state, seat)));
        }
    });
}

#[inline]
fn decks<'a, const N: usize, S: FieldSink<Sight<'a, N>>>(seat: Axis, sink: &mut S) {
    let most = MOST_DEALT.into();
    let dealt = FieldSpec::count("dealt", most, "How many sanctuaries lie before each seat, viewer first.");
    sink.field(dealt.by(seat), |shown, out| {
        for &seat in shown.around.seats() {
            out.put(count(shown.state.found(seat)));
        }
    });
    let owed = FieldSpec::count(
        "owed",
        most,
        "How many more each seat is due before it places, the deck having run out; viewer first.",
    );
    sink.field(owed.by(seat), |shown, out| {
        for &seat in shown.around.seats() {
            out.put(shown.state.owed[seat]);
        }
    });
    let deck = FieldSpec::count("region_deck", REGIONS.into(), "How many regions are in the deck.");
    sink.field(deck, |shown, out| out.put(count(shown.state.deck)));
    let deck =
        FieldSpec::count("sanctuary_deck", SANCTUARIES.into(), "How many sanctuaries are in the deck.");
    sink.field(deck, |shown, out| out.put(shown.state.sanctuary_deck));
}
