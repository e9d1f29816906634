//! Runs agents as child processes: `COMMAND ADDRESS CODE`, as described in `docs/agents.md`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::Request;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint};

use crate::address::Address;

/// The number of bytes kept from the end of an agent's stderr.
const STDERR_BYTES: usize = 4_000;
/// How long to read the output after the agent has ended: its child processes may keep the pipes open.
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(1);

/// The sums of the numbers in the JSON objects that an agent has printed on its stdout, one a line, by name.
pub(crate) type Totals = BTreeMap<String, f64>;

/// A process that plays a seat. Dropping this value kills the process.
pub(crate) struct Agent {
    process: Child,
    output: JoinHandle<Output>,
    /// Dropping this stops the task that reads the output.
    reading: oneshot::Sender<()>,
}

/// The environment variables with which an agent reaches a server with TLS and accounts.
const CA: &str = "BOARDWIRE_CA";
const ACCOUNT_TOKEN: &str = "BOARDWIRE_ACCOUNT_TOKEN";

/// What a client needs besides the address of a server.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Credentials {
    /// The certificate of the CA of the `--server`, in PEM: the server has TLS.
    #[arg(long, value_name = "FILE", env = CA)]
    ca: Option<PathBuf>,
    /// The token of an account of the `--server`.
    #[arg(long, value_name = "TOKEN", env = ACCOUNT_TOKEN, hide_env_values = true)]
    account_token: Option<String>,
}

impl Credentials {
    /// Returns the endpoint for a client of a server at `address`.
    pub(crate) fn endpoint(&self, address: &Address) -> anyhow::Result<Endpoint> {
        let Some(ca) = &self.ca else { return address.endpoint() };
        let Address::Tcp(address) = address else {
            anyhow::bail!("{address} is a Unix socket, which does not use TLS: omit --ca and {CA}")
        };
        let pem = std::fs::read(ca).with_context(|| format!("--ca {}", ca.display()))?;
        let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem));
        Ok(Endpoint::from_shared(format!("https://{address}"))?.tls_config(tls)?)
    }

    /// Returns the environment variables for an agent's process.
    pub(crate) fn environment(&self) -> Vec<(&'static str, OsString)> {
        let ca = self.ca.iter().map(|ca| (CA, ca.clone().into_os_string()));
        ca.chain(self.account_token.iter().map(|token| (ACCOUNT_TOKEN, token.into()))).collect()
    }

    /// Adds the token of the account to a call.
    pub(crate) fn authenticate<T>(&self, request: &mut Request<T>) -> anyhow::Result<()> {
        if let Some(token) = &self.account_token {
            let token = token.parse().context("--account-token must be ASCII text")?;
            request.metadata_mut().insert("boardwire-token", token);
        }
        Ok(())
    }
}

/// What an agent has printed.
#[derive(Debug, Default)]
pub(crate) struct Output {
    /// The end of its stderr.
    pub(crate) stderr: String,
    pub(crate) totals: Totals,
}

impl Agent {
    /// Starts a command with more environment variables. Its last two arguments are the server's address and the code of
    /// an invitation.
    pub(crate) fn start(
        command: &[String],
        address: &str,
        code: &str,
        environment: &[(&str, OsString)],
    ) -> anyhow::Result<Self> {
        let [program, arguments @ ..] = command else { anyhow::bail!("there is no command") };
        let mut command = Command::new(program);
        // Variables that this process has inherited may be for another server.
        command.env_remove(CA).env_remove(ACCOUNT_TOKEN).envs(environment.iter().cloned());
        command.args(arguments).args([address, code]).stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn().with_context(|| format!("cannot start `{program}`"))?;
        let stdout = process.stdout.take().context("stdout is piped")?;
        let stderr = process.stderr.take().context("stderr is piped")?;
        let (reading, stopped) = oneshot::channel();
        Ok(Self { process, output: tokio::spawn(read(stdout, stderr, stopped)), reading })
    }

    /// Returns the exit status if the process has ended.
    pub(crate) fn exit_status(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.process.try_wait()?)
    }

    /// Waits until the process ends; kills it after `limit`. Returns its exit status (`None` if it was killed), and its
    /// output.
    pub(crate) async fn end(mut self, limit: Duration) -> anyhow::Result<(Option<ExitStatus>, Output)> {
        let status = tokio::time::timeout(limit, self.process.wait()).await.ok().transpose()?;
        if status.is_none() {
            self.process.kill().await?;
        }
        if let Ok(output) = tokio::time::timeout(OUTPUT_TIMEOUT, &mut self.output).await {
            return Ok((status, output?));
        }
        drop(self.reading);
        Ok((status, self.output.await?))
    }
}

/// Reads all output, so that a full pipe never blocks the agent. Stops at the end or at `stopped`.
async fn read(stdout: ChildStdout, stderr: ChildStderr, stopped: oneshot::Receiver<()>) -> Output {
    let (mut totals, mut end) = (Totals::new(), vec![]);
    tokio::select! {
        _ = async { tokio::join!(add_up(stdout, &mut totals), keep_end(stderr, &mut end)) } => {}
        _ = stopped => {}
    }
    Output { stderr: String::from_utf8_lossy(&end).trim().to_owned(), totals }
}

/// Adds up the numbers in all lines that are JSON objects.
async fn add_up(stdout: ChildStdout, totals: &mut Totals) {
    let mut lines = BufReader::new(stdout).split(b'\n');
    while let Ok(Some(line)) = lines.next_segment().await {
        let Ok(Value::Object(report)) = serde_json::from_slice(&line) else { continue };
        for (name, value) in report {
            if let Some(number) = value.as_f64() {
                *totals.entry(name).or_default() += number;
            }
        }
    }
}

/// Keeps the last bytes.
async fn keep_end(mut stderr: ChildStderr, end: &mut Vec<u8>) {
    let mut bytes = [0; 4 << 10];
    while let Ok(read @ 1..) = stderr.read(&mut bytes).await {
        end.extend_from_slice(&bytes[..read]);
        end.drain(..end.len().saturating_sub(STDERR_BYTES));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn end_does_not_wait_for_children_of_the_agent() {
        let command = ["sh", "-c", "sleep 100 & echo trouble >&2; exit 3"].map(str::to_owned);
        let agent = Agent::start(&command, "address", "code", &[]).expect("the shell starts");
        let ended = tokio::time::timeout(Duration::from_mins(1), agent.end(Duration::from_mins(1)));
        let (status, output) =
            ended.await.expect("the agent does not wait for `sleep`").expect("the shell ends");
        assert_eq!((status.and_then(|status| status.code()), output.stderr.as_str()), (Some(3), "trouble"));
    }

    #[tokio::test]
    async fn numbers_of_json_lines_are_added_up() {
        let lines = r#"{"tokens": 3, "ended": "finished"}\n[7]\nseen 7\n\377\n{"tokens": 4, "seconds": 0.5}"#;
        let command = ["sh", "-c", &format!("printf '{lines}'")].map(str::to_owned);
        let agent = Agent::start(&command, "address", "code", &[]).expect("the shell starts");
        let (_, output) = agent.end(Duration::from_mins(1)).await.expect("the shell ends");
        assert_eq!(output.totals, Totals::from([("seconds".to_owned(), 0.5), ("tokens".to_owned(), 7.0)]));
    }
}
