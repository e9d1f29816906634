use super::*;

struct Position {
    round: u8,
    fame: [u16; 2],
    hand: Vec<u8>,
}

fn fields<S: FieldSink<Position>>(sink: &mut S) {
    sink.field(FieldSpec::count("round", 8, "The round."), |at: &Position, out| out.write_byte(at.round));
    sink.field(FieldSpec::count("fame", 300, "By seat.").axis(Axis::seats(2)), |at, out| {
        at.fame.iter().for_each(|&fame| out.write_value(fame));
    });
    let hand = FieldSpec::id("hand", "cards", 9, "The hand.").axis(Axis::unordered("place", 3)).private();
    sink.field(hand, |at, out| out.write_ids(at.hand.iter().copied()));
}

fn layout(mut builder: LayoutBuilder) -> ViewLayout {
    fields(&mut builder);
    builder.finish()
}

fn view(position: &Position, is_public: bool, bytes: usize) -> Vec<u8> {
    let mut view = vec![9; bytes];
    let mut writer = ViewWriter::new(position, is_public, &mut view);
    fields(&mut writer);
    writer.finish();
    view
}

#[test]
fn wide_values_take_two_bytes_low_first() {
    let layout = layout(LayoutBuilder::for_seats());
    let position = Position { round: 8, fame: [258, 0], hand: vec![1] };
    let view = view(&position, false, layout.bytes());
    assert_eq!(view, [8, 2, 1, 0, 0, 1, 0, 0]);
    assert_eq!(layout.check(&view), Ok(()));
}

#[test]
fn the_public_has_no_private_field() {
    let layout = layout(LayoutBuilder::for_public());
    let position = Position { round: 1, fame: [1, 2], hand: vec![1, 2, 3] };
    assert_eq!(view(&position, true, layout.bytes()), [1, 1, 0, 2, 0]);
}

#[test]
fn a_value_above_its_maximum_is_named() {
    let layout = layout(LayoutBuilder::for_public());
    let wrong = [8, 0, 0, 45, 1];
    assert_eq!(layout.check(&wrong), Err("fame[1] is 301, above 300".into()));
    assert!(layout.check(&wrong[1..]).is_err());
}

#[test]
fn unordered_values_ascend() {
    let layout = layout(LayoutBuilder::for_seats());
    let check = |hand: &[u8]| {
        let position = Position { round: 1, fame: [0; 2], hand: hand.to_vec() };
        layout.check(&view(&position, false, layout.bytes()))
    };
    assert_eq!(check(&[2, 5]), Ok(()));
    assert_eq!(check(&[5, 2]), Err("hand is [5, 2, 0] along place, not ascending".into()));
    assert_eq!(check(&[0, 5]), Err("hand is [0, 5, 0] along place, not ascending".into()));
    assert_eq!(check(&[5, 5]), Err("hand has more than 1 of 5: [5, 5, 0]".into()));
}

#[test]
fn every_seat_has_copies_of_its_own() {
    let lines = FieldSpec::id("lines", "cards", 9, "By round and seat.").max_copies(2);
    let axes = [Axis::new("round", 3), Axis::seats(2)];
    let lines = axes.into_iter().fold(lines, FieldSpec::axis);
    let mut builder = LayoutBuilder::for_seats();
    builder.field(lines, |(): &(), _| ());
    let layout = builder.finish();
    assert_eq!(layout.check(&[4, 4, 0, 4, 4, 0]), Ok(()));
    assert_eq!(layout.check(&[4, 0, 4, 0, 4, 0]), Err("lines has more than 2 of 4: [4, 4, 4]".into()));
}

#[test]
#[should_panic(expected = "index out of bounds")]
fn more_ids_than_positions_panic() {
    view(&Position { round: 1, fame: [0; 2], hand: vec![1; 4] }, false, 8);
}

#[test]
#[should_panic(expected = "1 bytes shorter")]
fn a_buffer_of_the_wrong_length_panics() {
    view(&Position { round: 1, fame: [0; 2], hand: vec![] }, false, 9);
}

#[test]
#[should_panic(expected = "two-byte values")]
fn write_byte_in_a_field_of_two_byte_values_panics() {
    let mut view = [0; 2];
    let mut writer = ViewWriter::new(&(), false, &mut view);
    writer.field(FieldSpec::count("fame", 300, "Fame."), |(), out| out.write_byte(1));
}
