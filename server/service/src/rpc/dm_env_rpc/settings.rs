//! Settings: what worlds are made with, and begin anew with. Each is checked, and refused by its name.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use boardwire_api::dm_env_rpc::Tensor;
use boardwire_batch::batch::{LineUp, Opening, Plan};
use boardwire_batch::reward::RewardKind;
use boardwire_batch::tables::{Table, Tables};
use boardwire_batch::{IllegalActions, Player, Refused};
use boardwire_bots::UnknownBot;

use super::tensors::{self, Single};
use crate::run::MAX_MESSAGE_BYTES;
use crate::secret;

/// Settings of a world, as errors name them.
const GAME: &str = "settings.game";
const SEATS: &str = "settings.seats";
const SEAT: &str = "settings.seat";
const BOTS: &str = "settings.bots";
const SEED: &str = "settings.seed";
const REWARD: &str = "settings.reward";
const ILLEGAL_ACTIONS: &str = "settings.illegal_actions";
const SKIP_FORCED: &str = "settings.skip_forced";
/// What their names have before them in errors.
const PLACE: &str = "settings.";
/// What the names of settings begin with that are options of the game.
const OPTION: &str = "options.";

/// Who plays beside the agent where nobody is named.
const BOT: &str = "random";
/// The first of each is meant where none is named.
const REWARDS: &[(&str, RewardKind)] = &[
    ("rank", RewardKind::Rank),
    ("win", RewardKind::Win),
    ("margin", RewardKind::Margin),
    ("score", RewardKind::Score),
];
const POLICIES: &[(&str, IllegalActions)] = &[
    ("seeded_legal", IllegalActions::SeededLegal),
    ("first_legal", IllegalActions::FirstLegal),
    ("reject", IllegalActions::Reject),
    ("forfeit", IllegalActions::Forfeit),
];

/// The settings of a request.
#[derive(Clone, Copy)]
pub(super) struct Settings<'a>(pub(super) &'a BTreeMap<String, Tensor>);

impl<'a> Settings<'a> {
    /// The table of a new world, and what its batch of one environment is opened with.
    ///
    /// # Errors
    /// A setting that is missing, that there is not, or that cannot be.
    pub(super) fn opening(self, tables: &Tables) -> Result<(Arc<Table>, Opening), Refused> {
        let all = [GAME, SEATS, SEAT, BOTS, SEED, REWARD, ILLEGAL_ACTIONS, SKIP_FORCED];
        self.only(&all, &format!(", {OPTION}NAME for options of the game"), |name| name.starts_with(OPTION))?;
        let table = self.table(tables)?;
        let plan = Plan {
            reward: self.choice(REWARD, REWARDS)?,
            illegal_actions: self.choice(ILLEGAL_ACTIONS, POLICIES)?,
            skip_forced: self.flag(SKIP_FORCED)?,
            ..Plan::of(vec![self.line_up(tables, &table)?])
        };
        let seed = self.whole(SEED, 0..=u64::MAX)?.unwrap_or_else(secret::seed);
        Ok((table, Opening { plan, environments: 1, first: 0, seed, message_bytes: MAX_MESSAGE_BYTES }))
    }

    /// The seed to begin anew with, if there is one.
    ///
    /// # Errors
    /// A setting that there is not, or that cannot be.
    pub(super) fn seed(self) -> Result<Option<u64>, Refused> {
        self.only(&[SEED], "", |_| false)?;
        self.whole(SEED, 0..=u64::MAX)
    }

    /// Sees to it that there is none.
    ///
    /// # Errors
    /// There is one.
    pub(super) fn none(self) -> Result<(), Refused> {
        self.only(&[], "", |_| false)
    }

    fn table(self, tables: &Tables) -> Result<Arc<Table>, Refused> {
        let known = tables.registry().known();
        let game = self.text(GAME, || format!("one of {known}"))?;
        let game = game.ok_or_else(|| bad(GAME, "nothing".to_owned(), format!("one of {known}")))?;
        let fewest = tables.registry().game_type(game).map_or(0, |game_type| *game_type.seats.start());
        let seats = self.whole(SEATS, 0..=u32::MAX.into())?.and_then(|seats| u32::try_from(seats).ok());
        let options = self.0.iter().filter_map(|(name, value)| Some((name.strip_prefix(OPTION)?, value)));
        let options: Vec<_> =
            options.map(|(name, value)| Ok((name, option(name, value)?))).collect::<Result<_, _>>()?;
        let options = options.iter().map(|(name, value)| (*name, value.as_str()));
        tables.table(game, seats.unwrap_or(fewest.into()), options)
    }

