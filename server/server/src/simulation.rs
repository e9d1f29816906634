//! Matches over simulated networks: a seed decides when agents and spectators are disconnected, delayed and restarted.
//!
//! Time and network are simulated, so a run is short and deterministic. Network faults do not change the result of a match,
//! and a spectator sees every position once.

mod simulated_match;

use std::rc::Rc;
use std::time::Duration;

use boardwire_api::v1::Frame;
use boardwire_kernel::{RngStream, Seat};
use tonic::Code;
use turmoil::Sim;

use crate::arbiter::{Audience, Phase};
use crate::edge::Bounds;
use simulated_match::SimulatedMatch;

const ADDRESS: (&str, u16) = ("server", 50051);
/// The maximum duration of a match, in simulated time.
const MAX_DURATION: Duration = Duration::from_hours(1);

/// The hosts of the clients.
const CLIENTS: [&str; 3] = ["first", "last", "spectator"];

fn new_simulation<'a>(simulated_match: &Rc<SimulatedMatch>, seed: u64) -> Sim<'a> {
    let mut builder = turmoil::Builder::new();
    builder
        .rng_seed(seed)
        .simulation_duration(2 * MAX_DURATION)
        .tick_duration(Duration::from_millis(5))
        .min_message_latency(Duration::from_millis(1))
        .max_message_latency(Duration::from_millis(80))
        .enable_random_order();
    let mut sim = builder.build();
    let server_match = Rc::clone(simulated_match);
    sim.host("server", move || {
        let simulated_match = Rc::clone(&server_match);
        async move { simulated_match.serve().await }
    });
    for (name, seat) in [("first", 0), ("last", 2)] {
        let simulated_match = Rc::clone(simulated_match);
        sim.host(name, move || {
            let simulated_match = Rc::clone(&simulated_match);
            async move { simulated_match.agent(Seat::new(seat)).await }
        });
    }
    let spectator_match = Rc::clone(simulated_match);
    sim.host("spectator", move || {
        let simulated_match = Rc::clone(&spectator_match);
        async move { simulated_match.spectator().await }
    });
    sim
}

/// The result of a simulation.
struct Outcome {
    /// Each decision: the seat and the action.
    played: Vec<(u32, u32)>,
    /// The frames that the spectator received.
    frames: Vec<Frame>,
    /// The number of injected faults.
    faults: u32,
}

/// Simulates a match, with faults from a seed or without faults.
fn outcome(game: &'static str, fault_seed: Option<u64>) -> Outcome {
    let simulated_match = SimulatedMatch::new(game, Duration::ZERO);
    let mut sim = new_simulation(&simulated_match, fault_seed.unwrap_or_default());
    let mut rng = fault_seed.map(|seed| RngStream::new(seed, 0));
    let (mut active, mut faults) = ([None; 3], 0);
    while !simulated_match.is_done() {
        sim.step().unwrap_or_else(|error| panic!("{game}, seed {fault_seed:?}: {error}"));
        assert!(sim.elapsed() < MAX_DURATION, "{game}, seed {fault_seed:?}: it does not end");
        if let Some(rng) = &mut rng {
            faults += inject_faults(&mut sim, rng, &mut active);
        }
    }
    let arbiter = simulated_match.arbiter().expect("the match has been created");
    let replay = arbiter.replay(Audience::Host, None).expect("the episode is kept");
    let played = replay.frames.iter().filter_map(|frame| Some((frame.seat?, frame.played?.action)));
    let frames = std::mem::take(&mut *simulated_match.frames.lock().expect("no thread panicked"));
    Outcome { played: played.collect(), frames, faults }
}

/// A fault of a client, and when it ends.
#[derive(Debug, Clone, Copy)]
enum ClientFault {
    Partitioned(Duration),
    Delayed(Duration),
    Crashed(Duration),
}

