//! Starts the real server and the echo server as processes that end with this one.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;
use tempfile::TempDir;

pub(crate) struct ServerProcess {
    process: Child,
    /// `127.0.0.1:PORT`.
    pub(crate) tcp: String,
    /// `unix:PATH`.
    pub(crate) unix: String,
}

pub(crate) struct Servers {
    pub(crate) real: ServerProcess,
    pub(crate) echo: ServerProcess,
    _folder: TempDir,
}

impl Servers {
    /// Starts both servers. The echo server records responses of the real one.
    pub(crate) fn start() -> anyhow::Result<Self> {
        let folder = TempDir::with_prefix("boardwire-bench-")?;
        let real = ServerProcess::serve(folder.path(), &[])?;
        let mut echo = Command::new(std::env::current_exe()?);
        echo.arg("echo").arg(format!("http://{}", real.tcp)).arg(folder.path().join("echo"));
        let echo = ServerProcess::start(echo).context("the echo server")?;
        Ok(Self { real, echo, _folder: folder })
    }

    /// Returns the addresses of both servers as JSON.
    pub(crate) fn addresses(&self) -> serde_json::Value {
        let of = |server: &ServerProcess| serde_json::json!({ "tcp": server.tcp, "unix": server.unix });
        serde_json::json!({ "real": of(&self.real), "echo": of(&self.echo) })
    }
}

fn unix(path: &Path) -> String {
    format!("unix:{}", path.display())
}

impl ServerProcess {
    /// Starts `boardwire serve` with these arguments, on a free port and on a Unix socket in `folder`.
    pub(crate) fn serve(folder: &Path, arguments: &[String]) -> anyhow::Result<Self> {
        let mut serve = Command::new(env!("CARGO_BIN_EXE_boardwire"));
        serve.args(["serve", "--exit-with-stdin", "--log-level", "warn", "--listen", "127.0.0.1:0"]);
        serve.arg("--listen").arg(unix(&folder.join("real"))).args(arguments);
        Self::start(serve).context("the real server")
    }

    /// Starts a server that prints `listening on ADDRESS` for a TCP socket and then for a Unix socket.
    fn start(mut command: Command) -> anyhow::Result<Self> {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut lines =
            BufReader::new(process.stdout.take().context("the server's stdout is piped")?).lines();
        let mut address = || -> anyhow::Result<String> {
            let line = lines.next().context("the server ended before it listened")??;
            Ok(line.strip_prefix("listening on ").context("no address")?.to_owned())
        };
        let (tcp, unix) = (address()?, address()?);
        Ok(Self { process, tcp, unix })
    }

    /// Returns the resident memory in megabytes.
    pub(crate) fn resident_memory(&self) -> anyhow::Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("a line VmRSS")?;
        let kibibytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kibibytes * 1024.0 / 1e6)
    }

    /// Returns the CPU time in seconds.
    pub(crate) fn cpu_time(&self) -> anyhow::Result<f64> {
        // The times follow the name in parentheses, in hundredths of a second.
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process.id()))?;
        let fields = stat.rsplit(')').next().context("a name")?.split_whitespace().skip(11).take(2);
        let ticks = fields.map(str::parse::<f64>).sum::<Result<f64, _>>()?;
        Ok(ticks / 100.0)
    }

    /// Kills the server, which simulates a crash.
    pub(crate) fn kill(mut self) -> anyhow::Result<()> {
        Ok(self.process.kill()?)
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}
