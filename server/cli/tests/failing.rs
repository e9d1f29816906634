//! Tests disk failures and server crashes at every step of a write. No acknowledged decision is lost, and matches end in
//! the same position as without failures.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use boardwire_api::Error;
use boardwire_batch::Player;
use boardwire_batch::pool::Pool;
use boardwire_batch::registry::Registry;
use boardwire_batch::tables::Tables;
use boardwire_bots::Bot;
use boardwire_kernel::Seat;
use boardwire_server::arbiter::{Arbiter, CloseReason, Decision, Extras, Observation, Position, Settings};
use boardwire_server::journal::{Journal, JournalReader, Retention, Sync};
use boardwire_server::matches::{MatchLimits, Matches};
use boardwire_server::origin::Origin;
use fail::FailScenario;

/// The fail points of a write to the journal.
const POINTS: [&str; 5] =
    ["journal::begin", "journal::line", "journal::match", "journal::commit", "journal::committed"];
const SEAT: Seat = Seat::FIRST;
/// How long to wait for a condition, and how often to check it.
const DEADLINE: Duration = Duration::from_mins(1);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The matches and the journal of a server, without its network.
struct JournaledMatches {
    matches: Matches,
    journal: Arc<Journal>,
}

impl JournaledMatches {
    /// Starts with the matches of the journal at `path`.
    fn start(path: &Path, sync: Sync) -> Self {
        Self::start_with(path, Retention { sync, ..Retention::default() })
    }

    fn start_with(path: &Path, retention: Retention) -> Self {
        let reading = JournalReader::open(path, retention).expect("the journal opens");
        let (saved, damaged) = reading.read().expect("the journal is readable");
        assert_eq!(damaged, []);
        let journal = reading.start_writer(&[]).expect("the journal is writable");
        let tables = Tables::new(Registry::standard());
        let pool = Arc::new(Pool::new(1).expect("a thread starts"));
        let matches = Matches::new(tables, MatchLimits::default(), pool).with_journal(Arc::clone(&journal));
        for saved in &saved {
            matches.restore(saved).expect("the match continues");
        }
        matches.start_restored();
        Self { matches, journal }
    }

    async fn create(&self) -> Result<Arc<Arbiter>, Error> {
        let table = self.matches.tables().table("faraway", 2, []).expect("the table can be set up");
        let players = vec![Player::Agent, Player::Bot(Bot::Random)];
        let settings = Settings { seed: Some(7), ..Settings::of(players) };
        self.matches.create(None, Origin::Unknown, table, settings).await
    }
}

async fn observe(arbiter: &Arc<Arbiter>) -> Result<Observation, Error> {
    arbiter.observe(SEAT, true, Extras::default()).await
}

fn lowest(observation: &Observation) -> u32 {
    let byte = observation.mask.iter().position(|byte| *byte != 0).expect("the seat owes a decision");
    u32::try_from(byte).expect("few") * 8 + observation.mask[byte].trailing_zeros()
}

/// Chooses the lowest legal action.
async fn choose(arbiter: &Arc<Arbiter>, observation: &Observation) -> Result<(), Error> {
    let decision =
        Decision { episode: observation.episode, number: observation.decision, action: lowest(observation) };
    arbiter.act(SEAT, decision).await.map(drop)
}

/// Plays the match without failures. Returns its last position.
async fn end_without_failures() -> Position {
    let folder = tempfile::tempdir().expect("a folder");
    let server = JournaledMatches::start(&folder.path().join("journal"), Sync::Always);
    let arbiter = server.create().await.expect("there is room");
    loop {
        let observation = observe(&arbiter).await.expect("the match is open");
        if observation.terminated {
            server.journal.close();
            return arbiter.position();
        }
        choose(&arbiter, &observation).await.expect("the action is legal");
    }
}

/// This is one test, since fail points are global to the process.
#[tokio::test(flavor = "multi_thread")]
async fn no_failure_loses_an_acknowledged_decision() {
    let scenario = FailScenario::setup();
    assert!(fail::has_failpoints(), "fail points are compiled in");
    let end = end_without_failures().await;
    for point in POINTS {
        fails_for_a_while(point, Sync::Always, end).await;
        crashes(point, end).await;
    }
    fails_for_a_while("journal::sync", Sync::Interval, end).await;
    stalls(end).await;
    syncs_under_load().await;
    cannot_delete_for_a_while().await;
    scenario.teardown();
}

/// The disk fails for a while at three decisions of a match. The caller gets an error, and the match continues later.
async fn fails_for_a_while(point: &str, sync: Sync, end: Position) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("journal");
    let server = JournaledMatches::start(&path, sync);
    let arbiter = server.create().await.expect("there is room");
    let mut errors = 0;
    loop {
        let observation = observe(&arbiter).await.unwrap_or_else(|error| panic!("{point}: {error}"));
        if observation.terminated {
            break;
        }
        let fails = [2, 9, 16].contains(&observation.decision);
        if fails {
            fail::cfg(point, "return").expect("the action is valid");
        }
        if fails && sync == Sync::Interval {
            // The journal syncs at intervals.
            wait_for_journal(&server, true).await;
        }
        let chosen = choose(&arbiter, &observation).await;
        assert_eq!(matches!(chosen, Err(Error::JournalFailed { .. })), fails, "{point}: {chosen:?}");
        if fails {
            errors += 1;
            fail::remove(point);
            wait_for_journal(&server, false).await;
            choose(&arbiter, &observation).await.unwrap_or_else(|error| panic!("{point}: {error}"));
        }
    }
    assert_eq!(errors, 3, "{point}");
    assert_eq!(arbiter.position(), end, "{point}");
    server.journal.close();
    let again = JournaledMatches::start(&path, sync);
    let restored = again.matches.find(arbiter.id()).expect("the match is saved");
    assert_eq!(restored.position(), end, "{point}: every acknowledged decision is saved");
    again.journal.close();
}

