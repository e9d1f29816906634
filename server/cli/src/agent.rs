//! Runs agents as child processes: `COMMAND ADDRESS CODE`, as described in `docs/agents.md`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, ChildStderr, Command};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::Request;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint};

use crate::address::Address;

/// The number of bytes kept from the end of an agent's stderr.
const STDERR_BYTES: usize = 4_000;
/// How long to read stderr after the agent has ended: its child processes may keep the pipe open.
const STDERR_TIMEOUT: Duration = Duration::from_secs(1);

/// A process that plays a seat. Dropping this value kills the process.
pub(crate) struct Agent {
    process: Child,
    stderr: JoinHandle<String>,
    /// Dropping this stops the task that reads stderr.
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
        command.args(arguments).args([address, code]).stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn().with_context(|| format!("cannot start `{program}`"))?;
        let stderr = process.stderr.take().context("stderr is piped")?;
        let (reading, stopped) = oneshot::channel();
        Ok(Self { process, stderr: tokio::spawn(read_end(stderr, stopped)), reading })
    }

    /// Returns the exit status if the process has ended.
    pub(crate) fn exit_status(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.process.try_wait()?)
    }

    /// Waits until the process ends; kills it after `limit`. Returns its exit status (`None` if it was killed), and the end
    /// of its stderr.
    pub(crate) async fn end(mut self, limit: Duration) -> anyhow::Result<(Option<ExitStatus>, String)> {
        let status = tokio::time::timeout(limit, self.process.wait()).await.ok().transpose()?;
        if status.is_none() {
            self.process.kill().await?;
        }
        if let Ok(stderr) = tokio::time::timeout(STDERR_TIMEOUT, &mut self.stderr).await {
            return Ok((status, stderr?));
        }
        drop(self.reading);
        Ok((status, self.stderr.await?))
    }
}

/// Reads all output, so that a full pipe never blocks the agent. Stops at the end or at `stopped`. Returns the last bytes.
async fn read_end(mut stderr: ChildStderr, stopped: oneshot::Receiver<()>) -> String {
    let mut end = vec![];
    let reading = async {
        let mut bytes = [0; 4 << 10];
        while let Ok(read @ 1..) = stderr.read(&mut bytes).await {
            end.extend_from_slice(&bytes[..read]);
            end.drain(..end.len().saturating_sub(STDERR_BYTES));
        }
    };
    tokio::select! {
        () = reading => {}
        _ = stopped => {}
    }
    String::from_utf8_lossy(&end).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn end_does_not_wait_for_children_of_the_agent() {
        let command = ["sh", "-c", "sleep 100 & echo trouble >&2; exit 3"].map(str::to_owned);
        let agent = Agent::start(&command, "address", "code", &[]).expect("the shell starts");
        let ended = tokio::time::timeout(Duration::from_mins(1), agent.end(Duration::from_mins(1)));
        let (status, stderr) =
            ended.await.expect("the agent does not wait for `sleep`").expect("the shell ends");
        assert_eq!((status.and_then(|status| status.code()), stderr.as_str()), (Some(3), "trouble"));
    }
}
