//! Files that are read again while the server runs, when it is told to by SIGHUP.

use std::sync::Arc;

use anyhow::Context as _;
use tokio::signal::unix::{SignalKind, signal};

use crate::edge::Tls;

/// Reads the files of `tls` again on every SIGHUP, for as long as the runtime lasts. Without any, SIGHUP ends the process,
/// as a terminal that is closed expects.
///
/// # Errors
/// When signals cannot be listened for.
pub(super) fn begin(tls: Option<Arc<Tls>>) -> anyhow::Result<()> {
    let Some(tls) = tls else { return Ok(()) };
    let mut hangup = signal(SignalKind::hangup()).context("SIGHUP cannot be listened for")?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            let tls = Arc::clone(&tls);
            let _ = tokio::task::spawn_blocking(move || read_again(&tls)).await;
        }
    });
    Ok(())
}

fn read_again(tls: &Tls) {
    match tls.reload() {
        Ok(()) => tracing::info!("TLS certificates were read again"),
        Err(error) => tracing::error!(%error, "TLS certificates stay as they were"),
    }
}
