//! Matches that outlive the server: what its journal has kept goes on.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail};

use boardwire_server::journal::{Damage, Journal, JournalReader, Retention, SavedMatch};
use boardwire_server::matches::Matches;

/// What a journal holds.
pub(super) struct JournalContents {
    /// The matches that can go on.
    pub(super) sound: Vec<SavedMatch>,
    damaged: Vec<Damage>,
}

/// Reads the matches of a journal; `matches` says whether they can be played on. What is damaged is given up only if
/// `give_up` says so.
///
/// # Errors
/// A file that cannot be read; matches that are damaged, or that cannot be played on here.
pub(super) fn read(
    matches: &Matches,
    path: &Path,
    reading: &JournalReader,
    give_up: bool,
) -> anyhow::Result<JournalContents> {
    let about = || format!("journal {}", path.display());
    let (kept, mut damaged) = reading.read().map_err(anyhow::Error::msg).with_context(about)?;
    let sound = |kept: &SavedMatch| match matches.check(kept) {
        Ok(()) => true,
        Err(problem) => {
            damaged.push(Damage { id: kept.id.clone(), problem });
            false
        }
    };
    let sound: Vec<SavedMatch> = kept.into_iter().filter(sound).collect();
    if !damaged.is_empty() && !give_up {
        let lost: Vec<String> = damaged.iter().map(ToString::to_string).collect();
        bail!(
            "{}: these cannot go on:\n  {}\nput it right, or give them up with --journal-give-up; {} others can go on",
            about(),
            lost.join("\n  "),
            sound.len(),
        );
    }
    Ok(JournalContents { sound, damaged })
}

/// Takes the matches of a journal in, which go on once they begin, and keeps all that happens from now on in it.
///
/// # Errors
/// As [`read`]; a file that cannot be used.
pub(super) fn keep(
    matches: Matches,
    path: &Path,
    keeping: Retention,
    give_up: bool,
) -> anyhow::Result<(Matches, Arc<Journal>)> {
    let about = || format!("journal {}", path.display());
    let reading = JournalReader::open(path, keeping).map_err(anyhow::Error::msg).with_context(about)?;
    let JournalContents { sound, damaged } = read(&matches, path, &reading, give_up)?;
    for damage in &damaged {
        tracing::error!(match_id = damage.id, problem = damage.problem, "the journal has lost something");
    }
    let journal = reading.write(&damaged).map_err(anyhow::Error::msg).with_context(about)?;
    let matches = matches.kept_in(Arc::clone(&journal));
    for kept in &sound {
        matches.restore(kept).map_err(anyhow::Error::msg).with_context(about)?;
    }
    tracing::info!(path = %path.display(), matches = sound.len(), lost = damaged.len(), "matches go on");
    Ok((matches, journal))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use boardwire_batch::Player;
    use boardwire_batch::pool::Pool;
    use boardwire_batch::registry::Registry;
    use boardwire_batch::tables::Tables;
    use boardwire_bots::Bot;
    use boardwire_kernel::Seat;

    use super::*;
    use boardwire_server::arbiter::{Clock, OnTimeout, Phase, Settings};
    use boardwire_server::matches::MatchLimits;
    use boardwire_server::origin::Origin;

    fn kept(path: &Path) -> (Matches, Arc<Journal>) {
        let tables = Tables::new(Registry::standard());
        let matches =
            Matches::new(tables, MatchLimits::default(), Arc::new(Pool::new(1).expect("a thread starts")));
        keep(matches, path, Retention::default(), false).expect("the file can be used")
    }

    /// Nobody can have reached the server while it reads its journal.
    #[tokio::test]
    async fn clocks_stand_until_matches_begin() {
        let limit = Duration::from_millis(100);
        let none = Duration::ZERO;
        let clock = Clock { limit, bank: none, increment: none, strikes: 0, on_timeout: OnTimeout::Forfeit };
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("journal");
        let (matches, journal) = kept(&path);
        let table = matches.tables().table("faraway", 2, []).expect("it can be set up");
        let clocks = vec![Some(clock), None];
        let players = vec![Player::Agent, Player::Bot(Bot::Random)];
        let settings = Settings { clocks, ..Settings::of(players) };
        let arbiter = matches.create(None, Origin::Unknown, table, settings).await.expect("there is room");
        arbiter.join(Seat::FIRST, None, None).expect("it is free");
        arbiter.kept().await.expect("it is written");
        matches.stop();
        journal.close();

        let (matches, journal) = kept(&path);
        let again = matches.find(arbiter.id()).expect("it was kept");
        tokio::time::sleep(5 * limit).await;
        assert_eq!(again.phase(), Phase::Playing, "no time passes");
        matches.begin();
        while again.phase() == Phase::Playing {
            tokio::time::sleep(limit).await;
        }
        assert_eq!(again.phase(), Phase::Over, "now it does");
        matches.stop();
        journal.close();
    }
}
