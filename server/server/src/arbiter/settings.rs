//! What a match is created with.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use boardwire_api::Error;
use boardwire_api::v1::{self, IllegalActionPolicy, RewardKind};
use boardwire_batch::tables::{Table, Tables};
use boardwire_batch::{Player, messages};
use boardwire_kernel::{Seat, SeatSet};

use super::{Clock, OPENING_TIMEOUT};
use crate::convert::{duration, time};

/// What a match is created with, beside its table.
#[allow(clippy::struct_excessive_bools, reason = "each is asked for by itself")]
#[derive(Debug, Clone)]
pub struct Settings {
    /// Who plays at each seat.
    pub players: Vec<Player>,
    /// The seed of the first episode, if somebody gives it.
    pub seed: Option<u64>,
    /// What seats are rewarded for.
    pub reward: RewardKind,
    /// Whether decisions of the agent with a single legal action are played by the engine.
    pub skip_forced: bool,
    /// What happens to illegal actions.
    pub illegal_actions: IllegalActionPolicy,
    /// Whether the only agent may give the seed of an episode that it asks for.
    pub seat_may_seed: bool,
    /// Whether the match is shown to its host and its seats alone.
    pub private: bool,
    /// The delay before positions are shown to callers that are neither the host nor a seat.
    pub watch_delay: Duration,
    /// How long the agent at each seat may think; empty where nobody has a clock.
    pub clocks: Vec<Option<Clock>>,
    /// Whether every agent has a hand in the deals.
    pub fair_deals: bool,
    /// How long they may then take to open what they contribute, once all have joined.
    pub opening: Duration,
    /// What its host has labelled it with.
    pub labels: BTreeMap<String, String>,
    /// After how many episodes it closes itself; never, when 0. Each of them is played to its end.
    pub episodes: u32,
    /// Whether only the host begins episodes, each when the one before it is over.
    pub host_begins: bool,
}

/// For how long spectators may be kept behind at most.
pub(crate) const MOST_WATCH_DELAY: Duration = Duration::from_hours(24);
/// The longest time that a setting may ask for: clocks can reckon with no more.
pub const MAX_TIMEOUT: Duration = Duration::from_hours(24 * 366 * 10);
/// The most labels a match may have.
const MOST_LABELS: usize = 16;
/// The most bytes of a label's name.
const MOST_NAME_BYTES: usize = 63;
/// The most bytes of a label's value.
const MOST_VALUE_BYTES: usize = 128;

