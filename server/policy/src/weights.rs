//! The files with a network's weights, which may be beside the network file.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use prost::Message;

/// The part of ONNX's `ModelProto` that states where the weights are.
#[derive(Message)]
struct WeightFiles {
    #[prost(message, optional, tag = "7")]
    graph: Option<GraphWeights>,
}

#[derive(Message)]
struct GraphWeights {
    #[prost(message, repeated, tag = "5")]
    initializer: Vec<ExternalTensor>,
}

#[derive(Message)]
struct ExternalTensor {
    #[prost(message, repeated, tag = "13")]
    external_data: Vec<LocationEntry>,
}

#[derive(Message)]
struct LocationEntry {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(string, tag = "2")]
    value: String,
}

impl WeightFiles {
    /// Returns the names of the weight files beside the network file.
    fn weight_files(&self) -> BTreeSet<&str> {
        let tensors = self.graph.iter().flat_map(|graph| &graph.initializer);
        let entries = tensors.flat_map(|tensor| &tensor.external_data);
        entries.filter(|entry| entry.key == "location").map(|entry| entry.value.as_str()).collect()
    }
}

/// Returns the path of a network file with weights beside it. They may be beside a link, or beside the link's target.
pub(crate) fn resolve_model_path(file: PathBuf) -> PathBuf {
    if !file.is_symlink() {
        return file;
    }
    let model =
        std::fs::read(&file).ok().and_then(|bytes| WeightFiles::decode(&*bytes).ok()).unwrap_or_default();
    let has_weights =
        |path: &PathBuf| model.weight_files().into_iter().all(|name| path.with_file_name(name).is_file());
    let target = || file.canonicalize().ok().filter(has_weights);
    if has_weights(&file) { file } else { target().unwrap_or(file) }
}

/// Returns what distinguishes networks with the same file name: the BLAKE3 hashes of the file and of its weight files
/// beside it, as hexadecimal digits.
///
/// # Errors
/// One of the files cannot be read, or is not a network.
pub fn hashes(file: &Path) -> io::Result<Vec<String>> {
    let file = resolve_model_path(file.to_owned());
    let named =
        |path: &Path, error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let read = |path: &Path| std::fs::read(path).map_err(|error| named(path, error));
    let bytes = read(&file)?;
    let model = WeightFiles::decode(&*bytes).map_err(|error| named(&file, io::Error::other(error)))?;
    let weight_files = model.weight_files().into_iter().map(|name| read(&file.with_file_name(name)));
    let all = std::iter::once(Ok(bytes)).chain(weight_files);
    all.map(|bytes| Ok(blake3::hash(&bytes?).to_string())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_weight_files_change_the_hashes() {
        let folder = tempfile::tempdir().expect("a folder");
        let [file, weight_file] = ["lion.onnx", "lion.data"].map(|name| folder.path().join(name));
        let entry = |key: &str, value: &str| LocationEntry { key: key.to_owned(), value: value.to_owned() };
        let tensor =
            || ExternalTensor { external_data: vec![entry("location", "lion.data"), entry("offset", "0")] };
        let graph = GraphWeights { initializer: vec![tensor(), ExternalTensor::default(), tensor()] };
        std::fs::write(&file, WeightFiles { graph: Some(graph) }.encode_to_vec()).expect("room");
        let missing = hashes(&file).expect_err("it has no weights").to_string();
        assert!(missing.contains("lion.data: "), "{missing}");
        std::fs::write(&weight_file, "one").expect("room");
        let one = hashes(&file).expect("it is there");
        std::fs::write(&weight_file, "two").expect("room");
        let two = hashes(&file).expect("it is there");
        assert_eq!((one.len(), &one[0]), (2, &two[0]));
        assert_ne!(one[1], two[1]);
        // A link in another folder leads to the same weights, unless the link has its own weights beside it.
        let other = tempfile::tempdir().expect("a folder");
        let link = other.path().join("current.onnx");
        std::os::unix::fs::symlink(&file, &link).expect("room");
        assert_eq!(resolve_model_path(link.clone()), file.canonicalize().expect("it is there"));
        std::fs::write(link.with_file_name("lion.data"), "three").expect("room");
        assert_eq!((resolve_model_path(link.clone()), resolve_model_path(file.clone())), (link, file));
    }
}
