//! What a server would be like that is started here without flags: for whoever asks before there is one.

use std::path::{Path, PathBuf};

use clap::{Args as _, FromArgMatches as _};

use super::{Front, Serve, Settings};
use crate::cli::Catalogues;
use crate::edge::Bounds;

/// The part of its settings that this machine may be short of.
#[derive(Debug)]
pub(in crate::cli) struct Planned {
    /// The most connections that it takes.
    pub(in crate::cli) connections: usize,
    /// The file that it keeps matches in.
    pub(in crate::cli) journal: Option<PathBuf>,
    /// The catalogues that it plays with.
    pub(in crate::cli) catalogues: Catalogues,
}

impl Default for Planned {
    fn default() -> Self {
        Self { connections: Bounds::default().connections, journal: None, catalogues: Catalogues::default() }
    }
}

impl Planned {
    /// Reads the settings: the environment over this file. Everything is checked that is before a server listens.
    ///
    /// # Errors
    /// What such a server would say that it does not start for.
    pub(in crate::cli) fn read(config: Option<&Path>) -> anyhow::Result<Self> {
        let command = Serve::augment_args(clap::Command::new("serve"));
        let serve = Serve::from_arg_matches(&command.try_get_matches_from(["serve"])?)?;
        let file = config.map_or_else(|| Ok(Settings::default()), Settings::read)?;
        let settings = serve.settings.or(file);
        Front::of(&settings)?;
        Ok(Self {
            connections: settings.bounds().connections,
            journal: settings.journal.clone(),
            catalogues: settings.catalogues()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_and_checked_before_there_is_a_server() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let read = |text: &str| {
            std::fs::write(file.path(), text).expect("it can be written");
            Planned::read(Some(file.path()))
        };
        let planned =
            read("max_connections = 7\njournal = '/j'\ncatalogue = ['faraway=/c']").expect("it is right");
        assert_eq!((planned.connections, planned.journal.as_deref()), (7, Some(Path::new("/j"))));
        assert_eq!(planned.catalogues.catalogues, [("faraway".to_owned(), "/c".to_owned())]);
        for (text, named) in [
            ("lisen = []", "lisen"),
            ("listen = ['0.0.0.0:1']", "--insecure"),
            ("tls_cert = '/absent'", "--tls-key"),
            ("tls_cert = '/absent'\ntls_key = '/absent'", "/absent"),
            ("auth_token_file = '/absent'", "/absent"),
            ("metrics = '0.0.0.0:1'", "--insecure"),
        ] {
            let wrong = format!("{:#}", read(text).expect_err(text));
            assert!(wrong.contains(named), "{wrong}");
        }
    }

    #[test]
    fn a_command_line_can_take_back_what_a_file_permits() {
        let settings = |words: &[&str], file: &str| {
            let command = Serve::augment_args(clap::Command::new("serve"));
            let words = ["serve"].into_iter().chain(words.iter().copied());
            let matches = command.try_get_matches_from(words).expect("known words");
            let serve = Serve::from_arg_matches(&matches).expect("known words");
            serve.settings.or(toml::from_str(file).expect("known settings")).is_insecure()
        };
        assert!(settings(&["--insecure"], "") && settings(&["--insecure=true"], "insecure = false"));
        assert!(settings(&[], "insecure = true"));
        assert!(!settings(&["--insecure=false"], "insecure = true") && !settings(&[], ""));
    }
}
