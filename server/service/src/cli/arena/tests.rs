//! How an arena ends that does not go on.

use clap::Parser as _;

use super::super::{Cli, Command};
use super::*;

/// What takes part in an arena without end, recorded in a folder.
struct Set {
    arena: Arena,
    tables: Tables,
    table: Arc<Table>,
    schedule: Schedule,
    entrants: Vec<Entrant>,
    books: Books,
}

fn set_up(folder: &str) -> Set {
    let line = ["boardwire", "arena", "faraway", "--seats", "random,random", "--until-width", "1e-9"];
    let cli = Cli::try_parse_from(line.into_iter().chain(["--record", folder])).expect("it can be read");
    let Command::Arena(arena) = cli.command else { panic!("it is an arena") };
    let schedule = Schedule::table(&arena.table.seats);
    let (tables, table) = arena.table.set_up(schedule.seats()).expect("it can be set up");
    let entrants = arena.entrants(&schedule, &tables, &table).expect("they are bots");
    let books = arena.books(&schedule, &table).expect("a new folder");
    Set { arena, tables, table, schedule, entrants, books }
}

#[test]
fn a_recording_that_cannot_be_written_ends_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let Set { arena, tables, table, schedule, entrants, books } =
        set_up(folder.path().to_str().expect("it is text"));
    folder.close().expect("it is removed");
    let running = AtomicBool::new(false);
    let found = arena.play(tables, &table, &schedule, &entrants, books, &running);
    let refused = found.err().expect("there is no folder").to_string();
    assert!(refused.ends_with("episodes-000000000.parquet"), "{refused}");
}

#[test]
fn what_waits_is_not_taken_once_it_is_interrupted() {
    let folder = tempfile::tempdir().expect("a folder");
    let Set { arena, table, schedule, mut books, .. } = set_up(folder.path().to_str().expect("it is text"));
    let (finished, arriving) = mpsc::sync_channel(4);
    for number in 0..4 {
        let played = Played::by_bots(&table, &schedule, &[Bot::Random], 0, number, || false).transpose();
        finished.send(played.expect("nothing halts them")).expect("there is room");
    }
    let (interrupted, hidden) = (AtomicBool::new(true), ProgressBar::hidden());
    let collected = arena.collect(u64::MAX, &schedule, &mut books, arriving, &interrupted, &hidden);
    assert_eq!(collected.expect("nothing fails"), (vec![], 0));
    assert!(finished.send(Err(anyhow::anyhow!("late"))).is_err(), "nobody waits to be received");
}
