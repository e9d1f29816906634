//! How an arena ends that does not go on.

use clap::Parser as _;

use super::super::{Cli, Command};
use super::*;

#[test]
fn what_waits_is_not_taken_once_it_is_interrupted() {
    let line = ["boardwire", "arena", "faraway", "--seats", "random,random", "--until-width", "1e-9"];
    let cli = Cli::try_parse_from(line).expect("it can be read");
    let Command::Arena(arena) = cli.command else { panic!("it is an arena") };
    let schedule = Schedule::table(&arena.table.seats);
    let (_, table) = arena.table.set_up(schedule.seats()).expect("it can be set up");
    let (finished, arriving) = mpsc::sync_channel(4);
    for number in 0..4 {
        let played = Played::by_bots(&table, &schedule, &[Bot::Random], 0, number, || false).transpose();
        finished.send(played.expect("nothing halts them")).expect("there is room");
    }
    let (interrupted, hidden) = (AtomicBool::new(true), ProgressBar::hidden());
    let collected = arena.collect(u64::MAX, &schedule, BTreeMap::new(), arriving, &interrupted, &hidden);
    assert_eq!(collected.expect("nothing fails"), (vec![], 0));
    assert!(finished.send(Err(anyhow::anyhow!("late"))).is_err(), "nobody waits to be received");
}
