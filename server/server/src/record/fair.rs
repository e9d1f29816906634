//! What all parties contribute to a fair deal: how each is bound to it, and what follows from it.

use boardwire_api::v1;
use boardwire_kernel::{Key, Seat, SeatSet};
use ring::digest::{Context, SHA256, digest};

use super::verify::{Mismatch, is_agent, players, seat};

/// How many episodes a match with fair deals can have.
pub(crate) const EPISODES: u32 = 1_024;
/// What the bytes begin with that an episode's key is the hash of.
const PURPOSE: &[u8] = b"boardwire fair deal";

/// What is contributed to deals, or bound to it.
pub(crate) type Contribution = [u8; 32];

/// What binds to `part`.
pub(crate) fn commitment_to(part: &Contribution) -> Contribution {
    digest(&SHA256, part).as_ref().try_into().expect("SHA-256 has 32 bytes")
}

/// The hash of the hash and so on, so many times.
pub(crate) fn hashed(part: Contribution, times: u32) -> Contribution {
    (0..times).fold(part, |part, _| commitment_to(&part))
}

/// Whether the server, bound so, contributes this to an episode.
pub(crate) fn is_bound(bound: &Contribution, part: &Contribution, episode: u32) -> bool {
    episode < EPISODES && hashed(*part, episode + 1) == *bound
}

/// The key of an episode that agents at some seats, ascending, and the server have contributed to.
pub(crate) fn key(
    match_id: &str,
    episode: u32,
    server: &Contribution,
    agents: &[(Seat, Contribution)],
) -> Key {
    let mut hasher = Context::new(&SHA256);
    for bytes in [PURPOSE, match_id.as_bytes(), &episode.to_le_bytes(), server] {
        hasher.update(bytes);
    }
    for (seat, part) in agents {
        hasher.update(&[seat.number()]);
        hasher.update(part);
    }
    Key::from(Contribution::try_from(hasher.finish().as_ref()).expect("SHA-256 has 32 bytes"))
}

/// What agents have contributed to a deal, each as it was bound.
fn agents(shown: &v1::Replay, deal: &v1::FairDeal) -> Result<Vec<(Seat, Contribution)>, Mismatch> {
    let unfair = |what: String| Mismatch(format!("the deal is not fair: {what}"));
    let mut agents = Vec::new();
    for (number, player) in (0..).zip(players(shown)) {
        if !is_agent(player) {
            continue;
        }
        let at = |parts: &[bytes::Bytes]| {
            parts.get(number as usize).and_then(|part| Contribution::try_from(&part[..]).ok())
        };
        let bound = at(&deal.seat_commitments);
        let part = at(&deal.seat_secrets).filter(|part| bound == Some(commitment_to(part)));
        let part =
            part.ok_or_else(|| unfair(format!("seat {number} was not bound to what it has opened")))?;
        agents.push((seat(number, shown)?, part));
    }
    Ok(agents)
}

/// Looks whether everybody had a hand in a deal, and nobody could choose it; gives the seats that had.
pub(crate) fn check(shown: &v1::Replay, deal: &v1::FairDeal, own: &Key) -> Result<SeatSet, Mismatch> {
    let unfair = |what: &str| Mismatch(format!("the deal is not fair: {what}"));
    let agents = agents(shown, deal)?;
    let server = shown
        .seed_opening
        .as_ref()
        .and_then(|opening| Contribution::try_from(&opening.server_secret[..]).ok());
    let server = server.ok_or_else(|| unfair("what the server has contributed is not shown"))?;
    let bound = Contribution::try_from(&deal.server_commitment[..])
        .map_err(|_| unfair("the server was not bound"))?;
    if !is_bound(&bound, &server, shown.episode) {
        return Err(unfair("the server was not bound to what it has contributed"));
    }
    if key(&shown.match_id, shown.episode, &server, &agents) != *own {
        return Err(unfair("the key does not follow from what everybody has contributed"));
    }
    Ok(agents.into_iter().map(|(seat, _)| seat).collect())
}
