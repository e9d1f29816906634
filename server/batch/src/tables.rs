//! The tables that are played at: a game with seats and options, set up once and shared by its matches.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use boardwire_bots::{Bot, UnknownBot};
use boardwire_kernel::{Digest, Options, SetupError};
use boardwire_policy::Policies;

use crate::play::Rules;
use crate::registry::{Registry, Served};
use boardwire_api::Error;

/// What counts decisions, by game.
pub const DECISIONS: &str = "boardwire_decisions_total";

/// One table: rules that any number of matches share.
pub struct Table {
    /// The rules.
    pub rules: Arc<dyn Rules>,
    /// The digest of the table's facts.
    pub digest: Digest,
    /// Counts the decisions that are made there.
    pub decisions: metrics::Counter,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Table({} {})", self.rules.info().id, self.digest)
    }
}

/// Seats and options as they identify a table.
type Key = (&'static str, u8, Vec<(&'static str, String)>);

/// The games served, the tables in use, and the policies that may play.
#[derive(Debug)]
pub struct Tables {
    registry: Registry,
    policies: Policies,
    in_use: Mutex<BTreeMap<Key, Weak<Table>>>,
}

impl Tables {
    /// Serves the games of a registry.
    #[must_use]
    pub fn new(registry: Registry) -> Self {
        Self { registry, policies: Policies::default(), in_use: Mutex::default() }
    }

    /// With policies for bots to be named by.
    #[must_use]
    pub fn with_policies(self, policies: Policies) -> Self {
        Self { policies, ..self }
    }

    /// The bot of this name, for a table.
    ///
    /// # Errors
    /// No bot has this name, or none that could play there.
    pub fn bot(&self, table: &Table, name: &str) -> Result<Bot, UnknownBot> {
        Bot::named(name, |policy| self.policies.find(policy, table.rules.info(), table.digest))
    }

    /// The games, their catalogues loaded.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// What is known of the game `id`.
    ///
    /// # Errors
    /// An unknown game.
    pub fn served(&self, id: &str) -> Result<Served, Error> {
        self.registry.served(id).ok_or_else(|| self.unknown_game(id))
    }

    /// The table of a game with this many seats and these options.
    ///
    /// # Errors
    /// An unknown game, seats or options it does not have.
    pub fn table<'a>(
        &self,
        game: &str,
        seats: u32,
        options: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Arc<Table>, Error> {
        let game_type = self.registry.game_type(game).ok_or_else(|| self.unknown_game(game))?;
        let options = Options::resolve(&game_type, options).map_err(|error| setup(game_type.id, error))?;
        let key = (game_type.id, u8::try_from(seats).unwrap_or(u8::MAX), options.all().to_vec());
        let mut in_use = self.in_use.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = in_use.get(&key).and_then(Weak::upgrade) {
            return Ok(table);
        }
        let rules = self.registry.set_up(game, seats, &options).ok_or_else(|| self.unknown_game(game))?;
        let rules = rules.map_err(|error| setup(game_type.id, error))?;
        let decisions = metrics::counter!(DECISIONS, "game" => game_type.id);
        let table = Arc::new(Table { digest: rules.info().digest(), decisions, rules });
        in_use.retain(|_, unused| unused.strong_count() > 0);
        in_use.insert(key, Arc::downgrade(&table));
        Ok(table)
    }

    fn unknown_game(&self, game: &str) -> Error {
        Error::GameUnknown { game: game.to_owned(), known: self.registry.known() }
    }
}

fn setup(game: &'static str, error: SetupError) -> Error {
    match error {
        SetupError::Seats { given, min, max, .. } => Error::SeatsOutOfRange { game, given, min, max },
        SetupError::UnknownOption { name, known, .. } => Error::OptionUnknown { game, option: name, known },
        SetupError::OptionValue { name, value, expected } => {
            Error::OptionValueInvalid { option: name, value, expected }
        }
        SetupError::Catalogue(error) => Error::Internal { place: game.to_owned(), what: error.to_string() },
    }
}
