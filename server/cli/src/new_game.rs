//! `new-game`: writes a crate for a game of one's own.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;

/// The files of the example `examples/kuhn`. The folder `template` has links to them: a package contains only files below its
/// own folder, and none below another `Cargo.toml`.
const FILES: &[(&str, &str)] = &[
    ("Cargo.toml", include_str!("../template/manifest.toml")),
    ("pyproject.toml", include_str!("../template/pyproject.toml")),
    ("src/lib.rs", include_str!("../template/lib.rs")),
    ("src/main.rs", include_str!("../template/main.rs")),
    ("src/rules.md", include_str!("../template/rules.md")),
    ("tests/laws.rs", include_str!("../template/laws.rs")),
];
/// The name of the example in its files, and the name of its type.
const TEMPLATE: (&str, &str) = ("kuhn", "Kuhn");

/// Words that Rust reserves, and crates with other meanings.
const TAKEN: &str = "abstract alloc as async await become boardwire box break const continue core crate do dyn else enum \
    extern false final fn for gen if impl in let loop macro match mod move mut override priv proc_macro \
    pub ref return self static std struct super test trait true try type typeof unsafe unsized use \
    virtual where while yield";

/// Writes a crate with a game of your own: a small poker game, to be changed step by step.
///
/// It builds, passes the laws of games and plays at once. `docs/own_game.md` explains it.
#[derive(Debug, Args)]
pub(super) struct NewGame {
    /// The game's id: lower-case letters, digits and `_`, beginning with a letter.
    #[arg(value_parser = name)]
    name: String,
    /// The folder of the crate. It must be new or empty. The default is the name.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Uses the crates in this checkout of Boardwire's repository instead of the published ones.
    #[arg(long, value_name = "DIR")]
    checkout: Option<PathBuf>,
}

/// The folders of the crates in `server/`. The crate `boardwire` is in `cli`.
const CRATES: &[&str] =
    &["api", "batch", "bots", "cli", "draw", "games", "kernel", "policy", "python", "server"];

impl NewGame {
    pub(super) fn run(&self) -> anyhow::Result<ExitCode> {
        let folder = self.out.as_deref().unwrap_or(Path::new(&self.name));
        let is_used = folder.read_dir().is_ok_and(|mut entries| entries.next().is_some());
        anyhow::ensure!(!is_used, "--out {}: the folder must be new or empty", folder.display());
        let patches = self.checkout.as_deref().map_or_else(|| Ok(String::new()), patches)?;
        for (file, text) in FILES {
            let path = folder.join(file);
            let parent = path.parent().expect("a file is in a folder");
            std::fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
            let appended = if *file == "Cargo.toml" { patches.as_str() } else { "" };
            let text = self.rename(text) + appended;
            std::fs::write(&path, text).with_context(|| path.display().to_string())?;
        }
        let (name, folder) = (&self.name, folder.display());
        println!(
            "wrote {folder}: `cargo test --release` there, then `cargo run --release -- play {name} --seats mc,random`"
        );
        Ok(ExitCode::SUCCESS)
    }

    fn rename(&self, text: &str) -> String {
        text.replace(TEMPLATE.0, &self.name).replace(TEMPLATE.1, &type_name(&self.name))
    }
}

/// Returns the section of `Cargo.toml` that replaces the published crates by those of a checkout.
fn patches(checkout: &Path) -> anyhow::Result<String> {
    let mut section = "\n[patch.crates-io]\n".to_owned();
    for folder in CRATES {
        let path = checkout.join("server").join(folder);
        let path = path.canonicalize().with_context(|| format!("--checkout: {}", path.display()))?;
        let name = if *folder == "cli" { "boardwire".to_owned() } else { format!("boardwire-{folder}") };
        let _ = writeln!(section, "{name} = {{ path = {:?} }}", path.display().to_string());
    }
    Ok(section)
}

/// Returns the name of a type: `MyGame` for `my_game`.
fn type_name(name: &str) -> String {
    let capitalized = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('_').filter(|word| !word.is_empty()).map(capitalized).collect()
}

/// Parses a name that can be that of a game, a crate and a Python module.
fn name(text: &str) -> Result<String, String> {
    let is_name = text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.chars().all(|next| next.is_ascii_lowercase() || next.is_ascii_digit() || next == '_')
        && text.len() <= 40;
    let is_taken = TAKEN.split_whitespace().any(|word| word == text) || text.starts_with("boardwire_");
    if is_name && !is_taken {
        return Ok(text.to_owned());
    }
    Err("a name has 1 to 40 lower-case letters, digits and `_`, begins with a letter, and is not a word of Rust, such \
         as `match` or `core`"
        .to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_has_all_files_of_the_example() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/kuhn");
        let files = |folder: &str, path: &Path| {
            let entries = path.read_dir().expect("a folder").map(|entry| entry.expect("an entry"));
            let files = entries.filter(|entry| entry.path().is_file());
            files.map(|file| format!("{folder}{}", file.file_name().display())).collect::<Vec<_>>()
        };
        let mut found: Vec<String> = ["", "src/", "tests/"]
            .iter()
            .flat_map(|part| files(part, &folder.join(part)))
            .filter(|file| file != "tests/playthrough.txt")
            .collect();
        found.sort();
        assert!(FILES.iter().map(|(file, _)| *file).eq(found), "{FILES:?}");
    }

    #[test]
    fn a_checkout_has_all_crates() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let section = patches(&root).expect("this is a checkout");
        let entries = root.join("server").read_dir().expect("a folder").count();
        assert_eq!(section.matches(" = { path = ").count(), entries);
        assert!(patches(Path::new("/")).expect_err("it has no crates").to_string().starts_with("--checkout"));
    }

    #[test]
    fn names_are_those_of_crates_and_types() {
        assert_eq!((type_name("my_game"), type_name("go_9x9")), ("MyGame".to_owned(), "Go9x9".to_owned()));
        for wrong in ["", "9x9", "My", "my-game", "über", "core", "match", "boardwire_x", &"a".repeat(41)] {
            assert!(name(wrong).is_err(), "{wrong}");
        }
        assert_eq!(name("nim3").as_deref(), Ok("nim3"));
    }
}
