//! How long seats may think.
//!
//! What a clock says is a fold over events: each decision carries how long it took, a clock that has run out is an event
//! of its own.

use std::time::Duration;

use boardwire_api::Error;
use boardwire_api::v1::{self, TimeoutPolicy};
use boardwire_batch::tables::{Table, Tables};
use boardwire_batch::{Player, messages};
use boardwire_bots::{Bot, UnknownBot};

use crate::convert::{duration, time};
use crate::record::DecisionTime;

/// The longest that a part of a clock may be.
pub(crate) const MAX_CLOCK: Duration = Duration::from_hours(24);
/// The most times that a clock may forgive.
const MOST_STRIKES: u32 = 100;
/// For how many decisions' time on the wire a seat begins with, and how many it can save up.
const FIRST_GAINS: u32 = 3;
const MOST_GAINS: u32 = 7;

/// How long a seat may think, and what happens when its time has run out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clock {
    /// For every decision, before the bank is drawn on.
    pub limit: Duration,
    /// For the whole episode: what decisions take beyond the limit.
    pub bank: Duration,
    /// What is put into the bank after every decision that was made in time.
    pub increment: Duration,
    /// How often in an episode a decision starts again when its time has run out.
    pub strikes: u32,
    /// What happens when it is not forgiven.
    pub on_timeout: OnTimeout,
}

/// What happens when a seat's time has run out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnTimeout {
    /// The episode ends; the seat is last.
    Forfeit,
    /// The legal action with the lowest index is played for it.
    FirstLegal,
    /// A legal action drawn from the episode's seed is played for it.
    SeededLegal,
    /// A bot makes the decision from what the seat knows.
    Bot(Bot),
}

impl OnTimeout {
    fn read(given: &v1::Clock, tables: &Tables, table: &Table) -> Result<Self, Error> {
        let policy: TimeoutPolicy = messages::known("clocks.on_timeout", given.on_timeout)?;
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

    fn to_message(&self) -> (TimeoutPolicy, Option<v1::Player>) {
        match self {
            Self::Forfeit => (TimeoutPolicy::Forfeit, None),
            Self::FirstLegal => (TimeoutPolicy::FirstLegal, None),
            Self::SeededLegal => (TimeoutPolicy::SeededLegal, None),
            Self::Bot(bot) => (TimeoutPolicy::Bot, Some(messages::bot_to(bot))),
        }
    }
}

/// What a seat's clock has left, beside the time of the present decision.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TimeLeft {
    pub(super) bank: Duration,
    /// What can still be given back for time on the wire.
    pub(super) quota: Duration,
    pub(super) strikes: u32,
}

impl Clock {
    /// The clock of each seat, from none, one, or as many as there are seats.
    ///
    /// # Errors
    /// Another number of clocks, a time or a bot that cannot be.
    pub(super) fn read_all(
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
        let each = players.iter().zip(given.iter().cycle());
        let each = each.map(|(player, given)| match player {
            Player::Agent if !is_none(given) => Self::read(given, tables, table).map(Some),
            Player::Agent | Player::Bot(_) => Ok(None),
        });
        each.collect()
    }

    fn read(given: &v1::Clock, tables: &Tables, table: &Table) -> Result<Self, Error> {
        let clock = Self {
            limit: duration("clocks.limit", given.limit, MAX_CLOCK)?,
            bank: duration("clocks.bank", given.bank, MAX_CLOCK)?,
            increment: duration("clocks.increment", given.increment, MAX_CLOCK)?,
            strikes: given.strikes,
            on_timeout: OnTimeout::read(given, tables, table)?,
        };
        clock.check()?;
        Ok(clock)
    }

    /// The clock as a message.
    pub(super) fn to_message(&self) -> v1::Clock {
        let [limit, bank, increment] = [self.limit, self.bank, self.increment].map(time);
        let (policy, bot) = self.on_timeout.to_message();
        v1::Clock { limit, bank, increment, strikes: self.strikes, on_timeout: policy.into(), bot }
    }

    /// Refuses times that cannot be.
    ///
    /// # Errors
    /// Parts that are too long, too many strikes, no time at all.
    pub fn check(&self) -> Result<(), Error> {
        let Self { limit, bank, increment, strikes, .. } = self;
        if let Some(long) = [limit, bank, increment].into_iter().find(|time| **time > MAX_CLOCK) {
            let expected = format!("times of at most {} s", MAX_CLOCK.as_secs());
            return Err(Error::field("clocks", format!("{} s", long.as_secs()), expected));
        }
        if (*limit + *bank).is_zero() {
            return Err(Error::field("clocks", "no limit and no bank", "some time to think"));
        }
        if *strikes > MOST_STRIKES {
            let expected = format!("at most {MOST_STRIKES} strikes");
            return Err(Error::field("clocks", format!("{strikes} strikes"), expected));
        }
        Ok(())
    }

    /// What a seat may be given back for the time that a decision is on the wire, unless it has saved some up: as lichess has
    /// it, less for machines.
    fn gain(&self) -> Duration {
        let expected = self.bank + 40 * (self.limit + self.increment);
        (Duration::from_millis(50) + expected / 250).min(Duration::from_secs(1))
    }
}

impl TimeLeft {
    /// At the beginning of an episode.
    pub(super) fn new(clock: Option<&Clock>) -> Self {
        clock.map_or_else(Self::default, |clock| Self {
            bank: clock.bank,
            quota: FIRST_GAINS * clock.gain(),
            strikes: clock.strikes,
        })
    }

    /// After a decision that was made in time.
    pub(super) fn charge(&mut self, clock: &Clock, took: DecisionTime) {
        let beyond = took.charged().saturating_sub(clock.limit);
        self.bank = (self.bank.saturating_sub(beyond) + clock.increment).min(MAX_CLOCK);
        self.quota = (self.quota.saturating_sub(took.refund) + clock.gain()).min(MOST_GAINS * clock.gain());
    }

    /// After time has run out; whether that was forgiven.
    pub(super) fn run_out(&mut self) -> bool {
        let forgiven = self.strikes > 0;
        if forgiven {
            self.strikes -= 1;
        } else {
            self.bank = Duration::ZERO;
        }
        forgiven
    }

    /// What the seat has for a decision.
    pub(super) fn for_one(&self, clock: &Clock) -> Duration {
        clock.limit + self.bank
    }
}
