//! Checks that a test of the game cites every numbered clause of `docs/rules/<game>.md`.
//!
//! A clause begins with its id in bold, `**FA-3.2**`. A test in `src/<game>/tests/` cites it in its body or in the
//! comment before it. Text between the tests does not count.
#![expect(clippy::disallowed_methods, reason = "tests read files and the environment")]

use std::collections::BTreeSet;
use std::path::Path;

use boardwire_games::IDS;

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the clause ids of a rules page: the bold words with a dash and a digit.
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

/// Returns the words of the game's tests that look like clause ids.
fn cited(tests: &str) -> BTreeSet<&str> {
    tests
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '.'))
        .map(|word| word.trim_end_matches('.'))
        .filter(|word| is_clause(word))
        .collect()
}

fn tests_of(game: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(game).join("tests");
    let files = std::fs::read_dir(folder).expect("a folder of tests");
    files.map(|file| test_functions(&read(&file.expect("the folder can be read").path()))).collect()
}

/// Returns the test functions of a file, each with the comment before it.
fn test_functions(source: &str) -> String {
    let (mut out, mut comment, mut in_test) = (String::new(), String::new(), false);
    for line in source.lines() {
        if line.starts_with("#[test]") {
            (in_test, out) = (true, out + &comment);
        }
        if in_test {
            out.push_str(line);
            out.push('\n');
        }
        in_test &= line != "}";
        if line.starts_with("///") || line.starts_with("//") {
            comment.push_str(line);
        } else {
            comment.clear();
        }
    }
    out
}

#[test]
fn citations_outside_tests_do_not_count() {
    let source =
        "// AA-1\nfn helper() {\n    // AA-2\n}\n\n/// AA-3\n#[test]\nfn one() {\n    // AA-4\n}\n// AA-5\n";
    assert_eq!(cited(&test_functions(source)), BTreeSet::from(["AA-3", "AA-4"]));
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
