//! Clocks from messages, and as messages.

use boardwire_api::Error;
use boardwire_api::v1;
use boardwire_batch::tables::{Table, Tables};
use boardwire_batch::{Player, messages};
use boardwire_bots::UnknownBot;

use super::{duration, time};
use crate::arbiter::clock::LONGEST;
use crate::arbiter::{Clock, OnTimeout, Reading};

/// The clocks of agents at a table: one for each seat, from none, one, or as many as there are seats.
pub(crate) fn clocks(
    given: &[v1::Clock],
    players: &[Player],
    tables: &Tables,
    table: &Table,
) -> Result<Vec<Option<Clock>>, Error> {
    if given.is_empty() {
        return Ok(Vec::new());
    }
    if given.len() != 1 && given.len() != players.len() {
        return Err(Error::field("clocks", given.len(), format!("none, 1 or {}", players.len())));
    }
    let each = players.iter().zip(given.iter().cycle());
    let is_none = |clock: &v1::Clock| given.len() > 1 && *clock == v1::Clock::default();
    each.map(|(player, given)| match player {
        Player::Agent if is_none(given) => Ok(None),
        Player::Agent => clock(given, tables, table).map(Some),
        Player::Bot(_) => Ok(None),
    })
    .collect()
}

fn clock(given: &v1::Clock, tables: &Tables, table: &Table) -> Result<Clock, Error> {
    let v1::Clock { limit, bank, increment, strikes, on_timeout, bot } = given;
    let on_timeout = match v1::TimeoutPolicy::try_from(*on_timeout) {
        Ok(v1::TimeoutPolicy::Unspecified | v1::TimeoutPolicy::Forfeit) => OnTimeout::Forfeit,
        Ok(v1::TimeoutPolicy::FirstLegal) => OnTimeout::FirstLegal,
        Ok(v1::TimeoutPolicy::SeededLegal) => OnTimeout::SeededLegal,
        Ok(v1::TimeoutPolicy::Bot) => {
            let given = bot.clone().unwrap_or_default();
            let unknown = |UnknownBot { given, expected }| Error::field("clocks.bot", given, expected);
            OnTimeout::Bot(messages::bot(tables, table, &given).map_err(unknown)?)
        }
        Err(_) => return Err(Error::field("clocks.on_timeout", on_timeout, "a TimeoutPolicy")),
    };
    if let (Some(bot), false) = (bot, matches!(on_timeout, OnTimeout::Bot(_))) {
        let value = format!("{on_timeout:?} with bot {}", messages::player_name(bot));
        return Err(Error::field("clocks.on_timeout", value, "TIMEOUT_POLICY_BOT with a bot"));
    }
    let clock = Clock {
        limit: duration("clocks.limit", *limit, LONGEST)?,
        bank: duration("clocks.bank", *bank, LONGEST)?,
        increment: duration("clocks.increment", *increment, LONGEST)?,
        strikes: *strikes,
        on_timeout,
    };
    clock.check()?;
    Ok(clock)
}

pub(super) fn clock_to(clock: &Clock) -> v1::Clock {
    let Clock { limit, bank, increment, strikes, on_timeout } = clock;
    let (policy, bot) = match on_timeout {
        OnTimeout::Forfeit => (v1::TimeoutPolicy::Forfeit, None),
        OnTimeout::FirstLegal => (v1::TimeoutPolicy::FirstLegal, None),
        OnTimeout::SeededLegal => (v1::TimeoutPolicy::SeededLegal, None),
        OnTimeout::Bot(bot) => (v1::TimeoutPolicy::Bot, Some(messages::bot_to(bot))),
    };
    let [limit, bank, increment] = [*limit, *bank, *increment].map(time);
    v1::Clock { limit, bank, increment, strikes: *strikes, on_timeout: policy.into(), bot }
}

pub(super) fn reading(reading: Option<Reading>) -> v1::ClockReading {
    let Some(Reading { left, bank, running, strikes }) = reading else { return v1::ClockReading::default() };
    v1::ClockReading { left: time(left), bank: time(bank), running, strikes }
}
