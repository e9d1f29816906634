//! Sockets: those of private servers in the temporary folder, and TCP on this machine alone.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use super::Check;

/// Where the system takes a connection to itself from, if it takes any, it does at once.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where Python puts temporary files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Temporary {
    /// The folder, if there is any that can be written.
    pub(super) folder: Option<PathBuf>,
    /// Variables that come first, and name something else.
    pub(super) passed_over: Vec<String>,
}

/// Finds where Python puts temporary files, and with them the sockets of private servers.
pub(super) fn temporary_folder() -> Temporary {
    temporary_folder_by(|name| std::env::var_os(name).map(PathBuf::from))
}

/// As `tempfile.gettempdir` looks for it: the first folder that can be written.
fn temporary_folder_by(variable: impl Fn(&str) -> Option<PathBuf>) -> Temporary {
    let named = ["TMPDIR", "TEMP", "TMP"].map(|name| (Some(name), variable(name)));
    let usual = ["/tmp", "/var/tmp", "/usr/tmp", "."].map(|path| (None, Some(PathBuf::from(path))));
    let mut found = Temporary::default();
    for (name, folder) in named.into_iter().chain(usual) {
        let Some(folder) = folder.filter(|folder| !folder.as_os_str().is_empty()) else { continue };
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        match scratch(&folder) {
            Ok(_) => {
                found.folder = Some(folder);
                break;
            }
            Err(error) => {
                let told = name.map(|name| format!("{name} names {}: {error}", folder.display()));
                found.passed_over.extend(told);
            }
        }
    }
    found
}

/// A folder within another, named as those of private servers are, that is removed in the end.
pub(super) fn scratch(folder: &Path) -> io::Result<TempDir> {
    tempfile::Builder::new().prefix("boardwire-").rand_bytes(8).tempdir_in(folder)
}

/// Whether a private server of the client could listen: on a Unix socket in a folder of its own.
pub(super) fn socket(temporary: &Temporary) -> Check {
    let Some(folder) = &temporary.folder else {
        return Check::fail(
            "socket",
            "there is no temporary folder that can be written",
            "set TMPDIR to a folder that can be",
        );
    };
    if let Err((path, error)) = listen_on_unix(folder) {
        let bytes = path.as_os_str().len();
        return Check::fail(
            "socket",
            format!("private servers cannot listen on {} ({bytes} bytes): {error}", path.display()),
            "set TMPDIR to a short path on a file system of this machine, such as TMPDIR=/tmp: most systems take 107 bytes, \
             some 103",
        );
    }
    let found = format!("private servers can listen in {}", folder.display());
    if temporary.passed_over.is_empty() {
        Check::ok("socket", found)
    } else {
        let passed_over = temporary.passed_over.join(", ");
        Check::warn("socket", format!("{found}, but {passed_over}"), "name a folder that can be written")
    }
}

/// Listens as a private server does, and connects; what failed comes with the path.
fn listen_on_unix(folder: &Path) -> Result<(), (PathBuf, io::Error)> {
    let own = scratch(folder).map_err(|error| (folder.to_owned(), error))?;
    let path = own.path().join("socket");
    let connected = UnixListener::bind(&path).and_then(|_listener| UnixStream::connect(&path));
    connected.map(drop).map_err(|error| (path, error))
}

/// Whether servers and clients on this machine reach each other over TCP.
pub(super) fn loopback() -> Check {
    let connected = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| {
        let address: SocketAddr = listener.local_addr()?;
        TcpStream::connect_timeout(&address, PATIENCE)
    });
    match connected {
        Ok(_) => Check::ok("loopback", "127.0.0.1 can be listened on and connected to"),
        Err(error) => Check::fail(
            "loopback",
            format!("127.0.0.1 cannot be listened on and connected to: {error}"),
            "bring it up, `ip link set lo up`, or serve on a Unix socket: boardwire serve --listen unix:PATH",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::Status;

    #[test]
    fn the_temporary_folder_is_the_one_that_python_takes() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let absent = folder.path().join("absent");
        let by = |first: &Path| {
            temporary_folder_by(|name| match name {
                "TMPDIR" => Some(first.to_owned()),
                "TMP" => Some(folder.path().to_owned()),
                _ => None,
            })
        };
        let expected = Temporary { folder: Some(folder.path().to_owned()), passed_over: Vec::new() };
        assert_eq!(by(folder.path()), expected);
        assert_eq!(by(Path::new("")), expected, "an empty variable is none");
        let found = by(&absent);
        assert_eq!(found.folder, expected.folder);
        assert!(found.passed_over[0].starts_with("TMPDIR names"), "{found:?}");
        let check = socket(&found);
        assert_eq!(check.status, Status::Warn);
        assert!(check.found.contains(&absent.display().to_string()), "{check}");
    }

    #[test]
    fn a_path_that_is_too_long_for_a_socket_fails() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let long = folder.path().join("l".repeat(100));
        std::fs::create_dir(&long).expect("it can be made");
        let check = socket(&Temporary { folder: Some(long.clone()), passed_over: Vec::new() });
        assert_eq!(check.status, Status::Fail);
        assert!(check.found.contains(&long.display().to_string()), "{check}");
        assert!(check.advice.expect("it says so").contains("TMPDIR"));
        assert_eq!(std::fs::read_dir(&long).expect("it is there").count(), 0, "nothing is left behind");
        assert_eq!(socket(&Temporary::default()).status, Status::Fail, "no folder at all");
    }
}
