//! Networks from files, and what tells them from others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use boardwire_policy::{DEFAULT_PATIENCE, Policies};
use clap::Args;
use prost::Message;

use super::pair;

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
    /// What tells these networks from others of the same names: the hashes of each file, and of those beside it that have
    /// its weights.
    pub(super) fn digests(&self) -> anyhow::Result<BTreeMap<&str, Vec<String>>> {
        let mut digests: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (name, file) in &self.policies {
            let about = || format!("policy {name}: {file}");
            let file = located(file);
            let bytes = std::fs::read(&file).with_context(about)?;
            let digests = digests.entry(name).or_default();
            digests.push(blake3::hash(&bytes).to_string());
            for location in Model::decode(&*bytes).with_context(about)?.beside() {
                let beside = file.with_file_name(location);
                let bytes = std::fs::read(&beside).with_context(|| beside.display().to_string());
                digests.push(blake3::hash(&bytes.with_context(about)?).to_string());
            }
        }
        Ok(digests)
    }

    /// The policies of these files.
    pub(super) fn load(&self) -> anyhow::Result<Policies> {
        let files = self.policies.iter().map(|(name, file)| (name.clone(), located(file)));
        let patience = self.timeout.map_or(DEFAULT_PATIENCE, Duration::from_secs);
        Ok(Policies::load(files, patience)?)
    }
}

/// The path of a network's file beside which its weights are: they may be beside a link, or beside the file that it leads to.
fn located(file: &str) -> PathBuf {
    let file = PathBuf::from(file);
    if !file.is_symlink() {
        return file;
    }
    let model = std::fs::read(&file).ok().and_then(|bytes| Model::decode(&*bytes).ok()).unwrap_or_default();
    let has_weights =
        |path: &PathBuf| model.beside().into_iter().all(|name| path.with_file_name(name).is_file());
    let target = || file.canonicalize().ok().filter(has_weights);
    if has_weights(&file) { file } else { target().unwrap_or(file) }
}

/// Of a `ModelProto` of ONNX, what says where its weights are.
#[derive(Message)]
struct Model {
    #[prost(message, optional, tag = "7")]
    graph: Option<Graph>,
}

#[derive(Message)]
struct Graph {
    #[prost(message, repeated, tag = "5")]
    initializer: Vec<Tensor>,
}

#[derive(Message)]
struct Tensor {
    #[prost(message, repeated, tag = "13")]
    external_data: Vec<Entry>,
}

#[derive(Message)]
struct Entry {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(string, tag = "2")]
    value: String,
}

impl Model {
    /// The files beside it in which it has weights.
    fn beside(&self) -> BTreeSet<&str> {
        let tensors = self.graph.iter().flat_map(|graph| &graph.initializer);
        let entries = tensors.flat_map(|tensor| &tensor.external_data);
        entries.filter(|entry| entry.key == "location").map(|entry| entry.value.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn other_weights_beside_the_same_file_are_another_network() {
        let folder = tempfile::tempdir().expect("a folder");
        let [file, beside] = ["lion.onnx", "lion.data"].map(|name| folder.path().join(name));
        let entry = |key: &str, value: &str| Entry { key: key.to_owned(), value: value.to_owned() };
        let tensor = || Tensor { external_data: vec![entry("location", "lion.data"), entry("offset", "0")] };
        let graph = Graph { initializer: vec![tensor(), Tensor::default(), tensor()] };
        std::fs::write(&file, Model { graph: Some(graph) }.encode_to_vec()).expect("room");
        let policies = vec![("lion".to_owned(), file.to_str().expect("it is text").to_owned())];
        let files = PolicyFiles { policies, timeout: None };
        let digests = || files.digests().map(|digests| digests["lion"].clone());
        assert!(format!("{:#}", digests().expect_err("it has no weights")).contains("lion.data"));
        std::fs::write(&beside, "one").expect("room");
        let one = digests().expect("it is there");
        std::fs::write(&beside, "two").expect("room");
        let two = digests().expect("it is there");
        assert_eq!((one.len(), &one[0]), (2, &two[0]));
        assert_ne!(one[1], two[1]);
        // A link in another folder leads to the same weights, unless it has its own beside it.
        let other = tempfile::tempdir().expect("a folder");
        let link = other.path().join("current.onnx");
        std::os::unix::fs::symlink(&file, &link).expect("room");
        let named = |file: &Path| located(file.to_str().expect("it is text"));
        assert_eq!(named(&link), file.canonicalize().expect("it is there"));
        std::fs::write(link.with_file_name("lion.data"), "three").expect("room");
        assert_eq!((named(&link), named(&file)), (link, file));
    }
}
