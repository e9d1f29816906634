//! Server addresses.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// The address that a server listens on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Address {
    /// The path of a Unix socket.
    Unix(PathBuf),
    /// A host name or an IP address (IPv6 without brackets), and a port.
    Tcp { host: String, port: u16 },
}

impl Address {
    /// Returns whether data sent to this address stays on this machine. It does not resolve names.
    pub(crate) fn is_local(&self) -> bool {
        let Self::Tcp { host, .. } = self else { return true };
        let name = host.to_ascii_lowercase();
        match host.parse::<IpAddr>() {
            Ok(address) => address.to_canonical().is_loopback(),
            Err(_) => name == "localhost" || name.ends_with(".localhost"),
        }
    }

    /// Returns the name or IP address that the server's certificate must have.
    pub(crate) fn host(&self) -> &str {
        match self {
            Self::Unix(_) => "localhost",
            Self::Tcp { host, .. } => host,
        }
    }

    /// Returns the host and port in the form of a URI, and `localhost` for a Unix socket.
    pub(crate) fn authority(&self) -> String {
        match self {
            Self::Unix(_) => "localhost".to_owned(),
            Self::Tcp { host, port } if host.contains(':') => format!("[{host}]:{port}"),
            Self::Tcp { host, port } => format!("{host}:{port}"),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp { .. } => f.write_str(&self.authority()),
        }
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(given: &str) -> Result<Self, String> {
        let wrong =
            |why: &str| format!("an address must be 'host:port' or 'unix:/path'; got {given:?}: {why}");
        if let Some(path) = given.strip_prefix("unix:") {
            // gRPC also writes an absolute path as unix:///path.
            let path = path.strip_prefix("//").filter(|path| path.starts_with('/')).unwrap_or(path);
            return match path {
                "" => Err(wrong("the path is empty")),
                path => Ok(Self::Unix(path.into())),
            };
        }
        if let Some((scheme, _)) = given.split_once("://") {
            return Err(wrong(&format!("omit {scheme}://; TLS has its own argument")));
        }
        let Some((host, port)) = given.rsplit_once(':') else { return Err(wrong("the port is missing")) };
        let port = match port.parse() {
            Ok(port @ 1..) if port.to_string() == given[host.len() + 1..] => port,
            _ => return Err(wrong("a port must be a number from 1 to 65535")),
        };
        if host.contains(['@', '/', '?', '#']) {
            return Err(wrong("a host must not contain a user or a path"));
        }
        let host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
            Some(inner) if matches!(inner.parse(), Ok(IpAddr::V6(_))) => inner,
            Some(_) => return Err(wrong("only an IPv6 address may be in brackets")),
            None if host.contains(':') => return Err(wrong("an IPv6 address must be in brackets")),
            None => host,
        };
        let is_name =
            |host: &str| host.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':'));
        if host.is_empty() || !is_name(host) {
            return Err(wrong("the host is not a valid name"));
        }
        Ok(Self::Tcp { host: host.to_owned(), port })
    }
}
