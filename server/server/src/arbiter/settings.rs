//! The settings of a match.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use boardwire_api::Error;
use boardwire_api::v1::{self, IllegalActionPolicy, RewardKind};
use boardwire_batch::tables::{Table, Tables};
use boardwire_batch::{Player, messages};
use boardwire_kernel::{Seat, SeatSet};

use super::{Clock, OPENING_TIMEOUT};
use crate::convert::{duration, duration_message};

/// The settings of a match, without its table.
#[allow(clippy::struct_excessive_bools, reason = "each is a separate setting in the protocol")]
#[derive(Debug, Clone)]
pub struct Settings {
    /// The player at each seat.
    pub players: Vec<Player>,
    /// The seed of the first episode; without it the server draws one.
    pub seed: Option<u64>,
    /// How seats are rewarded.
    pub reward: RewardKind,
    /// Whether the engine plays the agent's decisions that have a single legal action.
    pub skip_forced: bool,
    /// What the engine does with an illegal action.
    pub illegal_actions: IllegalActionPolicy,
    /// Whether the agent may give the seed of the next episode, if the match has exactly one agent.
    pub seat_may_seed: bool,
    /// Whether a caller needs a token of the match to see it.
    pub private: bool,
    /// The delay before the public sees a position.
    pub watch_delay: Duration,
    /// The clock of each seat; empty where no seat has a clock.
    pub clocks: Vec<Option<Clock>>,
    /// Whether deals are fair: every agent contributes a secret to them.
    pub fair_deals: bool,
    /// How long agents may take to open their secrets for fair deals, after all have joined.
    pub opening_timeout: Duration,
    /// The labels that the host gives the match.
    pub labels: BTreeMap<String, String>,
    /// The number of episodes after which the match closes; 0 for no limit. With a limit, no seat leaves an episode early.
    pub episodes: u32,
    /// Whether only the host starts episodes. After an episode, it waits until every agent has asked for the next.
    pub host_begins: bool,
}

const MAX_WATCH_DELAY: Duration = Duration::from_hours(24);
/// The maximum time in a setting. Clock arithmetic is safe up to it.
pub const MAX_TIMEOUT: Duration = Duration::from_hours(24 * 366 * 10);
const MAX_LABELS: usize = 16;
const MAX_LABEL_NAME_BYTES: usize = 63;
const MAX_LABEL_VALUE_BYTES: usize = 128;

impl Settings {
    /// Returns the default settings of a public match for these players.
    #[must_use]
    pub fn of(players: Vec<Player>) -> Self {
        Self {
            players,
            seed: None,
            reward: RewardKind::Rank,
            skip_forced: false,
            illegal_actions: IllegalActionPolicy::Reject,
            seat_may_seed: false,
            private: false,
            watch_delay: Duration::ZERO,
            clocks: Vec::new(),
            fair_deals: false,
            opening_timeout: OPENING_TIMEOUT,
            labels: BTreeMap::new(),
            episodes: 0,
            host_begins: false,
        }
    }

    /// Reads the table and the settings of a match from its configuration.
    ///
    /// # Errors
    /// A game, option, player or other value does not exist; a clock or a time is out of range.
    pub fn read(config: &v1::MatchConfig, tables: &Tables) -> Result<(Arc<Table>, Self), Error> {
        let options = config.options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let seats = u32::try_from(config.players.len()).unwrap_or(u32::MAX);
        let table = tables.table(&config.game, seats, options)?;
        let players = config.players.iter().enumerate();
        let players = players.map(|(seat, given)| messages::player(tables, &table, seat, given));
        let players = players.collect::<Result<Vec<_>, _>>()?;
        let settings = Self {
            clocks: Clock::from_messages(&config.clocks, &players, tables, &table)?,
            reward: messages::enum_or_default("reward", config.reward)?,
            skip_forced: config.skip_forced,
            illegal_actions: messages::enum_or_default("illegal_actions", config.illegal_actions)?,
            seat_may_seed: config.seat_may_seed,
            fair_deals: config.fair_deals,
            private: config.private,
            watch_delay: duration("watch_delay", config.watch_delay, MAX_WATCH_DELAY)?,
            labels: config.labels.clone(),
            episodes: config.episodes,
            host_begins: config.host_begins,
            ..Self::of(players)
        };
        Ok((table, settings))
    }

