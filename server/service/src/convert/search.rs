//! Searches and what their worlds show as messages.

use boardwire_api::v1;
use boardwire_batch::Refused;
use boardwire_batch::search::{Search, WorldStep};
use boardwire_bots::Rollout;

use super::{bad_enum, count, options, reward_to};

pub(crate) fn search(search: &Search) -> v1::Search {
    let (opening, info) = (search.opening(), search.table().rules.info());
    v1::Search {
        id: search.id().to_owned(),
        game: info.id.to_owned(),
        options: options(info),
        seats: info.seats.into(),
        worlds: count(search.drawn()),
        places: count(opening.places),
        seed: opening.seed,
        reward: reward_to(opening.reward).into(),
        skip_forced: opening.skip_forced,
        view_bytes: count(info.layout.bytes()),
        mask_bytes: count(info.actions.mask_bytes()),
        spec_digest: search.table().digest.to_string(),
    }
}

pub(crate) fn world_step(step: WorldStep) -> v1::WorldStep {
    v1::WorldStep {
        seat: step.seat.into(),
        flags: step.flags.into(),
        ply: step.ply.into(),
        reward: step.reward.into(),
        mask: step.mask.into(),
        view: step.view.into(),
    }
}

pub(crate) fn rollout(value: i32) -> Result<Rollout, Refused> {
    use v1::RolloutPolicy as Policy;
    match Policy::try_from(value) {
        Ok(Policy::Unspecified | Policy::Estimate) => Ok(Rollout::Estimate),
        Ok(Policy::Random) => Ok(Rollout::Random),
        Err(_) => Err(bad_enum("policy", value, "a RolloutPolicy")),
    }
}
