//! Deals as they were played, in a folder of Parquet files: what every seat saw, chose and earned.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use boardwire_batch::reward::RewardKind;
use boardwire_batch::tables::Table;
use boardwire_kernel::{Field, FieldKind, GameInfo};
use serde_json::{Value, json};

use super::deal::{Played, deal_seed};
use super::schedule::Schedule;
use super::steps::{Episode, Steps};
use crate::cli::parquet;

/// How recordings are laid out, as docs/data.md has it.
const FORMAT: u32 = 1;
/// What seats are rewarded for, and its name.
const REWARD: (RewardKind, &str) = (RewardKind::Rank, "rank");
/// A file is written as soon as so many episodes wait for it.
const EPISODES: usize = 1024;

/// A folder to which deals are added. Its files are whole deals, in the order of their numbers.
pub(super) struct Recording {
    folder: PathBuf,
    facts: Value,
    /// The hash of what is played: names alone do not tell which network or program has played.
    arena: String,
    table: Arc<Table>,
    schedule: Schedule,
    seed: u64,
    /// The first deal that is in no file.
    next: u64,
    /// Those that wait for a file, or for the ones before them.
    waiting: BTreeMap<u64, Played>,
}

impl Recording {
    /// Opens the folder; it is made if it is not there.
    ///
    /// # Errors
    /// A folder that cannot be made or read, or that has another recording, or one of another arena than `what` says.
    pub(super) fn open(
        folder: &Path,
        table: &Arc<Table>,
        schedule: &Schedule,
        seed: u64,
        what: &Value,
    ) -> anyhow::Result<Self> {
        let told = || folder.display().to_string();
        std::fs::create_dir_all(folder).with_context(told)?;
        let facts = facts(table, schedule, seed);
        let arena = blake3::hash(what.to_string().as_bytes()).to_string();
        let mut episodes = 0;
        for entry in std::fs::read_dir(folder).with_context(told)? {
            let path = entry.with_context(told)?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if !(name.starts_with("episodes-") && name.ends_with(".parquet")) {
                continue;
            }
            let there = parquet::look(&path).with_context(|| path.display().to_string())?;
            let held: Value = there.facts.parse().unwrap_or_default();
            anyhow::ensure!(
                held == facts,
                "{} is of another recording, {held}: this one is {facts}; name another folder",
                path.display()
            );
            anyhow::ensure!(
                there.arena.is_none_or(|held| held == arena),
                "{} was recorded with other networks, agents' commands or another version than these; name another \
                 folder",
                path.display()
            );
            episodes = episodes.max(there.end);
        }
        Ok(Self {
            folder: folder.to_owned(),
            facts,
            arena,
            table: Arc::clone(table),
            schedule: schedule.clone(),
            seed,
            next: episodes / schedule.line_ups.len() as u64,
            waiting: BTreeMap::new(),
        })
    }

    /// How many deals it has, from the first on.
    pub(super) fn deals(&self) -> u64 {
        self.next
    }

    /// Adds a deal; whether there is enough for a file.
    pub(super) fn add(&mut self, played: Played) -> bool {
        self.waiting.insert(played.number, played);
        self.waiting.contains_key(&self.next) && self.waiting.len() * self.schedule.line_ups.len() >= EPISODES
    }

    /// Writes what waits, as far as no deal is missing before it.
    pub(super) fn write(&mut self) -> anyhow::Result<()> {
        let ways = self.schedule.line_ups.len() as u64;
        let first = self.next;
        let mut steps = Steps::of(self.table.rules.info());
        while let Some(played) = self.waiting.remove(&self.next) {
            let seed = deal_seed(self.seed, played.number)?;
            for ((way, line_up), end) in (0..).zip(&self.schedule.line_ups).zip(&played.ends) {
                let players = line_up.iter().map(|&entrant| self.schedule.entrants[entrant].as_str());
                let episode = Episode { number: played.number * ways + way, seed, end };
                steps.add(&self.table, &episode, players, REWARD.0)?;
            }
            self.next += 1;
        }
        if self.next == first {
            return Ok(());
        }
        let path = self.folder.join(format!("episodes-{:09}.parquet", first * ways));
        steps.write(&path, (&self.facts.to_string(), &self.arena)).with_context(|| path.display().to_string())
    }
}

/// What a recording says of itself: `RecordingFacts` in docs/data.md.
fn facts(table: &Table, schedule: &Schedule, seed: u64) -> Value {
    let info = table.rules.info();
    let named = |line_up: &Vec<usize>| -> Vec<&str> {
        line_up.iter().map(|&entrant| schedule.entrants[entrant].as_str()).collect()
    };
    let mut policies: Vec<&String> = schedule.entrants.iter().filter(|name| is_no_bot(name)).collect();
    policies.sort_unstable();
    json!({
        "format": FORMAT,
        "source": "boardwire arena",
        "game": info.id,
        "seats": info.seats,
        "options": info.options.all().iter().cloned().collect::<BTreeMap<_, _>>(),
        "rules_version": info.rules_version,
        "spec_digest": table.digest.to_string(),
        "view_bytes": info.layout.bytes(),
        "fields": fields(info),
        "actions": info.actions.all().iter().map(|action| action.label.as_str()).collect::<Vec<_>>(),
        "reward": REWARD.1,
        "line_ups": schedule.line_ups.iter().map(named).collect::<Vec<_>>(),
        "policies": policies,
        "seed": seed,
    })
}

/// Whether a server cannot seat it by this name alone.
fn is_no_bot(name: &str) -> bool {
    name.starts_with("policy:") || name.starts_with("agent:")
}

fn fields(info: &GameInfo) -> Value {
    let field = |(offset, field): (usize, &Field)| {
        let (kind, table) = match &field.kind {
            FieldKind::Id { table } => ("id", *table),
            FieldKind::Count => ("count", ""),
            FieldKind::Flag => ("flag", ""),
            FieldKind::Seat => ("seat", ""),
            FieldKind::Category { .. } => ("category", ""),
        };
        json!({
            "name": field.name,
            "offset": offset,
            "shape": field.shape().collect::<Vec<_>>(),
            "max": field.max,
            "kind": kind,
            "table": table,
        })
    };
    info.layout.with_offsets().map(field).collect()
}

#[cfg(test)]
mod tests {
    use boardwire_batch::registry::Registry;
    use boardwire_batch::tables::Tables;
    use boardwire_bots::Bot;

    use super::*;

    #[test]
    fn another_network_of_the_same_name_does_not_go_on() {
        let tables = Tables::new(Registry::standard());
        let table = tables.table("faraway", 2, []).expect("it can be set up");
        let schedule = Schedule::table(&["random", "random"].map(str::to_owned));
        let folder = tempfile::tempdir().expect("a folder");
        let open = |network: &str| {
            let what = json!({"policies": {"lion": [network]}});
            Recording::open(folder.path(), &table, &schedule, 0, &what)
        };
        let mut recording = open("one").expect("a new folder");
        let bots = [Bot::Random];
        let played = Played::by_bots(&table, &schedule, &bots, 0, 0, || false).expect("bots play");
        assert!(!recording.add(played.expect("nothing halts them")), "one deal is not enough for a file");
        recording.write().expect("room");
        assert_eq!(open("one").expect("the same").deals(), 1);
        let refused = open("two").err().expect("another network").to_string();
        assert!(refused.contains("recorded with other networks"), "{refused}");
    }
}
