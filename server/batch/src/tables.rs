//! Tables: a game with its seats and options, set up once and shared by matches and batches.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use boardwire_bots::{Bot, UnknownBot};
use boardwire_kernel::{Digest, OptionKind, OptionSpec, Options, SetupError};
use boardwire_policy::Policies;

use crate::play::AnyGame;
use crate::registry::{GameFacts, Registry};
use boardwire_api::Error;

/// The name of the policy whose networks `strong` plays with. The operator's policies must have other names.
pub const OPPONENTS: &str = "opponents";
/// The bot of the greatest strength at its table. [`Tables::bot`] replaces the name by that of another bot.
pub const STRONG: &str = "strong";
/// What `strong` plays at a table that no network of [`OPPONENTS`] fits.
const STRONG_WITHOUT_NETWORK: &str = "mc:160";

/// The metric that counts decisions by game.
pub const DECISIONS: &str = "boardwire_decisions_total";

/// A table. Any number of matches and batches share it.
pub struct Table {
    /// The game with these seats and options.
    pub game: Arc<dyn AnyGame>,
    /// The digest of the table's specification.
    pub digest: Digest,
    /// Counts the decisions of the table's game.
    pub decisions: metrics::Counter,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Table({} {})", self.game.info().id, self.digest)
    }
}

/// The game, seats and options that identify a table.
type Key = (&'static str, u8, Vec<(&'static str, String)>);

/// The name of a policy, the spec digest of one of its networks, and the table with this digest, if there is one.
type PolicyTable = (String, String, Option<Arc<Table>>);

/// The games, the tables in use, and the policies that bots can use.
#[derive(Debug)]
pub struct Tables {
    registry: Registry,
    policies: Policies,
    described_policies: OnceLock<Vec<PolicyTable>>,
    in_use: Mutex<BTreeMap<Key, Weak<Table>>>,
}

impl Tables {
    /// Creates tables of the games of `registry`, without policies.
    #[must_use]
    pub fn new(registry: Registry) -> Self {
        let (policies, described_policies) = (Policies::default(), OnceLock::new());
        Self { registry, policies, described_policies, in_use: Mutex::default() }
    }

    /// Adds the policies that bots can use.
    #[must_use]
    pub fn with_policies(self, policies: Policies) -> Self {
        Self { policies, ..self }
    }

    /// Returns the bot with this name, for a table.
    ///
    /// # Errors
    /// No bot has this name, or its policy cannot play at this table.
    pub fn bot(&self, table: &Table, name: &str) -> Result<Bot, UnknownBot> {
        let describe = |digest: &str| self.describe(digest);
        let find = |policy: &str| self.policies.find(policy, table.game.info(), table.digest, describe);
        if name == STRONG { Bot::named(&self.strong(table)?, find) } else { Bot::named(name, find) }
    }

    /// Returns whether the server has networks for `strong`.
    pub(crate) fn has_opponents(&self) -> bool {
        self.policies.networks().any(|(name, _)| name == OPPONENTS)
    }

    /// Returns the name of the bot that `strong` stands for at this table.
    fn strong(&self, table: &Table) -> Result<String, UnknownBot> {
        if !self.has_opponents() {
            let expected = "other bots: `strong` needs trained networks, from `pip install boardwire-opponents` for private \
                            servers and `serve --opponents DIR` for others";
            return Err(UnknownBot { given: STRONG.to_owned(), expected: expected.to_owned() });
        }
        let digest = table.digest.to_string();
        let has_network = self.policies.networks().any(|network| network == (OPPONENTS, digest.as_str()));
        let with_network = || format!("search:{OPPONENTS}");
        Ok(if has_network { with_network() } else { STRONG_WITHOUT_NETWORK.to_owned() })
    }