    /// Returns the configuration of a match with these settings at a table.
    #[must_use]
    pub fn config(&self, table: &Table) -> v1::MatchConfig {
        let info = table.game.info();
        let clock = |clock: &Option<Clock>| clock.as_ref().map(Clock::to_message).unwrap_or_default();
        v1::MatchConfig {
            game: info.id.to_owned(),
            players: self.players.iter().map(messages::player_message).collect(),
            options: messages::options(info),
            reward: self.reward.into(),
            skip_forced: self.skip_forced,
            illegal_actions: self.illegal_actions.into(),
            seat_may_seed: self.seat_may_seed,
            private: self.private,
            labels: self.labels.clone(),
            watch_delay: duration_message(self.watch_delay),
            clocks: self.clocks.iter().map(clock).collect(),
            fair_deals: self.fair_deals,
            episodes: self.episodes,
            host_begins: self.host_begins,
        }
    }

    /// Checks settings from a caller or a journal: their ranges, and that they do not reveal hidden state to a seat.
    ///
    /// # Errors
    /// There are too many labels, or a label is too long. A time is too long. A seat without an agent has a clock. Two
    /// settings exclude each other.
    pub fn check(&self) -> Result<(), Error> {
        check_labels(&self.labels)?;
        for (field, time, maximum) in [
            ("watch_delay", self.watch_delay, MAX_WATCH_DELAY),
            ("opening", self.opening_timeout, MAX_TIMEOUT),
        ] {
            if time > maximum {
                let expected = format!("from 0 to {} seconds", maximum.as_secs());
                return Err(Error::field(field, format!("{time:?}"), expected));
            }
        }
        let has_no_agent = |(seat, clock): &(usize, &Option<Clock>)| {
            clock.is_some() && self.players.get(*seat) != Some(&Player::Agent)
        };
        if let Some((seat, _)) = self.clocks.iter().enumerate().find(has_no_agent) {
            let value = format!("a clock at seat {seat}");
            return Err(Error::field("clocks", value, "a clock only at seats with an agent"));
        }
        self.check_fair()?;
        if self.host_begins && self.seat_may_seed {
            return Err(Error::field("host_begins", "true", "false when a seat may give the next seed"));
        }
        self.clocks.iter().flatten().try_for_each(Clock::check)?;
        if self.skip_forced && self.agents().len() > 1 {
            // A ply that no agent chose reveals that a hidden hand left only one legal action.
            let expected = "false with more than one agent (a skipped decision reveals that a hidden hand has one legal \
                action)";
            return Err(Error::field("skip_forced", "true", expected));
        }
        Ok(())
    }

    /// Returns all seats, ascending.
    #[must_use]
    pub fn seats(&self) -> impl DoubleEndedIterator<Item = Seat> + Clone + use<> {
        Seat::all(u8::try_from(self.players.len()).expect("a table has at most 255 seats"))
    }

    /// Returns the clock of the agent at `seat`, if it has one.
    pub(crate) fn clock(&self, seat: Seat) -> Option<&Clock> {
        self.clocks.get(seat.index())?.as_ref()
    }

    pub(super) fn is_last(&self, episode: u32) -> bool {
        episode.checked_add(1) == Some(self.episodes)
    }

    /// Returns the seats of agents.
    #[must_use]
    pub fn agents(&self) -> SeatSet {
        let seats = self.seats().zip(&self.players);
        seats.filter(|(_, player)| **player == Player::Agent).map(|(seat, _)| seat).collect()
    }

    /// Returns the agent's seat with this number.
    pub(super) fn agent_seat(&self, number: Option<u32>) -> Result<Seat, Error> {
        let agents = self.agents();
        let seat = agents.iter().find(|seat| Some(u32::from(seat.number())) == number);
        seat.ok_or_else(|| {
            let given = number.map_or_else(|| "no value".to_owned(), |number| number.to_string());
            Error::field("seat", given, format!("an agent's seat: {agents}"))
        })
    }
}

fn check_labels(labels: &BTreeMap<String, String>) -> Result<(), Error> {
    if labels.len() > MAX_LABELS {
        let expected = format!("at most {MAX_LABELS} labels");
        return Err(Error::field("labels", format!("{} labels", labels.len()), expected));
    }
    for (name, value) in labels {
        let is_allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'.');
        if !(1..=MAX_LABEL_NAME_BYTES).contains(&name.len()) || !name.bytes().all(is_allowed) {
            let expected = format!(
                "label names of 1 to {MAX_LABEL_NAME_BYTES} characters from a-z, 0-9, `_`, `-` and `.`"
            );
            return Err(Error::field("labels", name, expected));
        }
        if value.len() > MAX_LABEL_VALUE_BYTES {
            let expected = format!("values of at most {MAX_LABEL_VALUE_BYTES} bytes");
            return Err(Error::field("labels", format!("{name} of {} bytes", value.len()), expected));
        }
    }
    Ok(())
}
