//! Server addresses: `HOST:PORT` or `unix:PATH`.

use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::os::unix::fs::FileTypeExt as _;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use tokio::net::{TcpListener, UnixStream};
use tonic::transport::Endpoint;

use crate::flags::usage_error;
use boardwire_server::edge::{Tls, UnixSocket};
use boardwire_server::run::Listener;

/// An unresolved address, as the user writes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) enum Address {
    Tcp(String),
    Unix(PathBuf),
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Self::Unix(path.into()));
        }
        match text.rsplit_once(':') {
            Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
                Ok(Self::Tcp(text.to_owned()))
            }
            _ => Err(format!("`{text}` is neither HOST:PORT nor unix:PATH")),
        }
    }
}

impl TryFrom<String> for Address {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Address> for String {
    fn from(address: Address) -> Self {
        address.to_string()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => out.write_str(address),
            Self::Unix(path) => write!(out, "unix:{}", path.display()),
        }
    }
}

impl Address {
    /// Returns the endpoint for a client without TLS.
    pub(super) fn endpoint(&self) -> anyhow::Result<Endpoint> {
        let target = match self {
            Self::Tcp(address) => format!("http://{address}"),
            Self::Unix(_) => self.to_string(),
        };
        Ok(Endpoint::from_shared(target)?)
    }

    /// Resolves the host name. A TCP address must be on loopback, unless `allow_remote`.
    ///
    /// # Errors
    /// The host is unknown, or other machines can reach the address without `allow_remote`.
    pub(super) fn resolve(&self, allow_remote: bool) -> anyhow::Result<Resolved> {
        let remedy = "--tls-cert and --tls-key, or --insecure";
        match self {
            Self::Tcp(address) => resolve(address, allow_remote, remedy).map(Resolved::Tcp),
            Self::Unix(path) => Ok(Resolved::Unix(path.clone())),
        }
    }
}

/// Resolves `HOST:PORT`. It must be on loopback, unless `allow_remote`. The error names the flags in `remedy`.
pub(super) fn resolve(address: &str, allow_remote: bool, remedy: &str) -> anyhow::Result<Vec<SocketAddr>> {
    let sockets = address.to_socket_addrs().with_context(|| format!("cannot listen on {address}"))?;
    let sockets: Vec<_> = sockets.collect();
    match sockets.iter().find(|socket| !socket.ip().to_canonical().is_loopback()) {
        Some(remote) if !allow_remote => Err(usage_error(&format!(
            "{remote} can be reached from other machines, and plaintext can be read and changed on the way: use {remedy}"
        ))),
        _ => Ok(sockets),
    }
}

/// A resolved address to listen on.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Resolved {
    Tcp(Vec<SocketAddr>),
    Unix(PathBuf),
}

impl Resolved {
    /// Listens on the address. TCP uses TLS if `tls` is given.
    pub(super) async fn bind(&self, tls: Option<&Arc<Tls>>) -> io::Result<Listener> {
        match self {
            Self::Tcp(sockets) => {
                let listener = TcpListener::bind(&sockets[..]).await?;
                Ok(match tls {
                    Some(tls) => Listener::Tls(listener, Arc::clone(tls)),
                    None => Listener::Tcp(listener),
                })
            }
            Self::Unix(path) => {
                if self.is_stale_socket().await {
                    std::fs::remove_file(path)?;
                }
                Ok(Listener::Unix(UnixSocket::bind(path)?))
            }
        }
    }

    /// Returns whether this is a Unix socket that refuses connections: the server that created it was killed.
    pub(super) async fn is_stale_socket(&self) -> bool {
        let Self::Unix(path) = self else { return false };
        let is_socket = std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
        let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
        is_socket && UnixStream::connect(path).await.is_err_and(refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_sockets_or_paths() {
        assert_eq!("unix:/tmp/b".parse(), Ok(Address::Unix("/tmp/b".into())));
        assert_eq!("127.0.0.1:0".parse(), Ok(Address::Tcp("127.0.0.1:0".to_owned())));
        for wrong in ["", "50051", ":50051", "localhost:x", "localhost:70000"] {
            assert!(wrong.parse::<Address>().is_err(), "{wrong}");
        }
    }

    #[tokio::test]
    async fn only_stale_sockets_are_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        let bind = async || Resolved::Unix(path.clone()).bind(None).await.map_err(|error| error.kind());
        drop(bind().await.expect("the path is free"));
        let live = bind().await.expect("the socket is stale");
        assert_eq!(bind().await.err(), Some(io::ErrorKind::AddrInUse), "a server listens on it");
        assert!(path.exists(), "the server keeps its socket");
        drop(live);
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        std::fs::write(&file, "mine").expect("the folder is writable");
        std::os::unix::fs::symlink(&file, &link).expect("the folder is writable");
        for path in [file, link] {
            let refused = Resolved::Unix(path.clone()).bind(None).await.map_err(|error| error.kind());
            assert_eq!(refused.err(), Some(io::ErrorKind::AddrInUse), "{path:?}");
            assert_eq!(std::fs::read(&path).expect("the file is kept"), b"mine", "{path:?}");
        }
    }

    #[test]
    fn plaintext_is_for_loopback_only() {
        let resolve = |text: &str, remote| text.parse::<Address>().expect("an address").resolve(remote);
        for near in
            ["127.0.0.1:1", "127.8.0.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1", "localhost:1", "unix:/b"]
        {
            resolve(near, false).unwrap_or_else(|refused| panic!("{near}: {refused}"));
        }
        for far in ["0.0.0.0:1", "[::]:1", "192.0.2.1:1", "[2001:db8::1]:1", "[::ffff:192.0.2.1]:1"] {
            let refused = resolve(far, false).expect_err("other machines can reach the address");
            assert!(refused.is::<clap::Error>() && refused.to_string().contains("--insecure"), "{refused}");
            let sockets = vec![far.parse().expect("a socket")];
            assert_eq!(resolve(far, true).expect("remote is allowed"), Resolved::Tcp(sockets));
        }
    }
}
