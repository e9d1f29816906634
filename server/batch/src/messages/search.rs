//! Converts searches, their requests and their results to and from messages.

use boardwire_api::{Error, v1};
use boardwire_bots::{Bot, Pick, Rollout, UnknownBot};
use bytes::Bytes;

use super::{enum_or_default, options, to_u32};
use crate::search::{Search, SearchOptions, WorldActions};
use crate::tables::Tables;

/// The policies of a rollout, as text for an error message.
const ROLLOUT_POLICIES: &str = "estimate, random, policy:NAME, policy:NAME:argmax";

/// Returns the settings of a new search for this many `seats`. `seed` makes a seed for a request without one.
///
/// # Errors
/// The reward is unknown.
pub fn search_options(
    request: &v1::CreateSearchRequest,
    seats: usize,
    seed: impl FnOnce() -> u64,
    message_bytes: usize,
) -> Result<SearchOptions, Error> {
    let worlds = request.worlds.max(1) as usize;
    Ok(SearchOptions {
        worlds,
        places: if request.places == 0 { worlds.saturating_mul(seats) } else { request.places as usize },
        seed: request.seed.unwrap_or_else(seed),
        reward: enum_or_default("reward", request.reward)?,
        skip_forced: request.skip_forced,
        message_bytes,
    })
}

/// Returns the decisions of a request, with their determinizations.
///
/// # Errors
/// The last row of a column is incomplete.
pub fn world_actions(request: &v1::AdvanceRequest) -> Result<WorldActions, Error> {
    let (worlds, into) =
        (decode_u32_column("worlds", &request.worlds)?, decode_u32_column("into", &request.into)?);
    Ok(WorldActions { worlds, actions: request.actions.clone(), into })
}

/// Returns the worlds to sample from, and the places for the samples.
///
/// # Errors
/// The last row of a column is incomplete.
pub fn redeterminized(request: &v1::RedeterminizeRequest) -> Result<(Vec<u32>, Vec<u32>), Error> {
    Ok((decode_u32_column("worlds", &request.worlds)?, decode_u32_column("into", &request.into)?))
}

/// Returns the worlds of `search` to play out, the number of playouts of each world, and how to play.
///
/// # Errors
/// The last row of a column is incomplete, the policy is unknown, or `plies` is given and the leaves have no value.
pub fn playouts(
    tables: &Tables,
    search: &Search,
    request: &v1::RolloutRequest,
) -> Result<(Vec<u32>, usize, Rollout), Error> {
    let worlds = decode_u32_column("worlds", &request.worlds)?;
    let rollout = rollout(tables, search, request)?;
    Ok((worlds, request.playouts.max(1) as usize, rollout))
}

fn rollout(tables: &Tables, search: &Search, request: &v1::RolloutRequest) -> Result<Rollout, Error> {
    let plies = request.plies;
    let no_values = |expected: &str| Error::field("plies", plies.unwrap_or_default(), expected.to_owned());
    let rollout = match request.policy.as_str() {
        "" | "estimate" => Rollout::Estimate,
        "random" => Rollout::Random,
        name => match tables.bot(search.table(), name) {
            Ok(Bot::Policy(player)) if !matches!(player.pick, Pick::Searched { .. }) => {
                Rollout::Policy { player, plies }
            }
            Err(UnknownBot { expected, .. }) if name.starts_with("policy:") => {
                return Err(Error::field("policy", name, format!("estimate, random, {expected}")));
            }
            Ok(_) | Err(_) => return Err(Error::field("policy", name, ROLLOUT_POLICIES)),
        },
    };
    match &rollout {
        _ if plies.is_none() => Ok(rollout),
        Rollout::Policy { player, .. } if !player.policy.has_values() => Err(no_values(
            "absent: the file of this policy does not state the unit of its values (metadata boardwire.value)",
        )),
        Rollout::Policy { .. } if search.options().reward != v1::RewardKind::Margin => {
            Err(no_values("absent, or a search with reward margin: the values of a policy are margins"))
        }
        Rollout::Policy { .. } => Ok(rollout),
        Rollout::Estimate | Rollout::Random => {
            Err(no_values("absent, or a policy that values the leaves, policy:NAME"))
        }
    }
}

/// Converts mean rewards to a column.
#[must_use]
pub fn rewards(means: &[f32]) -> Bytes {
    means.iter().flat_map(|mean| mean.to_le_bytes()).collect()
}

/// Returns the description of a search.
#[must_use]
pub fn search(search: &Search) -> v1::Search {
    let (search_options, info) = (search.options(), search.table().game.info());
    v1::Search {
        id: search.id().to_owned(),
        game: info.id.to_owned(),
        options: options(info),
        seats: info.seats.into(),
        worlds: to_u32(search.sampled_worlds()),
        places: to_u32(search_options.places),
        seed: search_options.seed,
        reward: search_options.reward.into(),
        skip_forced: search_options.skip_forced,
        view_bytes: to_u32(info.layout.bytes()),
        mask_bytes: to_u32(info.actions.mask_bytes()),
        spec_digest: search.table().digest.to_string(),
    }
}

/// Decodes a column of little-endian `uint32`.
fn decode_u32_column(field: &'static str, bytes: &[u8]) -> Result<Vec<u32>, Error> {
    let (numbers, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(Error::field(field, format!("{} bytes", bytes.len()), "four bytes for each row"));
    }
    Ok(numbers.iter().map(|&number| u32::from_le_bytes(number)).collect())
}
