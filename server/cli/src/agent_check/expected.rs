//! What the policy plays, by itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use boardwire_batch::pool::Pool;
use boardwire_batch::tables::Table;
use boardwire_kernel::{Digest, Seat};

use super::scenario::{Fault, Scenario};
use boardwire_server::arbiter::{Arbiter, Decision, Extras, Observation, Phase, Role};

/// How an episode ended: with how many plies, in which position.
pub(super) type End = (u32, Digest);

/// What the policy has to see.
pub(super) const SEEN: Extras = Extras { text: false, explanation: false, actions: true, head: false };

/// The decision that the policy makes: the legal actions in turn.
pub(super) fn decide(seen: &Observation) -> Decision {
    let action = &seen.actions[seen.decision as usize % seen.actions.len()];
    Decision { episode: seen.episode, number: seen.decision, action: action.index }
}

/// How the episodes of a scenario end, by their numbers.
pub(super) async fn ends(table: &Arc<Table>, scenario: &Scenario) -> anyhow::Result<BTreeMap<u32, End>> {
    let pool = Pool::new(1)?;
    let settings = scenario.settings();
    let seats: Vec<Seat> = settings.seats().collect();
    let agents = settings.agents();
    let arbiter = Arc::new(Arbiter::new(Arc::clone(table), settings, pool.alone().owner(), 1));
    arbiter.begin();
    let mut ends = BTreeMap::new();
    if let Fault::Reset(_) = scenario.fault {
        arbiter.reset_match(Role::Host, None, None).await?;
    }
    while ends.len() < scenario.episodes as usize {
        while arbiter.phase() == Phase::Playing {
            for &seat in seats.iter().filter(|seat| agents.contains(**seat)) {
                let seen = arbiter.observe(seat, false, SEEN).await?;
                if seen.pending.contains(&seat.number().into()) {
                    arbiter.act(seat, decide(&seen)).await?;
                }
            }
        }
        let position = arbiter.position();
        ends.insert(position.episode, (position.ply, position.digest));
        arbiter.reset_match(Role::Host, None, None).await?;
    }
    Ok(ends)
}
