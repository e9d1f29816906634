//! The position as one viewer sees it, as bytes.

use super::Toy;
use super::catalogue::{CARDS, CardId};
use super::state::{HAND, Phase, Placement, ROUNDS, State};
use crate::{
    Axis, FieldSink, FieldSpec, LayoutBuilder, Seat, SeatOrder, ViewLayout, ViewWriter, Viewer, Views,
    with_seats,
};

const PHASES: &[&str] = &["play", "place", "over"];
const PLACEMENTS: &[&str] = &["none", "open", "kept", "buried"];

/// A position as one viewer sees it, at a table of `N` seats.
pub(super) struct ViewContext<'a, const N: usize> {
    toy: &'a Toy,
    state: &'a State,
    seat_order: SeatOrder<N>,
}

impl<const N: usize> ViewContext<'_, N> {
    /// Returns the viewer's seat.
    fn own(&self) -> Seat {
        self.seat_order.viewer().seat().expect("the public has no private fields")
    }
}

/// Passes every field to `sink`, in the order of its bytes.
fn fields<'a, const N: usize, S: FieldSink<ViewContext<'a, N>>>(seats: u8, sink: &mut S) {
    let by_seat = Axis::seats(seats);
    let by_round = Axis::sequence("round", ROUNDS);
    let round = FieldSpec::count("round", ROUNDS.into(), "The round, from 1.");
    sink.field(round, |at, out| out.write_byte(at.state.round + 1));
    let phase = FieldSpec::category("phase", PHASES, "The phase: the decision that is due.");
    sink.field(phase, |at, out| {
        out.write_byte(match at.state.phase {
            Phase::Play => 0,
            Phase::Place => 1,
            Phase::Over => 2,
        });
    });
    let hand = FieldSpec::id("hand", "cards", CARDS, "The viewer's hand, ascending.");
    sink.field(hand.axis(Axis::unordered("place", HAND)).private(), |at, out| {
        out.write_ids(at.state.hands[at.own()]);
    });
    let choice = FieldSpec::id("choice", "cards", CARDS, "The viewer's choice, while others decide.");
    sink.field(choice.private(), |at, out| {
        let is_open = at.state.phase == Phase::Play;
        out.write_byte(CardId::to_row(at.state.plays()[at.own()].filter(|_| is_open)));
    });
    let has_chosen = FieldSpec::flag("has_chosen", "Whether each seat has chosen.").axis(by_seat);
    sink.field(has_chosen, |at, out| {
        let is_open = at.state.phase == Phase::Play;
        let chosen = |seat: &Seat| is_open && at.state.plays()[*seat].is_some();
        out.write_ids(at.seat_order.seats().iter().map(|seat| chosen(seat).into()));
    });
    let size = FieldSpec::count("hand_size", HAND.into(), "Cards in each hand.").axis(by_seat);
    sink.field(size, |at, out| {
        out.write_ids(at.seat_order.seats().map(|seat| count(at.state.hands[seat].len())));
    });
    let plays = FieldSpec::id("plays", "cards", CARDS, "The revealed cards of each round.");
    sink.field(plays.axis(by_round).axis(by_seat), |at, out| {
        for plays in at.state.revealed() {
            out.write_ids(at.seat_order.seats().map(|seat| CardId::to_row(plays[seat])));
        }
    });
    let winner = FieldSpec::seat("winner", seats, "The winner of each round.").axis(by_round);
    sink.field(winner, |at, out| {
        out.write_ids(at.state.draws.map(|draw| at.seat_order.relative_opt(draw.map(|draw| draw.seat))));
    });
    let placement =
        FieldSpec::category("placement", PLACEMENTS, "The place of the card drawn in each round.");
    sink.field(placement.axis(by_round), |at, out| {
        out.write_ids(at.state.draws.map(|draw| match draw.map(|draw| draw.placement) {
            None => 0,
            Some(Placement::Open) => 1,
            Some(Placement::Kept) => 2,
            Some(Placement::Buried) => 3,
        }));
    });
    let drawn =
        FieldSpec::id("drawn", "cards", CARDS, "The card drawn in each round, where the viewer has seen it.");
    sink.field(drawn.axis(by_round), |at, out| {
        let seen =
            at.state.draws.map(|draw| draw.filter(|&draw| at.toy.has_seen(at.seat_order.viewer(), draw)));
        out.write_ids(seen.map(|draw| CardId::to_row(draw.map(|draw| draw.card))));
    });
    let deck = FieldSpec::count("deck", CARDS.into(), "Cards in the deck, without those buried under it.");
    sink.field(deck, |at, out| out.write_byte(count(at.state.deck.len())));
}

fn count(cards: u32) -> u8 {
    u8::try_from(cards).expect("there are eight cards")
}

/// Returns the layouts for seats and for the public.
pub(super) fn layouts(seats: u8) -> (ViewLayout, ViewLayout) {
    let (mut own, mut public) = (LayoutBuilder::for_seats(), LayoutBuilder::for_public());
    with_seats!(seats, [2, 3], N => {
        fields::<N, _>(seats, &mut own);
        fields::<N, _>(seats, &mut public);
    });
    (own.finish(), public.finish())
}

impl Views for Toy {
    fn view(&self, state: &State, viewer: Viewer, out: &mut [u8]) {
        with_seats!(self.seats, [2, 3], N => {
            let shown = ViewContext::<N> { toy: self, state, seat_order: SeatOrder::new(viewer) };
            let mut writer = ViewWriter::new(&shown, viewer == Viewer::Public, out);
            fields(self.seats, &mut writer);
            writer.finish();
        });
    }
}