    /// The agent at its seat, and bots at the others.
    fn line_up(self, tables: &Tables, table: &Table) -> Result<LineUp, Refused> {
        let seats = usize::from(table.rules.info().seats);
        let own = self.whole(SEAT, 0..=seats as u64 - 1)?.unwrap_or(0);
        let names = match self.get(BOTS) {
            None => vec![BOT; seats - 1],
            Some(given) => tensors::texts(given, seats - 1).ok_or_else(|| {
                let expected =
                    format!("the name of a bot, or {} of them, for the other seats in turn", seats - 1);
                bad(BOTS, tensors::described(given), expected)
            })?,
        };
        let mut names = names.into_iter();
        let player = |seat: usize| {
            if seat as u64 == own {
                return Ok(Player::Remote);
            }
            let name = names.next().unwrap_or(BOT);
            let unknown = |UnknownBot { given, expected }| Refused::UnknownBot { seat, given, expected };
            tables.bot(table, name).map(Player::Bot).map_err(unknown)
        };
        let players = (0..seats).map(player).collect::<Result<_, _>>()?;
        Ok(LineUp::of(players).expect("the agent sits there"))
    }

    /// Refuses names other than those that there are.
    fn only(self, known: &[&'static str], more: &str, is_more: impl Fn(&str) -> bool) -> Result<(), Refused> {
        let known = known.iter().map(|field| &field[PLACE.len()..]);
        let unknown =
            self.0.keys().find(|name| !is_more(name) && !known.clone().any(|known| known == name.as_str()));
        match unknown {
            None => Ok(()),
            Some(name) => {
                let known = known.collect::<Vec<_>>().join(", ");
                let expected =
                    if known.is_empty() { "empty".to_owned() } else { format!("of {known}{more}") };
                Err(bad("settings", name.clone(), expected))
            }
        }
    }

    fn get(self, field: &'static str) -> Option<&'a Tensor> {
        self.0.get(&field[PLACE.len()..])
    }

    fn text(self, field: &'static str, expected: impl Fn() -> String) -> Result<Option<&'a str>, Refused> {
        self.read(field, expected, |value| if let Single::Text(text) = value { Some(text) } else { None })
    }

    fn flag(self, field: &'static str) -> Result<bool, Refused> {
        let read = |value| if let Single::Flag(flag) = value { Some(flag) } else { None };
        Ok(self.read(field, || "a bool".to_owned(), read)?.unwrap_or_default())
    }

    fn whole(self, field: &'static str, range: RangeInclusive<u64>) -> Result<Option<u64>, Refused> {
        let expected = || format!("a whole number from {} to {}", range.start(), range.end());
        let read = |value| match value {
            Single::Whole(number) => u64::try_from(number).ok().filter(|number| range.contains(number)),
            _ => None,
        };
        self.read(field, expected, read)
    }

    fn choice<T: Copy>(self, field: &'static str, all: &[(&str, T)]) -> Result<T, Refused> {
        let expected =
            || format!("one of {}", all.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "));
        let read = |value| match value {
            Single::Text(text) => all.iter().find(|(name, _)| *name == text).map(|(_, kind)| *kind),
            _ => None,
        };
        Ok(self.read(field, expected, read)?.unwrap_or(all[0].1))
    }

    /// What a setting says, if it is there.
    fn read<T>(
        self,
        field: &'static str,
        expected: impl Fn() -> String,
        read: impl FnOnce(Single<'a>) -> Option<T>,
    ) -> Result<Option<T>, Refused> {
        let Some(given) = self.get(field) else { return Ok(None) };
        let value = tensors::single(given).and_then(read);
        value.map(Some).ok_or_else(|| bad(field, tensors::described(given), expected()))
    }
}

/// The value of an option of the game, as the game reads it.
fn option(name: &str, given: &Tensor) -> Result<String, Refused> {
    match tensors::single(given) {
        Some(Single::Text(text)) => Ok(text.to_owned()),
        Some(Single::Whole(number)) => Ok(number.to_string()),
        Some(Single::Flag(flag)) => Ok(flag.to_string()),
        Some(Single::Fraction(_)) | None => {
            let value = format!("{name}: {}", tensors::described(given));
            Err(bad("settings.options", value, "a string, a whole number or a bool each".to_owned()))
        }
    }
}

fn bad(field: &'static str, value: String, expected: String) -> Refused {
    Refused::BadField { field, value, expected }
}
