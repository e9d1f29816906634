//! The clocks of seats: their settings, and the time left in an episode.
//!
//! Both follow from events. The event of a decision has the time that it took, and a timeout is a separate event.

use std::time::Duration;

use boardwire_api::Error;
use boardwire_api::v1::{self, TimeoutPolicy};
use boardwire_batch::tables::{Table, Tables};
use boardwire_batch::{Player, messages};
use boardwire_bots::{Bot, UnknownBot};

use crate::convert::{duration, duration_message};
use crate::record::DecisionTime;

/// The maximum limit, bank and increment of a clock.
pub(super) const MAX_CLOCK: Duration = Duration::from_hours(24);
const MAX_STRIKES: u32 = 100;
/// The quota for network time in multiples of `Clock::network_allowance`, at the start of an episode and at most.
const INITIAL_QUOTA_DECISIONS: u32 = 3;
const MAX_QUOTA_DECISIONS: u32 = 7;

/// How long a seat may think, and what the engine does at a timeout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clock {
    /// The time for each decision before the bank is used.
    pub limit: Duration,
    /// The time for the whole episode, used by decisions that take longer than the limit.
    pub bank: Duration,
    /// The time that each decision made in time adds to the bank.
    pub increment: Duration,
    /// How many timeouts of an episode the engine forgives: it restarts the clock of the decision.
    pub strikes: u32,
    /// What the engine does at a timeout if no strike is left.
    pub on_timeout: OnTimeout,
}

/// What the engine does when a seat's time has run out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnTimeout {
    /// The episode ends; the seat is last.
    Forfeit,
    /// The engine plays the legal action with the lowest index.
    FirstLegal,
    /// The engine plays a random legal action; the episode's key determines it.
    SeededLegal,
    /// A bot decides from the seat's information set.
    Bot(Bot),
}

impl OnTimeout {
    fn from_message(given: &v1::Clock, tables: &Tables, table: &Table) -> Result<Self, Error> {
        let policy: TimeoutPolicy = messages::enum_or_default("clocks.on_timeout", given.on_timeout)?;
        if let (Some(bot), true) = (&given.bot, policy != TimeoutPolicy::Bot) {
            let value = format!("{} with bot {}", policy.as_str_name(), messages::player_name(bot));
            return Err(Error::field("clocks.on_timeout", value, "TIMEOUT_POLICY_BOT with a bot"));
        }
        let unknown = |UnknownBot { given, expected }| Error::field("clocks.bot", given, expected);
        Ok(match policy {
            TimeoutPolicy::Unspecified | TimeoutPolicy::Forfeit => Self::Forfeit,
            TimeoutPolicy::FirstLegal => Self::FirstLegal,
            TimeoutPolicy::SeededLegal => Self::SeededLegal,
            TimeoutPolicy::Bot => {
                let bot = messages::bot(tables, table, &given.bot.clone().unwrap_or_default());
                Self::Bot(bot.map_err(unknown)?)
            }
        })
    }
}

/// The time and strikes that a seat has left in an episode, besides the limit of its present decision.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TimeBank {
    pub(super) bank: Duration,
    /// The maximum network time that the clock still refunds.
    pub(super) network_quota: Duration,
    pub(super) strikes: u32,
}

impl Clock {
    /// Returns the clock of each seat. The list `given` is empty, or has one clock for all seats or one for each seat.
    ///
    /// # Errors
    /// The list has another length; a time is out of range; the bot does not exist.
    pub(super) fn from_messages(
        given: &[v1::Clock],
        players: &[Player],
        tables: &Tables,
        table: &Table,
    ) -> Result<Vec<Option<Self>>, Error> {
        if given.is_empty() {
            return Ok(Vec::new());
        }
        if given.len() != 1 && given.len() != players.len() {
            return Err(Error::field("clocks", given.len(), format!("none, 1 or {}", players.len())));
        }
        let is_none = |clock: &v1::Clock| given.len() > 1 && *clock == v1::Clock::default();
        let clock = |(player, given): (&Player, &v1::Clock)| match player {
            Player::Agent if !is_none(given) => Self::from_message(given, tables, table).map(Some),
            Player::Agent | Player::Bot(_) => Ok(None),
        };
        players.iter().zip(given.iter().cycle()).map(clock).collect()
    }

