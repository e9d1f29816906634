//! The server's secrets: seeds, salts and tokens, drawn from the operating system.

use boardwire_api::v1;
use boardwire_kernel::{Digest, Key, RngStream};
use serde::{Deserialize, Serialize};

use crate::hex::hex;
use crate::serde_formats;

/// The stream of random numbers under a given seed that yields the seeds of later episodes: `2^34`.
const EPISODE_STREAM: u64 = 4 << 32;

/// Returns random bytes from the operating system.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}

/// Returns a random seed for a batch. The batch's owner learns it.
#[must_use]
pub fn seed() -> u64 {
    u64::from_le_bytes(random())
}

/// Returns 128 random bits as 32 hexadecimal digits: an id or a token that cannot be guessed.
#[must_use]
pub fn random_hex() -> String {
    hex(&random::<16>())
}

/// Returns the digest to look a secret up by. The time of such a lookup reveals nothing about the secret.
pub(crate) fn digest(secret: &str) -> [u8; 32] {
    *blake3::hash(secret.as_bytes()).as_bytes()
}

/// Returns whether two secrets are equal, in a time that does not reveal where they differ.
pub(crate) fn constant_time_eq(given: &str, secret: &str) -> bool {
    blake3::hash(given.as_bytes()) == blake3::hash(secret.as_bytes())
}

/// A secret for a client, and its digest. After a restart the server knows only the digest.
#[derive(Debug, Clone, Default)]
pub(crate) struct Secret {
    /// The secret; empty if it is unknown.
    pub(crate) secret: String,
    pub(crate) digest: [u8; 32],
}

impl Secret {
    /// Creates a random secret.
    pub(crate) fn random() -> Self {
        let secret = random_hex();
        Self { digest: digest(&secret), secret }
    }

    /// Creates a secret of which only the digest is known.
    pub(crate) fn from_digest(digest: [u8; 32]) -> Self {
        Self { secret: String::new(), digest }
    }
}

/// The source of an episode's seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeedSource {
    /// The operating system drew it.
    Drawn,
    /// The host or the agent gave it, or it follows from a given seed.
    Given(u64),
}

/// The source of the seeds of a match's episodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Seeds {
    /// The operating system draws 256 bits for each episode: too many for a search.
    Drawn,
    /// A given seed, and the number of the next episode; see [`episode_seed`].
    Given { seed: u64, next: u32 },
}

/// Returns the seed of an episode of a match with a given `seed`. Episode 0 uses `seed` itself. Episode N uses words `2 N`
/// and `2 N + 1` of stream `2^34` under `seed`.
#[must_use]
pub fn episode_seed(seed: u64, episode: u32) -> u64 {
    if episode == 0 {
        return seed;
    }
    RngStream::resume(seed.into(), EPISODE_STREAM, 2 * u64::from(episode)).next_seed()
}

impl Seeds {
    /// Returns the source of seeds, and the key and seed source of the first episode.
    pub(crate) fn first(given: Option<u64>) -> (Self, Key, SeedSource) {
        match given {
            Some(seed) => (Self::Given { seed, next: 1 }, seed.into(), SeedSource::Given(seed)),
            None => (Self::Drawn, random().into(), SeedSource::Drawn),
        }
    }

    /// Returns the key and the seed source of the next episode.
    pub(crate) fn next(&mut self) -> (Key, SeedSource) {
        match self {
            Self::Drawn => (random().into(), SeedSource::Drawn),
            Self::Given { seed, next } => {
                let derived = episode_seed(*seed, *next);
                *next += 1;
                (derived.into(), SeedSource::Given(derived))
            }
        }
    }
}

impl SeedSource {
    pub(crate) fn to_message(self) -> v1::SeedSource {
        match self {
            Self::Drawn => v1::SeedSource::Drawn,
            Self::Given(_) => v1::SeedSource::Given,
        }
    }
}

