//! How callers are told of a refusal, over whichever way they came.

/// The codes of gRPC that refusals of this crate have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// What was asked for cannot be.
    InvalidArgument,
    /// There is nothing of this name.
    NotFound,
    /// It cannot be done now.
    FailedPrecondition,
    /// Somebody has been there before.
    Aborted,
    /// A mistake that is not the caller's.
    Internal,
    /// Nothing is done any more.
    Unavailable,
}

impl Code {
    /// The name that gRPC has for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::NotFound => "NOT_FOUND",
            Self::FailedPrecondition => "FAILED_PRECONDITION",
            Self::Aborted => "ABORTED",
            Self::Internal => "INTERNAL",
            Self::Unavailable => "UNAVAILABLE",
        }
    }
}

/// Values by their names.
pub type Metadata = Vec<(&'static str, String)>;

/// What callers are told. The service has codes of its own beside those of this crate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal<C = Code> {
    /// The gRPC code.
    pub code: C,
    /// The reason, `UPPER_SNAKE`.
    pub reason: &'static str,
    /// What was wrong, for people.
    pub message: String,
    /// Each value the message mentions.
    pub metadata: Metadata,
}

/// The most bytes of a value that came with a request.
const MAX_VALUE_BYTES: usize = 64;
/// The most bytes of a value that the server made.
const MAX_OUR_BYTES: usize = 512;
/// The values that the server made, and that may be long.
const OURS: &[&str] = &["known", "expected", "problem"];

impl<C> Refusal<C> {
    /// A refusal whose long values are cut, so that a status always fits the headers that clients accept.
    #[must_use]
    pub fn new(code: C, reason: &'static str, mut message: String, mut metadata: Metadata) -> Self {
        for (name, value) in &mut metadata {
            let most = if OURS.contains(name) { MAX_OUR_BYTES } else { MAX_VALUE_BYTES };
            if let Some(cut) = cut(value, most) {
                message = message.replace(value.as_str(), &cut);
                *value = cut;
            }
        }
        Self { code, reason, message, metadata }
    }
}

/// The beginning of a value that has more than `most` bytes, with their number.
fn cut(value: &str, most: usize) -> Option<String> {
    if value.len() <= most {
        return None;
    }
    let end = (0..=most).rev().find(|&end| value.is_char_boundary(end)).unwrap_or_default();
    Some(format!("{}… ({} bytes)", &value[..end], value.len()))
}
