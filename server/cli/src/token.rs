//! `token`: makes a token for an account.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Args;

use boardwire_server::edge::{is_valid_name, token_line};
use boardwire_server::secret;

/// Makes a token for an account, and prints the lines for the accounts file: `boardwire token ada >> accounts.toml`.
///
/// The token itself goes only to stderr; the file has its hash. To give the account its own quotas, add `matches = N`,
/// `environments = N` or `calls = N` (per second) below the printed lines.
#[derive(Debug, Args)]
pub(super) struct Token {
    /// The account's name: letters, digits, `-`, `_` and `.`.
    #[arg(value_parser = name)]
    name: String,
}

fn name(name: &str) -> Result<String, &'static str> {
    is_valid_name(name)
        .then(|| name.to_owned())
        .ok_or("the name must have 1 to 64 characters: letters, digits, `-`, `_`, `.`")
}

impl Token {
    pub(super) fn run(&self) -> anyhow::Result<ExitCode> {
        let token = secret::random_hex();
        let lines = format!("[[account]]\nname = \"{}\"\ntokens = [\"{}\"]\n", self.name, token_line(&token));
        std::io::stdout().write_all(lines.as_bytes())?;
        eprintln!("the token of {}: {token}", self.name);
        Ok(ExitCode::SUCCESS)
    }
}
