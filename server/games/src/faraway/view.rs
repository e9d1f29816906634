//! The view: what a seat may know, with perfect memory, as bytes.

use boardwire_kernel::{Field, Meaning, Seat, ViewLayout, ViewWriter};

use super::Faraway;
use super::catalogue::{REGIONS, SANCTUARIES};
use super::state::{Phase, Regions, SEATS, State};

/// The most sanctuaries dealt at once: one, and one for each clue of 8 regions and 6 sanctuaries.
const MOST_DEALT: u8 = 15;

/// The phases in the order in which they are declared.
const PHASES: [&str; 5] = ["set_aside", "explore", "take", "place", "over"];

/// The fields at a table of `seats`.
pub(super) fn layout(seats: u8) -> ViewLayout {
    let fields =
        situation(seats).into_iter().chain(open_cards(seats)).chain(own_cards()).chain(memory(seats));
    ViewLayout { fields: fields.collect() }
}

fn field(name: &'static str, shape: &[u8], max: u8, meaning: Meaning, doc: &'static str) -> Field {
    Field { name, shape: shape.iter().copied().map(u16::from).collect(), max: max.into(), meaning, doc }
}

fn regions(name: &'static str, shape: &[u8], doc: &'static str) -> Field {
    field(name, shape, REGIONS, Meaning::Id { table: "regions" }, doc)
}

fn sanctuaries(name: &'static str, shape: &[u8], doc: &'static str) -> Field {
    let meaning = Meaning::Id { table: "sanctuaries" };
    field(name, shape, SANCTUARIES, meaning, doc)
}

fn situation(seats: u8) -> [Field; 4] {
    let names = PHASES.map(str::to_owned).to_vec();
    [
        field("round", &[], 8, Meaning::Count, "The round, from 1 to 8."),
        field("phase", &[], 4, Meaning::Code { names }, "What is being chosen."),
        field("pending", &[seats], 1, Meaning::Flag, "Whether each seat owes a choice, viewer first."),
        field(
            "order",
            &[seats],
            seats,
            Meaning::Seat,
            "The seats in the order of their turns to take and place; zeros while regions are being chosen.",
        ),
    ]
}

fn open_cards(seats: u8) -> [Field; 4] {
    [
        regions("lines", &[seats, 8], "Each seat's regions, viewer first, in the order played."),
        sanctuaries(
            "sanctuaries",
            &[seats, 7],
            "The sanctuary each seat placed in rounds 2 to 8, viewer first; 0 where none was found.",
        ),
        regions("display", &[seats + 1], "The regions that can be taken, ascending."),
        regions("left_over", &[7], "The region left over in the display of rounds 1 to 7, out of the game."),
    ]
}

fn own_cards() -> [Field; 5] {
    [
        regions("hand", &[5], "The viewer's hand, ascending, without what it has chosen or set aside."),
        regions("chosen", &[], "The region the viewer has chosen while others still owe their choice."),
        regions(
            "set_aside",
            &[2],
            "The regions the viewer has set aside and that have not come to the display since.",
        ),
        sanctuaries(
            "found",
            &[15],
            "The sanctuaries before the viewer, of which it will place one, ascending.",
        ),
        field(
            "returned",
            &[SANCTUARIES],
            8,
            Meaning::Count,
            "By sanctuary id: the last round in which the viewer put it under the deck; 0 when it never did, \
             or has found it again, or it has been placed.",
        ),
    ]
}

fn memory(seats: u8) -> [Field; 6] {
    [
        regions(
            "known_hands",
            &[seats - 1, 3],
            "What each other seat took from the display and has not shown again, clockwise, ascending.",
        ),
        field(
            "unknown_hands",
            &[seats - 1],
            5,
            Meaning::Count,
            "How many further regions each other seat holds, clockwise.",
        ),
        field(
            "dealt",
            &[seats],
            MOST_DEALT,
            Meaning::Count,
            "How many sanctuaries lie before each seat, viewer first.",
        ),
        field(
            "owed",
            &[seats],
            MOST_DEALT,
            Meaning::Count,
            "How many more each seat is due before it places, the deck having run out; viewer first.",
        ),
        field("region_deck", &[], REGIONS, Meaning::Count, "How many regions are in the deck."),
        field("sanctuary_deck", &[], SANCTUARIES, Meaning::Count, "How many sanctuaries are in the deck."),
    ]
}

