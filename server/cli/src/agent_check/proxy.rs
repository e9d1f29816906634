//! A TCP proxy between an agent and the server that can delay bytes and cut connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    ToServer,
    ToAgent,
}

/// What the proxy does with a chunk of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Pass,
    Delay(Duration),
    /// Drops the bytes and closes the connection.
    Cut,
}

/// Decides what happens to each chunk of bytes before it is forwarded.
pub(super) type Gate = Arc<dyn Fn(Direction) -> BoxFuture<'static, Verdict> + Send + Sync>;

/// A proxy that forwards connections until it is dropped.
pub(super) struct Proxy {
    /// The address on which the proxy listens, `host:port`.
    pub(super) address: String,
    serving: JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Proxy {
    /// Starts to forward connections to `server`.
    pub(super) async fn start(server: String, gate: Gate) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = SocketAddr::to_string(&listener.local_addr()?);
        let serving = tokio::spawn(async move {
            while let Ok((agent, _)) = listener.accept().await {
                let Ok(server) = TcpStream::connect(&server).await else { continue };
                tokio::spawn(forward_both(agent, server, Arc::clone(&gate)));
            }
        });
        Ok(Self { address, serving })
    }
}

/// Forwards both directions of a connection until one of them ends.
async fn forward_both(agent: TcpStream, server: TcpStream, gate: Gate) {
    let _ = (agent.set_nodelay(true), server.set_nodelay(true));
    let (from_agent, to_agent) = agent.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        _ = forward(from_agent, to_server, Direction::ToServer, &gate) => {}
        _ = forward(from_server, to_agent, Direction::ToAgent, &gate) => {}
    }
}

async fn forward(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    direction: Direction,
    gate: &Gate,
) -> std::io::Result<()> {
    let mut bytes = vec![0; 64 << 10];
    loop {
        let read = from.read(&mut bytes).await?;
        if read == 0 {
            return Ok(());
        }
        match gate(direction).await {
            Verdict::Pass => {}
            Verdict::Delay(time) => tokio::time::sleep(time).await,
            Verdict::Cut => return Ok(()),
        }
        to.write_all(&bytes[..read]).await?;
    }
}
