//! What stands between a server and its callers, found and checked before anything listens.

use std::net::SocketAddr;
use std::sync::Arc;

use super::Settings;
use crate::cli::address::{Address, Place};
use crate::edge::{Accounts, Tls};

/// Where a server is to be reached, and what it asks of whom.
pub(super) struct Front {
    /// What TLS is spoken with, if it is.
    pub(super) tls: Option<Arc<Tls>>,
    /// Who may call, if not everybody may.
    pub(super) accounts: Option<Arc<Accounts>>,
    /// Where it listens.
    pub(super) places: Vec<(Address, Place)>,
    /// Where it answers Prometheus.
    pub(super) metrics: Option<SocketAddr>,
    /// Where it serves browsers.
    pub(super) watch_page: Option<SocketAddr>,
}

impl Front {
    /// That of a server with these settings.
    ///
    /// # Errors
    /// A file that cannot be read or is wrong; an address that there is not, or that others can reach unsecured.
    pub(super) fn of(settings: &Settings) -> anyhow::Result<Self> {
        let tls = settings.tls()?.map(Tls::load).transpose()?.map(Arc::new);
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
}
