//! The position as one viewer sees it, as bytes.

use boardwire_kernel::{
    Axis, FieldSink, FieldSpec, LayoutBuilder, SeatOrder, ViewLayout, ViewWriter, Viewer, Views, with_seats,
};

use crate::LiarsDice;
use crate::state::{FACES, State};

const FACE_NAMES: &[&str] = &["none", "1", "2", "3", "4", "5", "6"];

/// A position as one viewer sees it, at a table of `N` seats.
struct ViewContext<'a, const N: usize> {
    state: &'a State,
    order: SeatOrder<N>,
}

/// Passes every field to `sink`, in the order of its bytes. `dice` is the dice of each seat at the start.
fn fields<'a, const N: usize, S: FieldSink<ViewContext<'a, N>>>(seats: u8, dice: u8, sink: &mut S) {
    let (by_seat, by_face, in_play) = (Axis::seats(seats), Axis::new("face", FACES), u16::from(seats * dice));
    let own = FieldSpec::count("dice", dice.into(), "The viewer's dice: how many show each face.");
    sink.field(own.axis(by_face).private(), |at, out| {
        out.write_bytes(&at.state.cups[at.order.seats()[0]].counts()[1..]);
    });
    let number = FieldSpec::count("dice_count", dice.into(), "The number of dice of each seat.");
    sink.field(number.axis(by_seat), |at, out| {
        out.write_ids(at.order.seats().map(|seat| at.state.cups[seat].len()));
    });
    let eliminated =
        FieldSpec::count("eliminated", (seats - 1).into(), "The order of elimination, from 1; 0 with dice.");
    sink.field(eliminated.axis(by_seat), |at, out| {
        out.write_ids(at.order.seats().map(|seat| at.state.eliminated[seat]));
    });
    let turn = FieldSpec::seat("turn", seats, "The seat in turn; none when the game is over.");
    sink.field(turn, |at, out| {
        out.write_byte(at.order.relative_opt((!at.state.is_over()).then_some(at.state.turn)));
    });
    let bidder = FieldSpec::seat("bidder", seats, "The seat that made the last bid of this round.");
    sink.field(bidder, |at, out| {
        out.write_byte(at.order.relative_opt(at.state.bid.map(|(seat, _)| seat)));
    });
    let quantity = FieldSpec::count("bid_quantity", in_play, "The quantity of the bid; 0 without a bid.");
    sink.field(quantity, |at, out| out.write_byte(at.state.bid.map_or(0, |(_, bid)| bid.quantity)));
    let face = FieldSpec::category("bid_face", FACE_NAMES, "The face of the bid.");
    sink.field(face, |at, out| out.write_byte(at.state.bid.map_or(0, |(_, bid)| bid.face)));
    let shown =
        FieldSpec::count("shown", dice.into(), "How many dice of each seat showed each face last round.");
    sink.field(shown.axis(by_seat).axis(by_face), |at, out| {
        at.order.seats().iter().for_each(|&seat| out.write_bytes(&at.state.shown[seat].counts()[1..]));
    });
}

/// Returns the layouts for seats and for the public.
pub(crate) fn layouts(seats: u8, dice: u8) -> (ViewLayout, ViewLayout) {
    let (mut own, mut public) = (LayoutBuilder::for_seats(), LayoutBuilder::for_public());
    with_seats!(seats, [2, 3, 4, 5, 6], N => {
        fields::<N, _>(seats, dice, &mut own);
        fields::<N, _>(seats, dice, &mut public);
    });
    (own.finish(), public.finish())
}

impl Views for LiarsDice {
    fn view(&self, state: &State, viewer: Viewer, out: &mut [u8]) {
        with_seats!(self.seats, [2, 3, 4, 5, 6], N => {
            let seen = ViewContext::<N> { state, order: SeatOrder::new(viewer) };
            let mut writer = ViewWriter::new(&seen, viewer == Viewer::Public, out);
            fields(self.seats, self.dice, &mut writer);
            writer.finish();
        });
    }
}
