//! What stands between a server and its callers, found and checked before anything listens.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use tokio::net::TcpListener;

use super::Settings;
use crate::address::{Address, Resolved};
use boardwire_server::edge::{Accounts, Tls};
use boardwire_server::run::Listener;

/// Where a server is to be reached, and what it asks of whom.
pub(super) struct ListenerConfig {
    /// What TLS is spoken with, if it is.
    pub(super) tls: Option<Arc<Tls>>,
    /// Who may call, if not everybody may.
    pub(super) accounts: Option<Arc<Accounts>>,
    /// Where it listens.
    pub(super) places: Vec<(Address, Resolved)>,
    /// Where it answers Prometheus.
    pub(super) metrics: Option<SocketAddr>,
    /// Where it serves browsers.
    pub(super) watch_page: Option<SocketAddr>,
}

impl ListenerConfig {
    /// That of a server with these settings.
    ///
    /// # Errors
    /// A file that cannot be read or is wrong; an address that there is not, or that others can reach unsecured.
    pub(super) fn of(settings: &Settings) -> anyhow::Result<Self> {
        let tls = settings.tls()?.map(Tls::load).transpose().map_err(anyhow::Error::msg)?.map(Arc::new);
        let is_secured = tls.is_some() || settings.is_insecure();
        let found = |address: Address| address.find(is_secured).map(|place| (address, place));
        Ok(Self {
            tls,
            accounts: settings.accounts()?.map(Arc::new),
            places: settings.addresses().into_iter().map(found).collect::<anyhow::Result<_>>()?,
            metrics: settings.metrics()?,
            watch_page: settings.watch_page()?,
        })
    }

    /// Listens everywhere.
    ///
    /// # Errors
    /// An address that cannot be listened on.
    pub(super) async fn listen(&self) -> anyhow::Result<Vec<Listener>> {
        let mut listeners = Vec::new();
        for (address, place) in &self.places {
            let listener = place.bind(self.tls.as_ref()).await;
            listeners.push(listener.with_context(|| format!("cannot listen on {address}"))?);
        }
        if let Some(address) = self.watch_page {
            let listener = TcpListener::bind(address).await;
            listeners.push(Listener::WatchPage(
                listener.with_context(|| format!("cannot serve a page at {address}"))?,
            ));
        }
        if let Some(address) = self.metrics {
            let listener = TcpListener::bind(address).await;
            listeners.push(Listener::Metrics(
                listener.with_context(|| format!("metrics cannot be served at {address}"))?,
            ));
        }
        Ok(listeners)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_checked_before_anything_listens() {
        for (text, named) in [
            ("listen = ['0.0.0.0:1']", "--insecure"),
            ("tls_cert = '/absent'", "--tls-key"),
            ("tls_cert = '/absent'\ntls_key = '/absent'", "/absent"),
            ("auth_token_file = '/absent'", "/absent"),
            ("metrics = '0.0.0.0:1'", "--insecure"),
        ] {
            let settings = toml::from_str(text).expect("known settings");
            let wrong = format!("{:#}", ListenerConfig::of(&settings).err().expect(text));
            assert!(wrong.contains(named), "{wrong}");
        }
    }
}