/// Ends the faults that are over, and starts some at random. Returns the number of started faults.
fn inject_faults(sim: &mut Sim<'_>, rng: &mut RngStream, active: &mut [Option<ClientFault>; 3]) -> u32 {
    let (now, mut begun) = (sim.elapsed(), 0);
    for (name, fault) in CLIENTS.into_iter().zip(active) {
        match *fault {
            Some(ClientFault::Partitioned(until)) if now > until => sim.repair(name, ADDRESS.0),
            Some(ClientFault::Delayed(until)) if now > until => sim.release(name, ADDRESS.0),
            Some(ClientFault::Crashed(until)) if now > until => sim.bounce(name),
            Some(_) => continue,
            None if rng.below(400) > 0 => continue,
            None => {
                begun += 1;
                let until = now + Duration::from_millis(u64::from(rng.below(9_000)));
                *fault = Some(match rng.below(3) {
                    0 => {
                        sim.partition(name, ADDRESS.0);
                        ClientFault::Partitioned(until)
                    }
                    1 => {
                        sim.hold(name, ADDRESS.0);
                        ClientFault::Delayed(until)
                    }
                    _ => {
                        sim.crash(name);
                        ClientFault::Crashed(until)
                    }
                });
                continue;
            }
        }
        *fault = None;
    }
    begun
}

/// The environment variable `BOARDWIRE_SIMULATIONS` sets the number of seeds.
#[test]
fn network_faults_do_not_change_the_result() {
    crate::stall::tests::disable();
    let seeds = std::env::var("BOARDWIRE_SIMULATIONS").map_or(4, |seeds| seeds.parse().expect("a number"));
    for game in boardwire_games::IDS {
        let Outcome { played: without_faults, frames: all, .. } = outcome(game, None);
        let mut total = 0;
        assert!(without_faults.len() > 20, "{game}: {}", without_faults.len());
        assert_eq!(all.len(), without_faults.len() + 1);
        for seed in 0..seeds {
            let Outcome { played, frames, faults } = outcome(game, Some(seed));
            total += faults;
            let by = |seat: u32, played: &[(u32, u32)]| -> Vec<u32> {
                played.iter().filter(|(by, _)| *by == seat).map(|(_, action)| *action).collect()
            };
            for seat in 0..3 {
                assert_eq!(by(seat, &played), by(seat, &without_faults), "{game}, seed {seed}, seat {seat}");
            }
            assert_eq!(frames.len(), all.len(), "{game}, seed {seed}");
            assert_eq!(frames.last().map(|frame| &frame.outcome), all.last().map(|frame| &frame.outcome));
        }
        assert!(total >= u32::try_from(seeds).expect("the number fits u32"), "{game}: {total} faults");
    }
}

#[test]
fn a_slow_spectator_delays_no_agent_and_misses_no_frame() {
    crate::stall::tests::disable();
    let Outcome { frames: all, .. } = outcome("faraway", None);
    let simulated_match = SimulatedMatch::new("faraway", Duration::from_secs(4));
    let mut sim = new_simulation(&simulated_match, 0);
    let mut frames_at_end = None;
    while !simulated_match.is_done() {
        sim.step().expect("no host fails");
        if simulated_match.arbiter().is_some_and(|arbiter| arbiter.phase() == Phase::Over) {
            frames_at_end.get_or_insert(simulated_match.frames.lock().expect("no thread panicked").len());
        }
    }
    assert!(frames_at_end.is_some_and(|count| count < all.len() / 2), "{frames_at_end:?} of {}", all.len());
    assert_eq!(simulated_match.frames.lock().expect("no thread panicked").len(), all.len());
}

#[test]
fn a_stopping_server_informs_reachable_clients_and_does_not_wait_for_unreachable_ones() {
    crate::stall::tests::disable();
    let drain = Bounds::default().drain_timeout;
    for seed in 0..8 {
        let simulated_match = SimulatedMatch::new("rauha", Duration::ZERO);
        let mut sim = new_simulation(&simulated_match, seed);
        let begins = Duration::from_millis(1_500 + 300 * seed);
        while sim.elapsed() < begins {
            sim.step().expect("no host fails");
        }
        // The server cannot reach the agents.
        sim.partition("first", ADDRESS.0);
        sim.hold("last", ADDRESS.0);
        assert!(
            simulated_match.spectator_errors.lock().expect("no thread panicked").is_empty(),
            "seed {seed}"
        );
        simulated_match.stop.send_replace(true);
        while sim.is_host_running(ADDRESS.0) {
            sim.step().expect("no host fails");
            assert!(sim.elapsed() < begins + drain + Duration::from_secs(1), "seed {seed}: it does not end");
        }
        let errors = simulated_match.spectator_errors.lock().expect("no thread panicked");
        let error = errors.first().map(|status| (status.code(), status.message()));
        assert_eq!(error, Some((Code::Unavailable, "the server is shutting down")), "seed {seed}");
    }
}
