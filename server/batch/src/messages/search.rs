//! Converts searches, their requests and their results to and from messages.

use boardwire_api::{Error, v1};
use boardwire_bots::Rollout;
use bytes::Bytes;

use super::{enum_or_default, options, to_u32};
use crate::search::{Search, SearchOptions, WorldActions};

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

/// Returns the worlds to play out, the number of playouts of each world, and the rollout policy.
///
/// # Errors
/// The last row of a column is incomplete, or the policy is unknown.
pub fn playouts(request: &v1::RolloutRequest) -> Result<(Vec<u32>, usize, Rollout), Error> {
    let worlds = decode_u32_column("worlds", &request.worlds)?;
    let rollout = match enum_or_default("policy", request.policy)? {
        v1::RolloutPolicy::Unspecified | v1::RolloutPolicy::Estimate => Rollout::Estimate,
        v1::RolloutPolicy::Random => Rollout::Random,
    };
    Ok((worlds, request.playouts.max(1) as usize, rollout))
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