impl Settings {
    /// Those of a public match for these players about which nothing else is asked.
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
            opening: OPENING_TIMEOUT,
            labels: BTreeMap::new(),
            episodes: 0,
            host_begins: false,
        }
    }

    /// The table and the settings of a match with this configuration.
    ///
    /// # Errors
    /// A game, an option, a player or a value that does not exist; clocks and times that cannot be.
    pub fn read(config: &v1::MatchConfig, tables: &Tables) -> Result<(Arc<Table>, Self), Error> {
        let options = config.options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let seats = u32::try_from(config.players.len()).unwrap_or(u32::MAX);
        let table = tables.table(&config.game, seats, options)?;
        let players = config.players.iter().enumerate();
        let players = players.map(|(seat, given)| messages::player(tables, &table, seat, given));
        let players = players.collect::<Result<Vec<_>, _>>()?;
        let settings = Self {
            clocks: Clock::read_all(&config.clocks, &players, tables, &table)?,
            reward: messages::known("reward", config.reward)?,
            skip_forced: config.skip_forced,
            illegal_actions: messages::known("illegal_actions", config.illegal_actions)?,
            seat_may_seed: config.seat_may_seed,
            fair_deals: config.fair_deals,
            private: config.private,
            watch_delay: duration("watch_delay", config.watch_delay, MOST_WATCH_DELAY)?,
            labels: config.labels.clone(),
            episodes: config.episodes,
            host_begins: config.host_begins,
            ..Self::of(players)
        };
        Ok((table, settings))
    }

    /// The configuration of a match with these settings at a table.
    #[must_use]
    pub fn config(&self, table: &Table) -> v1::MatchConfig {
        let info = table.rules.info();
        v1::MatchConfig {
            game: info.id.to_owned(),
            players: self.players.iter().map(messages::player_to).collect(),
            options: messages::options(info),
            reward: self.reward.into(),
            skip_forced: self.skip_forced,
            illegal_actions: self.illegal_actions.into(),
            seat_may_seed: self.seat_may_seed,
            private: self.private,
            labels: self.labels.clone(),
            watch_delay: time(self.watch_delay),
            clocks: self
                .clocks
                .iter()
                .map(|clock| clock.as_ref().map(Clock::to_message).unwrap_or_default())
                .collect(),
            fair_deals: self.fair_deals,
            episodes: self.episodes,
            host_begins: self.host_begins,
        }
    }

    /// Refuses labels and times out of bounds, and what would tell a seat what it may not know. Callers and journals give
    /// settings.
    ///
    /// # Errors
    /// Too many labels, or too long ones. Times that are too long, clocks that are not those of the agents. Forced choices
    /// skipped where several agents play: a ply that no agent chose tells that a hidden hand left one choice.
    pub fn check(&self) -> Result<(), Error> {
        check_labels(&self.labels)?;
        for (field, time, most) in
            [("watch_delay", self.watch_delay, MOST_WATCH_DELAY), ("opening", self.opening, MAX_TIMEOUT)]
        {
            if time > most {
                let expected = format!("from 0 to {} seconds", most.as_secs());
                return Err(Error::field(field, format!("{time:?}"), expected));
            }
        }
        let is_of_an_agent = |(seat, clock): (usize, &Option<Clock>)| {
            clock.is_none() || self.players.get(seat) == Some(&Player::Agent)
        };
        if !self.clocks.iter().enumerate().all(is_of_an_agent) {
            let value = format!("{} clocks", self.clocks.len());
            return Err(Error::field("clocks", value, "clocks of agents' seats alone"));
        }
        self.check_fair()?;
        if self.host_begins && self.seat_may_seed {
            return Err(Error::field("host_begins", "true", "false when a seat may give the next seed"));
        }
        self.clocks.iter().flatten().try_for_each(Clock::check)?;
        if self.skip_forced && self.agents().len() > 1 {
            let expected = "false when several agents play, since it would tell what a hidden hand allows";
            return Err(Error::field("skip_forced", "true", expected));
        }
        Ok(())
    }

    /// All seats, ascending.
    #[must_use]
    pub fn seats(&self) -> impl DoubleEndedIterator<Item = Seat> + Clone + use<> {
        Seat::all(u8::try_from(self.players.len()).expect("the table has been set up with so many seats"))
    }

    /// How long the agent at `seat` may think, if it has a clock.
    pub(crate) fn clock(&self, seat: Seat) -> Option<&Clock> {
        self.clocks.get(seat.index())?.as_ref()
    }

    /// Whether this is the last episode.
    pub(super) fn is_last(&self, episode: u32) -> bool {
        episode.checked_add(1) == Some(self.episodes)
    }

    /// The seats at which agents play.
    #[must_use]
    pub fn agents(&self) -> SeatSet {
        let seats = self.seats().zip(&self.players);
        seats.filter(|(_, player)| **player == Player::Agent).map(|(seat, _)| seat).collect()
    }
}

fn check_labels(labels: &BTreeMap<String, String>) -> Result<(), Error> {
    if labels.len() > MOST_LABELS {
        let expected = format!("at most {MOST_LABELS} labels");
        return Err(Error::field("labels", format!("{} labels", labels.len()), expected));
    }
    for (name, value) in labels {
        let known = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'.');
        if !(1..=MOST_NAME_BYTES).contains(&name.len()) || !name.bytes().all(known) {
            let expected = format!("named by 1 to {MOST_NAME_BYTES} of a-z, 0-9, `_`, `-` and `.`");
            return Err(Error::field("labels", name, expected));
        }
        if value.len() > MOST_VALUE_BYTES {
            let expected = format!("values of at most {MOST_VALUE_BYTES} bytes");
            return Err(Error::field("labels", format!("{name} of {} bytes", value.len()), expected));
        }
    }
    Ok(())
}
