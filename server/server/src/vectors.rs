//! The test vectors in `tests/vectors`, for clients in any language. `make golden` writes them.

use std::path::Path;
use std::sync::Arc;

use boardwire_api::v1::{self, AutoresetMode};
use boardwire_batch::batch::{Actions, Batch, BatchOptions, Columns, EnvironmentConfig, LineUp, Reset};
use boardwire_batch::pool::Pool;
use boardwire_batch::registry::Registry;
use boardwire_batch::tables::{Table, Tables};
use boardwire_batch::{Player, messages};
use boardwire_kernel::{ActionSet, BOT_STREAM, Digest, Key, RngStream, Seat, Viewer};
use prost::Message as _;
use serde_json::{Map, Value, json};

use crate::arbiter::{EpisodeKey, SeedSource};
use crate::hex::hex;

const SEED: u64 = 7;

fn tables() -> Tables {
    Tables::new(Registry::standard())
}

/// Compares a file with the vectors. If `BOARDWIRE_BLESS` is set, writes the file first.
fn check_file(name: &str, vectors: &Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors").join(name);
    let text = lines(vectors, 4) + "\n";
    if std::env::var_os("BOARDWIRE_BLESS").is_some() {
        std::fs::write(&path, &text).expect("the vectors can be written");
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == stored, "tests/vectors/{name} is stale: run `make golden`");
}

/// Formats JSON with one line for each member, down to a depth.
fn lines(value: &Value, depth: usize) -> String {
    let join =
        |open: &str, members: Vec<String>, close: &str| format!("{open}\n{}\n{close}", members.join(",\n"));
    match value {
        Value::Array(members) if depth > 0 => {
            join("[", members.iter().map(|member| lines(member, depth - 1)).collect(), "]")
        }
        Value::Object(members) if depth > 0 => {
            let member = |(name, member): (&String, &Value)| {
                format!("{}: {}", Value::from(name.as_str()), lines(member, depth - 1))
            };
            join("{", members.iter().map(member).collect(), "}")
        }
        _ => value.to_string(),
    }
}

/// Returns the values of a view by field, in the order of their bytes.
fn values(fields: &[v1::ViewField], view: &[u8]) -> Value {
    let decode = |field: &v1::ViewField| {
        let count: u32 = field.axes.iter().map(|axis| axis.size).product();
        let width = if field.max > 255 { 2 } else { 1 };
        let bytes = &view[field.offset as usize..][..count as usize * width];
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |high, &low| high << 8 | u32::from(low));
        let values: Vec<u32> = bytes.chunks(width).map(number).collect();
        (field.name.clone(), json!(values))
    };
    Value::Object(fields.iter().map(decode).collect::<Map<_, _>>())
}

fn layout(fields: &[v1::ViewField]) -> Value {
    let describe = |field: &v1::ViewField| {
        let axes: Vec<Value> = field.axes.iter().map(|axis| json!([axis.name, axis.size])).collect();
        json!({"name": field.name, "offset": field.offset, "axes": axes, "max": field.max})
    };
    fields.iter().map(describe).collect()
}

fn spec(tables: &Tables, table: &Table) -> v1::GameSpec {
    let facts = tables.game_facts(table.game.info().id).expect("the game is served");
    messages::spec(&facts, table)
}

/// Views of both seats and the public at the deal, early, in the middle and at the end of a game.
#[test]
fn views_and_masks() {
    let tables = tables();
    let mut games = vec![];
    for game in boardwire_games::IDS {
        let table = tables.table(game, 2, []).expect("a table");
        let spec = spec(&tables, &table);
        let mut play = Arc::clone(&table.game).deal(SEED.into());
        let mut rng = RngStream::new(SEED, BOT_STREAM);
        let mut positions = vec![];
        loop {
            let over = play.pending().is_empty();
            if over || [0, 1, 20].contains(&play.ply()) {
                for viewer in [Viewer::Seat(Seat::new(0)), Viewer::Seat(Seat::new(1)), Viewer::Public] {
                    positions.push(position(&spec, &table, &*play, viewer));
                }
            }
            let Some(seat) = play.pending().lowest() else { break };
            let mut legal = play.legal(seat);
            play.apply(seat, rng.draw(&mut legal).into()).expect("the action is legal");
        }
        games.push(json!({
            "game": game,
            "seats": 2,
            "seed": SEED.to_string(),
            "spec_digest": spec.spec_digest,
            "actions": spec.actions.iter().map(|action| &action.label).collect::<Vec<_>>(),
            "fields": layout(&spec.fields),
            "public_fields": layout(&spec.public_fields),
            "positions": positions,
        }));
    }
    check_file("views.json", &Value::Array(games));
}

