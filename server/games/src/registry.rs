//! From the rows in `lib.rs` to the games that are served, each with its catalogue.

use std::sync::Arc;

use boardwire_kernel::{Loaded, Title};

use crate::{Recorded, Registry};

/// Generic code that wants the typed game behind an id.
pub trait Visitor {
    /// What comes of the visit.
    type Output;

    /// Is called with the game's type and its catalogue.
    fn visit<G: Recorded>(self, catalogue: &Arc<Loaded<G::Catalogue>>) -> Self::Output;
}

/// Reads the title of the game it visits.
struct ReadTitle;

impl Visitor for ReadTitle {
    type Output = Title;

    fn visit<G: Recorded>(self, _: &Arc<Loaded<G::Catalogue>>) -> Title {
        G::TITLE
    }
}

impl Registry {
    /// The title of every game served, in the order of the rows.
    #[must_use]
    pub fn titles(&self) -> Vec<Title> {
        Self::IDS.iter().filter_map(|id| self.title(id)).collect()
    }

    /// The title of one game.
    #[must_use]
    pub fn title(&self, id: &str) -> Option<Title> {
        self.visit(id, ReadTitle)
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
                &[$(<$module::$game as ::boardwire_kernel::Game>::TITLE.id),*];

            /// Reads every catalogue: the text `replaced(id)` gives, or else the one compiled in.
            ///
            /// # Errors
            /// The game's id and what is wrong with its catalogue.
            pub fn load(
                replaced: impl Fn(&str) -> Option<String>,
            ) -> Result<Self, (&'static str, ::boardwire_kernel::CatalogueError)> {
                Ok(Self {
                    $($module: {
                        let title = <$module::$game as ::boardwire_kernel::Game>::TITLE;
                        let text = replaced(title.id);
                        let text = text.as_deref().unwrap_or(title.catalogue);
                        let loaded = ::boardwire_kernel::Loaded::read::<$module::$game>(text);
                        ::std::sync::Arc::new(loaded.map_err(|error| (title.id, error))?)
                    },)*
                })
            }

            /// Hands the typed game `id` to `visitor`; none for an unknown id.
            pub fn visit<V: $crate::Visitor>(&self, id: &str, visitor: V) -> Option<V::Output> {
                $(if id == <$module::$game as ::boardwire_kernel::Game>::TITLE.id {
                    return Some(visitor.visit::<$module::$game>(&self.$module));
                })*
                None
            }
        }
    };
}

pub(crate) use games;
