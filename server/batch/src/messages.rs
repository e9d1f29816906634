//! Conversions between messages of `boardwire.v1` and the types of this crate.

mod batch;
mod catalog;
mod player;
mod search;
mod table_facts;

use std::collections::BTreeMap;

use boardwire_api::{Error, v1};
use boardwire_kernel::{ActionSet, GameInfo, Seat};

use crate::play::AnyEpisode;

pub use batch::{actions, batch, environment_config, reset, step};
pub use catalog::{game, get_game, policies, spec};
#[cfg(any(test, feature = "testkit"))]
pub use player::players;
pub use player::{bot, bot_message, bots, parse_player, player, player_message, player_name};
pub use search::{playouts, redeterminized, rewards, search, search_options, world_actions};
pub use table_facts::table_facts;

/// Converts a count to the 32 bits that messages use. No count of this crate comes near the limit.
#[must_use]
pub fn to_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Returns the options of a table by name.
#[must_use]
pub fn options(info: &GameInfo) -> BTreeMap<String, String> {
    info.options.all().iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

/// Returns the legal actions of a seat with their labels and phrases.
#[must_use]
pub fn legal_actions(
    info: &GameInfo,
    episode: &dyn AnyEpisode,
    seat: Seat,
    legal: ActionSet,
) -> Vec<v1::LegalAction> {
    let action = |index: u8| v1::LegalAction {
        index: index.into(),
        label: info.actions.label(index).unwrap_or_default().to_owned(),
        phrase: episode.phrase(seat, index),
    };
    legal.iter().map(action).collect()
}

/// Returns the enum value of a request field; the first value if the field is unspecified.
///
/// # Errors
/// The enum has no such value.
pub fn enum_or_default<E: TryFrom<i32>>(field: &'static str, value: i32) -> Result<E, Error> {
    let name = std::any::type_name::<E>().rsplit("::").next().unwrap_or_default();
    E::try_from(if value == 0 { 1 } else { value })
        .map_err(|_| Error::field(field, value, format!("a value of {name}")))
}

/// Returns the error for a message field that the request must set.
#[must_use]
pub fn missing_field_error(field: &'static str, expected: &str) -> Error {
    Error::field(field, "no value", expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unspecified_value_is_the_first_and_an_unknown_value_is_refused() {
        use boardwire_api::v1::RewardKind;
        assert_eq!(enum_or_default("reward", 0), Ok(RewardKind::Rank));
        assert_eq!(enum_or_default("reward", 4), Ok(RewardKind::Score));
        for wrong in [-1, 5, i32::MIN, i32::MAX] {
            let refused =
                enum_or_default::<RewardKind>("reward", wrong).expect_err("the enum has no such value");
            assert_eq!(refused.to_string(), format!("`reward` must be a value of RewardKind; got `{wrong}`"));
        }
    }
}
