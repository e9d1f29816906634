//! Matches and observations as messages.

use boardwire_api::v1;
use boardwire_batch::messages::{illegal_to, options, player_to, reward_to};
use boardwire_batch::tables::Table;
use boardwire_kernel::{ActionSet, ScoreLine, Seat};

use super::clock::{clock_to, reading};
use super::{numbers, time, to_the_second};
use crate::arbiter::{
    Arbiter, CloseReason, Ending, Extras, FairDeal, Forfeit, Forfeited, Looker, Observation, Opened, Part,
    Phase, SeedSource,
};

/// A match as somebody may know it.
pub(crate) fn match_(arbiter: &Arbiter, looker: Looker) -> v1::Match {
    let summary = arbiter.summary(looker);
    v1::Match {
        id: arbiter.id().to_owned(),
        config: Some(config(arbiter)),
        spec_digest: arbiter.table().digest.to_string(),
        state: match_state(&summary.phase).into(),
        close_reason: match &summary.phase {
            Phase::Closed(reason) => close_reason(reason).into(),
            Phase::Gathering | Phase::Playing | Phase::Over => v1::CloseReason::Unspecified.into(),
        },
        joined: numbers(summary.joined),
        waiting_for: numbers(summary.waiting_for),
        episode: summary.episode,
        ply: summary.ply,
        create_time: Some(to_the_second(summary.created)),
        last_action_time: Some(to_the_second(summary.last_action)),
        seed_commitment: summary.commitment.map(|bytes| bytes.to_vec().into()).unwrap_or_default(),
        fair: summary.fair.map(fair_deal),
        seed_source: seed_source(summary.source).into(),
        seed_opening: summary.revealed.map(|opened| seed_opening(opened, summary.server_part)),
    }
}

/// What a match was created with.
pub(super) fn config(arbiter: &Arbiter) -> v1::MatchConfig {
    let (settings, info) = (arbiter.settings(), arbiter.table().rules.info());
    v1::MatchConfig {
        game: info.id.to_owned(),
        players: settings.players.iter().map(player_to).collect(),
        options: options(info),
        reward: reward_to(settings.reward).into(),
        skip_forced: settings.skip_forced,
        illegal_actions: illegal_to(settings.illegal_actions).into(),
        seat_may_seed: settings.seat_may_seed,
        private: settings.private,
        labels: settings.labels.clone(),
        watch_delay: time(settings.watch_delay),
        clocks: settings
            .clocks
            .iter()
            .map(|given| given.as_ref().map(clock_to).unwrap_or_default())
            .collect(),
        fair_deals: settings.fair_deals,
        episodes: settings.episodes,
        host_begins: settings.host_begins,
    }
}

pub(crate) fn seed_source(source: SeedSource) -> v1::SeedSource {
    match source {
        SeedSource::Drawn => v1::SeedSource::Drawn,
        SeedSource::Given(_) => v1::SeedSource::Given,
    }
}

pub(crate) fn match_state(phase: &Phase) -> v1::MatchState {
    match phase {
        Phase::Gathering => v1::MatchState::Gathering,
        Phase::Playing => v1::MatchState::Playing,
        Phase::Over => v1::MatchState::Over,
        Phase::Closed(_) => v1::MatchState::Closed,
    }
}

fn close_reason(reason: &CloseReason) -> v1::CloseReason {
    match reason {
        CloseReason::Host => v1::CloseReason::Host,
        CloseReason::Idle { .. } => v1::CloseReason::Idle,
        CloseReason::BotFailed(_) => v1::CloseReason::BotFailed,
        CloseReason::Withheld { .. } => v1::CloseReason::Withheld,
        CloseReason::Finished => v1::CloseReason::Finished,
        CloseReason::ShuttingDown => v1::CloseReason::ShuttingDown,
    }
}

pub(super) fn fair_deal(deal: FairDeal) -> v1::FairDeal {
    let parts = |parts: Vec<Option<Part>>| {
        let bytes = |part: Option<Part>| part.map(|part| part.to_vec().into()).unwrap_or_default();
        parts.into_iter().map(bytes).collect()
    };
    v1::FairDeal {
        server_commitment: deal.server.to_vec().into(),
        seat_commitments: parts(deal.bound),
        seat_secrets: parts(deal.opened),
    }
}

pub(super) fn seed_opening(opened: Opened, server_part: Option<Part>) -> v1::SeedOpening {
    v1::SeedOpening {
        seed: match opened.source {
            SeedSource::Given(seed) => Some(seed),
            SeedSource::Drawn => None,
        },
        salt: opened.salt.to_vec().into(),
        key: opened.key.as_bytes().to_vec().into(),
        server_secret: server_part.map(|part| part.to_vec().into()).unwrap_or_default(),
    }
}

pub(crate) fn observation(seen: Observation, table: &Table) -> v1::Observation {
    let info = table.rules.info();
    let legal_action = |index: u8| v1::LegalAction {
        index: index.into(),
        label: info.actions.label(index).unwrap_or_default().to_owned(),
    };
    v1::Observation {
        episode: seen.episode,
        ply: seen.ply,
        decision: seen.decision,
        view: seen.view,
        mask: seen.mask,
        pending: numbers(seen.pending),
        reward: seen.reward,
        terminated: seen.terminated,
        truncated: seen.truncated,
        substituted: seen.substituted,
        outcome: seen.ending.map(|ending| outcome(ending, info.seats)),
        text: seen.text.unwrap_or_default(),
        actions: seen.actions.iter().flat_map(ActionSet::iter).map(legal_action).collect(),
        clocks: seen.clocks.into_iter().map(reading).collect(),
        timed_out: seen.timed_out,
        head: seen.head.map(|head| head.to_vec().into()).unwrap_or_default(),
    }
}

pub(super) fn outcome(ending: Ending, seats: u8) -> v1::Outcome {
    let line = |line: ScoreLine| v1::ScoreLine { source: line.source, points: line.points };
    let explanation =
        |lines: Vec<ScoreLine>| v1::Explanation { lines: lines.into_iter().map(line).collect() };
    let forfeits = |Forfeited { seat: loser, why }: Forfeited| {
        let forfeit = move |seat| if seat == loser { forfeit(why) } else { v1::Forfeit::Unspecified };
        Seat::all(seats).map(move |seat| forfeit(seat).into())
    };
    v1::Outcome {
        scores: ending.scores,
        ranks: ending.ranks.into_iter().map(Into::into).collect(),
        forfeits: ending.forfeited.into_iter().flat_map(forfeits).collect(),
        explanations: ending.explanations.into_iter().map(explanation).collect(),
    }
}

pub(crate) fn forfeit(why: Forfeit) -> v1::Forfeit {
    match why {
        Forfeit::IllegalAction => v1::Forfeit::IllegalAction,
        Forfeit::Resigned => v1::Forfeit::Resigned,
        Forfeit::Time => v1::Forfeit::Time,
        Forfeit::Host => v1::Forfeit::Host,
    }
}

pub(crate) fn extras(given: Option<v1::Extras>) -> Extras {
    given.map_or_else(Extras::default, |given| Extras {
        text: given.text,
        explanation: given.explanation,
        actions: given.actions,
        head: given.head,
    })
}
