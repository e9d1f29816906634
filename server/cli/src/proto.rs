//! `proto`: the protocol's files, for agents that are written without this repository.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use boardwire_api::{DESCRIPTORS, FILES};
use clap::Args;

/// The protocol with all that it imports, as protoc, buf and grpcurl read it.
const SET: &str = "boardwire.v1.binpb";

/// Writes the protocol's files, from which agents in any language generate their stubs.
///
/// Older ones in the folder are replaced, and the paths are printed. The files are `boardwire/v1/*.proto`, with
/// `google/rpc/*.proto` for refusals, and
/// `boardwire.v1.binpb`, a serialised `FileDescriptorSet` of all of them and what they import.
#[derive(Debug, Args)]
pub(super) struct Proto {
    /// The folder; it is made if need be.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

impl Proto {
    pub(super) fn run(&self) -> anyhow::Result<ExitCode> {
        let texts = FILES.iter().map(|(name, text)| (*name, text.as_bytes()));
        for (name, contents) in texts.chain([(SET, DESCRIPTORS)]) {
            let path = self.out.join(name);
            write(&path, contents).with_context(|| format!("{} cannot be written", path.display()))?;
            writeln!(std::io::stdout(), "{}", path.display())?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn write(path: &Path, contents: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, contents)
}

#[cfg(test)]
mod tests {
    use protox::prost_reflect::DescriptorPool;

    use super::*;

    #[test]
    fn the_files_compile_to_the_descriptors_beside_them() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let out = folder.path().join("new/folder");
        for _ in ["into a folder that is yet to be made", "in place of older files"] {
            Proto { out: out.clone() }.run().expect("a temporary folder can be written to");
        }
        let names = FILES.iter().map(|(name, _)| *name);
        let compiled = protox::compile(names, [&out]).expect("the files written compile by themselves");
        let compiled = DescriptorPool::from_file_descriptor_set(compiled).expect("they are complete");
        let set = std::fs::read(out.join(SET)).expect("it was written");
        let set = DescriptorPool::decode(set.as_slice()).expect("it is complete");
        let methods = |pool: &DescriptorPool| -> Vec<_> {
            let services = pool.services().flat_map(|service| service.methods().collect::<Vec<_>>());
            services.map(|method| method.full_name().to_owned()).collect()
        };
        assert!(methods(&set).contains(&"boardwire.v1.MatchService.Play".to_owned()), "{:?}", methods(&set));
        assert_eq!(methods(&set), methods(&compiled));
        assert!(set.get_message_by_name("google.rpc.ErrorInfo").is_some(), "for refusals");
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let error = Proto { out: file.path().to_owned() }.run().expect_err("it is a file");
        assert!(format!("{error:#}").contains(&file.path().display().to_string()), "{error:#}");
    }
}
