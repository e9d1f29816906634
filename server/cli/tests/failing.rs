//! Disks that fail, and servers that die, at every point of a write: nothing that anybody was told of is lost, and matches
//! end as they do undisturbed.

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

/// Every point of a write.
const POINTS: [&str; 5] =
    ["journal::begin", "journal::line", "journal::match", "journal::commit", "journal::committed"];
const SEAT: Seat = Seat::FIRST;
/// How long a condition may take to come true, and how often it is looked at.
const DEADLINE: Duration = Duration::from_mins(1);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A server, as far as its matches go.
struct Server {
    matches: Matches,
    journal: Arc<Journal>,
}

impl Server {
    /// Begins with what a journal has kept.
    fn begin(path: &Path, sync: Sync) -> Self {
        Self::keeping(path, Retention { sync, ..Retention::default() })
    }

    fn keeping(path: &Path, keeping: Retention) -> Self {
        let reading = JournalReader::open(path, keeping).expect("it opens");
        let (kept, damaged) = reading.read().expect("it is read");
        assert_eq!(damaged, []);
        let journal = reading.write(&[]).expect("it is written");
        let tables = Tables::new(Registry::standard());
        let pool = Arc::new(Pool::new(1).expect("a thread starts"));
        let matches = Matches::new(tables, MatchLimits::default(), pool).kept_in(Arc::clone(&journal));
        for kept in &kept {
            matches.restore(kept).expect("it goes on");
        }
        matches.begin();
        Self { matches, journal }
    }

    async fn create(&self) -> Result<Arc<Arbiter>, Error> {
        let table = self.matches.tables().table("faraway", 2, []).expect("it can be set up");
        let players = vec![Player::Agent, Player::Bot(Bot::Random)];
        let settings = Settings { seed: Some(7), ..Settings::of(players) };
        self.matches.create(None, Origin::Unknown, table, settings).await
    }
}

async fn look(arbiter: &Arc<Arbiter>) -> Result<Observation, Error> {
    arbiter.observe(SEAT, true, Extras::default()).await
}

fn lowest(seen: &Observation) -> u32 {
    let byte = seen.mask.iter().position(|byte| *byte != 0).expect("it owes a decision");
    u32::try_from(byte).expect("few") * 8 + seen.mask[byte].trailing_zeros()
}

/// Makes the lowest choice.
async fn choose(arbiter: &Arc<Arbiter>, seen: &Observation) -> Result<(), Error> {
    let decision = Decision { episode: seen.episode, number: seen.decision, action: lowest(seen) };
    arbiter.act(SEAT, decision).await.map(drop)
}

async fn undisturbed() -> Position {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::begin(&folder.path().join("journal"), Sync::Always);
    let arbiter = server.create().await.expect("there is room");
    loop {
        let seen = look(&arbiter).await.expect("it is open");
        if seen.terminated {
            server.journal.close();
            return arbiter.position();
        }
        choose(&arbiter, &seen).await.expect("it is legal");
    }
}

/// One test, since what fails does so in the whole process.
#[tokio::test(flavor = "multi_thread")]
async fn whatever_fails_nothing_is_lost() {
    let scenario = FailScenario::setup();
    assert!(fail::has_failpoints(), "nothing can be made to fail");
    let end = undisturbed().await;
    for point in POINTS {
        fails_for_a_while(point, Sync::Always, end).await;
        dies(point, end).await;
    }
    fails_for_a_while("journal::sync", Sync::Interval, end).await;
    stalls(end).await;
    is_made_safe_while_more_comes().await;
    cannot_forget_for_a_while().await;
    scenario.teardown();
}

/// A disk that fails for a while, at three decisions of a match: whoever waits is told, and it goes on.
async fn fails_for_a_while(point: &str, sync: Sync, end: Position) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("journal");
    let server = Server::begin(&path, sync);
    let arbiter = server.create().await.expect("there is room");
    let mut told = 0;
    loop {
        let seen = look(&arbiter).await.unwrap_or_else(|error| panic!("{point}: {error}"));
        if seen.terminated {
            break;
        }
        let fails = [2, 9, 16].contains(&seen.decision);
        if fails {
            fail::cfg(point, "return").expect("it is a way to fail");
        }
        if fails && sync == Sync::Interval {
            // What was written is made safe now and then.
            becomes(&server, true).await;
        }
        let chosen = choose(&arbiter, &seen).await;
        assert_eq!(matches!(chosen, Err(Error::JournalFailed { .. })), fails, "{point}: {chosen:?}");
        if fails {
            told += 1;
            fail::remove(point);
            becomes(&server, false).await;
            choose(&arbiter, &seen).await.unwrap_or_else(|error| panic!("{point}: {error}"));
        }
    }
    assert_eq!(told, 3, "{point}");
    assert_eq!(arbiter.position(), end, "{point}");
    server.journal.close();
    let again = Server::begin(&path, sync);
    let restored = again.matches.find(arbiter.id()).expect("it is kept");
    assert_eq!(restored.position(), end, "{point}: all that was told is there");
    again.journal.close();
}

