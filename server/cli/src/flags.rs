//! Flags that several commands share.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use boardwire_batch::registry::Registry;
use boardwire_batch::tables::{OPPONENTS, STRONG, Table, Tables};
use boardwire_bots::{Bot, UnknownBot};
use boardwire_policy::{DEFAULT_TIMEOUT, Policies, hashes};
use clap::Args;
use clap::error::ErrorKind;

/// Returns a usage error for an invalid combination of flags. `main` exits with code 2, as for flags that it cannot parse.
pub(crate) fn usage_error(problem: &str) -> anyhow::Error {
    clap::Error::raw(ErrorKind::ValueValidation, format!("{problem}\n")).into()
}

/// Splits `NAME=VALUE`.
pub(crate) fn parse_name_value(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("`{text}` is not NAME=VALUE"))?;
    Ok((name.to_owned(), value.to_owned()))
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Catalogues {
    /// Plays a game with the components in this file instead of the built-in ones; may be repeated.
    #[arg(long = "catalogue", value_name = "GAME=FILE", value_parser = parse_name_value)]
    pub(crate) catalogues: Vec<(String, String)>,
}

impl Catalogues {
    /// Returns `games`, with these catalogues in place of the built-in ones.
    pub(crate) fn load(&self, games: &Registry) -> anyhow::Result<Registry> {
        let mut registry = games.clone();
        for (game, file) in &self.catalogues {
            let is_known = registry.game_type(game).is_some();
            anyhow::ensure!(is_known, "there is no game `{game}`: known are {}", registry.ids_text());
            let text = std::fs::read_to_string(file).with_context(|| format!("catalogue {file}"))?;
            let replaced = registry.replace_catalogue(game, &text);
            replaced.with_context(|| format!("{file} is not a catalogue of {game}"))?;
        }
        Ok(registry)
    }
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PolicyFiles {
    /// Lets bots called `policy:NAME` and `search:NAME` play with the network in this ONNX file; may be repeated.
    #[arg(long = "policy", value_name = "NAME=FILE", value_parser = parse_name_value)]
    pub(crate) policies: Vec<(String, String)>,
    /// Lets the bot `strong` play with the networks in this folder, files `GAME-SEATS.onnx`. They are the policy `opponents`.
    #[arg(long, value_name = "DIR")]
    pub(crate) opponents: Option<PathBuf>,
    /// A policy fails when one evaluation of its network takes longer than this, in seconds. [default: 10]
    #[arg(long = "policy-timeout", value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
}

impl PolicyFiles {
    /// Returns the hashes of each policy's files. They distinguish networks with the same name.
    pub(crate) fn hashes(&self) -> anyhow::Result<BTreeMap<String, Vec<String>>> {
        let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, file) in self.files()? {
            let hashes = hashes(&file).with_context(|| format!("policy {name}"))?;
            all.entry(name).or_default().extend(hashes);
        }
        Ok(all)
    }

    pub(crate) fn load(&self) -> anyhow::Result<Policies> {
        let timeout = self.timeout.map_or(DEFAULT_TIMEOUT, Duration::from_secs);
        Ok(Policies::load(self.files()?, timeout)?)
    }

    /// Returns the name and the path of each network.
    fn files(&self) -> anyhow::Result<Vec<(String, PathBuf)>> {
        anyhow::ensure!(
            self.policies.iter().all(|(name, _)| name != OPPONENTS),
            "--policy {OPPONENTS}: the name is reserved for the networks of --opponents; choose another name"
        );
        let mut files: Vec<_> =
            self.policies.iter().map(|(name, file)| (name.clone(), file.into())).collect();
        if let Some(folder) = &self.opponents {
            let networks = networks(folder).with_context(|| format!("--opponents {}", folder.display()))?;
            files.extend(networks.into_iter().map(|file| (OPPONENTS.to_owned(), file)));
        }
        Ok(files)
    }
}

/// Returns the network files in a folder, in order of their names.
fn networks(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let files = std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut files = files.collect::<Result<Vec<_>, _>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "onnx"));
    anyhow::ensure!(!files.is_empty(), "the folder must have networks, files GAME-SEATS.onnx; it has none");
    files.sort();
    Ok(files)
}

/// A table of bots, for `play` and `arena`.
#[derive(Debug, Args)]
pub(crate) struct BotTable {
    /// The game's id.
    pub(crate) game: String,
    /// The bots, one per seat.
    #[arg(long, value_delimiter = ',', default_value = "greedy,random", value_parser = bot_name)]
    pub(crate) seats: Vec<String>,
    /// The seed; the same seed gives the same matches. [default: 0, or random if agents play]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Sets an option of the game; may be repeated.
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = parse_name_value)]
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

    /// Sets up a table with `seats` seats. Also returns the `Tables` that look up its players.
    pub(crate) fn set_up(&self, games: &Registry, seats: usize) -> anyhow::Result<(Tables, Arc<Table>)> {
        let options = self.options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let tables = Tables::new(self.catalogues.load(games)?).with_policies(self.policies.load()?);
        let table = tables.table(&self.game, u32::try_from(seats)?, options)?;
        Ok((tables, table))
    }
}

/// Checks a bot's name, and removes the parts that equal defaults. Policies, `strong` and agents are looked up later.
pub(crate) fn bot_name(name: &str) -> Result<String, UnknownBot> {
    let is_looked_up_later = ["policy:", "search:", "agent:"].iter().any(|kind| name.starts_with(kind));
    if name == STRONG || is_looked_up_later {
        Ok(name.to_owned())
    } else {
        name.parse().map(|bot: Bot| bot.to_string())
    }
}
