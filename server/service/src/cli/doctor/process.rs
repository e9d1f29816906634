//! Other programs, which may not be there, hang, or say anything at all.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;

/// What is read of what a program says.
const MOST_BYTES: u64 = 1 << 20;
/// What is repeated of it.
const QUOTED: usize = 200;

/// Lets a program answer.
///
/// # Errors
/// Why there is no answer, to follow the program's name.
pub(super) async fn answer<'a>(
    program: &Path,
    arguments: impl IntoIterator<Item = &'a str>,
    timeout: Duration,
) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(arguments.into_iter().map(OsStr::new));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    match tokio::time::timeout(timeout, ended(command)).await {
        Err(_) => Err(format!("gave no answer in {} seconds", timeout.as_secs())),
        Ok(Err(error)) => Err(format!("does not run: {error}")),
        Ok(Ok(answer)) => answer,
    }
}

async fn ended(mut command: Command) -> io::Result<Result<String, String>> {
    let mut child = command.spawn()?;
    // Whoever says more than is read loses the pipe.
    let (out, err) = tokio::try_join!(read(child.stdout.take()), read(child.stderr.take()))?;
    let status = child.wait().await?;
    if status.success() {
        return Ok(Ok(out));
    }
    let said = err.lines().rev().chain(out.lines()).find(|line| !line.trim().is_empty());
    Ok(Err(format!("ended with {status}, and said {}", quoted(said.unwrap_or_default()))))
}

async fn read(from: Option<impl AsyncRead + Unpin>) -> io::Result<String> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        from.take(MOST_BYTES).read_to_end(&mut bytes).await?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The beginning of what a program said, for a line of text.
pub(super) fn quoted(said: &str) -> String {
    let said = said.trim();
    match said.char_indices().nth(QUOTED) {
        None if said.is_empty() => "nothing".to_owned(),
        None => format!("{said:?}"),
        Some((end, _)) => format!("{:?} ...", &said[..end]),
    }
}

/// The version that a binary says it has.
///
/// # Errors
/// Why it says none, to follow the binary's name.
pub(super) async fn version(binary: &Path, timeout: Duration) -> Result<String, String> {
    let said = answer(binary, ["--version"], timeout).await?;
    match said.split_whitespace().collect::<Vec<_>>()[..] {
        [name, version] if name.starts_with("boardwire") => Ok(version.to_owned()),
        _ => Err(format!("is no boardwire: asked for its version it said {}", quoted(&said))),
    }
}

/// Whether a path leads to this binary.
pub(super) fn is_this(binary: &Path) -> bool {
    let own = std::env::current_exe().and_then(std::fs::canonicalize);
    own.is_ok_and(|own| std::fs::canonicalize(binary).is_ok_and(|binary| binary == own))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn shell(script: &str) -> Result<String, String> {
        answer(Path::new("/bin/sh"), ["-c", script], Duration::from_millis(500)).await
    }

    #[tokio::test]
    async fn programs_may_do_anything() {
        assert_eq!(shell("echo it").await, Ok("it\n".to_owned()));
        let wrong = shell("echo no; echo 'no luck' >&2; exit 3").await.expect_err("it fails");
        assert!(wrong.contains("exit status: 3") && wrong.contains("\"no luck\""), "{wrong}");
        let late = shell("exec sleep 60").await.expect_err("it hangs");
        assert_eq!(late, "gave no answer in 0 seconds");
        let absent =
            answer(Path::new("/absent"), [], Duration::from_secs(1)).await.expect_err("it is absent");
        assert!(absent.starts_with("does not run"), "{absent}");
        // Its pipe is closed on it, and it is not waited for.
        let _ = shell("exec yes").await;
    }

    #[test]
    fn quotes_are_short_and_on_one_line() {
        assert_eq!(quoted(" a\nb\u{1b} \n"), r#""a\nb\u{1b}""#);
        assert_eq!(quoted("\n"), "nothing");
        assert_eq!(quoted(&"ä".repeat(300)), format!("\"{}\" ...", "ä".repeat(200)));
    }
}
