//! From domain values to messages, and from messages to domain values.

use std::collections::BTreeMap;

use boardwire_api::v1;
use boardwire_kernel::{FieldKind, GameInfo, OptionKind, OptionSpec, ScoreLine, SeatSet, ViewLayout};

use crate::arbiter::{Arbiter, Ending, Extras, IllegalActions, Observation, Opened, Player, SeedSource};
use crate::batch::{Autoreset, Batch, Columns, Step};
use crate::error::ServiceError;
use crate::reward::RewardKind;
use crate::tables::{Served, Table};

/// Counts on the wire are 32 bits wide; none of ours comes near.
fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn bits(seats: SeatSet) -> u32 {
    seats.iter().fold(0, |bits, seat| bits | 1 << seat.number())
}

pub(crate) fn game(served: &Served) -> v1::Game {
    let game_type = &served.game_type;
    let provenance = served
        .provenance
        .iter()
        .map(|row| v1::Provenance { section: row.section.clone(), source: row.source.clone() });
    v1::Game {
        id: game_type.id.to_owned(),
        name: game_type.name.to_owned(),
        rules_version: game_type.rules_version,
        min_seats: (*game_type.seats.start()).into(),
        max_seats: (*game_type.seats.end()).into(),
        options: game_type.options.iter().map(option).collect(),
        catalogue_digest: served.catalogue.to_string(),
        provenance: provenance.collect(),
    }
}

fn option(spec: &OptionSpec) -> v1::Option {
    let (choices, min, max) = match spec.kind {
        OptionKind::Choice(words) => (words, None, None),
        OptionKind::Flag => (["false", "true"].as_slice(), None, None),
        OptionKind::Int(min, max) => ([].as_slice(), Some(min), Some(max)),
    };
    v1::Option {
        name: spec.name.to_owned(),
        description: spec.doc.to_owned(),
        default_value: spec.default.to_owned(),
        choices: choices.iter().map(|&word| word.to_owned()).collect(),
        min,
        max,
    }
}

