//! `man`: generates manual pages from the texts of `--help`.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Command};

use crate::proto::write;

/// Prints the manual page of `boardwire`, or writes the pages of all commands.
///
/// `boardwire man | man -l -` shows the page. With `--out` every command gets a page, such as `boardwire-serve.1`.
/// Older pages in the folder are replaced, and the paths are printed.
#[derive(Debug, Args)]
pub(super) struct Man {
    /// The folder for all pages, such as `~/.local/share/man/man1`; it is created if it does not exist.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Man {
    pub(super) fn run(&self, command: Command) -> anyhow::Result<ExitCode> {
        let pages = pages(command);
        match &self.out {
            Some(folder) => {
                for page in &pages {
                    write(&folder.join(page.get_filename()), &rendered(page)?)?;
                }
            }
            None => std::io::stdout().write_all(&rendered(&pages[0])?)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the page of `boardwire`, then the pages of its commands.
fn pages(command: Command) -> Vec<clap_mangen::Man> {
    let mut all = command.disable_help_subcommand(true);
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

    /// Writes the pages twice. Returns them by file name.
    fn written() -> BTreeMap<String, String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let out = folder.path().join("new/folder");
        for _ in ["into a new folder", "over older files"] {
            Man { out: Some(out.clone()) }.run(Cli::command()).expect("the folder is writable");
        }
        let entries = std::fs::read_dir(out).expect("the folder exists");
        let page = |entry: std::io::Result<std::fs::DirEntry>| {
            let entry = entry.expect("the folder is readable");
            let name = entry.file_name().into_string().expect("names are UTF-8");
            (name, std::fs::read_to_string(entry.path()).expect("pages are UTF-8"))
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
        assert!(pages["boardwire-serve.1"].contains("\\-\\-max\\-matches"), "dashes are escaped so");
        assert!(pages["boardwire.1"].contains(".TH boardwire 1"), "{}", pages["boardwire.1"]);
        assert!(pages["boardwire.1"].contains("boardwire\\-serve(1)"), "the page links to the commands");
    }

    #[test]
    fn groff_renders_pages_without_warnings_if_it_is_installed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Man { out: Some(folder.path().to_owned()) }.run(Cli::command()).expect("the folder is writable");
        for entry in std::fs::read_dir(folder.path()).expect("the folder exists") {
            let path = entry.expect("the folder is readable").path();
            let groff =
                std::process::Command::new("groff").args(["-man", "-Tutf8", "-ww"]).arg(&path).output();
            let Ok(rendered) = groff else { return };
            let warnings = String::from_utf8_lossy(&rendered.stderr);
            assert!(rendered.status.success() && warnings.is_empty(), "{}: {warnings}", path.display());
            assert!(!rendered.stdout.is_empty(), "{}", path.display());
        }
    }

    #[test]
    fn an_error_names_the_folder() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let error = Man { out: Some(file.path().to_owned()) }
            .run(Cli::command())
            .expect_err("a file is not a folder");
        assert!(format!("{error:#}").contains(&file.path().display().to_string()), "{error:#}");
    }
}
