//! Tests of policy networks as opponents.

use boardwire_api::v1::AutoresetMode;
use std::time::Duration;

use boardwire_kernel::GameInfo;
use boardwire_policy::{Policies, testkit::Linear};

use super::*;

/// Returns the table of a game, and a configuration in which `policy:lion` is a network that `change` returns.
pub(super) fn with_policy(
    game: &str,
    names: &[&str],
    change: impl Fn(Linear, &GameInfo) -> Linear,
) -> (Arc<Table>, EnvironmentConfig) {
    let table = table(game, u32::try_from(names.len()).expect("the number fits u32"));
    let info = table.game.info();
    let network = Linear::new(&table.digest.to_string(), info.layout.bytes(), info.actions.count());
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("lion.onnx");
    std::fs::write(&file, change(network, info).onnx()).expect("a file");
    let policies = Policies::load([("lion".to_owned(), file)], Duration::from_mins(1)).expect("it can play");
    let registry = Registry::standard();
    let tables = Tables::new(registry).with_policies(policies);
    let player = |name: &&str| match *name {
        "agent" => Player::Agent,
        bot => Player::Bot(tables.bot(&table, bot).expect("a bot")),
    };
    let line_up = LineUp::of(names.iter().map(player).collect()).expect("an agent");
    let config = EnvironmentConfig { line_ups: vec![line_up], ..config(&["agent", "random"]) };
    (table, config)
}

#[test]
fn environments_do_not_depend_on_other_requests_to_the_policy() {
    for game in boardwire_games::IDS {
        for (names, third, steps) in [
            (&["agent", "policy:lion", "policy:lion:argmax"][..], 50, 40),
            (&["agent", "search:lion:6", "policy:lion"], 6, 15),
        ] {
            let (table, config) = with_policy(game, names, |network, _| network.with_random_weights(1));
            for autoreset in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
                let config = EnvironmentConfig { autoreset, ..config.clone() };
                let played =
                    |count, first, threads| history(&open(&table, &config, count, first, threads), steps);
                let whole = played(3 * third, 5, 1);
                assert_eq!(whole, played(3 * third, 5, 2), "{game}: two threads");
                let thirds: Vec<_> =
                    (0..3).flat_map(|part| played(third, 5 + third as u64 * part, 2)).collect();
                assert_eq!(whole, thirds, "{game}: three batches");
                let one = |number: u64| played(1, 5 + number, 1).remove(0);
                assert_eq!(whole[..10], (0..10).map(one).collect::<Vec<_>>(), "{game}: batches of one");
                assert_ne!(whole[0], whole[1]);
            }
        }
    }
}

/// Returns a network whose values grow with the round, and overflow from the second round on.
pub(super) fn overflowing_network(mut network: Linear, info: &GameInfo) -> Linear {
    let mut fields = info.layout.with_offsets();
    let (round, _) = fields.find(|(_, field)| field.name == "round").expect("it has rounds");
    let actions = network.bias.len();
    network.weights[round * actions..][..actions].fill(3e38);
    network
}

#[test]
fn a_failing_policy_is_an_error_and_changes_nothing() {
    let (table, config) = with_policy("faraway", &["agent", "policy:lion"], overflowing_network);
    let (batch, good) =
        (open(&table, &config, 100, 0, 2), open(&table, &super::config(&["agent", "random"]), 1, 0, 2));
    let mut rows = reset(&batch);
    let key = SnapshotKey::derive(b"a secret");
    let refused = loop {
        let before = wait(batch.save(&key, &[])).expect("it is saved");
        match step(&batch, choices(&rows, 0, 0)) {
            Ok(next) => rows = next,
            Err(refused) => {
                assert_eq!(wait(batch.save(&key, &[])).expect("it is saved"), before);
                break refused;
            }
        }
    };
    let problem = "policy `lion`: logit of action ";
    let Error::BotFailed { id, seat, problem: text } = &refused else { panic!("{refused}") };
    assert_eq!((id.as_str(), *seat), ("b", 1));
    assert!(text.starts_with(problem) && text.ends_with(" is inf"), "{text}");
    let again = step(&batch, choices(&rows, 0, 0)).expect_err("nothing has changed");
    assert!(matches!(again, Error::BotFailed { .. }), "{again}");
    // Other batches continue. This batch continues after a reset.
    reset(&good);
    let rows = reset(&batch);
    step(&batch, choices(&rows, 0, 0)).expect("the first round is still fine");
}
