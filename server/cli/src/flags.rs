//! Flags: `NAME=VALUE`, and what is said of those that cannot be.

use clap::error::ErrorKind;

/// What says that flags were given that cannot be: `main` ends with exit code 2, as where they cannot be read.
pub(crate) fn usage(problem: &str) -> anyhow::Error {
    clap::Error::raw(ErrorKind::ValueValidation, format!("{problem}\n")).into()
}

/// Splits `NAME=VALUE`.
pub(crate) fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("`{text}` is not NAME=VALUE"))?;
    Ok((name.to_owned(), value.to_owned()))
}
