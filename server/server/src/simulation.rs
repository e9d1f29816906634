//! Matches over simulated networks: agents and spectators that are cut off, held up and started again, from a seed.
//!
//! Time and network are simulated, so a run takes a moment and comes out the same each time. Whatever happens to the network, a match
//! ends as it does undisturbed, and a spectator sees every position once.

mod world;

use std::rc::Rc;
use std::time::Duration;

use boardwire_api::v1::Frame;

use boardwire_kernel::{RngStream, Seat};
use tonic::Code;
use turmoil::Sim;

use crate::arbiter::{Audience, Phase};
use crate::edge::Bounds;
use world::World;

/// Where the server listens.
const ADDRESS: (&str, u16) = ("server", 50051);
/// The most that a match may take, in simulated time.
const LONGEST: Duration = Duration::from_hours(1);

/// Everybody but the server.
const OTHERS: [&str; 3] = ["first", "last", "spectator"];

fn simulated<'a>(world: &Rc<World>, seed: u64) -> Sim<'a> {
    let mut builder = turmoil::Builder::new();
    builder
        .rng_seed(seed)
        .simulation_duration(2 * LONGEST)
        .tick_duration(Duration::from_millis(5))
        .min_message_latency(Duration::from_millis(1))
        .max_message_latency(Duration::from_millis(80))
        .enable_random_order();
    let mut sim = builder.build();
    let served = Rc::clone(world);
    sim.host("server", move || {
        let world = Rc::clone(&served);
        async move { world.serve().await }
    });
    for (name, seat) in [("first", 0), ("last", 2)] {
        let world = Rc::clone(world);
        sim.host(name, move || {
            let world = Rc::clone(&world);
            async move { world.agent(Seat::new(seat)).await }
        });
    }
    let watched = Rc::clone(world);
    sim.host("spectator", move || {
        let world = Rc::clone(&watched);
        async move { world.spectator().await }
    });
    sim
}

/// What a match has come to.
struct Outcome {
    played: Vec<(u32, u32)>,
    /// What the spectator was shown.
    seen: Vec<Frame>,
    /// How often somebody was cut off, held up or dead.
    struck: u32,
}

/// What a match comes to over a network on which everything happens that follows from a seed; nothing for none.
fn outcome(game: &'static str, chaos: Option<u64>) -> Outcome {
    let world = World::new(game, Duration::ZERO);
    let mut sim = simulated(&world, chaos.unwrap_or_default());
    let mut rng = chaos.map(|seed| RngStream::new(seed, 0));
    let (mut troubles, mut struck) = ([None; 3], 0);
    while !world.is_done() {
        sim.step().unwrap_or_else(|error| panic!("{game}, seed {chaos:?}: {error}"));
        assert!(sim.elapsed() < LONGEST, "{game}, seed {chaos:?}: it does not end");
        if let Some(rng) = &mut rng {
            struck += make_trouble(&mut sim, rng, &mut troubles);
        }
    }
    let arbiter = world.arbiter().expect("it has been created");
    let replay = arbiter.replay(Audience::Host, None).expect("it is kept");
    let played = replay.frames.iter().filter_map(|frame| Some((frame.seat?, frame.played?.action)));
    let seen = std::mem::take(&mut *world.seen.lock().expect("nobody panics"));
    Outcome { played: played.collect(), seen, struck }
}

/// What happens to a connection or an agent, and until when.
#[derive(Debug, Clone, Copy)]
enum Trouble {
    CutOff(Duration),
    Held(Duration),
    Dead(Duration),
}

/// Every now and then somebody is cut off, held up or dies, and recovers after a while; gives how many just now.
fn make_trouble(sim: &mut Sim<'_>, rng: &mut RngStream, troubles: &mut [Option<Trouble>; 3]) -> u32 {
    let (now, mut struck) = (sim.elapsed(), 0);
    for (name, trouble) in OTHERS.into_iter().zip(troubles) {
        match *trouble {
            Some(Trouble::CutOff(until)) if now > until => sim.repair(name, ADDRESS.0),
            Some(Trouble::Held(until)) if now > until => sim.release(name, ADDRESS.0),
            Some(Trouble::Dead(until)) if now > until => sim.bounce(name),
            Some(_) => continue,
            None if rng.below(400) > 0 => continue,
            None => {
                struck += 1;
                let until = now + Duration::from_millis(u64::from(rng.below(9_000)));
                *trouble = Some(match rng.below(3) {
                    0 => {
                        sim.partition(name, ADDRESS.0);
                        Trouble::CutOff(until)
                    }
                    1 => {
                        sim.hold(name, ADDRESS.0);
                        Trouble::Held(until)
                    }
                    _ => {
                        sim.crash(name);
                        Trouble::Dead(until)
                    }
                });
                continue;
            }
        }
        *trouble = None;
    }
    struck
}

