//! Where a server listens.

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

use crate::flags::usage;
use boardwire_server::edge::{Tls, UnixSocket};
use boardwire_server::run::Listener;

/// Where to listen, as it is written.
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
    /// Where clients find a server that listens there without TLS.
    ///
    /// # Errors
    /// It is no address of a client.
    pub(super) fn endpoint(&self) -> anyhow::Result<Endpoint> {
        let target = match self {
            Self::Tcp(address) => format!("http://{address}"),
            Self::Unix(_) => self.to_string(),
        };
        Ok(Endpoint::from_shared(target)?)
    }

    /// Looks up where that is. An address that other machines can reach must be `secured`.
    ///
    /// # Errors
    /// There is no such host; others can reach the address.
    pub(super) fn find(&self, secured: bool) -> anyhow::Result<Resolved> {
        match self {
            Self::Tcp(address) if secured => look_up(address).map(Resolved::Tcp),
            Self::Tcp(address) => {
                sheltered(address, "--tls-cert and --tls-key, or --insecure").map(Resolved::Tcp)
            }
            Self::Unix(path) => Ok(Resolved::Unix(path.clone())),
        }
    }
}

/// The sockets of `HOST:PORT`.
pub(super) fn look_up(address: &str) -> anyhow::Result<Vec<SocketAddr>> {
    let sockets = address.to_socket_addrs().with_context(|| format!("cannot listen on {address}"))?;
    Ok(sockets.collect())
}

/// The sockets of `HOST:PORT`, if no other machine can reach them; else it takes what `remedy` says.
pub(super) fn sheltered(address: &str, remedy: &str) -> anyhow::Result<Vec<SocketAddr>> {
    let sockets = look_up(address)?;
    match sockets.iter().find(|socket| !socket.ip().to_canonical().is_loopback()) {
        None => Ok(sockets),
        Some(open) => Err(usage(&format!(
            "{open} can be reached from other machines, and all that it carries could be read and changed on its way: \
             it takes {remedy}"
        ))),
    }
}

/// Where to listen, looked up.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Resolved {
    Tcp(Vec<SocketAddr>),
    Unix(PathBuf),
}

impl Resolved {
    /// Listens there, on TCP with TLS if it is given.
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
                if self.is_left_behind().await {
                    std::fs::remove_file(path)?;
                }
                Ok(Listener::Unix(UnixSocket::bind(path)?))
            }
        }
    }

    /// Whether this is a socket nobody answers on: that of a server that was killed. Any other file stays where it is.
    pub(super) async fn is_left_behind(&self) -> bool {
        let Self::Unix(path) = self else { return false };
        let is_socket = std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
        let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
        is_socket && UnixStream::connect(path).await.is_err_and(refused)
    }
}

/// Where a listener accepts connections, as clients write it.
pub(super) fn bound(listener: &Listener) -> io::Result<String> {
    match listener {
        Listener::Tcp(listener) | Listener::Tls(listener, _) => {
            Ok(SocketAddr::to_string(&listener.local_addr()?))
        }
        Listener::Unix(socket) => Ok(format!("unix:{}", socket.path().display())),
        Listener::WatchPage(listener) | Listener::Metrics(listener) => {
            Ok(format!("http://{}", listener.local_addr()?))
        }
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
    async fn only_a_socket_that_was_left_behind_makes_room() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        let bind = async || Resolved::Unix(path.clone()).bind(None).await.map_err(|error| error.kind());
        drop(bind().await.expect("there is nothing"));
        let live = bind().await.expect("nobody answers on what is there");
        assert_eq!(bind().await.err(), Some(io::ErrorKind::AddrInUse), "somebody answers");
        assert!(path.exists(), "it is still the other server's");
        drop(live);
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        std::fs::write(&file, "mine").expect("room");
        std::os::unix::fs::symlink(&file, &link).expect("room");
        for path in [file, link] {
            let refused = Resolved::Unix(path.clone()).bind(None).await.map_err(|error| error.kind());
            assert_eq!(refused.err(), Some(io::ErrorKind::AddrInUse), "{path:?}");
            assert_eq!(std::fs::read(&path).expect("it is still there"), b"mine", "{path:?}");
        }
    }

    #[test]
    fn who_can_be_reached_from_elsewhere_must_be_secured() {
        let find = |address: &str, secured| address.parse::<Address>().expect("an address").find(secured);
        for near in
            ["127.0.0.1:1", "127.8.0.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1", "localhost:1", "unix:/b"]
        {
            find(near, false).unwrap_or_else(|refused| panic!("{near}: {refused}"));
        }
        for far in ["0.0.0.0:1", "[::]:1", "192.0.2.1:1", "[2001:db8::1]:1", "[::ffff:192.0.2.1]:1"] {
            let refused = find(far, false).expect_err("others can reach it");
            assert!(refused.is::<clap::Error>() && refused.to_string().contains("--insecure"), "{refused}");
            let sockets = vec![far.parse().expect("a socket")];
            assert_eq!(find(far, true).expect("it is secured"), Resolved::Tcp(sockets));
        }
    }
}