fn options(info: &GameInfo) -> BTreeMap<String, String> {
    info.options.all().iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

pub(crate) fn spec(served: &Served, table: &Table) -> v1::GameSpec {
    let info = table.rules.info();
    v1::GameSpec {
        game: Some(game(served)),
        seats: info.seats.into(),
        options: options(info),
        actions: info.actions.labels().map(str::to_owned).collect(),
        fields: fields(&info.layout),
        view_bytes: count(info.layout.bytes()),
        mask_bytes: count(info.actions.mask_bytes()),
        tables: info.tables.iter().map(matrix).collect(),
        max_plies: info.max_plies,
        min_score: info.scores.0,
        max_score: info.scores.1,
        spec_digest: table.digest.to_string(),
        chance_streams: served.game_type.streams.iter().map(|&name| name.to_owned()).collect(),
    }
}

fn fields(layout: &ViewLayout) -> Vec<v1::Field> {
    let field = |(offset, field): (usize, &boardwire_kernel::Field)| {
        let (kind, table, names) = match &field.kind {
            FieldKind::Id { table } => (v1::FieldKind::Id, *table, vec![]),
            FieldKind::Count => (v1::FieldKind::Count, "", vec![]),
            FieldKind::Flag => (v1::FieldKind::Flag, "", vec![]),
            FieldKind::Seat => (v1::FieldKind::Seat, "", vec![]),
            FieldKind::Category { names } => (v1::FieldKind::Code, "", names.clone()),
        };
        v1::Field {
            name: field.name.to_owned(),
            offset: count(offset),
            shape: field.shape().map(u32::from).collect(),
            max: field.max.into(),
            kind: kind.into(),
            table: table.to_owned(),
            names,
            description: field.doc.to_owned(),
        }
    };
    layout.with_offsets().map(field).collect()
}

fn matrix(table: &boardwire_kernel::Table) -> v1::Table {
    v1::Table {
        name: table.name.to_owned(),
        columns: table.column_names().map(str::to_owned).collect(),
        rows: count(table.rows.len()),
        values: table.rows.iter().flatten().map(|&value| value.into()).collect(),
    }
}

/// A match as its host and its seats know it, or as anybody may.
pub(crate) fn match_(arbiter: &Arbiter, belongs: bool) -> v1::Match {
    let (summary, settings) = (arbiter.summary(), arbiter.settings());
    let info = arbiter.table().rules.info();
    let state = match (summary.closed, summary.over) {
        (true, _) => v1::MatchState::Closed,
        (false, true) => v1::MatchState::Over,
        (false, false) => v1::MatchState::Playing,
    };
    v1::Match {
        id: arbiter.id().to_owned(),
        game: info.id.to_owned(),
        seats: settings.players.iter().map(ToString::to_string).collect(),
        joined: bits(summary.joined),
        options: options(info),
        reward: reward_to(settings.reward).into(),
        skip_forced: settings.skip_forced,
        illegal_actions: illegal_to(settings.illegal_actions).into(),
        spec_digest: arbiter.table().digest.to_string(),
        state: state.into(),
        episode: summary.episode,
        ply: summary.ply,
        seed_commitment: summary.commitment.to_vec().into(),
        seed: summary.revealed.filter(|_| belongs || summary.closed).map(seed),
        seed_source: match summary.source {
            SeedSource::Drawn => v1::SeedSource::Drawn,
            SeedSource::Given(_) => v1::SeedSource::Given,
        }
        .into(),
        seat_may_seed: settings.seat_may_seed,
        private: settings.private,
    }
}

fn seed(opened: Opened) -> v1::Seed {
    v1::Seed {
        seed: match opened.source {
            SeedSource::Given(seed) => Some(seed),
            SeedSource::Drawn => None,
        },
        salt: opened.salt.to_vec().into(),
        key: opened.key.as_bytes().to_vec().into(),
    }
}

pub(crate) fn observation(seen: Observation) -> v1::Observation {
    v1::Observation {
        episode: seen.episode,
        ply: seen.ply,
        decision: seen.decision,
        view: seen.view,
        mask: seen.mask,
        pending: bits(seen.pending),
        reward: seen.reward,
        terminated: seen.terminated,
        truncated: seen.truncated,
        substituted: seen.substituted,
        outcome: seen.ending.map(outcome),
        text: seen.text.unwrap_or_default(),
    }
}

fn outcome(ending: Ending) -> v1::Outcome {
    let line = |line: ScoreLine| v1::ScoreLine { source: line.source, points: line.points };
    let explanation =
        |lines: Vec<ScoreLine>| v1::Explanation { lines: lines.into_iter().map(line).collect() };
    v1::Outcome {
        scores: ending.scores,
        ranks: ending.ranks.into_iter().map(Into::into).collect(),
        forfeited_by: ending.forfeited_by.map(|seat| seat.number().into()),
        explanations: ending.explanations.into_iter().map(explanation).collect(),
    }
}

pub(crate) fn batch(batch: &Batch) -> v1::Batch {
    let (opening, info) = (batch.opening(), batch.table().rules.info());
    let plan = &opening.plan;
    v1::Batch {
        id: batch.id().to_owned(),
        game: info.id.to_owned(),
        seats: plan.players.iter().map(|player| place(*player)).collect(),
        options: options(info),
        environments: count(opening.environments),
        first_environment: opening.first,
        seed: opening.seed,
        reward: reward_to(plan.reward).into(),
        autoreset: autoreset_to(plan.autoreset).into(),
        illegal_actions: illegal_to(plan.illegal_actions).into(),
        skip_forced: plan.skip_forced,
        columns: Some(v1::BatchColumns {
            scores: plan.columns.scores,
            final_views: plan.columns.final_views,
            episodes: plan.columns.episodes,
        }),
        view_bytes: count(info.layout.bytes()),
        mask_bytes: count(info.actions.mask_bytes()),
        spec_digest: batch.table().digest.to_string(),
    }
}

/// What a seat of a batch is called in a request.
pub(crate) const LEARNER: &str = "learner";

fn place(player: Player) -> String {
    match player {
        Player::Remote => LEARNER.to_owned(),
        Player::Bot(bot) => bot.to_string(),
    }
}

pub(crate) fn step(step: Step) -> v1::BatchStep {
    v1::BatchStep {
        first: step.first,
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
        view: step.view,
    }
}

pub(crate) fn columns(given: Option<v1::BatchColumns>) -> Columns {
    given.map_or_else(Columns::default, |given| Columns {
        scores: given.scores,
        final_views: given.final_views,
        episodes: given.episodes,
    })
}

pub(crate) fn autoreset(value: i32) -> Result<Autoreset, ServiceError> {
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

pub(crate) fn extras(given: Option<v1::Extras>) -> Extras {
    given.map_or_else(Extras::default, |given| Extras { text: given.text, explanation: given.explanation })
}

pub(crate) fn reward(value: i32) -> Result<RewardKind, ServiceError> {
    match v1::RewardKind::try_from(value) {
        Ok(v1::RewardKind::Unspecified | v1::RewardKind::Rank) => Ok(RewardKind::Rank),
        Ok(v1::RewardKind::Win) => Ok(RewardKind::Win),
        Ok(v1::RewardKind::Margin) => Ok(RewardKind::Margin),
        Ok(v1::RewardKind::Score) => Ok(RewardKind::Score),
        Err(_) => Err(bad_enum("reward", value, "a RewardKind")),
    }
}

fn reward_to(kind: RewardKind) -> v1::RewardKind {
    match kind {
        RewardKind::Rank => v1::RewardKind::Rank,
        RewardKind::Win => v1::RewardKind::Win,
        RewardKind::Margin => v1::RewardKind::Margin,
        RewardKind::Score => v1::RewardKind::Score,
    }
}

pub(crate) fn illegal(value: i32) -> Result<IllegalActions, ServiceError> {
    use v1::IllegalActionPolicy as Policy;
    match Policy::try_from(value) {
        Ok(Policy::Unspecified | Policy::Reject) => Ok(IllegalActions::Reject),
        Ok(Policy::FirstLegal) => Ok(IllegalActions::FirstLegal),
        Ok(Policy::SeededLegal) => Ok(IllegalActions::SeededLegal),
        Ok(Policy::Forfeit) => Ok(IllegalActions::Forfeit),
        Err(_) => Err(bad_enum("illegal_actions", value, "an IllegalActionPolicy")),
    }
}

fn illegal_to(policy: IllegalActions) -> v1::IllegalActionPolicy {
    match policy {
        IllegalActions::Reject => v1::IllegalActionPolicy::Reject,
        IllegalActions::FirstLegal => v1::IllegalActionPolicy::FirstLegal,
        IllegalActions::SeededLegal => v1::IllegalActionPolicy::SeededLegal,
        IllegalActions::Forfeit => v1::IllegalActionPolicy::Forfeit,
    }
}

fn bad_enum(field: &'static str, value: i32, expected: &str) -> ServiceError {
    ServiceError::BadField { field, value: value.to_string(), expected: expected.to_owned() }
}
