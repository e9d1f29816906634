//! Files that are read again while the server runs, when it is told to by SIGHUP.

use std::fmt::Display;
use std::sync::Arc;

use anyhow::Context as _;
use tokio::signal::unix::{SignalKind, signal};

use boardwire_server::edge::{Accounts, Tls};

/// Reads certificates and accounts again on every SIGHUP, for as long as the runtime lasts. Without any, SIGHUP ends the
/// process, as a terminal that is closed expects.
///
/// # Errors
/// When signals cannot be listened for.
pub(super) fn begin(tls: Option<Arc<Tls>>, accounts: Option<Arc<Accounts>>) -> anyhow::Result<()> {
    if tls.is_none() && accounts.is_none() {
        return Ok(());
    }
    let mut hangup = signal(SignalKind::hangup()).context("SIGHUP cannot be listened for")?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            let (tls, accounts) = (tls.clone(), accounts.clone());
            let read = tokio::task::spawn_blocking(move || {
                if let Some(tls) = tls {
                    tell("TLS certificates", tls.reload());
                }
                if let Some(accounts) = accounts {
                    tell("accounts", accounts.reload());
                }
            });
            let _ = read.await;
        }
    });
    Ok(())
}

fn tell(what: &str, read: Result<(), impl Display>) {
    match read {
        Ok(()) => tracing::info!("{what} were read again"),
        Err(error) => tracing::error!(%error, "{what} stay as they were"),
    }
}
