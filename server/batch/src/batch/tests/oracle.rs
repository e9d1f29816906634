//! Tests of the oracle columns: the views of all seats, for centralized critics. A batch has them only on request.

use boardwire_kernel::{RESAMPLE_STREAM, Viewer};

use super::*;
use crate::play::Play;

/// Returns a plan with agents at all seats and the views of all seats.
fn all_seeing(seats: usize) -> Plan {
    let plan = plan(&vec!["agent"; seats]);
    Plan { columns: Columns { oracle: true, ..plan.columns }, ..plan }
}

fn tables() -> impl Iterator<Item = (&'static str, u8, Arc<Table>)> {
    let seats = |&game: &&'static str| [2, 3].map(|seats| (game, seats, table(game, seats.into())));
    boardwire_games::IDS.iter().flat_map(seats)
}

/// Returns the views of all seats, starting at `first`.
fn views(table: &Table, play: &dyn Play, first: Seat) -> Vec<u8> {
    let info = table.rules.info();
    let mut views = vec![0; usize::from(info.seats) * info.layout.bytes()];
    for (seat, view) in first.round(info.seats).zip(views.chunks_mut(info.layout.bytes())) {
        play.view(Viewer::Seat(seat), view);
    }
    views
}

/// Returns the legal masks of all seats, starting at `first`.
fn masks(table: &Table, play: &dyn Play, first: Seat) -> Vec<u8> {
    let (info, bytes) = (table.rules.info(), table.rules.info().actions.mask_bytes());
    let mut masks = vec![0; usize::from(info.seats) * bytes];
    for (seat, mask) in first.round(info.seats).zip(masks.chunks_mut(bytes)) {
        play.legal(seat).write_bits(mask);
    }
    masks
}

/// Deals episode 0 of environment `number`.
fn dealt(table: &Table, number: u64) -> Box<dyn Play> {
    Arc::clone(&table.rules).deal(RngStream::new(7, number).seed().into())
}

#[test]
fn a_row_has_the_views_of_all_seats_from_the_deciding_one_on() {
    for (game, seats, table) in tables() {
        let batch = open(&table, &all_seeing(seats.into()), 5, 0, 2);
        let mut plays: Vec<_> = (0..5).map(|number| dealt(&table, number)).collect();
        let mut shown = reset(&batch);
        let bytes = shown.oracle().len() / 5;
        let mut ended = [false; 5];
        for salt in 0.. {
            let actions = choices(&shown, 0, salt);
            for (at, play) in plays.iter_mut().enumerate() {
                if ended[at] {
                    continue;
                }
                let seat = play.pending().lowest();
                let expected = seat.map_or(vec![0; bytes], |first| views(&table, &**play, first));
                assert_eq!(
                    row(shown.oracle(), at, bytes),
                    expected,
                    "{game}, {seats} seats, environment {at}"
                );
                let of_masks = shown.oracle_mask().len() / 5;
                let expected = seat.map_or(vec![0; of_masks], |first| masks(&table, &**play, first));
                assert_eq!(row(shown.oracle_mask(), at, of_masks), expected, "{game}, {seats} seats");
                match seat {
                    Some(seat) => play.apply(seat, actions[at].into()).expect("it is legal"),
                    None => ended[at] = true,
                }
            }
            if ended == [true; 5] {
                break;
            }
            shown = step(&batch, actions).expect("legal");
        }
    }
}

#[test]
fn without_the_views_of_all_seats_the_other_columns_are_the_same() {
    for (game, seats, table) in tables() {
        let seeing = all_seeing(seats.into());
        let blind = Plan { columns: Columns { oracle: false, ..seeing.columns }, ..seeing.clone() };
        let [seeing, blind] = [seeing, blind].map(|plan| open(&table, &plan, 20, 0, 2));
        let (mut with, mut without) = (reset(&seeing), reset(&blind));
        for salt in 0..60 {
            assert!(with.oracle().len() == 20 * usize::from(seats) * table.rules.info().layout.bytes());
            let rest = Message { oracle: Bytes::new(), oracle_mask: Bytes::new(), ..message(with.clone()) };
            assert_eq!(message(without.clone()), rest, "{game}, {seats} seats");
            let actions = choices(&with, 0, salt);
            with = step(&seeing, actions.clone()).expect("legal");
            without = step(&blind, actions).expect("legal");
        }
    }
}

#[test]
fn other_columns_do_not_depend_on_hidden_information() {
    for (game, seats, table) in tables() {
        let batch = open(&table, &all_seeing(seats.into()), 20, 0, 2);
        let (mut rng, mut differed) = (RngStream::new(seats.into(), RESAMPLE_STREAM), 0);
        let mut now = reset(&batch);
        for salt in 0..60 {
            let expected = current_rows(&batch);
            let truth = wait(batch.determinize(&mut rng));
            let resampled = current_rows(&batch);
            wait(batch.put_back(truth));
            differed += u32::from(resampled.oracle() != expected.oracle());
            let expected = message(expected);
            let Message { oracle, oracle_mask, sequence, .. } = expected.clone();
            let resampled = Message { sequence, oracle, oracle_mask, ..message(resampled) };
            assert_eq!(resampled, expected, "{game}, {seats} seats");
            now = step(&batch, choices(&now, 0, salt)).expect("legal");
        }
        assert!(differed > 30, "{game}: the views of other seats hardly differ");
    }
}

/// Plays two positions to the end with the same actions and chance. All seats must have the same views in both.
fn check_same_continuation(table: &Table, one: &mut dyn Play, other: &mut dyn Play, rng: &mut RngStream) {
    let name = table.rules.info().id;
    loop {
        assert_eq!(
            views(table, one, Seat::FIRST),
            views(table, other, Seat::FIRST),
            "{name} at {}",
            one.ply()
        );
        assert_eq!(one.pending(), other.pending());
        let Some(seat) = one.pending().lowest() else { return assert_eq!(one.outcome(), other.outcome()) };
        let mut legal = one.legal(seat);
        assert_eq!(legal, other.legal(seat), "{name} at {}", one.ply());
        let action = rng.draw(&mut legal);
        one.apply(seat, action.into()).expect("it is legal");
        other.apply(seat, action.into()).expect("it is legal");
    }
}

/// A state holds only information that at least one seat knows.
#[test]
fn positions_with_the_same_views_continue_the_same() {
    let mut alike = 0;
    for game in boardwire_games::IDS {
        let (table, mut rng) = (table(game, 2), RngStream::new(2, RESAMPLE_STREAM));
        for number in 0..12 {
            let mut play = dealt(&table, number);
            while let Some(seat) = play.pending().lowest() {
                for viewer in Seat::all(2) {
                    let mut other = play.determinized(viewer, &mut rng);
                    let looks = |play: &dyn Play| views(&table, play, seat);
                    if other.digest() != play.digest() && looks(&*other) == looks(&*play) {
                        alike += 1;
                        let mut one = play.copy();
                        let one = Arc::get_mut(&mut one).expect("the copy has one owner");
                        check_same_continuation(&table, one, &mut *other, &mut rng);
                    }
                }
                let action = rng.draw(&mut play.legal(seat));
                play.apply(seat, action.into()).expect("it is legal");
            }
        }
    }
    assert!(alike > 50, "{alike} positions look alike");
}
