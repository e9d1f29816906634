//! Checks that the kernel computes the test vectors of `docs/determinism.md`.
#![expect(clippy::disallowed_methods, reason = "the page is a file")]

use std::path::Path;

use boardwire_kernel::{BitSet, Key, RngStream};

/// Parses a key: a seed as a decimal number, or 64 hexadecimal digits.
fn key(text: &str) -> Option<Key> {
    if text.len() < 64 {
        return text.parse::<u64>().ok().map(Key::from);
    }
    let digits = (0..64).step_by(2).map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok());
    let bytes: Vec<u8> = digits.collect::<Option<_>>()?;
    Some(<[u8; 32]>::try_from(bytes).ok()?.into())
}

/// Returns the rows `| seed or key | stream | what | result |` of the page.
fn rows(page: &str) -> Vec<[&str; 4]> {
    page.lines()
        .filter_map(|line| line.strip_prefix('|')?.strip_suffix('|'))
        .map(|line| line.split('|').map(str::trim).collect::<Vec<_>>())
        .filter_map(|cells| <[&str; 4]>::try_from(cells).ok())
        .filter(|cells| key(cells[0]).is_some())
        .collect()
}

fn list<T: ToString>(values: impl IntoIterator<Item = T>) -> String {
    values.into_iter().map(|value| value.to_string()).collect::<Vec<_>>().join(" ")
}

/// Returns the kernel's result for `what`: a kind and its number, as the page writes them.
fn compute(mut rng: RngStream, what: &str) -> String {
    let (kind, number) = what.split_once(' ').expect("a kind and a number");
    let number: u8 = number.parse().expect("a small number");
    match kind {
        "seed" => list((0..number).map(|_| rng.next_seed())),
        "below" => list((0..8).map(|_| rng.below(number.into()))),
        "draw" => {
            let mut set: BitSet<2> = (1..=number).collect();
            list((0..8).map(|_| rng.draw(&mut set)))
        }
        "shuffle" => {
            let mut items: Vec<u8> = (0..number).collect();
            rng.shuffle(&mut items);
            list(items)
        }
        _ => panic!("no vector is called {kind}"),
    }
}

#[test]
fn the_vectors_of_the_page_match() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/determinism.md");
    let page = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let rows = rows(&page);
    assert!(rows.len() >= 11, "{} vectors", rows.len());
    for [seed, stream, what, result] in rows {
        let rng = RngStream::keyed(key(seed).expect("a seed"), stream.parse().expect("a stream"));
        assert_eq!(compute(rng, what), result, "seed {seed}, stream {stream}, {what}");
    }
}
