//! Converts searches, their requests and their results to and from messages.

use boardwire_api::{Error, v1};
use boardwire_bots::Rollout;
use bytes::Bytes;

use super::{count, known, options};
use crate::search::{Moves, Opening, Search};

/// Returns the settings of a new search for this many `seats`. `seed` makes a seed for a request without one.
///
/// # Errors
/// The reward is unknown.
pub fn search_opening(
    request: &v1::CreateSearchRequest,
    seats: usize,
    seed: impl FnOnce() -> u64,
    message_bytes: usize,
) -> Result<Opening, Error> {
    let worlds = request.worlds.max(1) as usize;
    Ok(Opening {
        worlds,
        places: if request.places == 0 { worlds.saturating_mul(seats) } else { request.places as usize },
        seed: request.seed.unwrap_or_else(seed),
        reward: known("reward", request.reward)?,
        skip_forced: request.skip_forced,
        message_bytes,
    })
}

/// Returns the decisions of a request, with their determinizations (worlds).
///
/// # Errors
/// The last row of a column is incomplete.
pub fn moves(request: &v1::AdvanceRequest) -> Result<Moves, Error> {
    let (worlds, into) = (numbers("worlds", &request.worlds)?, numbers("into", &request.into)?);
    Ok(Moves { worlds, actions: request.actions.clone(), into })
}

/// Returns the worlds to play out, the number of playouts of each world, and the rollout policy.
///
/// # Errors
/// The last row of a column is incomplete, or the policy is unknown.
pub fn playouts(request: &v1::RolloutRequest) -> Result<(Vec<u32>, usize, Rollout), Error> {
    let worlds = numbers("worlds", &request.worlds)?;
    let rollout = match known("policy", request.policy)? {
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
    let (opening, info) = (search.opening(), search.table().rules.info());
    v1::Search {
        id: search.id().to_owned(),
        game: info.id.to_owned(),
        options: options(info),
        seats: info.seats.into(),
        worlds: count(search.drawn()),
        places: count(opening.places),
        seed: opening.seed,
        reward: opening.reward.into(),
        skip_forced: opening.skip_forced,
        view_bytes: count(info.layout.bytes()),
        mask_bytes: count(info.actions.mask_bytes()),
        spec_digest: search.table().digest.to_string(),
    }
}

/// Returns the numbers of a column of little-endian `uint32`.
fn numbers(field: &'static str, bytes: &[u8]) -> Result<Vec<u32>, Error> {
    let (numbers, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(Error::field(field, format!("{} bytes", bytes.len()), "four bytes for each row"));
    }
    Ok(numbers.iter().map(|&number| u32::from_le_bytes(number)).collect())
}
