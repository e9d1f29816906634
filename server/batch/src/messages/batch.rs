//! Converts batches and their steps to and from messages.

use std::sync::Arc;

use boardwire_api::{Error, v1};
use boardwire_bots::UnknownBot;

use super::player::{bot, bot_message, player, player_message, player_name};
use super::{enum_or_default, missing_field_error, options, to_u32};
use crate::batch::{Actions, Adviser, Batch, Column, Columns, EnvironmentConfig, LineUp, Reset, Step};
use crate::players::Player;
use crate::tables::{Table, Tables};

/// Returns the table of a new batch, and the configuration of its environments.
///
/// # Errors
/// A field of the request is missing or not valid.
pub fn environment_config(
    tables: &Tables,
    request: &v1::OpenBatchRequest,
) -> Result<(Arc<Table>, EnvironmentConfig), Error> {
    const MAX_LINE_UPS: usize = 1_024;
    let given = request.config.as_ref().ok_or_else(|| missing_field_error("config", "a BatchConfig"))?;
    let (count, seats) = (given.line_ups.len(), given.line_ups.first().map_or(0, |one| one.players.len()));
    if !(1..=MAX_LINE_UPS).contains(&count) {
        let expected = format!("1 to {MAX_LINE_UPS} line-ups");
        return Err(Error::field("line_ups", format!("{count} line-ups"), expected));
    }
    let options = given.options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let table = tables.table(&given.game, u32::try_from(seats).unwrap_or(u32::MAX), options)?;
    let line_up = |line_up: &v1::LineUp| {
        let names = || line_up.players.iter().map(player_name).collect::<Vec<_>>().join(", ");
        if line_up.players.len() != seats {
            let expected = format!("line-ups of {seats} players each, as the first has");
            return Err(Error::field("line_ups", names(), expected));
        }
        let players = line_up.players.iter().enumerate();
        let players = players.map(|(seat, given)| player(tables, &table, seat, given));
        let players: Vec<Player> = players.collect::<Result<_, _>>()?;
        let no_agent = || Error::field("line_ups", names(), "line-ups with at least one agent each");
        LineUp::of(players).ok_or_else(no_agent)
    };
    let line_ups = given.line_ups.iter().map(line_up).collect::<Result<_, _>>()?;
    let no_columns = v1::BatchColumns::default();
    let columns = given.columns.as_ref().unwrap_or(&no_columns);
    let config = EnvironmentConfig {
        duplicate_deals: given.duplicate_deals,
        reward: enum_or_default("reward", given.reward)?,
        autoreset: enum_or_default("autoreset", given.autoreset)?,
        illegal_actions: enum_or_default("illegal_actions", given.illegal_actions)?,
        skip_forced: given.skip_forced,
        columns: Columns {
            scores: columns.scores,
            final_views: columns.final_views,
            episodes: columns.episodes,
            oracle: columns.oracle,
            estimates: columns.estimates,
        },
        adviser: adviser(tables, &table, columns)?,
        ..EnvironmentConfig::of(line_ups)
    };
    Ok((table, config))
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
    let (batch_options, info) = (batch.options(), batch.table().game.info());
    let (config, adviser) = (&batch_options.config, batch_options.config.adviser.as_ref());
    let line_up =
        |line_up: &LineUp| v1::LineUp { players: line_up.players.iter().map(player_message).collect() };
    let message = v1::BatchConfig {
        game: info.id.to_owned(),
        line_ups: config.line_ups.iter().map(line_up).collect(),
        options: options(info),
        environments: to_u32(batch_options.environments),
        first_environment: batch_options.first,
        seed: Some(batch_options.seed),
        duplicate_deals: config.duplicate_deals,
        reward: config.reward.into(),
        autoreset: config.autoreset.into(),
        illegal_actions: config.illegal_actions.into(),
        skip_forced: config.skip_forced,
        columns: Some(v1::BatchColumns {
            scores: config.columns.scores,
            final_views: config.columns.final_views,
            episodes: config.columns.episodes,
            oracle: config.columns.oracle,
            advice: adviser.map(|adviser| bot_message(&adviser.bot)),
            advice_shares: adviser.is_some_and(|adviser| adviser.shares),
            estimates: config.columns.estimates,
        }),
    };
    v1::Batch {
        id: batch.id().to_owned(),
        config: Some(message),
        view_bytes: to_u32(info.layout.bytes()),
        mask_bytes: to_u32(info.actions.mask_bytes()),
        agents: to_u32(config.agents()),
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
        estimates: take(Column::Estimates),
        oracle: take(Column::Oracle),
        oracle_mask: take(Column::OracleMask),
        view: take(Column::View),
    }
}