/// A disk that does not answer: callers are told so, and all that was decided is there when it answers.
async fn stalls(end: Position) {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::begin(&folder.path().join("journal"), Sync::Always);
    let arbiter = server.create().await.expect("there is room");
    let seen = look(&arbiter).await.expect("it is open");
    fail::cfg("journal::begin", "pause").expect("it is a way to fail");
    let chosen = tokio::spawn({
        let (arbiter, seen) = (Arc::clone(&arbiter), seen.clone());
        async move { choose(&arbiter, &seen).await }
    });
    let (mut looks, mut stands) = (0, 0);
    let due = Instant::now() + DEADLINE;
    // A write that has just begun is not found before it is under way.
    while !server.matches.journal_fails() {
        assert!(Instant::now() < due);
        stands += u32::from(server.matches.look_at_journal());
        looks += 1;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(looks >= 100 && stands == 61, "{looks} looks, in {stands} clocks stood");
    let problem = "the disk does not answer".to_owned();
    assert_eq!(chosen.await.expect("it ends"), Err(Error::JournalFailed { problem: problem.clone() }));
    assert_eq!(server.create().await.err(), Some(Error::JournalFailed { problem }));
    fail::remove("journal::begin");
    becomes(&server, false).await;
    loop {
        let seen = look(&arbiter).await.expect("it is open");
        if seen.terminated {
            break;
        }
        choose(&arbiter, &seen).await.expect("it is legal");
    }
    assert_eq!(arbiter.position(), end);
    server.journal.close();
}

/// A server that always has something to write makes it safe within a second or so all the same.
async fn is_made_safe_while_more_comes() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::begin(&folder.path().join("journal"), Sync::Interval);
    fail::cfg("journal::sync", "return").expect("it is a way to fail");
    let refused = async {
        while !matches!(server.create().await, Err(Error::JournalFailed { .. })) {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    tokio::time::timeout(DEADLINE, refused).await.expect("something is made safe");
    fail::remove("journal::sync");
    server.journal.close();
}

/// A disk that fails while matches are to be forgotten: they are forgotten later, and nothing else with them.
async fn cannot_forget_for_a_while() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("journal");
    let server = Server::keeping(&path, Retention { ended: Some(Duration::ZERO), ..Retention::default() });
    let (over, open) = (server.create().await, server.create().await);
    fail::cfg("journal::forget", "return").expect("it is a way to fail");
    over.expect("there is room").close(CloseReason::Host);
    becomes(&server, true).await;
    let refused = server.create().await;
    assert!(matches!(refused, Err(Error::JournalFailed { .. })), "it can keep nothing else, either");
    fail::remove("journal::forget");
    becomes(&server, false).await;
    server.journal.close();
    let again = Server::begin(&path, Sync::Always);
    assert!(again.matches.find(open.expect("there is room").id()).is_ok());
    again.journal.close();
    let rows = rusqlite::Connection::open(&path).expect("a database");
    let rows = rows.query_row("SELECT count(*) FROM matches", [], |row| row.get::<_, u32>(0));
    assert_eq!(rows.expect("a count"), 1, "the one that is over was forgotten");
}

/// Waits until the journal fails, or does so no longer.
async fn becomes(server: &Server, fails: bool) {
    let reached = async {
        while server.matches.journal_fails() != fails {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    tokio::time::timeout(DEADLINE, reached).await.expect("the journal fails, or does so no longer");
}

/// The thread that writes dies at every third decision: no call is answered any more, and another server goes on with what
/// was written.
async fn dies(point: &str, end: Position) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("journal");
    let mut server = Server::begin(&path, Sync::Always);
    let id = server.create().await.expect("there is room").id().to_owned();
    let (mut deaths, mut told) = (0, 0);
    loop {
        let arbiter = server.matches.find(&id).expect("it is kept");
        let seen = look(&arbiter).await.unwrap_or_else(|error| panic!("{point}: {error}"));
        assert!(seen.decision >= told, "{point}: decision {} was told, {} is left", told, seen.decision);
        if seen.terminated {
            assert_eq!(arbiter.position(), end, "{point}");
            server.journal.close();
            break;
        }
        if seen.decision % 3 == 2 && deaths < 5 {
            fail::cfg(point, "1*panic").expect("it is a way to fail");
        }
        match choose(&arbiter, &seen).await {
            Ok(()) => told = seen.decision + 1,
            Err(Error::JournalFailed { problem }) => {
                assert_eq!(problem, "its thread has ended; start the server again");
                assert!(server.matches.journal_fails() && server.create().await.is_err());
                deaths += 1;
                fail::remove(point);
                server.journal.close();
                drop((arbiter, server));
                server = Server::begin(&path, Sync::Always);
            }
            Err(error) => panic!("{point}: {error}"),
        }
    }
    fail::remove(point);
    assert_eq!(deaths, 5, "{point}");
}
