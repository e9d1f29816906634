//! Snapshots: environments as bytes that only a server with the same key accepts.

use boardwire_kernel::{Digest, MAX_SEATS};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::release::Release;

/// The size of the header in bytes: the release and the authentication code.
const HEADER_BYTES: usize = 34;

/// The key that authenticates snapshots.
#[derive(Clone)]
pub struct SnapshotKey([u8; 32]);

impl SnapshotKey {
    /// Derives the key from a secret.
    #[must_use]
    pub fn derive(secret: &[u8]) -> Self {
        Self(blake3::derive_key("boardwire.v1 2026 batch snapshots", secret))
    }
}

/// A saved environment.
#[derive(Debug, BorshSerialize, BorshDeserialize)]
pub struct SavedEnvironment {
    /// The names of its players, by seat.
    pub(super) players: Vec<String>,
    pub(super) seed: u64,
    pub(super) stream: u64,
    pub(super) episode_index: u32,
    pub(super) is_untouched: bool,
    pub(super) forfeited: Option<u8>,
    pub(super) rng: Vec<u64>,
    pub(super) substitute_words_used: [u64; MAX_SEATS],
    pub(super) episode: Vec<u8>,
}

/// Writes a snapshot: release, authentication code, kind, environments.
///
/// # Errors
/// The number of environments that fit, if all together take more than `limit` bytes. Then at most one more has been saved.
pub(super) fn seal(
    key: &SnapshotKey,
    snapshot_kind: &Digest,
    saved: impl ExactSizeIterator<Item = SavedEnvironment>,
    limit: usize,
) -> Result<Vec<u8>, usize> {
    let (mut bytes, count) = (vec![0; HEADER_BYTES], saved.len());
    let number = u32::try_from(count).expect("a batch has few environments");
    borsh::to_writer(&mut bytes, &(snapshot_kind, number)).expect("writing to memory does not fail");
    // One at a time: holding all values would take as much memory again.
    for (index, environment) in saved.enumerate() {
        let environment = borsh::to_vec(&environment).expect("writing to memory does not fail");
        let remaining = limit.saturating_sub(bytes.len());
        if environment.len() > remaining {
            return Err(index);
        }
        if environment.len() > bytes.capacity() - bytes.len() {
            // All environments have about the same size. Doubling the capacity would reserve up to twice as much.
            bytes.reserve_exact(((environment.len() + 64) * (count - index)).min(remaining));
        }
        bytes.extend_from_slice(&environment);
    }
    let code = blake3::keyed_hash(&key.0, &bytes[HEADER_BYTES..]);
    bytes[..2].copy_from_slice(&Release::OWN.number().to_be_bytes());
    bytes[2..HEADER_BYTES].copy_from_slice(code.as_bytes());
    Ok(bytes)
}

/// Reads a snapshot that [`seal`] has written with the same key and kind.
pub(super) fn unseal(
    key: &SnapshotKey,
    snapshot_kind: &Digest,
    bytes: &[u8],
) -> Result<Vec<SavedEnvironment>, String> {
    let Some((&[major, minor, ref code @ ..], body)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
        return Err(format!("{} bytes are too few", bytes.len()));
    };
    Release::of(u16::from_be_bytes([major, minor])).check()?;
    // Hashes compare in constant time.
    if blake3::keyed_hash(&key.0, body) != *code {
        return Err("it was altered, or saved by a server with another key".to_owned());
    }
    let (sealed_kind, saved): (Digest, Vec<SavedEnvironment>) =
        BorshDeserialize::try_from_slice(body).map_err(|error| error.to_string())?;
    if sealed_kind != *snapshot_kind {
        return Err("it was saved at another table or with another skip_forced".to_owned());
    }
    Ok(saved)
}
