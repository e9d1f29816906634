//! Tests of the oracle columns: the views of all seats, for centralized critics. A batch has them only on request.

use boardwire_kernel::{RESAMPLE_STREAM, Viewer};

use super::*;
use crate::play::AnyEpisode;

/// Returns a configuration with agents at all seats and the views of all seats.
fn oracle_config(seats: usize) -> EnvironmentConfig {
    let config = config(&vec!["agent"; seats]);
    EnvironmentConfig { columns: Columns { oracle: true, ..config.columns }, ..config }
}

fn tables() -> impl Iterator<Item = (&'static str, u8, Arc<Table>)> {
    let seats = |&game: &&'static str| [2, 3].map(|seats| (game, seats, table(game, seats.into())));
    boardwire_games::IDS.iter().flat_map(seats)
}

/// Returns the views of all seats, starting at `first`.
fn views(table: &Table, episode: &dyn AnyEpisode, first: Seat) -> Vec<u8> {
    let info = table.game.info();
    let mut views = vec![0; usize::from(info.seats) * info.layout.bytes()];
    for (seat, view) in first.round(info.seats).zip(views.chunks_mut(info.layout.bytes())) {
        episode.view(Viewer::Seat(seat), view);
    }
    views
}

/// Returns the legal masks of all seats, starting at `first`.
fn masks(table: &Table, episode: &dyn AnyEpisode, first: Seat) -> Vec<u8> {
    let (info, bytes) = (table.game.info(), table.game.info().actions.mask_bytes());
    let mut masks = vec![0; usize::from(info.seats) * bytes];
    for (seat, mask) in first.round(info.seats).zip(masks.chunks_mut(bytes)) {
        episode.legal(seat).write_bits(mask);
    }
    masks
}

/// Deals episode 0 of environment `number`.
fn deal(table: &Table, number: u64) -> Box<dyn AnyEpisode> {
    Arc::clone(&table.game).deal(RngStream::new(7, number).next_seed().into())
}

#[test]
fn a_row_has_the_views_of_all_seats_from_the_deciding_one_on() {
    for (game, seats, table) in tables() {
        let batch = open(&table, &oracle_config(seats.into()), 5, 0, 2);
        let mut episodes: Vec<_> = (0..5).map(|number| deal(&table, number)).collect();
        let mut rows = reset(&batch);
        let bytes = rows.oracle().len() / 5;
        let mut ended = [false; 5];
        for salt in 0.. {
            let actions = choices(&rows, 0, salt);
            for (index, episode) in episodes.iter_mut().enumerate() {
                if ended[index] {
                    continue;
                }
                let seat = episode.pending().lowest();
                let expected = seat.map_or(vec![0; bytes], |first| views(&table, &**episode, first));
                assert_eq!(
                    row(rows.oracle(), index, bytes),
                    expected,
                    "{game}, {seats} seats, environment {index}"
                );
                let of_masks = rows.oracle_mask().len() / 5;
                let expected = seat.map_or(vec![0; of_masks], |first| masks(&table, &**episode, first));
                assert_eq!(row(rows.oracle_mask(), index, of_masks), expected, "{game}, {seats} seats");
                match seat {
                    Some(seat) => episode.apply(seat, actions[index].into()).expect("it is legal"),
                    None => ended[index] = true,
                }
            }
            if ended == [true; 5] {
                break;
            }
            rows = step(&batch, actions).expect("legal");
        }
    }
}

#[test]
fn without_the_views_of_all_seats_the_other_columns_are_the_same() {
    for (game, seats, table) in tables() {
        let seeing = oracle_config(seats.into());
        let blind =
            EnvironmentConfig { columns: Columns { oracle: false, ..seeing.columns }, ..seeing.clone() };
        let [seeing, blind] = [seeing, blind].map(|config| open(&table, &config, 20, 0, 2));
        let (mut with, mut without) = (reset(&seeing), reset(&blind));
        for salt in 0..60 {
            assert!(with.oracle().len() == 20 * usize::from(seats) * table.game.info().layout.bytes());
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
        let batch = open(&table, &oracle_config(seats.into()), 20, 0, 2);
        let (mut rng, mut differed) = (RngStream::new(seats.into(), RESAMPLE_STREAM), 0);
        let mut rows = reset(&batch);
        for salt in 0..60 {
            let expected = current_rows(&batch);
            let originals = wait(batch.determinize(&mut rng));
            let resampled = current_rows(&batch);
            wait(batch.restore_blocks(originals));
            differed += u32::from(resampled.oracle() != expected.oracle());
            let expected = message(expected);
            let Message { oracle, oracle_mask, sequence, .. } = expected.clone();
            let resampled = Message { sequence, oracle, oracle_mask, ..message(resampled) };
            assert_eq!(resampled, expected, "{game}, {seats} seats");
            rows = step(&batch, choices(&rows, 0, salt)).expect("legal");
        }
        assert!(differed > 30, "{game}: the views of other seats hardly differ");
    }
}

/// Plays two positions to the end with the same actions and chance. All seats must have the same views in both.
fn check_same_continuation(
    table: &Table,
    first: &mut dyn AnyEpisode,
    second: &mut dyn AnyEpisode,
    rng: &mut RngStream,
) {
    let name = table.game.info().id;
    loop {
        assert_eq!(
            views(table, first, Seat::FIRST),
            views(table, second, Seat::FIRST),
            "{name} at {}",
            first.ply()
        );
        assert_eq!(first.pending(), second.pending());
        let Some(seat) = first.pending().lowest() else {
            return assert_eq!(first.outcome(), second.outcome());
        };
        let mut legal = first.legal(seat);
        assert_eq!(legal, second.legal(seat), "{name} at {}", first.ply());
        let action = rng.draw(&mut legal);
        first.apply(seat, action.into()).expect("it is legal");
        second.apply(seat, action.into()).expect("it is legal");
    }
}

/// A state holds only information that at least one seat knows.
#[test]
fn positions_with_the_same_views_continue_the_same() {
    let mut alike = 0;
    for game in boardwire_games::IDS {
        let (table, mut rng) = (table(game, 2), RngStream::new(2, RESAMPLE_STREAM));
        for number in 0..12 {
            let mut episode = deal(&table, number);
            while let Some(seat) = episode.pending().lowest() {
                for viewer in Seat::all(2) {
                    let mut second = episode.determinized(viewer, &mut rng);
                    let looks = |episode: &dyn AnyEpisode| views(&table, episode, seat);
                    if second.digest() != episode.digest() && looks(&*second) == looks(&*episode) {
                        alike += 1;
                        let mut first = episode.copy();
                        let first = Arc::get_mut(&mut first).expect("the copy has one owner");
                        check_same_continuation(&table, first, &mut *second, &mut rng);
                    }
                }
                let action = rng.draw(&mut episode.legal(seat));
                episode.apply(seat, action.into()).expect("it is legal");
            }
        }
    }
    assert!(alike > 50, "{alike} positions look alike");
}
