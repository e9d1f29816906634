//! Runs agents as child processes: `COMMAND ADDRESS CODE`, as described in `docs/agents.md`.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, ChildStderr, Command};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

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

impl Agent {
    /// Starts a command. The last two arguments are the server's address and the code of an invitation.
    pub(crate) fn start(command: &[String], address: &str, code: &str) -> anyhow::Result<Self> {
        let [program, arguments @ ..] = command else { anyhow::bail!("there is no command") };
        let mut command = Command::new(program);
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
        let agent = Agent::start(&command, "address", "code").expect("the shell starts");
        let ended = tokio::time::timeout(Duration::from_mins(1), agent.end(Duration::from_mins(1)));
        let (status, stderr) =
            ended.await.expect("the agent does not wait for `sleep`").expect("the shell ends");
        assert_eq!((status.and_then(|status| status.code()), stderr.as_str()), (Some(3), "trouble"));
    }
}
