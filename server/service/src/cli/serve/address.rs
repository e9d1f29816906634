//! Where a server listens.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::Context as _;
use serde::Deserialize;
use tokio::net::{TcpListener, UnixListener, UnixStream};

use crate::edge::Tls;
use crate::run::Listener;

/// Where to listen.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) enum Address {
    Tcp(String),
    Unix(PathBuf),
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
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

impl Address {
    /// Listens there, on TCP with TLS if it is given.
    pub(super) async fn bind(&self, tls: Option<&Arc<Tls>>) -> anyhow::Result<Listener> {
        self.listener(tls).await.with_context(|| format!("cannot listen on {self:?}"))
    }

    async fn listener(&self, tls: Option<&Arc<Tls>>) -> io::Result<Listener> {
        match self {
            Self::Tcp(address) => {
                let listener = TcpListener::bind(address).await?;
                Ok(match tls {
                    Some(tls) => Listener::Tls(listener, Arc::clone(tls)),
                    None => Listener::Tcp(listener),
                })
            }
            Self::Unix(path) => {
                // A socket nobody answers on was left behind by a server that was killed.
                if path.exists() && UnixStream::connect(path).await.is_err() {
                    std::fs::remove_file(path)?;
                }
                Ok(Listener::Unix(UnixListener::bind(path)?, path.clone()))
            }
        }
    }
}

/// Where a listener accepts connections, as clients write it.
pub(super) fn bound(listener: &Listener) -> io::Result<String> {
    match listener {
        Listener::Tcp(listener) | Listener::Tls(listener, _) => {
            Ok(SocketAddr::to_string(&listener.local_addr()?))
        }
        Listener::Unix(_, path) => Ok(format!("unix:{}", path.display())),
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
}
