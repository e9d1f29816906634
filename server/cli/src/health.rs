//! `health`: checks whether a running server is serving.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use super::address::Address;
use boardwire_server::run::runtime;

/// The first bytes that a client of HTTP/2 sends.
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The first byte of a TLS alert.
const TLS_ALERT: u8 = 0x15;

/// Checks whether a running server is serving, for container health checks.
///
/// Prints `SERVING` or `NOT_SERVING`. The exit code is 0 if the server is serving, 1 if it is not or does not respond. This
/// command does not support TLS: let a server with TLS also listen on a Unix socket.
#[derive(Debug, Args)]
pub(super) struct Health {
    /// The address of the server.
    #[arg(value_name = "HOST:PORT|unix:PATH", default_value = "127.0.0.1:50051")]
    address: Address,
    /// The full name of one service to check, such as boardwire.v1.MatchService, instead of the whole server.
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    service: String,
    /// The timeout in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
}

impl Health {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let limit = Duration::from_secs(self.timeout);
        let response = runtime()?.block_on(async { tokio::time::timeout(limit, self.check()).await });
        let status =
            response.unwrap_or_else(|_| Err(anyhow::anyhow!("no response within {} s", self.timeout)));
        let status = status.with_context(|| format!("{}: health check failed", self.address))?;
        writeln!(std::io::stdout(), "{}", status.as_str_name())?;
        Ok(if status == ServingStatus::Serving { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    async fn check(&self) -> anyhow::Result<ServingStatus> {
        let channel = self.address.endpoint()?.connect().await?;
        let request = HealthCheckRequest { service: self.service.clone() };
        match HealthClient::new(channel).check(request).await {
            Ok(response) => Ok(response.into_inner().status()),
            Err(_) if self.speaks_tls().await => {
                anyhow::bail!("the server speaks TLS: let it also listen on a Unix socket, and check that")
            }
            Err(status) => anyhow::bail!("{}", status.message()),
        }
    }

    /// Returns whether the server answers plaintext HTTP/2 with a TLS alert.
    async fn speaks_tls(&self) -> bool {
        let Address::Tcp(address) = &self.address else { return false };
        let first_byte = async {
            let mut stream = TcpStream::connect(address).await?;
            stream.write_all(HTTP2_PREFACE).await?;
            stream.read_u8().await
        };
        first_byte.await.is_ok_and(|byte| byte == TLS_ALERT)
    }
}