fn position(
    spec: &v1::GameSpec,
    table: &Table,
    play: &dyn boardwire_batch::play::AnyEpisode,
    viewer: Viewer,
) -> Value {
    let info = table.game.info();
    let mut view = vec![0; info.layout_for(viewer).bytes()];
    play.view(viewer, &mut view);
    let (seat, fields) = match viewer {
        Viewer::Seat(seat) => (json!(seat.number()), &spec.fields),
        Viewer::Public => (Value::Null, &spec.public_fields),
    };
    let mut position =
        json!({"seat": seat, "ply": play.ply(), "view": hex(&view), "values": values(fields, &view)});
    if let Viewer::Seat(seat) = viewer {
        let (legal, mut mask) = (play.legal(seat), vec![0; info.actions.mask_bytes()]);
        legal.write_bits(&mut mask);
        position["mask"] = json!(hex(&mask));
        position["legal"] = json!(legal.iter().collect::<Vec<_>>());
    }
    position
}

/// The `Step` messages of batches, encoded and decoded.
#[test]
fn steps_of_batches() {
    let tables = tables();
    let pool = Pool::new(1).expect("a thread starts");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let mut batches = vec![];
    for game in boardwire_games::IDS {
        let table = tables.table(game, 2, []).expect("a table");
        let bot = Player::Bot(boardwire_bots::Bot::Random);
        let line_up = |players: [Player; 2]| LineUp::of(players.to_vec()).expect("an agent");
        let line_ups = vec![line_up([Player::Agent, bot]), line_up([Player::Agent, Player::Agent])];
        let columns = Columns { scores: true, final_views: true, episodes: true, ..Columns::default() };
        let config = EnvironmentConfig {
            columns,
            autoreset: AutoresetMode::SameStep,
            ..EnvironmentConfig::of(line_ups)
        };
        let options = BatchOptions { config, environments: 3, first: 0, seed: SEED, message_bytes: 1 << 20 };
        let group = pool.new_group();
        let batch = Batch::open(String::new(), Arc::clone(&table), options, &group);
        let batch = runtime.block_on(batch).expect("the batch is opened");
        let mut rows = runtime.block_on(batch.reset(Reset::default(), None)).expect("the batch is reset");
        let mut steps = vec![step(&table, &messages::step(rows.clone()))];
        while steps.len() < 3 {
            let bytes = rows.mask().len() / 3;
            let lowest = |mask: &[u8]| (0..=255_u8).find(|at| mask[usize::from(at / 8)] >> (at % 8) & 1 == 1);
            let actions: Vec<u8> = rows.mask().chunks(bytes).map(|mask| lowest(mask).unwrap_or(0)).collect();
            rows = runtime
                .block_on(batch.step(0, 0, Actions::of_all(actions.into()), None))
                .expect("the action is legal");
            // Keeps the first step, and the next step that ends an episode.
            if steps.len() == 1 || !rows.ended().is_empty() {
                steps.push(step(&table, &messages::step(rows.clone())));
            }
        }
        batches.push(json!({"game": game, "seats": 2, "agents": 2, "environments": 3, "steps": steps}));
    }
    check_file("steps.json", &Value::Array(batches));
}

