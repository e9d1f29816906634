//! Agents as programs: `COMMAND ADDRESS CODE`, as `docs/agents.md` has it.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, ChildStderr, Command};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The most bytes of an agent's error output that are kept: the last ones.
const KEPT: usize = 4_000;
/// How long more is waited for of what it says once it has ended: what it has started may hold its error output open.
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(1);

/// A command that was started for a seat; it is killed when this is dropped.
pub(crate) struct Agent {
    process: Child,
    /// What it says on standard error.
    words: JoinHandle<String>,
    /// Nobody listens any more once this is dropped.
    listening: oneshot::Sender<()>,
}

impl Agent {
    /// Starts a command with the server's address and an invitation as its last arguments.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn start(command: &[String], address: &str, code: &str) -> anyhow::Result<Self> {
        let [program, first @ ..] = command else { anyhow::bail!("there is no command") };
        let mut command = Command::new(program);
        command.args(first).args([address, code]).stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn().with_context(|| format!("`{program}` cannot be started"))?;
        let errors = process.stderr.take().context("its standard error is piped")?;
        let (listening, enough) = oneshot::channel();
        Ok(Self { process, words: tokio::spawn(listen(errors, enough)), listening })
    }

    /// How it has ended, if it has.
    ///
    /// # Errors
    /// When the system does not tell.
    pub(crate) fn has_ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.process.try_wait()?)
    }

    /// Waits until it ends; gives how, none if it was killed after `limit`, and what it said.
    ///
    /// # Errors
    /// When the system does not tell.
    pub(crate) async fn end(mut self, limit: Duration) -> anyhow::Result<(Option<ExitStatus>, String)> {
        let ended = tokio::time::timeout(limit, self.process.wait()).await;
        let status = ended.ok().transpose()?;
        if status.is_none() {
            self.process.kill().await?;
        }
        if let Ok(said) = tokio::time::timeout(OUTPUT_TIMEOUT, &mut self.words).await {
            return Ok((status, said?));
        }
        drop(self.listening);
        Ok((status, self.words.await?))
    }
}

/// Reads until the end or until it is enough, so that an agent may say as much as it likes; gives the last that it said.
async fn listen(mut errors: ChildStderr, enough: oneshot::Receiver<()>) -> String {
    let mut said = vec![];
    let all = async {
        let mut bytes = [0; 4 << 10];
        // What cannot be read was not said.
        while let Ok(read @ 1..) = errors.read(&mut bytes).await {
            said.extend_from_slice(&bytes[..read]);
            said.drain(..said.len().saturating_sub(KEPT));
        }
    };
    tokio::select! {
        () = all => {}
        _ = enough => {}
    }
    String::from_utf8_lossy(&said).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_an_agent_leaves_behind_is_not_waited_for() {
        let command = ["sh", "-c", "sleep 100 & echo trouble >&2; exit 3"].map(str::to_owned);
        let agent = Agent::start(&command, "address", "code").expect("there is a shell");
        let ended = tokio::time::timeout(Duration::from_mins(1), agent.end(Duration::from_mins(1)));
        let (status, said) = ended.await.expect("its child still holds the pipe").expect("it ends");
        assert_eq!((status.and_then(|status| status.code()), said.as_str()), (Some(3), "trouble"));
    }
}