/// The key of an episode, and a salt that prevents guessing the key from its commitment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpisodeKey {
    /// The source of the key.
    pub source: SeedSource,
    /// The key.
    #[serde(with = "serde_formats::key")]
    pub key: Key,
    /// The salt.
    #[serde(with = "serde_formats::hex")]
    pub salt: [u8; 16],
}

impl EpisodeKey {
    /// Converts the key to a message, with the server's contribution if the deal was fair.
    pub(crate) fn to_message(self, server_secret: Option<[u8; 32]>) -> v1::SeedOpening {
        v1::SeedOpening {
            seed: if let SeedSource::Given(seed) = self.source { Some(seed) } else { None },
            salt: self.salt.to_vec().into(),
            key: self.key.as_bytes().to_vec().into(),
            server_secret: server_secret.map(|secret| secret.to_vec().into()).unwrap_or_default(),
        }
    }

    /// Returns a placeholder for an episode that is not dealt yet.
    pub(crate) fn placeholder() -> Self {
        Self { source: SeedSource::Drawn, key: [0; 32].into(), salt: [0; 16] }
    }

    /// Creates an episode key with a random salt.
    pub(crate) fn new(key: Key, source: SeedSource) -> Self {
        Self { source, key, salt: random() }
    }

    /// Returns the commitment to the key: BLAKE3 of the match's id, the episode (4 bytes, little-endian), the spec digest,
    /// the key and the salt.
    pub(crate) fn commitment(&self, match_id: &str, episode: u32, spec: &Digest) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(match_id.as_bytes()).update(&episode.to_le_bytes()).update(spec.as_bytes());
        hasher.update(self.key.as_bytes()).update(&self.salt);
        *hasher.finalize().as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_after_a_given_one_follow_from_it() {
        let (mut one, first, source) = Seeds::first(Some(7));
        let (mut two, ..) = Seeds::first(Some(7));
        let later = [one.next(), one.next()];
        assert_eq!((first, source), (7.into(), SeedSource::Given(7)));
        assert_eq!(later, [two.next(), two.next()]);
        assert_ne!(later[0], later[1]);
    }

    #[test]
    fn drawn_seeds_and_random_hex_do_not_repeat() {
        let (mut seeds, first, source) = Seeds::first(None);
        let (second, _) = seeds.next();
        assert_eq!(source, SeedSource::Drawn);
        assert_ne!(first, second);
        assert_ne!(random_hex(), random_hex());
        assert_eq!(random_hex().len(), 32);
    }

    /// With 64 bits, a player could search for the seed that explains the first view.
    #[test]
    fn drawn_keys_have_256_bits() {
        let (mut seeds, ..) = Seeds::first(None);
        let drawn: Vec<Key> = (0..64).map(|_| seeds.next().0).collect();
        for byte in 0..32 {
            let first = drawn[0].as_bytes()[byte];
            assert!(drawn.iter().any(|key| key.as_bytes()[byte] != first), "byte {byte} never changes");
        }
    }

    #[test]
    fn a_commitment_covers_all_that_identifies_an_episode() {
        let (key, source) = (Key::from(7), SeedSource::Given(7));
        let (key_with_salt, spec) = (EpisodeKey { source, key, salt: [1; 16] }, Digest::of_bytes(b"spec"));
        let commitment = key_with_salt.commitment("match", 3, &spec);
        assert_eq!(commitment, key_with_salt.commitment("match", 3, &spec));
        let others = [
            key_with_salt.commitment("other", 3, &spec),
            key_with_salt.commitment("match", 4, &spec),
            key_with_salt.commitment("match", 3, &Digest::of_bytes(b"other")),
            EpisodeKey { key: Key::from(8), ..key_with_salt }.commitment("match", 3, &spec),
            EpisodeKey { salt: [2; 16], ..key_with_salt }.commitment("match", 3, &spec),
        ];
        assert!(others.iter().all(|other| *other != commitment));
    }

    #[test]
    fn secrets_are_compared_exactly() {
        assert!(constant_time_eq("abc", "abc"));
        assert!(
            !constant_time_eq("abc", "abd") && !constant_time_eq("ab", "abc") && !constant_time_eq("", "abc")
        );
    }
}
