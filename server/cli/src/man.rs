//! `man`: the manual's pages, made from what `--help` says.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, Command};

/// Prints the page of `boardwire` for `man`, or writes the pages of all its commands.
///
/// `boardwire man | man -l -` shows the page. With `--out` there is one of each command besides, such as `boardwire-serve.1`;
/// older ones in the folder are replaced, and the paths are printed.
#[derive(Debug, Args)]
pub(super) struct Man {
    /// The folder for all pages, such as `~/.local/share/man/man1`; it is made if need be.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Man {
    pub(super) fn run(&self, line: Command) -> anyhow::Result<ExitCode> {
        let pages = pages(line);
        let Some(folder) = &self.out else {
            std::io::stdout().write_all(&rendered(&pages[0])?)?;
            return Ok(ExitCode::SUCCESS);
        };
        std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        for page in &pages {
            let path = folder.join(page.get_filename());
            let written = std::fs::write(&path, rendered(page)?);
            written.with_context(|| format!("{} cannot be written", path.display()))?;
            writeln!(std::io::stdout(), "{}", path.display())?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The page of `boardwire` itself, then those of its commands.
fn pages(line: Command) -> Vec<clap_mangen::Man> {
    let mut all = line.disable_help_subcommand(true);
    all.build();
    let commands: Vec<Command> = all.get_subcommands().cloned().collect();
    std::iter::once(all).chain(commands).map(clap_mangen::Man::new).collect()
}

fn rendered(page: &clap_mangen::Man) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    page.render(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use std::collections::BTreeMap;

    use super::*;
    use crate::Cli;

    /// The pages by the names of their files, as they are written.
    fn written() -> BTreeMap<String, String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let out = folder.path().join("new/folder");
        for _ in ["into a folder that is yet to be made", "in place of older files"] {
            Man { out: Some(out.clone()) }.run(Cli::command()).expect("a temporary folder can be written to");
        }
        let entries =
            std::fs::read_dir(out).expect("it was made").map(|entry| entry.expect("it can be read"));
        let page = |entry: std::fs::DirEntry| {
            let name = entry.file_name().into_string().expect("names are text");
            (name, std::fs::read_to_string(entry.path()).expect("pages are text"))
        };
        entries.map(page).collect()
    }

    #[test]
    fn every_command_has_a_page_with_every_flag() {
        let pages = written();
        let mut names = vec!["boardwire.1".to_owned()];
        for command in Cli::command().get_subcommands() {
            let name = format!("boardwire-{}", command.get_name());
            let page = &pages[&format!("{name}.1")];
            assert!(page.contains(&format!(".TH {name} 1")), "{page}");
            for flag in command.get_arguments().filter_map(|argument| argument.get_long()) {
                let flag = format!("\\-\\-{}", flag.replace('-', "\\-"));
                assert!(page.contains(&flag), "{name}: {flag}");
            }
            names.push(format!("{name}.1"));
        }
        names.sort();
        assert_eq!(pages.keys().collect::<Vec<_>>(), names.iter().collect::<Vec<_>>());
        assert!(
            pages["boardwire-serve.1"].contains("\\-\\-max\\-matches"),
            "the flags are looked for as written"
        );
        assert!(pages["boardwire.1"].contains(".TH boardwire 1"), "{}", pages["boardwire.1"]);
        assert!(pages["boardwire.1"].contains("boardwire\\-serve(1)"), "it leads to the others");
    }

    #[test]
    fn pages_are_set_without_a_warning_where_there_is_groff() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Man { out: Some(folder.path().to_owned()) }
            .run(Cli::command())
            .expect("a temporary folder can be written to");
        for entry in std::fs::read_dir(folder.path()).expect("it was made") {
            let path = entry.expect("it can be read").path();
            let groff =
                std::process::Command::new("groff").args(["-man", "-Tutf8", "-ww"]).arg(&path).output();
            let Ok(set) = groff else { return };
            let warnings = String::from_utf8_lossy(&set.stderr);
            assert!(set.status.success() && warnings.is_empty(), "{}: {warnings}", path.display());
            assert!(!set.stdout.is_empty(), "{}", path.display());
        }
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let error = Man { out: Some(file.path().to_owned()) }.run(Cli::command()).expect_err("it is a file");
        assert!(format!("{error:#}").contains(&file.path().display().to_string()), "{error:#}");
    }
}
