//! Listeners that accept connections as long as the server runs.
//!
//! `accept` can fail temporarily, mostly because the process or the machine has no free file descriptor. The listener then
//! waits and retries.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

use crate::origin::Origin;

/// How long a listener waits after the first failure. Each further failure doubles the wait.
const FIRST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// The minimum time between two equal warnings.
const WARNING_INTERVAL: Duration = Duration::from_secs(1);

pub(crate) trait Accept: Send + Sync + 'static {
    type Io: Accepted;

    /// Waits for the next connection. Returns it and its origin.
    fn accept(&self) -> impl Future<Output = io::Result<(Self::Io, Origin)>> + Send;
}

/// An accepted connection, before the server has read from it.
pub(crate) trait Accepted: Send + 'static {
    /// The byte stream that carries the calls.
    type Io: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// Returns the TCP connection, if it is one.
    fn tcp(&mut self) -> Option<&mut TcpStream> {
        None
    }

    /// Performs the handshakes before the first call. The client determines how long that takes.
    fn handshake(self) -> impl Future<Output = io::Result<Self::Io>> + Send;
}

impl Accepted for TcpStream {
    type Io = Self;

    fn tcp(&mut self) -> Option<&mut TcpStream> {
        Some(self)
    }

    async fn handshake(self) -> io::Result<Self> {
        Ok(self)
    }
}

impl Accepted for UnixStream {
    type Io = Self;

    async fn handshake(self) -> io::Result<Self> {
        Ok(self)
    }
}

impl Accept for TcpListener {
    type Io = TcpStream;

    async fn accept(&self) -> io::Result<(TcpStream, Origin)> {
        let (io, address) = Self::accept(self).await?;
        if let Err(error) = io.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY is not set");
        }
        Ok((io, Origin::host(address.ip())))
    }
}

/// A listening Unix socket. Dropping it removes its file, unless another server has replaced the file.
#[derive(Debug)]
pub struct UnixSocket {
    listener: UnixListener,
    path: PathBuf,
    file: Option<(u64, u64)>,
}

impl UnixSocket {
    /// Listens at a path where no file exists.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn bind(path: &Path) -> io::Result<Self> {
        let listener = UnixListener::bind(path)?;
        // Read now: once the server says that it listens, another server may replace the file.
        Ok(Self { listener, path: path.to_owned(), file: device_and_inode(path) })
    }

    /// Returns the path of the socket.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn device_and_inode(path: &Path) -> Option<(u64, u64)> {
    std::fs::symlink_metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        if device_and_inode(&self.path) == self.file {
            // Ignores an error: the socket is closed anyway, and the next start replaces a file that remains.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Accept for UnixSocket {
    type Io = UnixStream;

    async fn accept(&self) -> io::Result<(UnixStream, Origin)> {
        let (io, _) = self.listener.accept().await?;
        let origin = io.peer_cred().map_or(Origin::Unknown, |peer| Origin::User(peer.uid()));
        Ok((io, origin))
    }
}

/// A listener that continues after failures.
pub(crate) struct Incoming<A> {
    listener: A,
    wait: Duration,
    warnings: WarningThrottle,
}

impl<A: Accept> Incoming<A> {
    pub(crate) fn new(listener: A) -> Self {
        Self { listener, wait: FIRST_WAIT, warnings: WarningThrottle::default() }
    }

    /// Waits for the next connection.
    pub(crate) async fn next(&mut self) -> (A::Io, Origin) {
        use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
        loop {
            match self.listener.accept().await {
                Ok(accepted) => {
                    self.wait = FIRST_WAIT;
                    return accepted;
                }
                // Only this connection failed: the listener can accept the next one immediately.
                Err(error)
                    if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) =>
                {
                    tracing::debug!(%error, "a connection was not accepted");
                }
                Err(error) => {
                    if let Some(failures) = self.warnings.count(Instant::now()) {
                        tracing::warn!(%error, failures, "no connection can be accepted");
                    }
                    // Doubles the wait first: the caller may drop this future while it sleeps.
                    let wait = self.wait;
                    self.wait = (2 * wait).min(LONGEST_WAIT);
                    tokio::time::sleep(wait).await;
                }
            }
        }
    }
}

/// Allows one warning a second and counts all events. Holds the time of the last warning, and the events since then.
#[derive(Debug, Default)]
pub(crate) struct WarningThrottle(Mutex<(Option<Instant>, u64)>);

impl WarningThrottle {
    /// Counts an event at `now`. If a warning is due, returns the number of events since the last warning.
    pub(crate) fn count(&self, now: Instant) -> Option<u64> {
        let mut throttle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (last_warning, events) = &mut *throttle;
        *events += 1;
        if last_warning.is_some_and(|last| now.saturating_duration_since(last) < WARNING_INTERVAL) {
            return None;
        }
        *last_warning = Some(now);
        Some(std::mem::take(events))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A listener whose first `failures` calls fail.
    struct FailingListener {
        failures: AtomicUsize,
        error: fn() -> io::Error,
    }

    impl Accepted for () {
        type Io = tokio::io::DuplexStream;

        async fn handshake(self) -> io::Result<Self::Io> {
            Ok(tokio::io::duplex(1).0)
        }
    }

    impl Accept for FailingListener {
        type Io = ();

        async fn accept(&self) -> io::Result<((), Origin)> {
            if self.failures.fetch_sub(1, Ordering::Relaxed) > 0 {
                return Err((self.error)());
            }
            self.failures.store(0, Ordering::Relaxed);
            Ok(((), Origin::Unknown))
        }
    }

    async fn wait_after(failures: usize, error: fn() -> io::Error) -> Duration {
        let mut incoming = Incoming::new(FailingListener { failures: AtomicUsize::new(failures), error });
        let start = tokio::time::Instant::now();
        incoming.next().await;
        assert_eq!(incoming.wait, FIRST_WAIT);
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn accept_waits_while_no_file_descriptor_is_free() {
        let full = || io::Error::from_raw_os_error(24);
        // 50, 100, 200, 400, 800 and then 1,000 ms.
        let waited = wait_after(8, full).await;
        assert!((Duration::from_millis(4_550)..Duration::from_millis(4_600)).contains(&waited), "{waited:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_failed_connection_does_not_delay_the_next() {
        assert_eq!(wait_after(100, || io::ErrorKind::ConnectionAborted.into()).await, Duration::ZERO);
    }

    #[test]
    fn a_warning_counts_all_events_since_the_last() {
        let (throttle, start) = (WarningThrottle::default(), Instant::now());
        let warnings =
            [0, 10, 999, 1_000, 1_001, 2_500].map(|at| throttle.count(start + Duration::from_millis(at)));
        assert_eq!(warnings, [Some(1), None, None, Some(3), None, Some(2)]);
    }

    #[tokio::test]
    async fn a_socket_does_not_remove_a_file_that_replaced_its_own() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("socket");
        let first = UnixSocket::bind(&path).expect("no file exists");
        std::fs::remove_file(&path).expect("the file exists");
        let second = UnixSocket::bind(&path).expect("no file exists");
        drop(first);
        assert!(path.exists());
        drop(second);
        assert!(!path.exists());
    }
}
