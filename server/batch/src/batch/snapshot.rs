//! Environments as bytes that only a server with the same key accepts.

use boardwire_kernel::{Digest, MAX_SEATS};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::release::Release;

/// Release and authentication code, before the rest.
const HEAD: usize = 34;

/// The key that snapshots are authenticated with.
#[derive(Clone)]
pub struct SnapshotKey([u8; 32]);

impl SnapshotKey {
    /// The key that follows from a secret.
    #[must_use]
    pub fn derive(secret: &[u8]) -> Self {
        Self(blake3::derive_key("boardwire.v1 2026 batch snapshots", secret))
    }
}

/// One environment as a value.
#[derive(Debug, BorshSerialize, BorshDeserialize)]
pub struct Saved {
    /// Who played at its seats.
    pub(super) players: Vec<String>,
    pub(super) seed: u64,
    pub(super) stream: u64,
    pub(super) index: u32,
    pub(super) fresh: bool,
    pub(super) forfeited: Option<u8>,
    pub(super) rng: Vec<u64>,
    pub(super) substitutes: [u64; MAX_SEATS],
    pub(super) episode: Vec<u8>,
}

/// Writes environments of a batch of this `kind`: release, authentication code, kind, environments.
///
/// # Errors
/// How many environments fit, when all together take more than `limit` bytes; no more than one beyond has been saved then.
pub(super) fn seal(
    key: &SnapshotKey,
    kind: &Digest,
    saved: impl ExactSizeIterator<Item = Saved>,
    limit: usize,
) -> Result<Vec<u8>, usize> {
    let (mut bytes, count) = (vec![0; HEAD], saved.len());
    let number = u32::try_from(count).expect("a batch has few environments");
    borsh::to_writer(&mut bytes, &(kind, number)).expect("writing to memory does not fail");
    // One at a time: all of them as values would take as much memory again.
    for (at, one) in saved.enumerate() {
        let one = borsh::to_vec(&one).expect("writing to memory does not fail");
        let left = limit.saturating_sub(bytes.len());
        if one.len() > left {
            return Err(at);
        }
        if one.len() > bytes.capacity() - bytes.len() {
            // All take about the same: a buffer that doubles would take twice that.
            bytes.reserve_exact(((one.len() + 64) * (count - at)).min(left));
        }
        bytes.extend_from_slice(&one);
    }
    let code = blake3::keyed_hash(&key.0, &bytes[HEAD..]);
    bytes[..2].copy_from_slice(&Release::OWN.number().to_be_bytes());
    bytes[2..HEAD].copy_from_slice(code.as_bytes());
    Ok(bytes)
}

/// Reads what [`seal`] has written with the same key for a batch of the same kind.
pub(super) fn unseal(key: &SnapshotKey, kind: &Digest, bytes: &[u8]) -> Result<Vec<Saved>, String> {
    let Some((&[major, minor, ref code @ ..], body)) = bytes.split_first_chunk::<HEAD>() else {
        return Err(format!("{} bytes are too few", bytes.len()));
    };
    Release::of(u16::from_be_bytes([major, minor])).check()?;
    // The comparison of hashes takes the same time wherever they differ.
    if blake3::keyed_hash(&key.0, body) != *code {
        return Err("it was altered, or saved by a server with another key".to_owned());
    }
    let (own, saved): (Digest, Vec<Saved>) =
        BorshDeserialize::try_from_slice(body).map_err(|error| error.to_string())?;
    if own != *kind {
        return Err("it is of another table or skip_forced".to_owned());
    }
    Ok(saved)
}
