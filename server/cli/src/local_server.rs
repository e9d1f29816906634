//! Runs a server in this process.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use boardwire_batch::pool::Pool;
use boardwire_batch::tables::Tables;
use boardwire_server::batches::{BatchLimits, Batches};
use boardwire_server::edge::Access;
use boardwire_server::matches::{MatchLimits, Matches};
use boardwire_server::run::{Listener, run};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub(crate) struct LocalServer {
    pub(crate) address: SocketAddr,
    pub(crate) matches: Arc<Matches>,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<anyhow::Result<()>>,
}

impl LocalServer {
    /// Starts a server at `HOST:PORT`. Its bots use `threads` threads; 0 means one per core.
    pub(crate) async fn start(
        listen: &str,
        tables: Tables,
        limits: MatchLimits,
        threads: usize,
    ) -> anyhow::Result<Self> {
        let listener =
            TcpListener::bind(listen).await.with_context(|| format!("cannot listen on {listen}"))?;
        let address = listener.local_addr()?;
        let pool = Arc::new(Pool::new(threads)?);
        let matches = Arc::new(Matches::new(tables, limits, Arc::clone(&pool)));
        let batches = Arc::new(Batches::new(BatchLimits::default(), None, pool));
        let (stop, stopped) = oneshot::channel();
        let listeners = vec![Listener::Tcp(listener)];
        let serving = tokio::spawn(run(Access::default(), listeners, Arc::clone(&matches), batches, async {
            let _ = stopped.await;
        }));
        Ok(Self { address, matches, stop, serving })
    }

    /// Stops the server.
    ///
    /// # Errors
    /// The server failed while it ran.
    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        drop(self.stop);
        self.serving.await?
    }
}
