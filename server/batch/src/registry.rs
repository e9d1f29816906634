//! The registry of games. Any type that implements `Game` and `Estimate` can be added.

use std::sync::Arc;

use boardwire_kernel::{
    CatalogueError, Components, Digest, Estimate, GameType, LoadedCatalogue, Options, Provenance, SetupError,
    check_limits, set_up,
};

use crate::play::AnyGame;

/// A list of games, each with its catalogue.
///
/// ```
/// use boardwire_batch::registry::Registry;
///
/// let registry = Registry::standard();
/// assert!(registry.ids().eq(["faraway", "rauha", "golden_compass"]));
/// ```
#[derive(Clone, Default)]
pub struct Registry(Vec<Arc<dyn Entry>>);

/// The facts of a game that do not depend on its seats and options.
#[derive(Debug)]
pub struct GameFacts {
    /// The game type.
    pub game_type: GameType,
    /// The digest of its catalogue.
    pub catalogue: Digest,
    /// The sources of the catalogue's values.
    pub provenance: Vec<Provenance>,
}

/// A game with its catalogue, behind one interface for all games.
pub(crate) trait Entry: Send + Sync {
    fn game_facts(&self) -> GameFacts;
    fn game_type(&self) -> GameType;
    fn set_up(&self, seats: u32, options: &Options) -> Result<Arc<dyn AnyGame>, SetupError>;
    fn with_catalogue(&self, json: &str) -> Result<Arc<dyn Entry>, CatalogueError>;
}

struct Game<G: Estimate>(Arc<LoadedCatalogue<G::Catalogue>>);

impl<G: Estimate> Game<G> {
    fn read(json: &str) -> Result<Arc<dyn Entry>, CatalogueError> {
        Ok(Arc::new(Self(Arc::new(LoadedCatalogue::read(json)?))))
    }
}

impl<G: Estimate> Entry for Game<G> {
    fn game_facts(&self) -> GameFacts {
        let provenance = self.0.components.provenance();
        GameFacts { game_type: G::TYPE, catalogue: self.0.digest, provenance }
    }

    fn game_type(&self) -> GameType {
        G::TYPE
    }

    fn set_up(&self, seats: u32, options: &Options) -> Result<Arc<dyn AnyGame>, SetupError> {
        let options = options.all().iter().map(|(name, value)| (*name, value.as_str()));
        Ok(Arc::new(set_up::<G>(Arc::clone(&self.0), seats, options)?))
    }

    fn with_catalogue(&self, json: &str) -> Result<Arc<dyn Entry>, CatalogueError> {
        Self::read(json)
    }
}

impl Registry {
    /// Returns Boardwire's games, with the built-in catalogues.
    #[must_use]
    pub fn standard() -> Self {
        let add = |registry, id: &&str| boardwire_games::visit(id, registry).expect("a game of the list");
        boardwire_games::IDS.iter().fold(Self::default(), add)
    }

    /// Adds a game with its built-in catalogue.
    ///
    /// A game beyond the limits of the kernel does not compile: [`check_limits`].
    ///
    /// # Panics
    /// Another game has this id, or the catalogue is not valid: a bug in the program.
    #[must_use]
    pub fn with<G: Estimate>(mut self) -> Self {
        const { check_limits::<G>() };
        let id = G::TYPE.id;
        assert!(self.game_type(id).is_none(), "there are two games `{id}`");
        let read = Game::<G>::read(G::TYPE.catalogue);
        self.0.push(read.unwrap_or_else(|error| panic!("the catalogue of {id} is not valid: {error}")));
        self
    }

    /// Replaces the catalogue of the game `id`; returns false for an unknown game. Existing tables keep their catalogue.
    ///
    /// # Errors
    /// The catalogue is not valid. Then nothing changes.
    pub fn replace_catalogue(&mut self, id: &str, json: &str) -> Result<bool, CatalogueError> {
        let Some(entry) = self.0.iter_mut().find(|entry| entry.game_type().id == id) else {
            return Ok(false);
        };
        *entry = entry.with_catalogue(json)?;
        Ok(true)
    }

    /// Returns the ids of the games, in order.
    pub fn ids(&self) -> impl Iterator<Item = &'static str> {
        self.game_types().map(|game_type| game_type.id)
    }

    /// Returns the types of the games, in order.
    pub fn game_types(&self) -> impl Iterator<Item = GameType> {
        self.0.iter().map(|entry| entry.game_type())
    }

    /// Returns the type of the game `id`. `None` if the game is unknown.
    #[must_use]
    pub fn game_type(&self, id: &str) -> Option<GameType> {
        self.game_types().find(|game_type| game_type.id == id)
    }

    /// Returns the ids of all games as text, for error messages.
    #[must_use]
    pub fn ids_text(&self) -> String {
        self.ids().collect::<Vec<_>>().join(", ")
    }

    /// Returns the type and catalogue of the game `id`. `None` if the game is unknown.
    #[must_use]
    pub fn game_facts(&self, id: &str) -> Option<GameFacts> {
        self.entry(id).map(Entry::game_facts)
    }

    pub(crate) fn entry(&self, id: &str) -> Option<&dyn Entry> {
        self.0.iter().map(|entry| &**entry).find(|entry| entry.game_type().id == id)
    }
}

impl boardwire_games::Visitor for Registry {
    type Output = Self;

    fn visit<G: Estimate>(self) -> Self {
        self.with::<G>()
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.ids()).finish()
    }
}
