//! Reads the client of a trusted proxy from the header of the PROXY protocol, version 2.
//!
//! <https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt>

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::origin::Origin;

const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// The maximum bytes after the first 16: 36 for addresses, the rest for the proxy's extensions.
const MAX_BYTES: usize = 2_048;

/// Reads the header, and no byte after it. Returns the client's origin. Returns `None` if the proxy connects for itself (a
/// health check).
///
/// # Errors
/// The connection ends, or its header is missing or invalid.
pub(crate) async fn read(mut io: impl AsyncRead + Unpin) -> io::Result<Option<Origin>> {
    let refuse =
        |problem: &str| Err(io::Error::new(ErrorKind::InvalidData, format!("the PROXY header {problem}")));
    let mut first = [0; 16];
    io.read_exact(&mut first).await?;
    let [signature @ .., command, family, high, low] = &first;
    if signature != SIGNATURE {
        return refuse("(version 2) is missing");
    }
    let length = usize::from(u16::from_be_bytes([*high, *low]));
    if length > MAX_BYTES {
        return refuse("is too long");
    }
    let mut rest = [0; MAX_BYTES];
    io.read_exact(&mut rest[..length]).await?;
    let addresses = &rest[..length];
    // The upper half is the kind of the addresses. The first address is the client's.
    let source: Option<IpAddr> = match family >> 4 {
        1 => addresses.first_chunk::<4>().map(|bytes| Ipv4Addr::from(*bytes).into()),
        2 => addresses.first_chunk::<16>().map(|bytes| Ipv6Addr::from(*bytes).into()),
        _ => return if *command == 0x20 { Ok(None) } else { refuse("names no IP address") },
    };
    match (command, source) {
        (0x20, _) => Ok(None),
        (0x21, Some(source)) => Ok(Some(Origin::host(source))),
        (0x21, None) => refuse("is too short"),
        _ => refuse("has an unsupported version or command"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
        let length = u16::try_from(rest.len()).expect("the header is short").to_be_bytes();
        [&SIGNATURE[..], &[command, family], &length, rest, b"PRI"].concat()
    }

    async fn parse(bytes: &[u8]) -> Result<(Option<Origin>, usize), String> {
        let mut rest = bytes;
        let origin = read(&mut rest).await.map_err(|error| error.to_string())?;
        Ok((origin, rest.len()))
    }

    #[tokio::test]
    async fn the_header_names_the_client_and_nothing_after_it_is_read() {
        let v4 = [&[203, 0, 113, 7][..], &[10, 0, 0, 1, 1, 2, 3, 4]].concat();
        let v6 = [&[0x20, 1, 0xd, 0xb8, 0, 0, 0, 1, 9, 9, 9, 9, 9, 9, 9, 9][..], &[0; 20]].concat();
        let extended = [&v4[..], &[4, 0, 2, 1, 1]].concat();
        let host = |text: &str| Some(Origin::host(text.parse().expect("an address")));
        for (bytes, origin) in [
            (header(0x21, 0x11, &v4), host("203.0.113.7")),
            (header(0x21, 0x11, &extended), host("203.0.113.7")),
            (header(0x21, 0x21, &v6), host("2001:db8:0:1::")),
            (header(0x20, 0x00, &[]), None),
            (header(0x20, 0x11, &v4), None),
        ] {
            assert_eq!(parse(&bytes).await, Ok((origin, 3)), "{bytes:?}");
        }
    }

    #[tokio::test]
    async fn a_malformed_header_is_refused() {
        for (bytes, problem) in [
            (b"PRI * HTTP/2.0\r\n\r\n".to_vec(), "(version 2) is missing"),
            (b"PROXY TCP4 203.0.113.7".to_vec(), "(version 2) is missing"),
            (header(0x21, 0x11, &[1, 2, 3]), "is too short"),
            (header(0x21, 0x31, &[0; 216]), "names no IP address"),
            (header(0x22, 0x11, &[0; 12]), "has an unsupported version or command"),
            (header(0x11, 0x11, &[0; 12]), "has an unsupported version or command"),
            (header(0x21, 0x11, &[0; 2_049]), "is too long"),
        ] {
            assert_eq!(parse(&bytes).await, Err(format!("the PROXY header {problem}")));
        }
        let cut = header(0x21, 0x11, &[0; 12]);
        assert!(parse(&cut[..27]).await.is_err(), "the header is cut short");
    }
}
