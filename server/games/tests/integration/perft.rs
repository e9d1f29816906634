//! Checks the perft counts in `tests/perft/<game>.perft`; each line is `seats seed depth count`.
#![expect(clippy::disallowed_methods, reason = "tests read files and the environment")]

use std::path::Path;
use std::sync::Arc;

use boardwire_games::{IDS, Visitor, visit};
use boardwire_kernel::{Episode, Estimate, testkit};

struct Perft;

impl Visitor for Perft {
    type Output = ();

    fn visit<G: Estimate>(self) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/perft");
        let path = path.join(format!("{}.perft", G::TYPE.id));
        let lines =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut counted = 0;
        for line in lines.lines().filter(|line| !line.starts_with('#')) {
            let numbers: Vec<u64> =
                line.split_whitespace().map(|word| word.parse().expect("a line of four numbers")).collect();
            let [seats, seed, depth, count] = numbers[..] else { panic!("a line of four numbers: {line}") };
            let small = |number| u8::try_from(number).expect("seats and depths are small");
            let game = testkit::table::<G>(small(seats), &[]);
            let start = Episode::seeded(Arc::clone(&game), seed);
            let got = testkit::perft(&*game, start.state(), start.random_source(), small(depth).into());
            assert_eq!(got, count, "{}: {line}", path.display());
            counted += 1;
        }
        assert!(counted > 0, "{} holds no count", path.display());
    }
}

#[test]
fn counts_are_as_recorded() {
    for id in IDS {
        visit(id, Perft).expect("the registry knows its own ids");
    }
}
