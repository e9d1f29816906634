//! Accepting connections for as long as the server runs.
//!
//! `accept` fails for reasons that pass: most of all when the process or the machine has no file descriptor
//! left. The listener then waits and tries again; it neither spins nor ends.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

use crate::origin::Origin;

/// How long a listener waits after the first failure; each further one doubles it.
const FIRST_WAIT: Duration = Duration::from_millis(50);
/// The longest that a listener waits.
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// Of warnings that say the same, one in so long is logged.
const BETWEEN_WARNINGS: Duration = Duration::from_secs(1);

/// Something that connections come in on.
pub(crate) trait Accept: Send + Sync + 'static {
    /// A connection.
    type Io: Accepted;

    /// The next connection, and where it comes from.
    fn accept(&self) -> impl Future<Output = io::Result<(Self::Io, Origin)>> + Send;
}

/// A connection that has come in, and of which nothing has been read.
pub(crate) trait Accepted: Send + 'static {
    /// What carries its calls.
    type Io: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// The TCP connection, if it is one.
    fn tcp(&mut self) -> Option<&mut TcpStream> {
        None
    }

    /// Agrees with its peer on all that comes before the first call. That takes as long as the peer likes.
    fn open(self) -> impl Future<Output = io::Result<Self::Io>> + Send;
}

impl Accepted for TcpStream {
    type Io = Self;

    fn tcp(&mut self) -> Option<&mut TcpStream> {
        Some(self)
    }

    async fn open(self) -> io::Result<Self> {
        Ok(self)
    }
}

impl Accepted for UnixStream {
    type Io = Self;

    async fn open(self) -> io::Result<Self> {
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

/// A Unix socket that is listened on. Its path is removed with it, unless another server has taken the path.
#[derive(Debug)]
pub struct UnixSocket {
    listener: UnixListener,
    path: PathBuf,
    file: Option<(u64, u64)>,
}

impl UnixSocket {
    /// Listens at a path where no file is.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn bind(path: &Path) -> io::Result<Self> {
        let listener = UnixListener::bind(path)?;
        // Now, before the server says that it listens: from then on another server may replace the file.
        Ok(Self { listener, path: path.to_owned(), file: identity(path) })
    }

    /// Where it listens.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// What tells a file from any other.
fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::symlink_metadata(path).ok().map(|about| (about.dev(), about.ino()))
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        if identity(&self.path) == self.file {
            // It does no harm if it has been removed before.
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

/// A listener that goes on after failures.
pub(crate) struct Incoming<A> {
    listener: A,
    wait: Duration,
    warnings: Throttle,
}

impl<A: Accept> Incoming<A> {
    pub(crate) fn new(listener: A) -> Self {
        Self { listener, wait: FIRST_WAIT, warnings: Throttle::default() }
    }

    /// The next connection, however long that takes.
    pub(crate) async fn next(&mut self) -> (A::Io, Origin) {
        loop {
            match self.listener.accept().await {
                Ok(accepted) => {
                    self.wait = FIRST_WAIT;
                    return accepted;
                }
                Err(error) if concerns_one(&error) => {
                    tracing::debug!(%error, "a connection was not accepted");
                }
                Err(error) => {
                    if let Some(failures) = self.warnings.pass(Instant::now()) {
                        tracing::warn!(%error, failures, "no connection can be accepted");
                    }
                    let wait = self.wait;
                    self.wait = (2 * wait).min(LONGEST_WAIT);
                    tokio::time::sleep(wait).await;
                }
            }
        }
    }
}

/// Whether a failure is that of one connection, so that the next can be accepted at once.
fn concerns_one(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// Lets one warning a second through and counts all.
#[derive(Debug, Default)]
pub(crate) struct Throttle(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    logged: Option<Instant>,
    events: u64,
}

impl Throttle {
    /// Counts an event at `now`; gives their number since the last warning if there is to be one.
    pub(crate) fn pass(&self, now: Instant) -> Option<u64> {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counted.events += 1;
        if counted.logged.is_some_and(|logged| now.saturating_duration_since(logged) < BETWEEN_WARNINGS) {
            return None;
        }
        counted.logged = Some(now);
        Some(std::mem::take(&mut counted.events))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A listener without file descriptors for a while.
    struct Failing {
        failures: AtomicUsize,
        error: fn() -> io::Error,
    }

    impl Accepted for () {
        type Io = tokio::io::DuplexStream;

        async fn open(self) -> io::Result<Self::Io> {
            Ok(tokio::io::duplex(1).0)
        }
    }

    impl Accept for Failing {
        type Io = ();

        async fn accept(&self) -> io::Result<((), Origin)> {
            if self.failures.fetch_sub(1, Ordering::Relaxed) > 0 {
                return Err((self.error)());
            }
            self.failures.store(0, Ordering::Relaxed);
            Ok(((), Origin::Unknown))
        }
    }

    async fn waited(failures: usize, error: fn() -> io::Error) -> Duration {
        let mut incoming = Incoming::new(Failing { failures: AtomicUsize::new(failures), error });
        let start = tokio::time::Instant::now();
        incoming.next().await;
        assert_eq!(incoming.wait, FIRST_WAIT);
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_descriptor_table_is_waited_for() {
        let full = || io::Error::from_raw_os_error(24);
        // 50, 100, 200, 400, 800 and then 1,000 ms each.
        let waited = waited(8, full).await;
        assert!((Duration::from_millis(4_550)..Duration::from_millis(4_600)).contains(&waited), "{waited:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_failed_does_not_delay_the_next() {
        assert_eq!(waited(100, || io::ErrorKind::ConnectionAborted.into()).await, Duration::ZERO);
    }

    #[test]
    fn one_warning_a_second_tells_of_all() {
        let (throttle, start) = (Throttle::default(), Instant::now());
        let passed =
            [0, 10, 999, 1_000, 1_001, 2_500].map(|at| throttle.pass(start + Duration::from_millis(at)));
        assert_eq!(passed, [Some(1), None, None, Some(3), None, Some(2)]);
    }

    #[tokio::test]
    async fn a_socket_leaves_that_of_its_successor() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        let first = UnixSocket::bind(&path).expect("nothing is there");
        std::fs::remove_file(&path).expect("it is there");
        let second = UnixSocket::bind(&path).expect("nothing is there any more");
        drop(first);
        assert!(path.exists());
        drop(second);
        assert!(!path.exists());
    }
}
