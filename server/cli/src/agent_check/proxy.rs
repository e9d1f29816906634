//! What stands between an agent and the server: it forwards bytes, or does not.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Where bytes are going.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Toward {
    Server,
    Agent,
}

/// What becomes of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// They go on.
    Pass,
    /// They go on after a while.
    Hold(Duration),
    /// They are lost, and the connection with them.
    Cut,
}

/// A listener that forwards connections until it is dropped.
pub(super) struct Proxy {
    /// Where it listens: `host:port`.
    pub(super) address: String,
    serving: JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Proxy {
    /// Forwards connections to `server`; `gate` judges every run of bytes before it goes on.
    pub(super) async fn start<G, F>(server: String, gate: G) -> std::io::Result<Self>
    where
        G: Fn(Toward) -> F + Send + Sync + 'static,
        F: Future<Output = Verdict> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = SocketAddr::to_string(&listener.local_addr()?);
        let gate = Arc::new(gate);
        let serving = tokio::spawn(async move {
            while let Ok((agent, _)) = listener.accept().await {
                let Ok(own) = TcpStream::connect(&server).await else { continue };
                tokio::spawn(connect(agent, own, Arc::clone(&gate)));
            }
        });
        Ok(Self { address, serving })
    }
}

/// Forwards both ways until one of them ends: then both do.
async fn connect<G, F>(agent: TcpStream, server: TcpStream, gate: Arc<G>)
where
    G: Fn(Toward) -> F,
    F: Future<Output = Verdict>,
{
    let _ = (agent.set_nodelay(true), server.set_nodelay(true));
    let (from_agent, to_agent) = agent.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        _ = forward(from_agent, to_server, || gate(Toward::Server)) => {}
        _ = forward(from_server, to_agent, || gate(Toward::Agent)) => {}
    }
}

async fn forward<F: Future<Output = Verdict>>(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    gate: impl Fn() -> F,
) -> std::io::Result<()> {
    let mut bytes = vec![0; 64 << 10];
    loop {
        let read = from.read(&mut bytes).await?;
        if read == 0 {
            return Ok(());
        }
        match gate().await {
            Verdict::Pass => {}
            Verdict::Hold(time) => tokio::time::sleep(time).await,
            Verdict::Cut => return Ok(()),
        }
        to.write_all(&bytes[..read]).await?;
    }
}