fn step(table: &Table, step: &v1::Step) -> Value {
    let info = table.game.info();
    let mask = |bytes: &[u8]| {
        (0..8 * bytes.len()).filter(|at| bytes[at / 8] >> (at % 8) & 1 == 1).collect::<Vec<_>>()
    };
    let numbers = |column: &[u8]| {
        column
            .chunks(4)
            .map(|four| u32::from_le_bytes(four.try_into().expect("four bytes")))
            .collect::<Vec<_>>()
    };
    let signed = |column: &[u8]| numbers(column).into_iter().map(u32::cast_signed).collect::<Vec<_>>();
    let rewards = numbers(&step.reward).into_iter().map(f32::from_bits).collect::<Vec<_>>();
    let views = |column: &[u8]| column.chunks(info.layout.bytes()).map(hex).collect::<Vec<_>>();
    json!({
        "message": hex(&step.encode_to_vec()),
        "first": step.first,
        "sequence": step.sequence,
        "seat": step.seat.to_vec(),
        "flags": step.flags.to_vec(),
        "ply": numbers(&step.ply),
        "reward": rewards.chunks(2).collect::<Vec<_>>(),
        "legal": step.mask.chunks(info.actions.mask_bytes()).map(mask).collect::<Vec<_>>(),
        "episode": numbers(&step.episode),
        "ended": numbers(&step.ended),
        "scores": signed(&step.scores).chunks(2).collect::<Vec<_>>(),
        "ranks": step.ranks.chunks(2).collect::<Vec<_>>(),
        "final_view": views(&step.final_view),
        "view": views(&step.view),
    })
}

/// Streams of random numbers, draws, the seeds of episodes, and deals.
#[test]
fn seeds_and_deals() {
    let tables = tables();
    let seeds = [0, 1, SEED, u64::MAX];
    let streams = seeds.iter().flat_map(|&seed| [0, 1, BOT_STREAM].map(|stream| (seed, stream)));
    let streams: Vec<Value> = streams
        .map(|(seed, stream)| {
            let mut rng = RngStream::new(seed, stream);
            let below: Vec<[u32; 2]> =
                [2, 6, 68, 1_000, 3 << 30].iter().map(|&n| [n, rng.below(n)]).collect();
            let mut set = ActionSet::below(8);
            let drawn: Vec<u8> = (0..8).map(|_| rng.draw(&mut set)).collect();
            let mut shuffled: Vec<u8> = (0..8).collect();
            rng.shuffle(&mut shuffled);
            let words = rng.words();
            json!({
                "seed": seed.to_string(), "stream": stream.to_string(), "below": below, "draw_from_0_to_7": drawn,
                "shuffle_of_0_to_7": shuffled, "words_used": words,
            })
        })
        .collect();
    let episode = |(environment, episode): (u64, u64)| {
        let seed = RngStream::resume(SEED.into(), environment, 2 * episode).next_seed();
        json!({"environment": environment, "episode": episode, "seed": seed.to_string()})
    };
    let episodes: Vec<Value> = [(0, 0), (0, 1), (1, 0), (41, 9)].into_iter().map(episode).collect();
    let mut deals = vec![];
    for game in boardwire_games::IDS {
        let table = tables.table(game, 2, []).expect("a table");
        for seed in seeds {
            let play = Arc::clone(&table.game).deal(seed.into());
            let mut views = vec![];
            for seat in Seat::all(2) {
                let mut view = vec![0; table.game.info().layout.bytes()];
                play.view(seat.into(), &mut view);
                views.push(hex(&view));
            }
            deals.push(json!({"game": game, "seats": 2, "seed": seed.to_string(), "views": views}));
        }
    }
    let vectors = json!({
        "streams": streams,
        "batch_episodes": {"batch_seed": SEED.to_string(), "episodes": episodes},
        "deals": deals,
    });
    check_file("seeds.json", &vectors);
}

#[test]
fn commitments() {
    let commitment = |match_id: &str, episode: u32, key: Key, salt: [u8; 16]| {
        let spec = Digest::of_bytes(match_id.as_bytes());
        let key_with_salt = EpisodeKey { source: SeedSource::Drawn, key, salt };
        json!({
            "match_id": match_id,
            "episode": episode,
            "spec_digest": spec.to_string(),
            "key": hex(key.as_bytes()),
            "salt": hex(&salt),
            "seed_commitment": hex(&key_with_salt.commitment(match_id, episode, &spec)),
        })
    };
    let vectors = [
        commitment(&"0".repeat(32), 0, SEED.into(), [0; 16]),
        commitment("0123456789abcdef0123456789abcdef", 258, u64::MAX.into(), *b"sixteen of salt."),
    ];
    check_file("commitments.json", &json!(vectors));
}