/// More seeds by `BOARDWIRE_SIMULATIONS`.
#[test]
fn a_match_over_a_bad_network_ends_as_it_does_over_a_good_one() {
    crate::held_up::tests::ignore();
    let seeds = std::env::var("BOARDWIRE_SIMULATIONS").map_or(4, |seeds| seeds.parse().expect("a number"));
    for game in boardwire_games::IDS {
        let Outcome { played: undisturbed, seen: all, .. } = outcome(game, None);
        let mut troubles = 0;
        assert!(undisturbed.len() > 20, "{game}: {}", undisturbed.len());
        assert_eq!(all.len(), undisturbed.len() + 1);
        for seed in 0..seeds {
            let Outcome { played, seen, struck } = outcome(game, Some(seed));
            troubles += struck;
            let by = |seat: u32, of: &[(u32, u32)]| -> Vec<u32> {
                of.iter().filter(|(by, _)| *by == seat).map(|(_, action)| *action).collect()
            };
            for seat in 0..3 {
                assert_eq!(by(seat, &played), by(seat, &undisturbed), "{game}, seed {seed}, seat {seat}");
            }
            assert_eq!(seen.len(), all.len(), "{game}, seed {seed}");
            assert_eq!(seen.last().map(|frame| &frame.outcome), all.last().map(|frame| &frame.outcome));
        }
        assert!(troubles >= u32::try_from(seeds).expect("few"), "{game}: {troubles} troubles");
    }
}

#[test]
fn a_spectator_that_is_slow_holds_nobody_up_and_sees_everything() {
    crate::held_up::tests::ignore();
    let Outcome { seen: all, .. } = outcome("faraway", None);
    let world = World::new("faraway", Duration::from_secs(4));
    let mut sim = simulated(&world, 0);
    let mut seen_by_then = None;
    while !world.is_done() {
        sim.step().expect("nothing happens to anyone");
        if world.arbiter().is_some_and(|arbiter| arbiter.phase() == Phase::Over) {
            seen_by_then.get_or_insert(world.seen.lock().expect("nobody panics").len());
        }
    }
    assert!(seen_by_then.is_some_and(|seen| seen < all.len() / 2), "{seen_by_then:?} of {}", all.len());
    assert_eq!(world.seen.lock().expect("nobody panics").len(), all.len());
}

#[test]
fn a_server_that_stops_tells_whom_it_reaches_and_waits_for_nobody_else() {
    crate::held_up::tests::ignore();
    let drain = Bounds::default().drain_timeout;
    for seed in 0..8 {
        let world = World::new("rauha", Duration::ZERO);
        let mut sim = simulated(&world, seed);
        let begins = Duration::from_millis(1_500 + 300 * seed);
        while sim.elapsed() < begins {
            sim.step().expect("nothing happens to anyone");
        }
        // The agents cannot be reached, whatever they are waiting for.
        sim.partition("first", ADDRESS.0);
        sim.hold("last", ADDRESS.0);
        assert!(world.told.lock().expect("nobody panics").is_empty(), "seed {seed}");
        world.stop.send_replace(true);
        while sim.is_host_running(ADDRESS.0) {
            sim.step().expect("nothing else happens to anyone");
            assert!(sim.elapsed() < begins + drain + Duration::from_secs(1), "seed {seed}: it does not end");
        }
        let told = world.told.lock().expect("nobody panics");
        let told = told.first().map(|status| (status.code(), status.message()));
        assert_eq!(told, Some((Code::Unavailable, "the server is shutting down")), "seed {seed}");
    }
}
