//! What commands have in common: games with their catalogues, a table, and the bots that play at it.

use std::sync::Arc;

use anyhow::Context as _;
use boardwire_batch::play::Play;
use boardwire_batch::registry::Registry;
use boardwire_batch::tables::{Table, Tables};
use boardwire_bots::{Bot, Choice, UnknownBot};
use boardwire_kernel::{BOT_STREAM, RngStream, Seat};
use clap::Args;

use crate::flags::pair;
use crate::policies::PolicyFiles;

/// Catalogues that take the place of those compiled in.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Catalogues {
    /// Plays a game with the components of a file instead of those built in; may be repeated.
    #[arg(long = "catalogue", value_name = "GAME=FILE", value_parser = pair)]
    pub(crate) catalogues: Vec<(String, String)>,
}

impl Catalogues {
    /// The games with these catalogues.
    pub(crate) fn load(&self) -> anyhow::Result<Registry> {
        let mut registry = Registry::standard();
        for (game, file) in &self.catalogues {
            let is_known = registry.game_type(game).is_some();
            anyhow::ensure!(is_known, "there is no game `{game}`: known are {}", registry.known());
            let text = std::fs::read_to_string(file).with_context(|| format!("catalogue {file}"))?;
            let replaced = registry.replace_catalogue(game, &text);
            replaced.with_context(|| format!("{file} is no catalogue of {game}"))?;
        }
        Ok(registry)
    }
}

/// A table of bots: what `play` and `arena` have in common.
#[derive(Debug, Args)]
pub(crate) struct BotTable {
    /// The game's id.
    pub(crate) game: String,
    /// A bot for every seat.
    #[arg(long, value_delimiter = ',', default_value = "greedy,random", value_parser = bot_name)]
    pub(crate) seats: Vec<String>,
    /// The seed; the same seed gives the same matches. [default: 0, but drawn where agents play]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Sets an option of the game; may be repeated.
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = pair)]
    options: Vec<(String, String)>,
    #[command(flatten)]
    catalogues: Catalogues,
    #[command(flatten)]
    pub(crate) policies: PolicyFiles,
}

impl BotTable {
    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or_default()
    }

    /// Sets up the table for so many seats, among the tables that know who could sit there.
    pub(crate) fn set_up(&self, seats: usize) -> anyhow::Result<(Tables, Arc<Table>)> {
        let options = self.options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let tables = Tables::new(self.catalogues.load()?).with_policies(self.policies.load()?);
        let table = tables.table(&self.game, u32::try_from(seats)?, options)?;
        Ok((tables, table))
    }
}

/// Checks a bot's name, and shortens it where it says what goes without saying. Policies and agents are looked up later.
pub(crate) fn bot_name(name: &str) -> Result<String, UnknownBot> {
    if name.starts_with("policy:") || name.starts_with("agent:") {
        Ok(name.to_owned())
    } else {
        name.parse().map(|bot: Bot| bot.to_string())
    }
}

/// Plays a match of bots to its end; `each` sees every action before it is applied, and says whether to go on.
pub(crate) fn bot_match(
    table: &Table,
    bots: &[Bot],
    seed: u64,
    mut each: impl FnMut(&dyn Play, Seat, u8) -> std::io::Result<bool>,
) -> anyhow::Result<Option<Box<dyn Play>>> {
    let mut episode = Arc::clone(&table.rules).deal(seed.into());
    let mut rng: Vec<RngStream> =
        (BOT_STREAM..).zip(bots).map(|(stream, _)| RngStream::new(seed, stream)).collect();
    while !episode.pending().is_empty() {
        let due = |seat: Seat| (seat, bots[seat.index()].clone(), rng[seat.index()].clone());
        let due = episode.pending().iter().map(due);
        let mut round = episode.round(due.collect());
        while !round.advance()? {}
        let mut choices = round.choices();
        choices.sort_unstable_by_key(|choice| choice.seat);
        for Choice { seat, action, rng: used } in choices {
            rng[seat.index()] = used;
            if !each(&*episode, seat, action)? {
                return Ok(None);
            }
            episode.apply(seat, action.into())?;
        }
    }
    Ok(Some(episode))
}
