//! `proto`: writes the protocol's files, for agents outside this repository.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use boardwire_api::{FILE_DESCRIPTOR_SET, PROTO_FILES};
use clap::Args;

const DESCRIPTOR_SET: &str = "boardwire.v1.binpb";

/// Writes the protocol's files, from which agents in any language generate their stubs.
///
/// Replaces older files in the folder, and prints the paths. The files are `boardwire/v1/*.proto`, `google/rpc/*.proto` for
/// errors, and `boardwire.v1.binpb`, a serialised `FileDescriptorSet` of all of them and their imports.
#[derive(Debug, Args)]
pub(super) struct Proto {
    /// The folder; it is created if it does not exist.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

impl Proto {
    pub(super) fn run(&self) -> anyhow::Result<ExitCode> {
        for (name, text) in PROTO_FILES {
            write(&self.out.join(name), text.as_bytes())?;
        }
        write(&self.out.join(DESCRIPTOR_SET), FILE_DESCRIPTOR_SET)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Writes a file, creates missing folders, and prints the path.
pub(super) fn write(path: &Path, contents: &[u8]) -> anyhow::Result<()> {
    let created = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    let written = created.and_then(|()| std::fs::write(path, contents));
    written.with_context(|| format!("cannot write {}", path.display()))?;
    Ok(writeln!(std::io::stdout(), "{}", path.display())?)
}

#[cfg(test)]
mod tests {
    use protox::prost_reflect::DescriptorPool;

    use super::*;

    #[test]
    fn the_files_compile_to_the_descriptors_beside_them() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let out = folder.path().join("new/folder");
        for _ in ["into a new folder", "over older files"] {
            Proto { out: out.clone() }.run().expect("the folder is writable");
        }
        let names = PROTO_FILES.iter().map(|(name, _)| *name);
        let compiled = protox::compile(names, [&out]).expect("the files need no others");
        let compiled = DescriptorPool::from_file_descriptor_set(compiled).expect("the set is complete");
        let set = std::fs::read(out.join(DESCRIPTOR_SET)).expect("the file exists");
        let set = DescriptorPool::decode(set.as_slice()).expect("the set is complete");
        let methods = |pool: &DescriptorPool| -> Vec<_> {
            let services = pool.services().flat_map(|service| service.methods().collect::<Vec<_>>());
            services.map(|method| method.full_name().to_owned()).collect()
        };
        assert!(methods(&set).contains(&"boardwire.v1.MatchService.Play".to_owned()), "{:?}", methods(&set));
        assert_eq!(methods(&set), methods(&compiled));
        assert!(set.get_message_by_name("google.rpc.ErrorInfo").is_some(), "errors need it");
    }

    #[test]
    fn an_error_names_the_folder() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let error = Proto { out: file.path().to_owned() }.run().expect_err("a file is not a folder");
        assert!(format!("{error:#}").contains(&file.path().display().to_string()), "{error:#}");
    }
}
