//! Connects to servers: directly or through a proxy, with or without TLS.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tonic::codegen::http::Uri;
use tonic::transport::{Channel, Endpoint};
use tower::{ServiceExt as _, service_fn};

use super::address::Address;
use super::tls::Tls;

/// The timeout for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// After this long without data the client sends a keepalive ping. Servers allow a ping every 10 seconds.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(20);
/// How long the response to a keepalive ping may take.
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// The flow-control window of one stream in bytes.
const STREAM_WINDOW: u32 = 4 << 20;
/// The flow-control window of a connection in bytes.
const CONNECTION_WINDOW: u32 = 16 << 20;

/// Error messages for a client and a server that speak different protocols.
const SPEAKS_TLS: &str = "the server speaks TLS: connect with tls=True, or tls=boardwire.TLS(...)";
const SPEAKS_NO_TLS: &str = "the server does not speak TLS: connect without `tls`";
const SPEAKS_NO_HTTP2: &str =
    "the server at this address does not speak HTTP/2, so it is not a gRPC server: check the port";
/// The error message for a server that closes the connection instead of answering the TLS handshake.
const CLOSED_IN_HANDSHAKE: &str = "the server closed the connection without a response: it may not speak TLS";
/// The messages for different protocols: a retry does not help.
pub(crate) const MISMATCHES: [&str; 3] = [SPEAKS_TLS, SPEAKS_NO_TLS, SPEAKS_NO_HTTP2];

/// The first bytes of a TLS alert and of a TLS handshake.
const TLS_RECORDS: [u8; 2] = [0x15, 0x16];
/// The first byte of an HTTP/2 server's first frame. It is 0 because the frame's length is below 65,536.
const HTTP2_SETTINGS: u8 = 0;

/// Creates a channel to a server. It connects with the first call, and reconnects after it loses its connection.
///
/// # Errors
/// The address does not form a URI, TLS cannot be set up, or the client cannot use the proxy for the address.
pub(crate) fn channel(address: Address, tls: Option<&Tls>) -> Result<Channel, String> {
    let scheme = if tls.is_some() { "https" } else { "http" };
    let uri: Uri = format!("{scheme}://{}", address.authority()).parse().map_err(|_| {
        format!("an address must be 'host:port' or 'unix:/path'; got {address}: the host is not a valid name")
    })?;
    let mut endpoint = Endpoint::from(uri.clone())
        .connect_timeout(CONNECT_TIMEOUT)
        .http2_keep_alive_interval(KEEPALIVE_INTERVAL)
        .keep_alive_timeout(KEEPALIVE_TIMEOUT)
        // A seat may wait for a long time without receiving data.
        .keep_alive_while_idle(true)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW);
    if let Some(tls) = tls {
        endpoint = tls.secure(endpoint, address.host()).map_err(|error| format!("TLS: {error}"))?;
    }
    let proxy = proxy(&address, &uri)?;
    let is_secure = tls.is_some();
    let dial = service_fn(move |_: Uri| {
        let (address, uri, proxy) = (address.clone(), uri.clone(), proxy.clone());
        async move { Ok::<_, io::Error>(TokioIo::new(dial(&address, uri, proxy, is_secure).await?)) }
    });
    Ok(endpoint.connect_with_connector_lazy(dial))
}

/// Returns the proxy that environment variables name for an address. Addresses on this machine use no proxy.
fn proxy(address: &Address, uri: &Uri) -> Result<Option<Intercept>, String> {
    if address.is_local() {
        return Ok(None);
    }
    match Matcher::from_env().intercept(uri) {
        Some(proxy) if proxy.uri().scheme_str() != Some("http") => {
            Err(format!("the proxy for {address} must be an http:// proxy; got {}", proxy.uri()))
        }
        proxy => Ok(proxy),
    }
}

async fn dial(address: &Address, uri: Uri, proxy: Option<Intercept>, is_secure: bool) -> io::Result<Checked> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    let stream: Box<dyn Stream> = match (address, proxy) {
        (Address::Unix(path), _) => Box::new(UnixStream::connect(path).await?),
        (Address::Tcp { .. }, None) => {
            Box::new(tcp.oneshot(uri).await.map_err(io::Error::other)?.into_inner())
        }
        (Address::Tcp { .. }, Some(proxy)) => {
            let mut tunnel = Tunnel::new(proxy.uri().clone(), tcp);
            if let Some(auth) = proxy.basic_auth() {
                tunnel = tunnel.with_auth(auth.clone());
            }
            let failed = |error| io::Error::other(format!("the proxy {} failed: {error}", proxy.uri()));
            Box::new(tunnel.oneshot(uri).await.map_err(failed)?.into_inner())
        }
    };
    Ok(Checked { stream, is_secure, has_responded: false })
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A connection that fails with an explanation if the server's first byte belongs to another protocol.
struct Checked {
    stream: Box<dyn Stream>,
    is_secure: bool,
    /// Whether the first byte has arrived.
    has_responded: bool,
}

impl Checked {
    fn check(&self, first: u8) -> io::Result<()> {
        let speaks_tls = TLS_RECORDS.contains(&first);
        match (self.is_secure, speaks_tls) {
            (true, false) => Err(io::Error::other(SPEAKS_NO_TLS)),
            (false, true) => Err(io::Error::other(SPEAKS_TLS)),
            (false, false) if first != HTTP2_SETTINGS => Err(io::Error::other(SPEAKS_NO_HTTP2)),
            _ => Ok(()),
        }
    }
}

impl AsyncRead for Checked {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.stream).poll_read(cx, buffer));
        Poll::Ready(match buffer.filled().get(before) {
            _ if self.has_responded => read,
            Some(&first) => {
                self.has_responded = true;
                read.and(self.check(first))
            }
            None if self.is_secure => Err(io::Error::other(CLOSED_IN_HANDSHAKE)),
            None => read,
        })
    }
}

/// Ignores the error of a write after the server has closed the connection.
///
/// The client still has to read the server's last data, and then the end.
fn written(result: Poll<io::Result<usize>>, bytes: usize) -> Poll<io::Result<usize>> {
    result.map(|result| match result {
        Err(error) if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) => {
            Ok(bytes)
        }
        result => result,
    })
}

impl AsyncWrite for Checked {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        written(Pin::new(&mut self.stream).poll_write(cx, bytes), bytes.len())
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let length = bytes.iter().map(|part| part.len()).sum();
        written(Pin::new(&mut self.stream).poll_write_vectored(cx, bytes), length)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
