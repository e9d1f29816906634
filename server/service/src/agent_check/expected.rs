//! What the policy plays, by itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use boardwire_kernel::Seat;

use super::scenario::{Scenario, Trouble};
use super::{End, choose};
use crate::arbiter::{Arbiter, Decision, Extras, Phase, Role};
use crate::error::ServiceError;
use crate::pool::Pool;
use crate::tables::Table;

/// How the episodes of a scenario end, by their numbers.
pub(super) async fn ends(table: &Arc<Table>, scenario: &Scenario) -> anyhow::Result<BTreeMap<u32, End>> {
    let pool = Pool::new(1)?;
    let settings = scenario.settings();
    let seats: Vec<Seat> = settings.seats().collect();
    let remote = settings.remote();
    let arbiter = Arc::new(Arbiter::new(Arc::clone(table), settings, pool.owner(), 1));
    arbiter.begin();
    let mut ends = BTreeMap::new();
    if let Trouble::Reset(_) = scenario.trouble {
        arbiter.reset(Role::Host, None, None).await?;
    }
    while ends.len() < scenario.episodes as usize {
        while arbiter.phase() == Phase::Playing {
            for &seat in seats.iter().filter(|seat| remote.contains(**seat)) {
                decide(&arbiter, seat).await?;
            }
        }
        let position = arbiter.position();
        ends.insert(position.episode, (position.ply, position.digest));
        arbiter.reset(Role::Host, None, None).await?;
    }
    Ok(ends)
}

/// Makes the decision of a seat, if it owes one.
async fn decide(arbiter: &Arc<Arbiter>, seat: Seat) -> Result<(), ServiceError> {
    let seen = arbiter.observe(seat, false, Extras::default()).await?;
    if !seen.pending.contains(seat) {
        return Ok(());
    }
    let (episode, number, action) = (seen.episode, seen.decision, choose(&seen));
    arbiter.act(seat, Decision { episode, number, action }).await
}
