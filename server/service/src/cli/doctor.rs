//! `doctor`: what is missing on this machine and in this installation.
//!
//! Every check is a function that gives one [`Check`]. What a check decides by is handed to it where a test could not bring
//! it about otherwise: limits, contents of `/proc`, what a Python answered. None changes anything; what is written to see
//! whether it can be is removed again.

mod environment;
mod journal;
mod machine;
mod memory;
mod package;
mod process;
mod python;
mod sockets;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use serde_json::json;

use super::serve::Planned;
use crate::run::runtime;

/// The version of this binary.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Says what is missing on this machine and in this installation, and what mends it.
///
/// A line for each check: `ok`, `warn` or `fail`, what was found, and where it is not `ok` what would be right. It ends with 1
/// if anything fails. The machine is checked for servers as `serve` would start them here without flags, by the environment
/// and `--config`; the installation in the Python beside the binary, else in that of `VIRTUAL_ENV`, else the first `python3`
/// on the search path.
#[derive(Debug, Args)]
pub(super) struct Doctor {
    /// Prints one JSON object, whose `checks` have `check`, `status`, `found` and `advice`.
    #[arg(long)]
    json: bool,
    /// The settings of a planned server, as `serve` takes them.
    #[arg(long, value_name = "FILE", env = "BOARDWIRE_CONFIG")]
    config: Option<PathBuf>,
    /// The file of a planned journal; without one a journal is tried in the temporary folder. [default: that of the settings]
    #[arg(long, value_name = "FILE", env = "BOARDWIRE_JOURNAL")]
    journal: Option<PathBuf>,
    /// The Python that has the package, or should.
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,
    /// A program that takes longer than this many seconds to answer is given up.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    timeout: u64,
}

impl Doctor {
    pub(super) fn run(&self) -> anyhow::Result<ExitCode> {
        let checks = self.checks()?;
        let text = if self.json {
            json!({ "version": VERSION, "checks": checks }).to_string()
        } else {
            checks.iter().map(Check::to_string).collect::<Vec<_>>().join("\n")
        };
        writeln!(std::io::stdout(), "{text}")?;
        let failed = checks.iter().any(|check| check.status == Status::Fail);
        Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    fn checks(&self) -> anyhow::Result<Vec<Check>> {
        let planned = Planned::read(self.config.as_deref());
        let mut checks = vec![environment::settings(planned.as_ref().err())];
        let planned = planned.unwrap_or_default();
        let journal = self.journal.as_ref().or(planned.journal.as_ref());
        let temporary = sockets::temporary_folder();
        checks.extend([
            machine::cores(),
            memory::check(Path::new("/")),
            machine::descriptors(machine::descriptor_limit(), planned.connections),
            machine::entropy(getrandom::fill),
            machine::catalogues(&planned.catalogues),
            sockets::socket(&temporary),
            sockets::loopback(),
            journal::check(journal.map(PathBuf::as_path), &temporary),
            environment::proxy(|name| std::env::var(name).ok()),
            environment::variables(&environment::names()),
        ]);
        let timeout = Duration::from_secs(self.timeout);
        let runtime = runtime()?;
        runtime.block_on(async {
            checks.push(environment::named_binary(std::env::var_os("BOARDWIRE_BINARY"), timeout).await);
            checks.extend(python::checks(self.python.as_deref(), timeout).await);
        });
        // A program that has been given up must not keep this one.
        runtime.shutdown_background();
        Ok(checks)
    }
}

/// How a check has gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Ok,
    /// Something does without it, or more slowly.
    Warn,
    /// Something does not work.
    Fail,
}

/// What one check has found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Check {
    /// Its name, which stays the same from version to version.
    #[serde(rename = "check")]
    name: &'static str,
    status: Status,
    found: String,
    /// What would be right, or the command that mends it; of all that is not `ok`.
    advice: Option<String>,
}

impl Check {
    fn ok(name: &'static str, found: impl AsRef<str>) -> Self {
        Self { name, status: Status::Ok, found: on_one_line(found.as_ref()), advice: None }
    }

    fn warn(name: &'static str, found: impl AsRef<str>, advice: impl Into<String>) -> Self {
        Self { status: Status::Warn, advice: Some(advice.into()), ..Self::ok(name, found) }
    }

    fn fail(name: &'static str, found: impl AsRef<str>, advice: impl Into<String>) -> Self {
        Self { status: Status::Fail, advice: Some(advice.into()), ..Self::ok(name, found) }
    }
}

/// Errors of others may have several lines.
fn on_one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

impl std::fmt::Display for Check {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let status = match self.status {
            Status::Ok => "ok",
            Status::Warn => "warn",
            Status::Fail => "fail",
        };
        let advice = self.advice.as_ref().map(|advice| format!("; {advice}")).unwrap_or_default();
        write!(out, "{status:<4}  {}: {}{advice}", self.name, self.found)
    }
}
