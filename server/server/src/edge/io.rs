//! The byte stream of a gRPC connection.
//!
//! The server sets up HTTP/2 only after the client's preface, so that a silent connection costs little. The server does not
//! read from a connection that has too many tasks.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use futures_util::task::AtomicWaker;
use hyper::rt::Executor;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};
use tokio::time::Instant;

/// The first bytes of a client (RFC 9113, section 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A connection whose preface has been read. It replays the preface for the HTTP/2 server.
pub(crate) struct PrefacedIo<IO> {
    io: IO,
    tasks: TaskLimiter,
    last_read: Arc<Mutex<Instant>>,
    /// The rest of the preface that the HTTP/2 server has not read yet.
    replay: &'static [u8],
}

impl<IO: AsyncRead + Unpin> PrefacedIo<IO> {
    /// Reads the preface. From then on, each read updates `last_read`.
    ///
    /// # Errors
    /// The connection ends, or begins with bytes that are not the preface.
    pub(crate) async fn read(
        mut io: IO,
        tasks: TaskLimiter,
        last_read: Arc<Mutex<Instant>>,
    ) -> io::Result<Self> {
        let mut bytes = [0; PREFACE.len()];
        let mut read = 0;
        while read < PREFACE.len() {
            let more = io.read(&mut bytes[read..]).await?;
            if more == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            read += more;
            if bytes[..read] != PREFACE[..read] {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "the connection does not start with the HTTP/2 preface",
                ));
            }
        }
        Ok(Self { io, tasks, last_read, replay: PREFACE })
    }
}

impl<IO: AsyncRead + Unpin> AsyncRead for PrefacedIo<IO> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.tasks.poll_below_limit(cx));
        if !this.replay.is_empty() {
            let (now, later) = this.replay.split_at(this.replay.len().min(buf.remaining()));
            buf.put_slice(now);
            this.replay = later;
            return Poll::Ready(Ok(()));
        }
        let read = ready!(Pin::new(&mut this.io).poll_read(cx, buf));
        *this.last_read.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        Poll::Ready(read)
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for PrefacedIo<IO> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().io).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().io).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}

/// Spawns and counts the tasks of a connection: one for each open call, and for a moment one for each reset call. At the
/// limit, the server stops reading from the connection. HTTP/2 limits the open calls but not the reset ones.
#[derive(Clone)]
pub(crate) struct TaskLimiter(Arc<TaskCounter>);

struct TaskCounter {
    limit: usize,
    count: AtomicUsize,
    reader: AtomicWaker,
}

/// A counted task. Dropping this ends the count.
struct TaskGuard(Arc<TaskCounter>);

impl Drop for TaskGuard {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::AcqRel);
        self.0.reader.wake();
    }
}

impl TaskLimiter {
    pub(crate) fn new(limit: usize) -> Self {
        Self(Arc::new(TaskCounter { limit, count: AtomicUsize::new(0), reader: AtomicWaker::new() }))
    }

    /// Ready while there are fewer tasks than the limit. The reader of the connection polls this before each read.
    pub(crate) fn poll_below_limit(&self, cx: &Context<'_>) -> Poll<()> {
        let is_below = || self.0.count.load(Ordering::Acquire) < self.0.limit;
        if is_below() {
            return Poll::Ready(());
        }
        self.0.reader.register(cx.waker());
        // A task may have ended before the waker was registered.
        if is_below() { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl<F: Future<Output: Send> + Send + 'static> Executor<F> for TaskLimiter {
    fn execute(&self, future: F) {
        self.0.count.fetch_add(1, Ordering::AcqRel);
        let task = TaskGuard(Arc::clone(&self.0));
        tokio::spawn(async move {
            let _task = task;
            future.await
        });
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::io::AsyncWriteExt as _;
    use tokio::sync::Notify;

    use super::*;

    async fn read_preface<IO: AsyncRead + Unpin>(io: IO) -> io::Result<PrefacedIo<IO>> {
        PrefacedIo::read(io, TaskLimiter::new(1), Arc::new(Mutex::new(Instant::now()))).await
    }

    #[tokio::test]
    async fn the_http2_server_reads_the_preface_again() {
        let (mut client, server) = tokio::io::duplex(64);
        let (one, two) = PREFACE.split_at(5);
        let sending = tokio::spawn(async move {
            for part in [one, two, b"rest"] {
                client.write_all(part).await.expect("the server reads");
                tokio::task::yield_now().await;
            }
        });
        let mut io = read_preface(server).await.expect("a preface");
        sending.await.expect("no panic");
        let mut read = Vec::new();
        io.read_to_end(&mut read).await.expect("the client closes");
        assert_eq!(read, [&PREFACE[..], b"rest"].concat());
    }

    #[tokio::test]
    async fn the_first_wrong_byte_is_refused() {
        for (sent, kind) in [
            ("GET / HTTP/1.1\r\n", io::ErrorKind::InvalidData),
            ("PRI * HTTP/1", io::ErrorKind::InvalidData),
            ("PRI * HTTP/2", io::ErrorKind::UnexpectedEof),
        ] {
            let (mut client, server) = tokio::io::duplex(64);
            client.write_all(sent.as_bytes()).await.expect("the bytes fit");
            if kind == io::ErrorKind::UnexpectedEof {
                drop(client);
            }
            let error = read_preface(server).await.err();
            assert_eq!(error.map(|error| error.kind()), Some(kind), "{sent}");
        }
    }

    #[tokio::test]
    async fn the_reader_waits_at_the_limit() {
        let (tasks, end) = (TaskLimiter::new(2), Arc::new(Notify::new()));
        let below_limit = || poll_fn(|cx| tasks.poll_below_limit(cx));
        for _ in 0..2 {
            below_limit().await;
            let end = Arc::clone(&end);
            tasks.execute(async move { end.notified().await });
        }
        let mut waiting = Box::pin(below_limit());
        assert!(futures_util::poll!(&mut waiting).is_pending());
        end.notify_one();
        waiting.await;
        end.notify_one();
    }
}
