//! The games that are served: a list to which any type can be added that implements `Game` and `Estimate`.

use std::sync::Arc;

use boardwire_kernel::{
    CatalogueError, Components, Digest, Estimate, GameType, Loaded, Options, Provenance, SetupError, set_up,
};

use crate::play::Rules;

/// The games that are served, each with the catalogue it is played with.
///
/// ```
/// use boardwire_batch::registry::Registry;
///
/// let registry = Registry::standard();
/// assert!(registry.ids().eq(["faraway", "rauha", "golden_compass"]));
/// ```
#[derive(Clone, Default)]
pub struct Registry(Vec<Arc<dyn Entry>>);

/// What is known of a game before it is set up.
#[derive(Debug)]
pub struct Served {
    /// The game type.
    pub game_type: GameType,
    /// The digest of its catalogue.
    pub catalogue: Digest,
    /// Where the catalogue's values were read.
    pub provenance: Vec<Provenance>,
}

/// A game with its catalogue, whichever the game.
trait Entry: Send + Sync {
    fn served(&self) -> Served;
    fn game_type(&self) -> GameType;
    fn set_up(&self, seats: u32, options: &Options) -> Result<Arc<dyn Rules>, SetupError>;
    fn with_catalogue(&self, json: &str) -> Result<Arc<dyn Entry>, CatalogueError>;
}

struct Game<G: Estimate>(Arc<Loaded<G::Catalogue>>);

impl<G: Estimate> Game<G> {
    fn read(json: &str) -> Result<Arc<dyn Entry>, CatalogueError> {
        Ok(Arc::new(Self(Arc::new(Loaded::read(json)?))))
    }
}

impl<G: Estimate> Entry for Game<G> {
    fn served(&self) -> Served {
        let provenance = self.0.value.provenance();
        Served { game_type: G::TYPE, catalogue: self.0.digest, provenance }
    }

    fn game_type(&self) -> GameType {
        G::TYPE
    }

    fn set_up(&self, seats: u32, options: &Options) -> Result<Arc<dyn Rules>, SetupError> {
        let options = options.all().iter().map(|(name, value)| (*name, value.as_str()));
        Ok(Arc::new(set_up::<G>(Arc::clone(&self.0), seats, options)?))
    }

    fn with_catalogue(&self, json: &str) -> Result<Arc<dyn Entry>, CatalogueError> {
        Self::read(json)
    }
}

impl Registry {
    /// The games of Boardwire, with the catalogues compiled in.
    #[must_use]
    pub fn standard() -> Self {
        struct Add(Registry);

        impl boardwire_games::Visitor for Add {
            type Output = Registry;

            fn visit<G: Estimate>(self) -> Registry {
                self.0.with::<G>()
            }
        }

        let add =
            |registry, id: &&str| boardwire_games::visit(id, Add(registry)).expect("a game of the list");
        boardwire_games::IDS.iter().fold(Self::default(), add)
    }

    /// The same with one more game, played with the catalogue compiled in.
    ///
    /// # Panics
    /// When there is a game of this id already, or its catalogue is not valid: a mistake in the program.
    #[must_use]
    pub fn with<G: Estimate>(mut self) -> Self {
        let id = G::TYPE.id;
        assert!(self.game_type(id).is_none(), "there are two games `{id}`");
        let read = Game::<G>::read(G::TYPE.catalogue);
        self.0.push(read.unwrap_or_else(|error| panic!("the catalogue of {id} is not valid: {error}")));
        self
    }

    /// Gives the game `id` this catalogue; false for an unknown game. Tables that are set up already keep theirs.
    ///
    /// # Errors
    /// What is wrong with the catalogue; nothing has changed then.
    pub fn replace_catalogue(&mut self, id: &str, json: &str) -> Result<bool, CatalogueError> {
        let Some(entry) = self.0.iter_mut().find(|entry| entry.game_type().id == id) else {
            return Ok(false);
        };
        *entry = entry.with_catalogue(json)?;
        Ok(true)
    }

    /// The ids of the games, in their order.
    pub fn ids(&self) -> impl Iterator<Item = &'static str> {
        self.game_types().map(|game_type| game_type.id)
    }

    /// What is known of every game before it is set up.
    pub fn game_types(&self) -> impl Iterator<Item = GameType> {
        self.0.iter().map(|entry| entry.game_type())
    }

    /// What is known of one game before it is set up.
    #[must_use]
    pub fn game_type(&self, id: &str) -> Option<GameType> {
        self.game_types().find(|game_type| game_type.id == id)
    }

    /// The ids of all games, for messages.
    #[must_use]
    pub fn known(&self) -> String {
        self.ids().collect::<Vec<_>>().join(", ")
    }

    /// What is known of one game and its catalogue.
    #[must_use]
    pub fn served(&self, id: &str) -> Option<Served> {
        self.entry(id).map(Entry::served)
    }

    /// Sets up a table of one game; none if there is no such game.
    ///
    /// # Errors
    /// As [`set_up`].
    pub(crate) fn set_up(
        &self,
        id: &str,
        seats: u32,
        options: &Options,
    ) -> Option<Result<Arc<dyn Rules>, SetupError>> {
        self.entry(id).map(|entry| entry.set_up(seats, options))
    }

    fn entry(&self, id: &str) -> Option<&dyn Entry> {
        self.0.iter().map(|entry| &**entry).find(|entry| entry.game_type().id == id)
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.ids()).finish()
    }
}
