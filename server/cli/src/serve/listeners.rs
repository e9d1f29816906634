//! Loads and checks the addresses, certificates and accounts of a server before it listens.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::Settings;
use crate::address::{Address, Resolved};
use boardwire_server::edge::{Accounts, Tls};
use boardwire_server::run::Listener;

pub(super) struct ListenerConfig {
    pub(super) tls: Option<Arc<Tls>>,
    /// `None` lets every caller call.
    pub(super) accounts: Option<Arc<Accounts>>,
    pub(super) addresses: Vec<(Address, Resolved)>,
    pub(super) metrics: Option<SocketAddr>,
    pub(super) watch_page: Option<SocketAddr>,
}

impl ListenerConfig {
    /// # Errors
    /// A file is missing or invalid, an address is unknown, or other machines could connect without TLS.
    pub(super) fn of(settings: &Settings) -> anyhow::Result<Self> {
        settings.check_origins()?;
        let tls = settings.tls()?.map(Tls::load).transpose().map_err(anyhow::Error::msg)?.map(Arc::new);
        let accounts = settings.auth_token_file.clone().map(Accounts::load);
        let allow_remote = tls.is_some() || settings.is_insecure();
        let resolve = |address: Address| address.resolve(allow_remote).map(|resolved| (address, resolved));
        Ok(Self {
            tls,
            accounts: accounts.transpose().map_err(anyhow::Error::msg)?.map(Arc::new),
            addresses: settings.addresses().into_iter().map(resolve).collect::<anyhow::Result<_>>()?,
            metrics: settings.http_address(settings.metrics.as_deref())?,
            watch_page: settings.http_address(settings.watch_page.as_deref())?,
        })
    }

    /// Listens on all addresses.
    pub(super) async fn listen(&self) -> anyhow::Result<Vec<Listener>> {
        let mut listeners = Vec::new();
        for (address, resolved) in &self.addresses {
            let listener = resolved.bind(self.tls.as_ref()).await;
            listeners.push(listener.with_context(|| format!("cannot listen on {address}"))?);
        }
        let watch_page = self.watch_page.map(|address| (address, Listener::WatchPage as fn(_) -> _));
        let metrics = self.metrics.map(|address| (address, Listener::Metrics as fn(_) -> _));
        for (address, listener) in watch_page.into_iter().chain(metrics) {
            let socket = TcpListener::bind(address).await;
            listeners.push(listener(socket.with_context(|| format!("cannot listen on {address}"))?));
        }
        Ok(listeners)
    }

    /// Reloads certificates and accounts on every SIGHUP, until the runtime ends. Without certificates and accounts, SIGHUP
    /// ends the process, as is usual when a terminal closes.
    pub(super) fn reload_on_sighup(&self) -> anyhow::Result<()> {
        let (tls, accounts) = (self.tls.clone(), self.accounts.clone());
        if tls.is_none() && accounts.is_none() {
            return Ok(());
        }
        let mut hangup = signal(SignalKind::hangup()).context("cannot handle SIGHUP")?;
        tokio::spawn(async move {
            while hangup.recv().await.is_some() {
                let (tls, accounts) = (tls.clone(), accounts.clone());
                let reload = move || {
                    if let Some(tls) = tls {
                        log_reload("TLS certificates", tls.reload());
                    }
                    if let Some(accounts) = accounts {
                        log_reload("accounts", accounts.reload());
                    }
                };
                let _ = tokio::task::spawn_blocking(reload).await;
            }
        });
        Ok(())
    }
}

fn log_reload(files: &str, result: Result<(), impl Display>) {
    match result {
        Ok(()) => tracing::info!("{files} were reloaded"),
        Err(error) => tracing::error!(%error, "cannot reload {files}; the previous ones stay in use"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_setting_or_the_file() {
        for (text, named) in [
            ("listen = ['0.0.0.0:1']", "--insecure"),
            ("tls_cert = '/absent'", "--tls-key"),
            ("tls_cert = '/absent'\ntls_key = '/absent'", "/absent"),
            ("auth_token_file = '/absent'", "/absent"),
            ("metrics = '0.0.0.0:1'", "--insecure"),
            ("allow_origin = ['*', 'https://a.example/']", "--allow-origin"),
            ("allow_origin = ['A.example']", "got `A.example`"),
        ] {
            let settings = toml::from_str(text).expect("known settings");
            let wrong = format!("{:#}", ListenerConfig::of(&settings).err().expect(text));
            assert!(wrong.contains(named), "{wrong}");
        }
    }
}
