//! Pagination of lists.

use boardwire_api::Error;
use prost::Message;

use crate::hex;

/// The number of digits of the digest at the start of a page token.
const DIGEST_DIGITS: usize = 16;

/// A requested page.
pub(super) struct Paging {
    /// The maximum number of entries of the page.
    pub(super) size: usize,
    /// The id of the last entry of the previous page; empty for the first page.
    pub(super) after: String,
    /// The digest of the filters.
    filters: String,
}

impl Paging {
    /// Reads the size and the token of a page. `filters` is the request without them. A size of 0 means the maximum.
    ///
    /// # Errors
    /// The size is negative, or the token is not from a request with the same filters.
    pub(super) fn read(size: i32, token: &str, filters: &impl Message) -> Result<Self, Error> {
        const MAX_SIZE: usize = 1_000;
        let size = usize::try_from(size)
            .map_err(|_| Error::field("page_size", size, format!("from 0 to {MAX_SIZE}")))?;
        let mut filters = blake3::hash(&filters.encode_to_vec()).to_hex().to_string();
        filters.truncate(DIGEST_DIGITS);
        let last = |digits: &str| String::from_utf8(hex::unhex(digits)?).ok();
        let after = match token {
            "" => Some(String::new()),
            token => token.strip_prefix(&filters).filter(|rest| !rest.is_empty()).and_then(last),
        };
        let after = after.ok_or_else(|| {
            let expected = "empty, or the next_page_token of a response to a request with the same filters";
            Error::field("page_token", token, expected)
        })?;
        Ok(Self { size: if size == 0 { MAX_SIZE } else { size.min(MAX_SIZE) }, after, filters })
    }

    /// Returns the token of the next page, after the entry `last`. Empty if there is no next page.
    pub(super) fn next(self, last: Option<String>) -> String {
        last.map_or(String::new(), |last| self.filters + &hex::hex(last.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use boardwire_api::v1::ListMatchesRequest;

    use super::*;

    fn read(token: &str, game: &str) -> Result<Paging, Error> {
        Paging::read(7, token, &ListMatchesRequest { game: game.to_owned(), ..Default::default() })
    }

    #[test]
    fn a_token_is_valid_only_with_the_same_filters() {
        let first = read("", "rauha").expect("the first page needs no token");
        assert_eq!((first.size, first.after.as_str()), (7, ""));
        let token = first.next(Some("an id, ü".to_owned()));
        assert_eq!(read(&token, "rauha").map(|page| page.after), Ok("an id, ü".to_owned()));
        for (token, game) in [(token.as_str(), "faraway"), (&token[..17], "rauha"), (&token[..16], "rauha")] {
            assert!(matches!(read(token, game), Err(Error::FieldInvalid { field: "page_token", .. })));
        }
        assert_eq!(read("", "").expect("the first page needs no token").next(None), "");
    }

    #[test]
    fn sizes_are_whole_numbers_up_to_a_thousand() {
        let size = |size| Paging::read(size, "", &ListMatchesRequest::default()).map(|page| page.size);
        assert_eq!(
            [size(0), size(1), size(1_000), size(i32::MAX)].map(Result::ok),
            [1_000, 1, 1_000, 1_000].map(Some)
        );
        assert!(matches!(size(-1), Err(Error::FieldInvalid { field: "page_size", .. })));
    }
}
