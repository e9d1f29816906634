//! Searches and what their worlds show as messages.

use boardwire_api::{Error, v1};
use boardwire_bots::Rollout;
use bytes::Bytes;

use super::{count, known, options};
use crate::search::{Moves, Opening, Search};

/// What a search is begun with for so many `seats`; `seed` is for requests without one.
///
/// # Errors
/// There is no such reward.
pub fn search_opening(
    asked: &v1::CreateSearchRequest,
    seats: usize,
    seed: impl FnOnce() -> u64,
    message_bytes: usize,
) -> Result<Opening, Error> {
    let worlds = asked.worlds.max(1) as usize;
    Ok(Opening {
        worlds,
        places: if asked.places == 0 { worlds.saturating_mul(seats) } else { asked.places as usize },
        seed: asked.seed.unwrap_or_else(seed),
        reward: known("reward", asked.reward)?,
        skip_forced: asked.skip_forced,
        message_bytes,
    })
}

/// Which decisions are made in which worlds.
///
/// # Errors
/// Columns that are cut off.
pub fn moves(asked: &v1::AdvanceRequest) -> Result<Moves, Error> {
    let (worlds, into) = (numbers("worlds", &asked.worlds)?, numbers("into", &asked.into)?);
    Ok(Moves { worlds, actions: asked.actions.clone(), into })
}

/// Which worlds are played to their end, how often each, and how.
///
/// # Errors
/// A column that is cut off; no such way.
pub fn playouts(asked: &v1::RolloutRequest) -> Result<(Vec<u32>, usize, Rollout), Error> {
    let worlds = numbers("worlds", &asked.worlds)?;
    let rollout = match known("policy", asked.policy)? {
        v1::RolloutPolicy::Unspecified | v1::RolloutPolicy::Estimate => Rollout::Estimate,
        v1::RolloutPolicy::Random => Rollout::Random,
    };
    Ok((worlds, asked.playouts.max(1) as usize, rollout))
}

/// Mean rewards as a column.
#[must_use]
pub fn rewards(means: &[f32]) -> Bytes {
    means.iter().flat_map(|mean| mean.to_le_bytes()).collect()
}

/// What is told of a search.
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

/// A column of `uint32`.
fn numbers(field: &'static str, bytes: &[u8]) -> Result<Vec<u32>, Error> {
    let (numbers, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(Error::field(field, format!("{} bytes", bytes.len()), "four bytes for each row"));
    }
    Ok(numbers.iter().map(|&number| u32::from_le_bytes(number)).collect())
}
