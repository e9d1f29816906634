//! `completions`: scripts by which shells complete the command line.

use std::io::Write as _;
use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::{Shell, generate};

/// Prints the script by which a shell completes commands, flags and their values.
///
/// It goes where the shell looks for such scripts: `boardwire completions bash >
/// ~/.local/share/bash-completion/completions/boardwire`, and for zsh into a file `_boardwire` in a folder of its `fpath`.
#[derive(Debug, Args)]
pub(super) struct Completions {
    /// The shell.
    shell: Shell,
}

impl Completions {
    pub(super) fn run(&self, line: Command) -> anyhow::Result<ExitCode> {
        std::io::stdout().write_all(&script(self.shell, line))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The script. It is made whole before any of it is written: `generate` panics where its writer fails.
fn script(shell: Shell, mut line: Command) -> Vec<u8> {
    let mut script = Vec::new();
    generate(shell, &mut line, "boardwire", &mut script);
    script
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use clap::ValueEnum as _;

    use super::*;
    use crate::Cli;
    use clap::CommandFactory as _;

    #[test]
    fn every_shell_completes_every_command() {
        for shell in Shell::value_variants() {
            let script = String::from_utf8(script(*shell, Cli::command())).expect("it is text");
            for command in Cli::command().get_subcommands() {
                assert!(script.contains(command.get_name()), "{shell}: {}", command.get_name());
            }
            assert!(script.contains("max-matches-per-caller"), "{shell}: the flags of a command");
            assert!(script.contains("interval"), "{shell}: the values of a flag");
        }
    }

    #[test]
    fn bash_reads_its_script() {
        let mut bash = std::process::Command::new("bash")
            .arg("-n")
            .stdin(Stdio::piped())
            .spawn()
            .expect("there is bash");
        bash.stdin
            .take()
            .expect("it is piped")
            .write_all(&script(Shell::Bash, Cli::command()))
            .expect("bash reads");
        assert!(bash.wait().expect("it ends").success());
    }
}
