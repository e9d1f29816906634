//! An agent sees the same in a match and in a batch.

use boardwire_batch::batch::{Actions, Batch, BatchOptions, EnvironmentConfig, LineUp, Reset, flag};
use boardwire_policy::{Policies, testkit::Linear};

use super::*;
use boardwire_api::MAX_MESSAGE_BYTES;

/// Returns a plan for players with these names: `agent`, or the name of a bot.
fn config(tables: &Tables, table: &Table, names: &[&str]) -> EnvironmentConfig {
    let player = |name: &&str| match *name {
        "agent" => AGENT,
        bot => Player::Bot(tables.bot(table, bot).expect("a bot")),
    };
    EnvironmentConfig::of(vec![LineUp::of(names.iter().map(player).collect()).expect("an agent")])
}

#[tokio::test]
async fn a_batch_plays_as_a_match_does() {
    let line_ups: [&[&str]; 4] = [
        &["agent", "random"],
        &["greedy:2", "agent"],
        &["agent", "agent"],
        &["random", "greedy:2", "agent", "greedy"],
    ];
    for (game, names) in boardwire_games::IDS.iter().flat_map(|game| line_ups.map(|names| (*game, names))) {
        let table = table(game, u32::try_from(names.len()).expect("the number fits u32"));
        let config =
            EnvironmentConfig { skip_forced: names[1] == "random", ..config(&tables(), &table, names) };
        plays_as_a_match_does(table, config).await;
    }
}

#[tokio::test]
async fn a_policy_plays_in_a_batch_as_in_a_match() {
    let line_ups: [&[&str]; 4] = [
        &["agent", "policy:lion"],
        &["policy:lion:argmax", "agent"],
        &["search:lion:6", "agent"],
        &["random", "greedy:2", "agent", "policy:lion"],
    ];
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("lion.onnx");
    for (game, names) in boardwire_games::IDS.iter().flat_map(|game| line_ups.map(|names| (*game, names))) {
        let table = table(game, u32::try_from(names.len()).expect("the number fits u32"));
        let info = table.game.info();
        let network = Linear::new(&table.digest.to_string(), info.layout.bytes(), info.actions.count());
        std::fs::write(&file, network.with_random_weights(2).onnx()).expect("a file");
        let policies = Policies::load([("lion".to_owned(), file.clone())], Duration::from_mins(1));
        let tables = tables().with_policies(policies.expect("the policy can play"));
        let config = config(&tables, &table, names);
        plays_as_a_match_does(table, config).await;
    }
}

/// Returns a legal action that depends only on `salt` and the legal actions; 0 if there is none.
fn choice(observation: &Observation, salt: u64) -> u8 {
    let legal = legal(observation);
    let pick = RngStream::new(salt, 3).next_seed() % legal.len().max(1) as u64;
    let action = legal.get(usize::try_from(pick).expect("the number fits usize")).copied().unwrap_or(0);
    u8::try_from(action).expect("actions are bytes")
}

/// Plays one episode in a batch and in a match, and compares everything that an agent sees.
async fn plays_as_a_match_does(table: Arc<Table>, config: EnvironmentConfig) {
    let options = BatchOptions {
        config: config.clone(),
        environments: 1,
        first: 3,
        seed: 7,
        message_bytes: MAX_MESSAGE_BYTES,
    };
    let batch = Batch::open(String::new(), Arc::clone(&table), options, &pool().new_group())
        .await
        .expect("the batch is opened");
    let settings = Settings {
        seed: Some(RngStream::resume(7.into(), 3, 0).next_seed()),
        reward: config.reward,
        skip_forced: config.skip_forced,
        illegal_actions: config.illegal_actions,
        ..Settings::of(config.line_ups[0].players.clone())
    };
    let arbiter = arbiter(Arc::clone(&table), settings);
    let mut shown = batch.reset(Reset::default(), None).await.expect("the batch is reset");
    for salt in 0.. {
        let over = shown.flags()[0] & flag::TERMINATED > 0;
        let seat = if over { config.line_ups[0].first_agent } else { Seat::new(shown.seat()[0]) };
        let observation =
            arbiter.observe(seat, true, Extras::default()).await.expect("the observation is available");
        assert_eq!(
            (&observation.view[..], &observation.mask[..]),
            (shown.view(), shown.mask()),
            "{table:?} {:?}",
            config.line_ups
        );
        assert_eq!((observation.ply.to_le_bytes().as_slice(), observation.terminated), (shown.ply(), over));
        if over {
            assert_eq!(shown.reward()[4 * seat.index()..][..4], observation.reward.to_le_bytes());
            break;
        }
        let action = choice(&observation, salt);
        arbiter.act(seat, decision_of(&observation, action.into())).await.expect("the action is legal");
        shown =
            batch.step(0, 0, Actions::of_all(vec![action].into()), None).await.expect("the action is legal");
    }
}
