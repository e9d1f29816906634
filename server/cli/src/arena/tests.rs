use clap::Parser as _;

use super::super::{Cli, Command};
use super::*;

#[test]
fn an_interrupted_arena_collects_no_more_deals() {
    let arguments = ["boardwire", "arena", "faraway", "--seats", "random,random", "--until-width", "1e-9"];
    let cli = Cli::try_parse_from(arguments).expect("the arguments are valid");
    let Command::Arena(arena) = cli.command else { panic!("an arena") };
    let schedule = Schedule::table(&arena.table.seats);
    let (_, table) = arena.table.set_up(&Registry::standard(), schedule.seats()).expect("the table is valid");
    let (finished, receiver) = mpsc::sync_channel(4);
    for number in 0..4 {
        let played =
            PlayedDeal::play_bots(&table, &schedule, &[Bot::Random], 0, number, || false).transpose();
        finished.send(played.expect("the deal is played to its end")).expect("the channel has room");
    }
    let (interrupted, hidden) = (AtomicBool::new(true), ProgressBar::hidden());
    let collected = arena.collect(u64::MAX, &schedule, BTreeMap::new(), receiver, &interrupted, &hidden);
    let collected = collected.expect("no deal fails");
    assert!(collected.deals.is_empty() && collected.decisions == 0, "{collected:?}");
    assert!(finished.send(Err(anyhow::anyhow!("late"))).is_err(), "the receiver is dropped");
}

#[test]
fn a_clock_has_times_in_seconds() {
    let both = clock("limit=0.5,bank=60").expect("both are times");
    let expected = (Duration::from_millis(500), Duration::from_mins(1), Duration::ZERO);
    assert_eq!((both.limit, both.bank, both.increment), expected);
    for (wrong, named) in
        [("5", "NAME=VALUE"), ("limit=-1", "limit"), ("bank=x", "bank"), ("delay=1", "delay")]
    {
        let error = clock(wrong).expect_err(wrong);
        assert!(error.contains(named), "{error}");
    }
}
