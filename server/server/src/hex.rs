//! Converts bytes to hexadecimal digits and back.

/// Returns bytes as hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut digits, byte| {
        use std::fmt::Write as _;
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

/// Parses hexadecimal digits. Returns `None` for any other text.
pub(crate) fn unhex(digits: &str) -> Option<Vec<u8>> {
    let byte = |pair: &[u8]| {
        let is_byte = pair.len() == 2 && pair.iter().all(u8::is_ascii_hexdigit);
        u8::from_str_radix(std::str::from_utf8(pair).ok().filter(|_| is_byte)?, 16).ok()
    };
    digits.as_bytes().chunks(2).map(byte).collect()
}
