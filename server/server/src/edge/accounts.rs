//! Accounts: callers that prove who they are by a token of their own.
//!
//! They are read from a file, which holds what tokens are found by and never a token. All that is counted by caller is
//! counted by account then, wherever its calls come from. An account keeps what it has when the file is read again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use serde::Deserialize;
use tokio_util::sync::CancellationToken;
use tonic::codegen::http::HeaderMap;

use crate::origin::{Account, Quotas};
use crate::secret::{self, digest};
use boardwire_api::Error;

/// The metadata in which a caller proves itself; `authorization` is for the tokens of seats and owners.
pub(crate) const TOKEN: &str = "boardwire-token";
/// What precedes the digest of a token in the file.
const SCHEME: &str = "blake3:";
/// The most bytes that an account's name may have.
const MAX_NAME_BYTES: usize = 64;

/// The accounts there are.
pub struct Accounts {
    file: PathBuf,
    current: RwLock<Current>,
}

impl fmt::Debug for Accounts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Accounts").field("file", &self.file).finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Current {
    /// Each token's account, with what ends the calls under way when the token is revoked.
    by_digest: HashMap<[u8; 32], (Account, CancellationToken)>,
    /// All that there have been, so that each is made once.
    by_name: BTreeMap<String, Account>,
}

impl Accounts {
    /// Reads the accounts of a file.
    ///
    /// # Errors
    /// It is missing or has not what it should. What it has is not repeated: it may be a token by mistake.
    pub fn load(file: PathBuf) -> Result<Self, String> {
        let accounts = Self { file, current: RwLock::default() };
        accounts.reload()?;
        Ok(accounts)
    }

    /// Reads the file again. Calls under way with a token that is gone end; matches and batches of an account stay its own.
    ///
    /// # Errors
    /// As [`Self::load`]; what was read before is kept then.
    pub fn reload(&self) -> Result<(), String> {
        let entries =
            read(&self.file).map_err(|problem| secret::about_file("accounts", &self.file, problem))?;
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let mut before = std::mem::take(&mut current.by_digest);
        for AccountEntry { name, digests, quotas } in entries {
            let account = *current.by_name.entry(name).or_insert_with_key(|name| Account::new(name));
            account.set(quotas);
            for digest in digests {
                let revoked = before.remove(&digest).map(|(_, revoked)| revoked).unwrap_or_default();
                current.by_digest.insert(digest, (account, revoked));
            }
        }
        for (_, revoked) in before.into_values() {
            revoked.cancel();
        }
        Ok(())
    }

    /// The account whose token a call carries, which is taken from its headers, with what is cancelled when the token is revoked.
    pub(super) fn identify(&self, headers: &mut HeaderMap) -> Result<(Account, CancellationToken), Error> {
        let token = headers.remove(TOKEN).ok_or(Error::CallerTokenMissing)?;
        let token = token.to_str().map_err(|_| Error::CallerTokenWrong)?;
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        current.by_digest.get(&digest(token.trim())).cloned().ok_or(Error::CallerTokenWrong)
    }
}

/// The line of an account's file that stands for a token.
#[must_use]
pub fn line(token: &str) -> String {
    format!("{SCHEME}{}", blake3::Hash::from(digest(token)).to_hex())
}

/// Whether an account may be called so.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let proper = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=MAX_NAME_BYTES).contains(&name.len()) && name.bytes().all(proper)
}

/// An account as it is read.
struct AccountEntry {
    name: String,
    digests: Vec<[u8; 32]>,
    quotas: Quotas,
}

/// An account as it is written. `quotas` cannot be flattened: unknown fields would no longer be refused.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AccountLine {
    name: String,
    tokens: Vec<String>,
    matches: Option<usize>,
    environments: Option<usize>,
    calls: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    account: Vec<AccountLine>,
}

fn read(path: &Path) -> Result<Vec<AccountEntry>, String> {
    let text = secret::read_text(path).map_err(|error| error.to_string())?;
    let File { account: written } = toml::from_str(&text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        format!("line {line}: {}", without_values(error.message()))
    })?;
    let (mut names, mut digests) = (BTreeSet::new(), BTreeSet::new());
    let mut entries = vec![];
    for AccountLine { name, tokens, matches, environments, calls } in written {
        if !is_name(&name) {
            return Err(format!(
                "account {}: a name has 1 to {MAX_NAME_BYTES} letters, digits, `-`, `_` and `.`",
                entries.len() + 1
            ));
        }
        if !names.insert(name.clone()) {
            return Err(format!("two accounts are called `{name}`"));
        }
        let of_account = tokens.iter().map(|token| token.strip_prefix(SCHEME).and_then(hash));
        let Some(of_account) = of_account.collect::<Option<Vec<_>>>() else {
            return Err(format!(
                "account `{name}`: a token stands there as `{SCHEME}` and 64 digits, as `boardwire token` prints it"
            ));
        };
        if !of_account.iter().all(|digest| digests.insert(*digest)) {
            return Err(format!("account `{name}` has a token that stands in the file twice"));
        }
        entries.push(AccountEntry {
            name,
            digests: of_account,
            quotas: Quotas { matches, environments, calls },
        });
    }
    if digests.is_empty() {
        return Err("no account has a token: nobody could call".to_owned());
    }
    Ok(entries)
}

fn hash(digits: &str) -> Option<[u8; 32]> {
    blake3::Hash::from_hex(digits).ok().map(Into::into)
}

/// A message of the parser, without what it has read between quotes.
fn without_values(message: &str) -> String {
    message.split('"').step_by(2).collect::<Vec<_>>().join("...")
}

#[cfg(test)]
mod tests;
