//! Accounts: callers that authenticate with a token from the accounts file.
//!
//! The file holds digests of tokens, never a token. With this file, limits per caller apply per account, from any host.
//! Reloading the file resets no account's counters.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use serde::Deserialize;
use tokio_util::sync::CancellationToken;
use tonic::codegen::http::HeaderMap;

use crate::operator_files;
use crate::origin::{Account, Quotas};
use crate::secret::digest;
use boardwire_api::Error;

/// The metadata key of an account's token. The key `authorization` carries the tokens of seats and owners.
const TOKEN_HEADER: &str = "boardwire-token";
/// The prefix of a token's digest in the file.
const DIGEST_PREFIX: &str = "blake3:";
/// The maximum size in bytes of an account's name.
const MAX_NAME_BYTES: usize = 64;

type Digest = [u8; 32];

/// The accounts of a file.
pub struct Accounts {
    file: PathBuf,
    table: RwLock<AccountTable>,
}

impl fmt::Debug for Accounts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Accounts").field("file", &self.file).finish_non_exhaustive()
    }
}

#[derive(Default)]
struct AccountTable {
    /// The account of each token. Revoking the token cancels the calls that carry it.
    by_digest: HashMap<Digest, (Account, CancellationToken)>,
    /// All accounts since the server started, so that each is created once.
    by_name: BTreeMap<String, Account>,
}

impl Accounts {
    /// Reads the accounts from a file.
    ///
    /// # Errors
    /// The file is missing or malformed. The error repeats no value of the file, since it may be a token by mistake.
    pub fn load(file: PathBuf) -> Result<Self, String> {
        let accounts = Self { file, table: RwLock::default() };
        accounts.reload()?;
        Ok(accounts)
    }

    /// Reads the file again. Ends the calls whose token is no longer in it. Accounts keep their matches and batches.
    ///
    /// # Errors
    /// As [`Self::load`]. In this case the accounts do not change.
    pub fn reload(&self) -> Result<(), String> {
        let entries =
            read(&self.file).map_err(|error| operator_files::file_error("accounts", &self.file, error))?;
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let mut old_tokens = std::mem::take(&mut table.by_digest);
        for (name, quotas, digests) in entries {
            let account = *table.by_name.entry(name).or_insert_with_key(|name| Account::new(name));
            account.set_quotas(quotas);
            for digest in digests {
                let revoked = old_tokens.remove(&digest).map(|(_, revoked)| revoked).unwrap_or_default();
                table.by_digest.insert(digest, (account, revoked));
            }
        }
        for (_, revoked) in old_tokens.into_values() {
            revoked.cancel();
        }
        Ok(())
    }

    /// Removes the token from a call's headers. Returns the token's account, and the signal that the token is revoked.
    pub(super) fn identify(&self, headers: &mut HeaderMap) -> Result<(Account, CancellationToken), Error> {
        let token = headers.remove(TOKEN_HEADER).ok_or(Error::CallerTokenMissing)?;
        let token = token.to_str().map_err(|_| Error::CallerTokenWrong)?;
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        table.by_digest.get(&digest(token.trim())).cloned().ok_or(Error::CallerTokenWrong)
    }
}

/// Returns a token's digest in the format of the accounts file.
#[must_use]
pub fn token_line(token: &str) -> String {
    format!("{DIGEST_PREFIX}{}", blake3::Hash::from(digest(token)).to_hex())
}

/// Returns whether an account may have this name.
#[must_use]
pub fn is_valid_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=MAX_NAME_BYTES).contains(&name.len()) && name.bytes().all(is_allowed)
}

/// An account in the file. Its fields repeat those of `Quotas`, since serde's `flatten` would accept unknown fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AccountEntry {
    name: String,
    tokens: Vec<String>,
    matches: Option<usize>,
    environments: Option<usize>,
    calls: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AccountsFile {
    account: Vec<AccountEntry>,
}

/// Reads the names, quotas and token digests of a file's accounts.
fn read(path: &Path) -> Result<Vec<(String, Quotas, Vec<Digest>)>, String> {
    let text = operator_files::read_text(path).map_err(|error| error.to_string())?;
    let AccountsFile { account: entries } = toml::from_str(&text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        // Removes the values that the parser quotes: they may be tokens.
        let message = error.message().split('"').step_by(2).collect::<Vec<_>>().join("...");
        format!("line {}: {message}", before.matches('\n').count() + 1)
    })?;
    let (mut names, mut all_digests) = (BTreeSet::new(), BTreeSet::new());
    let mut accounts = vec![];
    for AccountEntry { name, tokens, matches, environments, calls } in entries {
        if !is_valid_name(&name) {
            let number = accounts.len() + 1;
            return Err(format!(
                "account {number}: the name must have 1 to {MAX_NAME_BYTES} characters: letters, digits, `-`, `_`, `.`"
            ));
        }
        if !names.insert(name.clone()) {
            return Err(format!("two accounts have the name `{name}`"));
        }
        let digests =
            tokens.iter().map(|token| blake3::Hash::from_hex(token.strip_prefix(DIGEST_PREFIX)?).ok());
        let Some(digests) = digests.map(|hash| hash.map(Into::into)).collect::<Option<Vec<_>>>() else {
            return Err(format!(
                "account `{name}`: a token must be `{DIGEST_PREFIX}` and 64 hexadecimal digits, as `boardwire token` prints it"
            ));
        };
        if !digests.iter().all(|digest| all_digests.insert(*digest)) {
            return Err(format!("account `{name}` has a token that is in the file twice"));
        }
        accounts.push((name, Quotas { matches, environments, calls }, digests));
    }
    if all_digests.is_empty() {
        return Err("no account has a token, so no client could call".to_owned());
    }
    Ok(accounts)
}

#[cfg(test)]
mod tests;
