//! Release series. Only the series that saved a file can read it: before 1.0, no release migrates files.

use std::fmt;

/// A release series, such as `0.2` for all of 0.2.x.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    major: u8,
    minor: u8,
}

impl Release {
    /// The series of this program.
    pub const OWN: Self = Self {
        major: parse_digits(env!("CARGO_PKG_VERSION_MAJOR")),
        minor: parse_digits(env!("CARGO_PKG_VERSION_MINOR")),
    };

    /// Returns the series of a [`number`](Self::number).
    #[must_use]
    pub const fn of(number: u16) -> Self {
        let [major, minor] = number.to_be_bytes();
        Self { major, minor }
    }

    /// Returns the series as a unique number: major in the high byte, minor in the low byte.
    #[must_use]
    pub const fn number(self) -> u16 {
        u16::from_be_bytes([self.major, self.minor])
    }

    /// Refuses a file that another release saved.
    ///
    /// # Errors
    /// The error names the release that saved the file.
    pub fn check(self) -> Result<(), String> {
        let saved_by = match self {
            Self::OWN => return Ok(()),
            Self { major: 0, minor: 3.. } => format!("Boardwire {self}"),
            // Files had no release number until 0.2.0.
            Self { .. } => "Boardwire 0.2.0 or earlier".to_owned(),
        };
        Err(format!("{saved_by} saved it, and only that release reads it: this is Boardwire {}", Self::OWN))
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Parses decimal digits.
const fn parse_digits(digits: &str) -> u8 {
    let (digits, mut number, mut index) = (digits.as_bytes(), 0, 0);
    while index < digits.len() {
        number = 10 * number + (digits[index] - b'0');
        index += 1;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_another_release_is_refused_and_the_error_names_that_release() {
        assert_eq!(Release::of(Release::OWN.number()).check(), Ok(()));
        assert!(env!("CARGO_PKG_VERSION").starts_with(&format!("{}.", Release::OWN)));
        let refused = |number| Release::of(number).check().expect_err("another release");
        let error = "Boardwire 0.200 saved it, and only that release reads it: this is Boardwire 0.";
        assert!(refused(200).starts_with(error));
        assert!(refused(1).starts_with("Boardwire 0.2.0 or earlier saved it"));
        assert!(refused(0x0375).starts_with("Boardwire 0.2.0 or earlier saved it"));
    }
}
