//! Connections that have begun as HTTP/2 does.
//!
//! Nothing is set up for a connection before its preface has come, so that those who say nothing cost little
//! and can be told from those who do.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};

use super::caller::LastRead;
use super::tasks::Tasks;

/// What a client sends first (RFC 9113, section 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A connection whose preface has been read, and is read again.
pub(crate) struct PrefacedIo<IO> {
    io: IO,
    tasks: Tasks,
    last_read: LastRead,
    replay: &'static [u8],
}

impl<IO: AsyncRead + Unpin> PrefacedIo<IO> {
    /// Reads the preface.
    ///
    /// # Errors
    /// When the connection ends, or begins with anything else.
    pub(crate) async fn read(mut io: IO, tasks: Tasks, last_read: LastRead) -> io::Result<Self> {
        let mut bytes = [0; PREFACE.len()];
        let mut read = 0;
        while read < PREFACE.len() {
            let more = io.read(&mut bytes[read..]).await?;
            if more == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            read += more;
            if bytes[..read] != PREFACE[..read] {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "this is not HTTP/2"));
            }
        }
        Ok(Self { io, tasks, last_read, replay: PREFACE })
    }
}

impl<IO: AsyncRead + Unpin> AsyncRead for PrefacedIo<IO> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.tasks.poll_few(context));
        if this.replay.is_empty() {
            let read = Pin::new(&mut this.io).poll_read(context, buffer);
            if read.is_ready() {
                this.last_read.note();
            }
            return read;
        }
        let (now, later) = this.replay.split_at(this.replay.len().min(buffer.remaining()));
        buffer.put_slice(now);
        this.replay = later;
        Poll::Ready(Ok(()))
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for PrefacedIo<IO> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().io).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_shutdown(context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().io).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    #[tokio::test]
    async fn the_preface_is_read_again() {
        let (mut client, server) = tokio::io::duplex(64);
        let (one, two) = PREFACE.split_at(5);
        let sending = tokio::spawn(async move {
            for part in [one, two, b"rest"] {
                client.write_all(part).await.expect("it is read");
                tokio::task::yield_now().await;
            }
        });
        let mut begun = PrefacedIo::read(server, Tasks::new(1), LastRead::new()).await.expect("a preface");
        sending.await.expect("no panic");
        let mut read = Vec::new();
        begun.read_to_end(&mut read).await.expect("it ends");
        assert_eq!(read, [&PREFACE[..], b"rest"].concat());
    }

    #[tokio::test]
    async fn anything_else_is_refused_at_its_first_wrong_byte() {
        for (sent, kind) in [
            ("GET / HTTP/1.1\r\n", io::ErrorKind::InvalidData),
            ("PRI * HTTP/1", io::ErrorKind::InvalidData),
            ("PRI * HTTP/2", io::ErrorKind::UnexpectedEof),
        ] {
            let (mut client, server) = tokio::io::duplex(64);
            client.write_all(sent.as_bytes()).await.expect("it fits");
            if kind == io::ErrorKind::UnexpectedEof {
                drop(client);
            }
            assert_eq!(
                PrefacedIo::read(server, Tasks::new(1), LastRead::new())
                    .await
                    .err()
                    .map(|error| error.kind()),
                Some(kind),
                "{sent}"
            );
        }
    }
}
