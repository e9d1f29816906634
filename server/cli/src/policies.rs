//! Networks from files.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use boardwire_policy::{DEFAULT_PATIENCE, Policies, hashes};
use clap::Args;

use crate::flags::pair;

/// Networks that bots called `policy:NAME` play by.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct PolicyFiles {
    /// Lets bots called `policy:NAME` play by the network of an ONNX file; may be repeated.
    #[arg(long = "policy", value_name = "NAME=FILE", value_parser = pair)]
    pub(super) policies: Vec<(String, String)>,
    /// A network whose evaluation takes longer than this many seconds is given up. [default: 10]
    #[arg(long = "policy-timeout", value_name = "SECONDS")]
    pub(super) timeout: Option<u64>,
}

impl PolicyFiles {
    /// What tells these networks from others of the same names.
    pub(super) fn hashes(&self) -> anyhow::Result<BTreeMap<&str, Vec<String>>> {
        let mut all: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (name, file) in &self.policies {
            let own = hashes(Path::new(file)).with_context(|| format!("policy {name}"))?;
            all.entry(name).or_default().extend(own);
        }
        Ok(all)
    }

    /// The policies of these files.
    pub(super) fn load(&self) -> anyhow::Result<Policies> {
        let files = self.policies.iter().map(|(name, file)| (name.clone(), file.into()));
        let patience = self.timeout.map_or(DEFAULT_PATIENCE, Duration::from_secs);
        Ok(Policies::load(files, patience)?)
    }
}
