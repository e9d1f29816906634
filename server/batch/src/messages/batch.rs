//! Converts batches and their steps to and from messages.

use std::sync::Arc;

use boardwire_api::{Error, v1};
use boardwire_bots::UnknownBot;

use super::player::{bot, bot_to, player, player_name, player_to};
use super::{count, known, missing, options};
use crate::batch::{Actions, Adviser, Batch, Column, Columns, LineUp, Plan, Reset, Step};
use crate::players::Player;
use crate::tables::{Table, Tables};

/// Returns the table of a new batch, and the plan of its environments.
///
/// # Errors
/// A field of the request is missing or not valid.
pub fn plan(tables: &Tables, request: &v1::OpenBatchRequest) -> Result<(Arc<Table>, Plan), Error> {
    const MOST_LINE_UPS: usize = 1_024;
    let config = request.config.as_ref().ok_or_else(|| missing("config", "a BatchConfig"))?;
    let (count, seats) = (config.line_ups.len(), config.line_ups.first().map_or(0, |one| one.players.len()));
    if !(1..=MOST_LINE_UPS).contains(&count) {
        let expected = format!("1 to {MOST_LINE_UPS} line-ups");
        return Err(Error::field("line_ups", format!("{count} line-ups"), expected));
    }
    let options = config.options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let table = tables.table(&config.game, u32::try_from(seats).unwrap_or(u32::MAX), options)?;
    let line_up = |given: &v1::LineUp| {
        let names = || given.players.iter().map(player_name).collect::<Vec<_>>().join(", ");
        if given.players.len() != seats {
            let expected = format!("line-ups of {seats} players each, as the first has");
            return Err(Error::field("line_ups", names(), expected));
        }
        let players = given.players.iter().enumerate();
        let players = players.map(|(seat, given)| player(tables, &table, seat, given));
        let players: Vec<Player> = players.collect::<Result<_, _>>()?;
        let no_agent = || Error::field("line_ups", names(), "line-ups with at least one agent each");
        LineUp::of(players).ok_or_else(no_agent)
    };
    let line_ups = config.line_ups.iter().map(line_up).collect::<Result<_, _>>()?;
    let no_columns = v1::BatchColumns::default();
    let columns = config.columns.as_ref().unwrap_or(&no_columns);
    let plan = Plan {
        duplicate_deals: config.duplicate_deals,
        reward: known("reward", config.reward)?,
        autoreset: known("autoreset", config.autoreset)?,
        illegal_actions: known("illegal_actions", config.illegal_actions)?,
        skip_forced: config.skip_forced,
        columns: Columns {
            scores: columns.scores,
            final_views: columns.final_views,
            episodes: columns.episodes,
            oracle: columns.oracle,
        },
        adviser: adviser(tables, &table, columns)?,
        ..Plan::of(line_ups)
    };
    Ok((table, plan))
}

/// Returns the bot that advises the agents of a new batch, if the request names one.
fn adviser(tables: &Tables, table: &Table, columns: &v1::BatchColumns) -> Result<Option<Adviser>, Error> {
    let shares = columns.advice_shares;
    let Some(advice) = &columns.advice else {
        let expected = "false unless `columns.advice` names a bot";
        return if shares { Err(Error::field("columns.advice_shares", "true", expected)) } else { Ok(None) };
    };
    let unknown = |UnknownBot { given: value, expected }| {
        Error::field("columns.advice", value, format!("nothing or a bot: {expected}"))
    };
    Ok(Some(Adviser { bot: bot(tables, table, advice).map_err(unknown)?, shares }))
}

/// Returns the actions of a step request, one row for each environment.
#[must_use]
pub fn actions(request: &v1::StepBatchRequest) -> Actions {
    Actions { indices: request.actions.clone(), mask: request.mask.clone() }
}

/// Returns the environments that a reset restarts, and their seeds.
#[must_use]
pub fn reset(request: &v1::ResetBatchRequest) -> Reset {
    Reset { mask: request.mask.clone(), seed: request.seed, seeds: request.seeds.clone() }
}

/// Returns the description of a batch.
#[must_use]
pub fn batch(batch: &Batch) -> v1::Batch {
    let (opening, info) = (batch.opening(), batch.table().rules.info());
    let (plan, adviser) = (&opening.plan, opening.plan.adviser.as_ref());
    let line_up = |line_up: &LineUp| v1::LineUp { players: line_up.players.iter().map(player_to).collect() };
    let config = v1::BatchConfig {
        game: info.id.to_owned(),
        line_ups: plan.line_ups.iter().map(line_up).collect(),
        options: options(info),
        environments: count(opening.environments),
        first_environment: opening.first,
        seed: Some(opening.seed),
        duplicate_deals: plan.duplicate_deals,
        reward: plan.reward.into(),
        autoreset: plan.autoreset.into(),
        illegal_actions: plan.illegal_actions.into(),
        skip_forced: plan.skip_forced,
        columns: Some(v1::BatchColumns {
            scores: plan.columns.scores,
            final_views: plan.columns.final_views,
            episodes: plan.columns.episodes,
            oracle: plan.columns.oracle,
            advice: adviser.map(|adviser| bot_to(&adviser.bot)),
            advice_shares: adviser.is_some_and(|adviser| adviser.shares),
        }),
    };
    v1::Batch {
        id: batch.id().to_owned(),
        config: Some(config),
        view_bytes: count(info.layout.bytes()),
        mask_bytes: count(info.actions.mask_bytes()),
        agents: count(plan.agents()),
        spec_digest: batch.table().digest.to_string(),
    }
}

/// Returns the rows of a step as a message.
#[must_use]
pub fn step(step: Step) -> v1::Step {
    let (first, sequence) = (step.first, step.sequence);
    let (mut columns, ends) = step.split();
    let mut take = |column: Column| std::mem::take(&mut columns[column as usize]);
    v1::Step {
        first,
        sequence,
        seat: take(Column::Seat),
        flags: take(Column::Flags),
        ply: take(Column::Ply),
        reward: take(Column::Reward),
        mask: take(Column::Mask),
        episode: take(Column::Episode),
        ended: ends.environments.into(),
        scores: ends.scores.into(),
        ranks: ends.ranks.into(),
        final_view: ends.views.into(),
        advice: take(Column::Advice),
        advice_shares: take(Column::Shares),
        oracle: take(Column::Oracle),
        oracle_mask: take(Column::OracleMask),
        view: take(Column::View),
    }
}