    /// Returns the policies' networks with their tables. Searches the tables at the first call: all seats, and all values of
    /// options that have a few named values.
    pub(crate) fn policy_tables(&self) -> &[PolicyTable] {
        self.described_policies.get_or_init(|| {
            let networks = self.policies.networks();
            let mut found: Vec<PolicyTable> =
                networks.map(|(name, digest)| (name.to_owned(), digest.to_owned(), None)).collect();
            let games = self.registry.game_types().filter(|_| !found.is_empty()).collect::<Vec<_>>();
            for (game_type, seats) in
                games.iter().flat_map(|game| game.seats.clone().map(move |seats| (game, seats)))
            {
                for options in option_values(game_type.options) {
                    let Ok(table) = self.table(game_type.id, seats.into(), options) else { continue };
                    let digest = table.digest.to_string();
                    for (_, _, own) in found.iter_mut().filter(|(_, network, _)| *network == digest) {
                        *own = Some(Arc::clone(&table));
                    }
                }
            }
            found
        })
    }

    /// Describes the table of a network with this spec digest, for an error.
    fn describe(&self, digest: &str) -> String {
        let mut tables = self.policy_tables().iter().filter(|(_, own, _)| own == digest);
        let Some(table) = tables.find_map(|(_, _, table)| table.as_ref()) else {
            return format!("an unknown table with spec digest {digest}");
        };
        let info = table.game.info();
        let options = info.options.all().iter().map(|(name, value)| format!(", {name}={value}"));
        format!("{} with {} seats{}", info.id, info.seats, options.collect::<String>())
    }

    /// Returns the games with their catalogues.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Returns the type and catalogue of the game `id`.
    ///
    /// # Errors
    /// The game is unknown.
    pub fn game_facts(&self, id: &str) -> Result<GameFacts, Error> {
        self.registry.game_facts(id).ok_or_else(|| self.unknown_game(id))
    }

    /// Returns the table of a game with these seats and options. Equal calls share it while it is in use.
    ///
    /// # Errors
    /// The game is unknown, or it does not have these seats or options.
    pub fn table<'a>(
        &self,
        game: &str,
        seats: u32,
        options: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Arc<Table>, Error> {
        let entry = self.registry.entry(game).ok_or_else(|| self.unknown_game(game))?;
        let game_type = entry.game_type();
        let options = Options::resolve(&game_type, options).map_err(|error| setup(game_type.id, error))?;
        let key = (game_type.id, u8::try_from(seats).unwrap_or(u8::MAX), options.all().to_vec());
        let mut in_use = self.in_use.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = in_use.get(&key).and_then(Weak::upgrade) {
            return Ok(table);
        }
        let game = entry.set_up(seats, &options).map_err(|error| setup(game_type.id, error))?;
        let decisions = metrics::counter!(DECISIONS, "game" => game_type.id);
        let table = Arc::new(Table { digest: game.info().digest(), decisions, game });
        in_use.retain(|_, table| table.strong_count() > 0);
        in_use.insert(key, Arc::downgrade(&table));
        Ok(table)
    }

    fn unknown_game(&self, game: &str) -> Error {
        Error::GameUnknown { game: game.to_owned(), known: self.registry.ids_text() }
    }
}

fn setup(game: &'static str, error: SetupError) -> Error {
    match error {
        SetupError::Seats { given, min, max, .. } => Error::SeatsOutOfRange { game, given, min, max },
        SetupError::UnknownOption { name, known, .. } => Error::OptionUnknown { game, option: name, known },
        SetupError::OptionValue { name, value, expected } => {
            Error::OptionValueInvalid { option: name, value, expected }
        }
        SetupError::Catalogue(error) => {
            Error::Internal { place: game.to_owned(), problem: error.to_string() }
        }
    }
}

/// Returns every choice of values for the options that have a few named values.
fn option_values(options: &'static [OptionSpec]) -> Vec<Vec<(&'static str, &'static str)>> {
    options.iter().fold(vec![vec![]], |choices, option| {
        let values: &[&str] = match option.kind {
            OptionKind::Choice(words) => words,
            OptionKind::Flag => &["false", "true"],
            OptionKind::Int(..) => return choices,
        };
        let with = |value: &&'static str| {
            let value = (option.name, *value);
            choices.iter().map(move |choice| choice.iter().copied().chain([value]).collect())
        };
        values.iter().flat_map(with).collect()
    })
}
