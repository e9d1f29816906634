//! Release series. What a series has saved no other reads: before 1.0 nothing is migrated.

use std::fmt;

/// A release series, as `0.2` for all of 0.2.x.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    major: u8,
    minor: u8,
}

impl Release {
    /// The one that this program is of.
    pub const OWN: Self = Self {
        major: number(env!("CARGO_PKG_VERSION_MAJOR")),
        minor: number(env!("CARGO_PKG_VERSION_MINOR")),
    };

    /// The one with this number: major and minor in two bytes.
    #[must_use]
    pub const fn of(number: u16) -> Self {
        let [major, minor] = number.to_be_bytes();
        Self { major, minor }
    }

    /// A number that no other has.
    #[must_use]
    pub const fn number(self) -> u16 {
        u16::from_be_bytes([self.major, self.minor])
    }

    /// Refuses what another release has saved.
    ///
    /// # Errors
    /// Which release reads it.
    pub fn check(self) -> Result<(), String> {
        let own = Self::OWN;
        match self {
            same if same == own => Ok(()),
            // Until 0.2.0 no file said which release it was of.
            Self { major: 0, minor: 3.. } => {
                Err(format!("Boardwire {self} saved it and alone reads it: this is Boardwire {own}"))
            }
            Self { .. } => Err(format!(
                "Boardwire 0.2.0 or an earlier one saved it and alone reads it: this is Boardwire {own}"
            )),
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A part of a version.
const fn number(digits: &str) -> u8 {
    let (digits, mut number, mut at) = (digits.as_bytes(), 0, 0);
    while at < digits.len() {
        number = 10 * number + (digits[at] - b'0');
        at += 1;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_release_saved_is_refused_with_the_one_that_reads_it() {
        assert_eq!(Release::of(Release::OWN.number()).check(), Ok(()));
        assert!(env!("CARGO_PKG_VERSION").starts_with(&format!("{}.", Release::OWN)));
        let refused = |number| Release::of(number).check().expect_err("another release");
        assert!(
            refused(200).starts_with("Boardwire 0.200 saved it and alone reads it: this is Boardwire 0.")
        );
        assert!(refused(1).starts_with("Boardwire 0.2.0 or an earlier one saved it"));
        assert!(refused(0x0375).starts_with("Boardwire 0.2.0 or an earlier one saved it"));
    }
}
