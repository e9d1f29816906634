//! `completions`: shell completion scripts.

use std::io::Write as _;
use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::{Shell, generate};

/// Prints a script that lets a shell complete commands, flags and their values.
///
/// Save it where the shell looks for completions: `boardwire completions bash >
/// ~/.local/share/bash-completion/completions/boardwire`; for zsh, as `_boardwire` in a folder of `fpath`.
#[derive(Debug, Args)]
pub(super) struct Completions {
    /// The shell.
    shell: Shell,
}

impl Completions {
    pub(super) fn run(&self, command: Command) -> anyhow::Result<ExitCode> {
        std::io::stdout().write_all(&script(self.shell, command))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the whole script, built in memory: `generate` panics if its writer fails.
fn script(shell: Shell, mut command: Command) -> Vec<u8> {
    let mut script = Vec::new();
    generate(shell, &mut command, "boardwire", &mut script);
    script
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use clap::ValueEnum as _;

    use clap::CommandFactory as _;

    use super::*;
    use crate::Cli;

    #[test]
    fn every_shell_completes_every_command() {
        for shell in Shell::value_variants() {
            let script = String::from_utf8(script(*shell, Cli::command())).expect("the script is UTF-8");
            for command in Cli::command().get_subcommands() {
                assert!(script.contains(command.get_name()), "{shell}: {}", command.get_name());
            }
            assert!(script.contains("max-matches-per-caller"), "{shell}: flags");
            assert!(script.contains("interval"), "{shell}: values of a flag");
        }
    }

    #[test]
    fn bash_can_parse_its_script() {
        let mut bash = std::process::Command::new("bash")
            .arg("-n")
            .stdin(Stdio::piped())
            .spawn()
            .expect("bash is installed");
        let mut stdin = bash.stdin.take().expect("stdin is piped");
        stdin.write_all(&script(Shell::Bash, Cli::command())).expect("bash reads");
        drop(stdin);
        assert!(bash.wait().expect("bash ends").success());
    }
}
