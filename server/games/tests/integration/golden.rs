//! Golden playthroughs, `tests/golden/<game>/*.txt`. `make golden` rewrites them.
#![expect(clippy::disallowed_methods, reason = "tests read files and the environment")]

use std::path::{Path, PathBuf};

use boardwire_games::{IDS, Visitor, visit};
use boardwire_kernel::{Estimate, testkit};

fn folder(game: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(game)
}

struct Golden;

impl Visitor for Golden {
    type Output = ();

    fn visit<G: Estimate>(self) {
        let bless = std::env::var_os("BOARDWIRE_BLESS").is_some();
        for (seed, game) in (1..).zip(testkit::every_table::<G>()) {
            let info = game.info();
            let seats = format!("{}-seats", info.seats);
            let options = info.options.all().iter().map(|(_, value)| value.as_str());
            let name: Vec<&str> = std::iter::once(seats.as_str()).chain(options).collect();
            let path = folder(info.id).join(format!("{}.txt", name.join("-")));
            let played = testkit::playthrough(&game, seed);
            assert!(played.len() < 70_000, "{} is {} bytes long", path.display(), played.len());
            if bless {
                std::fs::create_dir_all(folder(info.id)).expect("the golden folder can be made");
                std::fs::write(&path, &played).expect("the golden can be written");
            }
            let golden = std::fs::read_to_string(&path).unwrap_or_default();
            let differs = played.lines().zip(golden.lines()).position(|(new, old)| new != old);
            assert!(
                played == golden,
                "{} differs from line {}; `make golden GAME={}` rewrites it",
                path.display(),
                differs.map_or(golden.lines().count(), |line| line + 1),
                info.id
            );
        }
    }
}

#[test]
fn playthroughs_are_as_recorded() {
    let only = std::env::var("GAME").ok();
    for id in IDS.iter().filter(|id| only.as_deref().is_none_or(|only| only == **id)) {
        visit(id, Golden).expect("the registry knows its own ids");
    }
}
