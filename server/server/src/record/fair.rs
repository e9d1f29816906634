//! Fair deals: the commitments of all parties, and the key derived from their secrets.

use boardwire_api::v1;
use boardwire_kernel::{Key, Seat, SeatSet};
use ring::digest::{Context, SHA256, digest};

use super::verify::{Mismatch, is_agent};

/// The maximum number of episodes of a match with fair deals.
pub(crate) const EPISODES: u32 = 1_024;
/// The first bytes that are hashed into an episode's key (domain separation).
const PURPOSE: &[u8] = b"boardwire fair deal";

/// A party's secret for deals.
pub(crate) type DealSecret = [u8; 32];
/// The commitment to a party's secret: its SHA-256.
pub(crate) type DealCommitment = [u8; 32];

/// Returns the commitment to a secret.
pub(crate) fn commitment_to(secret: &DealSecret) -> DealCommitment {
    digest(&SHA256, secret).as_ref().try_into().expect("SHA-256 has 32 bytes")
}

/// Hashes a secret `times` times.
pub(crate) fn hashed(secret: DealSecret, times: u32) -> [u8; 32] {
    (0..times).fold(secret, |hash, _| commitment_to(&hash))
}

/// Returns the key of an episode, derived from the secrets of the server and of the agents, ordered by seat.
pub(crate) fn key(
    match_id: &str,
    episode: u32,
    server_secret: &DealSecret,
    agents: &[(Seat, DealSecret)],
) -> Key {
    let mut hasher = Context::new(&SHA256);
    for bytes in [PURPOSE, match_id.as_bytes(), &episode.to_le_bytes(), server_secret] {
        hasher.update(bytes);
    }
    for (seat, secret) in agents {
        hasher.update(&[seat.number()]);
        hasher.update(secret);
    }
    Key::from(<[u8; 32]>::try_from(hasher.finish().as_ref()).expect("SHA-256 has 32 bytes"))
}

fn unfair(problem: &str) -> Mismatch {
    Mismatch(format!("fair deal not proved: {problem}"))
}

/// Returns the secrets of the agents. Checks each against its commitment.
fn agents(players: &[v1::Player], deal: &v1::FairDeal) -> Result<Vec<(Seat, DealSecret)>, Mismatch> {
    let agents = (0..).map(Seat::new).zip(players).filter(|(_, player)| is_agent(player));
    let secret = |(seat, _): (Seat, _)| {
        let at = |list: &[bytes::Bytes]| <[u8; 32]>::try_from(&list.get(seat.index())?[..]).ok();
        let commitment = at(&deal.seat_commitments);
        let secret = at(&deal.seat_secrets).filter(|secret| commitment == Some(commitment_to(secret)));
        let wrong = || unfair(&format!("the secret of seat {} does not match its commitment", seat.number()));
        secret.map(|secret| (seat, secret)).ok_or_else(wrong)
    };
    agents.map(secret).collect()
}

/// Checks that all parties contributed to a deal and that no party could choose it. Returns the seats that contributed.
pub(super) fn check(
    players: &[v1::Player],
    replay: &v1::Replay,
    deal: &v1::FairDeal,
    expected: &Key,
) -> Result<SeatSet, Mismatch> {
    let agents = agents(players, deal)?;
    let opening = replay.seed_opening.as_ref();
    let server = opening.and_then(|opening| DealSecret::try_from(&opening.server_secret[..]).ok());
    let server = server.ok_or_else(|| unfair("the server's secret is missing"))?;
    if replay.episode >= EPISODES || hashed(server, replay.episode + 1)[..] != deal.server_commitment {
        return Err(unfair("the server's secret does not match its commitment"));
    }
    if key(&replay.match_id, replay.episode, &server, &agents) != *expected {
        return Err(unfair("the key does not follow from the secrets of all parties"));
    }
    Ok(agents.into_iter().map(|(seat, _)| seat).collect())
}
