//! Every numbered clause of `docs/rules/<game>.md` is cited by a test of that game.
//!
//! A clause begins with its id in bold, `**FA-3.2**`; a test cites it in a comment, a name or a message,
//! in `src/<game>/tests.rs` or below `src/<game>/tests/`.
#![expect(clippy::disallowed_methods, reason = "tests read files and the environment")]

use std::collections::BTreeSet;
use std::path::Path;

use boardwire_games::IDS;

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The clause ids of a rules page: what stands in bold, with a dash and a digit.
fn clauses(page: &str) -> BTreeSet<&str> {
    page.split("**").skip(1).step_by(2).filter(|word| is_clause(word)).collect()
}

fn is_clause(word: &str) -> bool {
    let Some((prefix, number)) = word.split_once('-') else {
        return false;
    };
    prefix.len() == 2
        && prefix.bytes().all(|byte| byte.is_ascii_uppercase())
        && number.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.')
        && number.bytes().any(|byte| byte.is_ascii_digit())
}

/// The words of the game's tests that look like clause ids.
fn cited(tests: &str) -> BTreeSet<&str> {
    tests
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '.'))
        .map(|word| word.trim_end_matches('.'))
        .filter(|word| is_clause(word))
        .collect()
}

fn tests_of(game: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(game);
    let mut text = String::new();
    let single = folder.join("tests.rs");
    if single.exists() {
        text.push_str(&read(&single));
    }
    if let Ok(files) = std::fs::read_dir(folder.join("tests")) {
        for file in files {
            text.push_str(&read(&file.expect("the folder can be read").path()));
        }
    }
    text
}

#[test]
fn every_clause_is_cited_by_a_test() {
    for game in IDS {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules").join(format!("{game}.md"));
        let (page, tests) = (read(&page), tests_of(game));
        let (clauses, cited) = (clauses(&page), cited(&tests));
        assert!(clauses.len() > 10, "docs/rules/{game}.md has {} numbered clauses", clauses.len());
        let missing: Vec<_> = clauses.difference(&cited).collect();
        assert!(missing.is_empty(), "clauses of docs/rules/{game}.md that no test cites: {missing:?}");
        let unknown: Vec<_> = cited.difference(&clauses).collect();
        assert!(unknown.is_empty(), "tests of {game} cite clauses that do not exist: {unknown:?}");
    }
}
