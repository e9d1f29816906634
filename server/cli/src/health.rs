//! `health`: asks a running server how it is.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use super::address::Address;
use boardwire_server::run::runtime;

/// Asks a running server whether it serves, as supervisors of containers do.
///
/// Prints `SERVING` or `NOT_SERVING`; the exit code is 0 where it serves, 1 where it does not or nobody answers. It speaks no TLS:
/// a server that does also listens on a Unix socket for this.
#[derive(Debug, Args)]
pub(super) struct Health {
    /// Where the server listens.
    #[arg(value_name = "HOST:PORT|unix:PATH", default_value = "127.0.0.1:50051")]
    address: Address,
    /// A service by its full name, such as boardwire.v1.MatchService, instead of the server as a whole.
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    service: String,
    /// How many seconds the answer may take.
    #[arg(long, value_name = "SECONDS", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
}

impl Health {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let within = Duration::from_secs(self.timeout);
        let asked = async { tokio::time::timeout(within, self.ask()).await };
        let told = runtime()?.block_on(asked);
        let told = told.unwrap_or_else(|_| Err(anyhow::anyhow!("no answer within {} s", self.timeout)));
        let status = told.with_context(|| format!("{} does not tell its health", self.address))?;
        writeln!(std::io::stdout(), "{}", status.as_str_name())?;
        let serves = status == ServingStatus::Serving;
        Ok(if serves { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    async fn ask(&self) -> anyhow::Result<ServingStatus> {
        let channel = self.address.endpoint()?.connect().await?;
        let request = HealthCheckRequest { service: self.service.clone() };
        let told = HealthClient::new(channel).check(request).await;
        Ok(told.map_err(|status| anyhow::anyhow!("{}", status.message()))?.into_inner().status())
    }
}
