//! From the rows in `lib.rs` to the games that are served, each with its catalogue.

use std::sync::Arc;

use boardwire_kernel::{Estimate, GameType, Loaded};

use crate::Registry;

/// Generic code that wants the typed game behind an id.
pub trait Visitor {
    /// What comes of the visit.
    type Output;

    /// Is called with the game's type and its catalogue.
    fn visit<G: Estimate>(self, catalogue: &Arc<Loaded<G::Catalogue>>) -> Self::Output;
}

/// Reads the type of the game it visits.
struct ReadType;

impl Visitor for ReadType {
    type Output = GameType;

    fn visit<G: Estimate>(self, _: &Arc<Loaded<G::Catalogue>>) -> GameType {
        G::TYPE
    }
}

impl Registry {
    /// What is known of every game served, in the order of the rows.
    #[must_use]
    pub fn game_types(&self) -> Vec<GameType> {
        Self::IDS.iter().filter_map(|id| self.game_type(id)).collect()
    }

    /// What is known of one game.
    #[must_use]
    pub fn game_type(&self, id: &str) -> Option<GameType> {
        self.visit(id, ReadType)
    }
}

/// Makes the [`Registry`] of the rows `module: Type`.
macro_rules! games {
    ($($module:ident: $game:ident),* $(,)?) => {
        /// The games served, each with the catalogue it is played with.
        #[derive(Debug, Clone)]
        pub struct Registry {
            $($module: ::std::sync::Arc<::boardwire_kernel::Loaded<
                <$module::$game as ::boardwire_kernel::Game>::Catalogue,
            >>,)*
        }

        impl Registry {
            /// The ids of the games, in the order of the rows.
            pub const IDS: &'static [&'static str] =
                &[$(<$module::$game as ::boardwire_kernel::Game>::TYPE.id),*];

            /// Reads every catalogue: the text `replaced(id)` gives, or else the one compiled in.
            ///
            /// # Errors
            /// The game's id and what is wrong with its catalogue.
            pub fn load(
                replaced: impl Fn(&str) -> Option<String>,
            ) -> Result<Self, (&'static str, ::boardwire_kernel::CatalogueError)> {
                Ok(Self {
                    $($module: {
                        let game_type = <$module::$game as ::boardwire_kernel::Game>::TYPE;
                        let text = replaced(game_type.id);
                        let text = text.as_deref().unwrap_or(game_type.catalogue);
                        let loaded = ::boardwire_kernel::Loaded::read::<$module::$game>(text);
                        ::std::sync::Arc::new(loaded.map_err(|error| (game_type.id, error))?)
                    },)*
                })
            }

            /// Hands the typed game `id` to `visitor`; none for an unknown id.
            pub fn visit<V: $crate::Visitor>(&self, id: &str, visitor: V) -> Option<V::Output> {
                $(if id == <$module::$game as ::boardwire_kernel::Game>::TYPE.id {
                    return Some(visitor.visit::<$module::$game>(&self.$module));
                })*
                None
            }
        }
    };
}

pub(crate) use games;