/// The disk does not respond: callers get errors. When it responds again, all decisions are saved.
async fn stalls(end: Position) {
    let folder = tempfile::tempdir().expect("a folder");
    let server = JournaledMatches::start(&folder.path().join("journal"), Sync::Always);
    let arbiter = server.create().await.expect("there is room");
    let observation = observe(&arbiter).await.expect("the match is open");
    fail::cfg("journal::begin", "pause").expect("the action is valid");
    let chosen = tokio::spawn({
        let (arbiter, observation) = (Arc::clone(&arbiter), observation.clone());
        async move { choose(&arbiter, &observation).await }
    });
    let (mut checks, mut stopped) = (0, 0);
    let due = Instant::now() + DEADLINE;
    // The first checks may run before the write has started.
    while !server.matches.journal_fails() {
        assert!(Instant::now() < due);
        stopped += u32::from(server.matches.tick_journal());
        checks += 1;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(checks >= 100 && stopped == 61, "clocks stood in {stopped} of {checks} checks");
    let problem = "the disk does not respond".to_owned();
    assert_eq!(chosen.await.expect("the call ends"), Err(Error::JournalFailed { problem: problem.clone() }));
    assert_eq!(server.create().await.err(), Some(Error::JournalFailed { problem }));
    fail::remove("journal::begin");
    wait_for_journal(&server, false).await;
    loop {
        let observation = observe(&arbiter).await.expect("the match is open");
        if observation.terminated {
            break;
        }
        choose(&arbiter, &observation).await.expect("the action is legal");
    }
    assert_eq!(arbiter.position(), end);
    server.journal.close();
}

/// A server that always has something to write still syncs about once per second.
async fn syncs_under_load() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = JournaledMatches::start(&folder.path().join("journal"), Sync::Interval);
    fail::cfg("journal::sync", "return").expect("the action is valid");
    let refused = async {
        while !matches!(server.create().await, Err(Error::JournalFailed { .. })) {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    tokio::time::timeout(DEADLINE, refused).await.expect("the journal syncs");
    fail::remove("journal::sync");
    server.journal.close();
}

/// The disk fails while ended matches are deleted. The server deletes them later, and deletes no other match.
async fn cannot_delete_for_a_while() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("journal");
    let server = JournaledMatches::start_with(
        &path,
        Retention { ended: Some(Duration::ZERO), ..Retention::default() },
    );
    let (over, open) = (server.create().await, server.create().await);
    fail::cfg("journal::forget", "return").expect("the action is valid");
    over.expect("there is room").close(CloseReason::Host);
    wait_for_journal(&server, true).await;
    let refused = server.create().await;
    assert!(matches!(refused, Err(Error::JournalFailed { .. })), "the server saves no new match either");
    fail::remove("journal::forget");
    wait_for_journal(&server, false).await;
    server.journal.close();
    let again = JournaledMatches::start(&path, Sync::Always);
    assert!(again.matches.find(open.expect("there is room").id()).is_ok());
    again.journal.close();
    let rows = rusqlite::Connection::open(&path).expect("a database");
    let rows = rows.query_row("SELECT count(*) FROM matches", [], |row| row.get::<_, u32>(0));
    assert_eq!(rows.expect("a count"), 1, "the ended match is deleted");
}

/// Waits until the journal fails, or, without `fails`, until it works again.
async fn wait_for_journal(server: &JournaledMatches, fails: bool) {
    let reached = async {
        while server.matches.journal_fails() != fails {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    tokio::time::timeout(DEADLINE, reached).await.expect("the journal changes its state");
}

/// The journal's thread panics at every third decision. All later calls fail, and the next server continues from the file.
async fn crashes(point: &str, end: Position) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("journal");
    let mut server = JournaledMatches::start(&path, Sync::Always);
    let id = server.create().await.expect("there is room").id().to_owned();
    let (mut crashes, mut acknowledged) = (0, 0);
    loop {
        let arbiter = server.matches.find(&id).expect("the match is saved");
        let observation = observe(&arbiter).await.unwrap_or_else(|error| panic!("{point}: {error}"));
        assert!(
            observation.decision >= acknowledged,
            "{point}: {} decisions of {acknowledged}",
            observation.decision
        );
        if observation.terminated {
            assert_eq!(arbiter.position(), end, "{point}");
            server.journal.close();
            break;
        }
        if observation.decision % 3 == 2 && crashes < 5 {
            fail::cfg(point, "1*panic").expect("the action is valid");
        }
        match choose(&arbiter, &observation).await {
            Ok(()) => acknowledged = observation.decision + 1,
            Err(Error::JournalFailed { problem }) => {
                assert_eq!(problem, "the journal thread has ended; restart the server");
                assert!(server.matches.journal_fails() && server.create().await.is_err());
                crashes += 1;
                fail::remove(point);
                server.journal.close();
                drop((arbiter, server));
                server = JournaledMatches::start(&path, Sync::Always);
            }
            Err(error) => panic!("{point}: {error}"),
        }
    }
    fail::remove(point);
    assert_eq!(crashes, 5, "{point}");
}
