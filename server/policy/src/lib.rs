//! Policy networks: ONNX files that an operator registers under names, for bots called `policy:NAME`.
//!
//! `docs/policies.md` specifies the files. One name may stand for several files, each for another table.

mod file;
mod network;
mod softmax;
#[cfg(feature = "testkit")]
pub mod testkit;
mod weights;
mod workers;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use boardwire_bots::Policy;
use boardwire_kernel::{Digest, GameInfo};
use thiserror::Error;

pub use crate::weights::hashes;

use crate::file::Model;
use crate::network::Network;
use crate::workers::{JobError, Workers};

/// The default timeout of an evaluation.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum size of a name in bytes.
const MAX_NAME_BYTES: usize = 63;

/// The error of a file that cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("policy {name}: {file}: {problem}", file = .file.display())]
pub struct PolicyError {
    /// The name to register.
    pub name: String,
    /// The file.
    pub file: PathBuf,
    /// The problem with the file, and the allowed values.
    pub problem: String,
}

/// The registered policies.
#[derive(Debug, Default)]
pub struct Policies {
    by_name: BTreeMap<String, Vec<Arc<Network>>>,
}

/// Reads a file with a timeout, because a malicious file can make the reader run forever.
fn read(workers: &Workers, file: &Path) -> Result<Model, String> {
    let own = file.to_owned();
    workers.run(move |_| Model::load(&own)).unwrap_or_else(|error| {
        Err(match error {
            JobError::TimedOut => format!("cannot read the network within {:?}", workers.timeout()),
            JobError::Panicked => "cannot read the network: the reader panicked".to_owned(),
        })
    })
}

impl Policies {
    /// Returns the name and the spec digest of each network.
    pub fn networks(&self) -> impl Iterator<Item = (&str, &str)> {
        self.by_name
            .iter()
            .flat_map(|(name, networks)| networks.iter().map(move |network| (name.as_str(), network.spec())))
    }

    /// Reads networks with these names from these files, and evaluates each twice as a test. `timeout` is the timeout of
    /// an evaluation.
    ///
    /// # Errors
    /// The first file that is not a usable network, and why.
    pub fn load(
        files: impl IntoIterator<Item = (String, PathBuf)>,
        timeout: Duration,
    ) -> Result<Self, PolicyError> {
        let workers = Arc::new(Workers::new(timeout));
        let mut by_name: BTreeMap<String, Vec<Arc<Network>>> = BTreeMap::new();
        for (name, file) in files {
            let own = by_name.entry(name.clone()).or_default();
            let network = check_name(&name)
                .and_then(|()| read(&workers, &weights::resolve_model_path(file.clone())))
                .and_then(|model| Network::new(name.clone(), model, Arc::clone(&workers)))
                .and_then(|network| {
                    let spec = network.spec();
                    if own.iter().any(|known| known.spec() == spec) {
                        return Err(format!("another file of this name already reads the table {spec}"));
                    }
                    Ok(network)
                });
            own.push(network.map_err(|problem| PolicyError { name, file, problem })?);
        }
        Ok(Self { by_name })
    }

    /// Returns the policy with this name for the table with this spec digest. `describe` turns the spec digest of another
    /// table into text for an error.
    ///
    /// # Errors
    /// For an unknown name, the names of policies for this table; otherwise, what the network was made for.
    pub fn find(
        &self,
        name: &str,
        table: &GameInfo,
        digest: Digest,
        describe: impl Fn(&str) -> String,
    ) -> Result<Arc<dyn Policy>, String> {
        let spec = digest.to_string();
        let fits =
            |networks: &[Arc<Network>]| networks.iter().find(|network| network.spec() == spec).cloned();
        let Some(networks) = self.by_name.get(name) else {
            let known = self.by_name.iter().filter(|(_, networks)| fits(networks).is_some());
            let known: Vec<String> = known.map(|(name, _)| format!("policy:{name}")).collect();
            return Err(match (known.is_empty(), self.by_name.is_empty()) {
                (false, _) => known.join(", "),
                (true, false) => "bots without a policy (no registered policy reads this table)".to_owned(),
                (true, true) => "bots without a policy (no policy is registered)".to_owned(),
            });
        };
        let Some(network) = fits(networks) else {
            let own: Vec<String> = networks.iter().map(|network| describe(network.spec())).collect();
            return Err(format!("policies for this table; `policy:{name}` is for {}", own.join(" and for ")));
        };
        let (bytes, actions) = (table.layout.bytes(), table.actions.count());
        if network.shape() != (bytes, actions) {
            let (own_bytes, own_actions) = network.shape();
            return Err(format!(
                "policies that read {bytes} bytes and value {actions} actions; `policy:{name}` states the spec \
                 digest of this table, but reads {own_bytes} bytes and values {own_actions} actions"
            ));
        }
        Ok(network)
    }
}

/// Refuses names that could not be separated from the text after them.
fn check_name(name: &str) -> Result<(), String> {
    let known = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'.');
    if (1..=MAX_NAME_BYTES).contains(&name.len()) && name.bytes().all(known) {
        return Ok(());
    }
    Err(format!("a name must be 1 to {MAX_NAME_BYTES} of a-z, 0-9, `_`, `-` and `.`; got `{name}`"))
}