impl Faraway {
    /// Writes the view in the order of the layout.
    pub(super) fn write_view(&self, state: &State, viewer: Seat, out: &mut [u8]) {
        // A view is written at every decision: with the number of seats known, all of this unrolls.
        match self.seats {
            2 => self.write_for::<2>(state, viewer, out),
            3 => self.write_for::<3>(state, viewer, out),
            4 => self.write_for::<4>(state, viewer, out),
            5 => self.write_for::<5>(state, viewer, out),
            _ => self.write_for::<SEATS>(state, viewer, out),
        }
    }

    fn write_for<const N: usize>(&self, state: &State, viewer: Seat, out: &mut [u8]) {
        let mut out = ViewWriter::new(out);
        let seats: [Seat; N] = viewer.around();
        let others = &seats[1..];
        let before = seats.map(|seat| state.before(seat.index()));
        out.put(state.round);
        out.put(state.phase as u8);
        let pending = self.owing(state);
        for &seat in &seats {
            out.put(pending.contains(seat).into());
        }
        let turns = out.zeros(N);
        if state.active().is_some() {
            for (turn, &seat) in turns.iter_mut().zip(&state.order) {
                let around = if seat < viewer.number() { self.seats } else { 0 };
                *turn = seat + around - viewer.number() + 1;
            }
        }
        for &seat in &seats {
            out.put_all(&state.lines[seat.index()]);
        }
        for &seat in &seats {
            out.put_all(&state.placed[seat.index()]);
        }
        out.put_ids(state.display, N + 1);
        out.put_all(&state.left_over);
        write_own_hand(state, viewer.index(), &mut out);
        out.put_ids(before[0], MOST_DEALT.into());
        write_returned(state, N, viewer.index(), out.zeros(SANCTUARIES.into()));
        for &seat in others {
            out.put_ids(known_hand(state, seat), 3);
        }
        for &seat in others {
            out.put(small(unknown_hand(state, seat).len()));
        }
        for found in &before {
            out.put(small(found.len()));
        }
        for &seat in &seats {
            out.put(state.owed[seat.index()]);
        }
        out.put(small(state.deck.len()));
        out.put(state.sanctuary_deck);
        out.finish();
    }
}

/// The viewer's regions that have not been played: its hand, what it has chosen, what it has set aside.
fn write_own_hand(state: &State, at: usize, out: &mut ViewWriter) {
    let mut hand = state.hands[at];
    hand.remove(state.chosen[at]);
    if state.phase == Phase::SetAside {
        for id in state.aside[at] {
            hand.remove(id);
        }
    }
    out.put_ids(hand, 5);
    out.put(state.chosen[at]);
    for id in state.aside[at] {
        out.put(if state.shown.contains(id) { 0 } else { id });
    }
}

/// By sanctuary: the last round in which a seat returned it, for those it has not met again. `rounds` is all
/// zero.
pub(super) fn write_returned(state: &State, seats: usize, at: usize, rounds: &mut [u8]) {
    let mut gone = state.before(at);
    // Id 0 is none, and no sanctuary's.
    for &id in state.placed[..seats].as_flattened() {
        gone.insert(id);
    }
    // What was dealt and is not gone has been returned.
    for (round, dealt) in (2..).zip(&state.dealt[at]) {
        dealt.difference(gone).iter().for_each(|id| rounds[usize::from(id) - 1] = round);
    }
}

/// What a seat took from the display and still holds: all know it.
pub(super) fn known_hand(state: &State, seat: Seat) -> Regions {
    state.hands[seat.index()].intersection(state.shown)
}

/// What a seat was dealt and has not shown: only it knows.
pub(super) fn unknown_hand(state: &State, seat: Seat) -> Regions {
    state.hands[seat.index()].difference(state.shown)
}

fn small(count: u32) -> u8 {
    u8::try_from(count).unwrap_or(u8::MAX)
}