    fn from_message(given: &v1::Clock, tables: &Tables, table: &Table) -> Result<Self, Error> {
        let clock = Self {
            limit: duration("clocks.limit", given.limit, MAX_CLOCK)?,
            bank: duration("clocks.bank", given.bank, MAX_CLOCK)?,
            increment: duration("clocks.increment", given.increment, MAX_CLOCK)?,
            strikes: given.strikes,
            on_timeout: OnTimeout::from_message(given, tables, table)?,
        };
        clock.check()?;
        Ok(clock)
    }

    /// Converts the clock to a message.
    #[must_use]
    pub fn to_message(&self) -> v1::Clock {
        let [limit, bank, increment] = [self.limit, self.bank, self.increment].map(duration_message);
        let (policy, bot) = match &self.on_timeout {
            OnTimeout::Forfeit => (TimeoutPolicy::Forfeit, None),
            OnTimeout::FirstLegal => (TimeoutPolicy::FirstLegal, None),
            OnTimeout::SeededLegal => (TimeoutPolicy::SeededLegal, None),
            OnTimeout::Bot(bot) => (TimeoutPolicy::Bot, Some(messages::bot_message(bot))),
        };
        v1::Clock { limit, bank, increment, strikes: self.strikes, on_timeout: policy.into(), bot }
    }

    /// Checks the ranges of a clock.
    ///
    /// # Errors
    /// A time is too long, limit and bank are both zero, or there are too many strikes.
    pub fn check(&self) -> Result<(), Error> {
        let Self { limit, bank, increment, strikes, .. } = self;
        if let Some(long) = [limit, bank, increment].into_iter().find(|time| **time > MAX_CLOCK) {
            let expected = format!("limit, bank and increment of at most {} s", MAX_CLOCK.as_secs());
            return Err(Error::field("clocks", format!("{} s", long.as_secs()), expected));
        }
        if (*limit + *bank).is_zero() {
            return Err(Error::field("clocks", "limit 0 s and bank 0 s", "limit + bank above 0 s"));
        }
        if *strikes > MAX_STRIKES {
            let expected = format!("at most {MAX_STRIKES} strikes");
            return Err(Error::field("clocks", format!("{strikes} strikes"), expected));
        }
        Ok(())
    }

    /// Returns the network time that each decision adds to the seat's quota. The rule is lichess's lag compensation, with
    /// smaller amounts.
    fn network_allowance(&self) -> Duration {
        let expected = self.bank + 40 * (self.limit + self.increment);
        (Duration::from_millis(50) + expected / 250).min(Duration::from_secs(1))
    }
}

impl TimeBank {
    /// Creates the bank for the start of an episode; without a clock everything is zero.
    pub(super) fn new(clock: Option<&Clock>) -> Self {
        clock.map_or_else(Self::default, |clock| Self {
            bank: clock.bank,
            network_quota: INITIAL_QUOTA_DECISIONS * clock.network_allowance(),
            strikes: clock.strikes,
        })
    }

    /// Charges the time of a decision made in time, then adds the increment and the network quota.
    pub(super) fn apply_decision(&mut self, clock: &Clock, time: DecisionTime) {
        let beyond = time.counted().saturating_sub(clock.limit);
        self.bank = (self.bank.saturating_sub(beyond) + clock.increment).min(MAX_CLOCK);
        self.network_quota = (self.network_quota.saturating_sub(time.network) + clock.network_allowance())
            .min(MAX_QUOTA_DECISIONS * clock.network_allowance());
    }

    /// Uses one strike after a timeout and returns true. If no strike is left, empties the bank and returns false.
    pub(super) fn use_strike(&mut self) -> bool {
        let is_forgiven = self.strikes > 0;
        if is_forgiven {
            self.strikes -= 1;
        } else {
            self.bank = Duration::ZERO;
        }
        is_forgiven
    }

    /// Returns the maximum time for one decision.
    pub(super) fn available(&self, clock: &Clock) -> Duration {
        clock.limit + self.bank
    }
}
