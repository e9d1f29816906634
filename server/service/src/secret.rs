//! Secrets the server draws from the operating system: seeds, salts, tokens.

use boardwire_kernel::Dice;

/// The stream of a given seed from which the seeds of later episodes come.
const EPISODE_STREAM: u64 = 4 << 32;

/// Bytes from the operating system's generator.
fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}

/// A fresh seed.
pub(crate) fn seed() -> u64 {
    u64::from_le_bytes(random())
}

/// A fresh name that nobody can guess: 32 hexadecimal digits.
pub(crate) fn word() -> String {
    random::<16>().iter().fold(String::with_capacity(32), |mut word, byte| {
        use std::fmt::Write as _;
        let _ = write!(word, "{byte:02x}");
        word
    })
}

/// Whether two secrets are equal, in a time that does not tell where they differ.
pub(crate) fn same(given: &str, secret: &str) -> bool {
    blake3::hash(given.as_bytes()) == blake3::hash(secret.as_bytes())
}

/// Where the seeds of a match's episodes come from.
#[derive(Debug, Clone)]
pub(crate) enum Seeds {
    /// The operating system, afresh for every episode.
    Drawn,
    /// A seed somebody gave; the `next`-th episode after it has words `2 next` and `2 next + 1` of its
    /// stream `2^34`.
    Given { seed: u64, next: u32 },
}

impl Seeds {
    /// The source and the first seed.
    pub(crate) fn begin(given: Option<u64>) -> (Self, u64) {
        match given {
            Some(seed) => (Self::Given { seed, next: 1 }, seed),
            None => (Self::Drawn, seed()),
        }
    }

    /// The seed of the next episode.
    pub(crate) fn next(&mut self) -> u64 {
        match self {
            Self::Drawn => seed(),
            Self::Given { seed, next } => {
                let derived = Dice::resume(*seed, EPISODE_STREAM, 2 * u64::from(*next)).seed();
                *next += 1;
                derived
            }
        }
    }

    /// Whether a seed that has been played may be shown without telling those to come.
    pub(crate) fn may_be_shown(&self) -> bool {
        matches!(self, Self::Drawn)
    }
}

/// A seed with the salt that keeps its commitment from being guessed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Committed {
    /// The seed.
    pub(crate) seed: u64,
    /// The salt.
    pub(crate) salt: [u8; 16],
}

impl Committed {
    /// A seed with a fresh salt.
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, salt: random() }
    }

    /// BLAKE3 of the seed's 8 bytes, low first, and the salt.
    pub(crate) fn commitment(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.seed.to_le_bytes()).update(&self.salt);
        *hasher.finalize().as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_after_a_given_one_follow_from_it() {
        let (mut one, first) = Seeds::begin(Some(7));
        let (mut two, _) = Seeds::begin(Some(7));
        let later = [one.next(), one.next()];
        assert_eq!(first, 7);
        assert_eq!(later, [two.next(), two.next()]);
        assert_ne!(later[0], later[1]);
    }

    #[test]
    fn drawn_seeds_and_words_do_not_repeat() {
        let (mut seeds, first) = Seeds::begin(None);
        assert_ne!(first, seeds.next());
        assert_ne!(word(), word());
        assert_eq!(word().len(), 32);
    }

    #[test]
    fn only_the_same_secret_is_the_same() {
        assert!(same("abc", "abc"));
        assert!(!same("abc", "abd") && !same("ab", "abc") && !same("", "abc"));
    }
}
