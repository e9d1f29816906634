//! Digests: short names of values that must be equal everywhere.

use borsh::BorshSerialize;

/// A BLAKE3 digest, written as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, borsh::BorshDeserialize)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Returns the digest of raw bytes.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// Returns the digest of a value's canonical (borsh) bytes.
    pub fn of<T: BorshSerialize + ?Sized>(value: &T) -> Self {
        let mut hasher = blake3::Hasher::new();
        value.serialize(&mut hasher).expect("hashing does not fail");
        Self(*hasher.finalize().as_bytes())
    }

    /// Returns the 32 bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Digest({self})")
    }
}
