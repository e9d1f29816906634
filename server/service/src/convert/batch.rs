//! Batches and their steps as messages.

use boardwire_api::v1;
use boardwire_batch::Player;
use boardwire_batch::Refused;
use boardwire_batch::batch::{Autoreset, Batch, Columns, LineUp, Step};

use super::{bad_enum, count, illegal_to, options, reward_to};

pub(crate) fn batch(batch: &Batch) -> v1::Batch {
    let (opening, info) = (batch.opening(), batch.table().rules.info());
    let (plan, adviser) = (&opening.plan, opening.plan.adviser.as_ref());
    v1::Batch {
        id: batch.id().to_owned(),
        game: info.id.to_owned(),
        line_ups: plan.line_ups.iter().map(line_up).collect(),
        options: options(info),
        environments: count(opening.environments),
        first_environment: opening.first,
        seed: opening.seed,
        duplicate_deals: plan.duplicate_deals,
        reward: reward_to(plan.reward).into(),
        autoreset: autoreset_to(plan.autoreset).into(),
        illegal_actions: illegal_to(plan.illegal_actions).into(),
        skip_forced: plan.skip_forced,
        columns: Some(v1::BatchColumns {
            scores: plan.columns.scores,
            final_views: plan.columns.final_views,
            episodes: plan.columns.episodes,
            oracle: plan.columns.oracle,
            advice: adviser.map_or_else(String::new, |adviser| adviser.bot.to_string()),
            advice_shares: adviser.is_some_and(|adviser| adviser.shares),
        }),
        action_bytes: 1,
        view_bytes: count(info.layout.bytes()),
        mask_bytes: count(info.actions.mask_bytes()),
        learners: count(plan.learners()),
        spec_digest: batch.table().digest.to_string(),
    }
}

/// What a seat of a batch is called in a request.
pub(crate) const LEARNER: &str = "learner";

fn line_up(line_up: &LineUp) -> v1::LineUp {
    let name = |player: &Player| match player {
        Player::Remote => LEARNER.to_owned(),
        Player::Bot(bot) => bot.to_string(),
    };
    v1::LineUp { players: line_up.players.iter().map(name).collect() }
}

pub(crate) fn step(step: Step) -> v1::BatchStep {
    v1::BatchStep {
        first: step.first,
        sequence: step.sequence,
        seat: step.seat,
        flags: step.flags,
        ply: step.ply,
        reward: step.reward,
        mask: step.mask,
        episode: step.episode,
        ended: step.ended,
        scores: step.scores,
        ranks: step.ranks,
        final_view: step.final_view,
        advice: step.advice,
        advice_shares: step.advice_shares,
        oracle: step.oracle,
        view: step.view,
    }
}

pub(crate) fn columns(given: Option<&v1::BatchColumns>) -> Columns {
    given.map_or_else(Columns::default, |given| Columns {
        scores: given.scores,
        final_views: given.final_views,
        episodes: given.episodes,
        oracle: given.oracle,
    })
}

pub(crate) fn autoreset(value: i32) -> Result<Autoreset, Refused> {
    match v1::AutoresetMode::try_from(value) {
        Ok(v1::AutoresetMode::Unspecified | v1::AutoresetMode::NextStep) => Ok(Autoreset::NextStep),
        Ok(v1::AutoresetMode::SameStep) => Ok(Autoreset::SameStep),
        Ok(v1::AutoresetMode::Disabled) => Ok(Autoreset::Disabled),
        Err(_) => Err(bad_enum("autoreset", value, "an AutoresetMode")),
    }
}

fn autoreset_to(mode: Autoreset) -> v1::AutoresetMode {
    match mode {
        Autoreset::NextStep => v1::AutoresetMode::NextStep,
        Autoreset::SameStep => v1::AutoresetMode::SameStep,
        Autoreset::Disabled => v1::AutoresetMode::Disabled,
    }
}
