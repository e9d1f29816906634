//! Connections that leases can end with.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tonic::transport::server::Connected;

use crate::batches::{Batches, Peer};

/// A client's connection. When it is dropped, so are the leases that end with it.
pub(crate) struct Leased<IO> {
    io: IO,
    peer: Peer,
    batches: Arc<Batches>,
}

impl<IO> Leased<IO> {
    /// Watches over a connection that has just come in.
    pub(crate) fn new(io: IO, batches: &Arc<Batches>) -> Self {
        Self { io, peer: batches.connected(), batches: Arc::clone(batches) }
    }
}

impl<IO> Drop for Leased<IO> {
    fn drop(&mut self) {
        self.batches.disconnected(self.peer);
    }
}

impl<IO> Connected for Leased<IO> {
    /// Every call finds it among its extensions.
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer
    }
}

impl<IO: AsyncRead + Unpin> AsyncRead for Leased<IO> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_read(context, buffer)
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Leased<IO> {
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
