//! Restores the matches of an earlier server process from the journal.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail};

use boardwire_server::journal::{Damage, Journal, JournalReader, Retention, SavedMatch};
use boardwire_server::matches::Matches;

/// Reads a journal, and checks that `matches` can continue its matches. Returns the playable matches and the damaged ones.
///
/// # Errors
/// The file is unreadable, or a match is damaged or cannot continue here. With `give_up` such matches are dropped instead.
pub(super) fn read(
    matches: &Matches,
    path: &Path,
    reading: &JournalReader,
    give_up: bool,
) -> anyhow::Result<(Vec<SavedMatch>, Vec<Damage>)> {
    let about = || format!("journal {}", path.display());
    let (saved, mut damaged) = reading.read().map_err(anyhow::Error::msg).with_context(about)?;
    let is_playable = |saved: &SavedMatch| match matches.check(saved) {
        Ok(()) => true,
        Err(problem) => {
            damaged.push(Damage { id: saved.id.clone(), problem });
            false
        }
    };
    let playable: Vec<SavedMatch> = saved.into_iter().filter(is_playable).collect();
    if !damaged.is_empty() && !give_up {
        let problems: Vec<String> = damaged.iter().map(ToString::to_string).collect();
        bail!(
            "{}: these matches cannot continue:\n  {}\nrepair the file, or give them up with --journal-give-up; \
             {} others can continue",
            about(),
            problems.join("\n  "),
            playable.len(),
        );
    }
    Ok((playable, damaged))
}

/// Restores the matches of a journal, and records all further events in it. The matches wait for
/// [`Matches::start_restored`].
///
/// # Errors
/// The errors of [`read`]; or the file cannot be written.
pub(super) fn restore(
    matches: Matches,
    path: &Path,
    retention: Retention,
    give_up: bool,
) -> anyhow::Result<(Matches, Arc<Journal>)> {
    let about = || format!("journal {}", path.display());
    let reading = JournalReader::open(path, retention).map_err(anyhow::Error::msg).with_context(about)?;
    let (playable, damaged) = read(&matches, path, &reading, give_up)?;
    for damage in &damaged {
        tracing::error!(match_id = damage.id, problem = damage.problem, "a damaged match was given up");
    }
    let journal = reading.start_writer(&damaged).map_err(anyhow::Error::msg).with_context(about)?;
    let matches = matches.with_journal(Arc::clone(&journal));
    for saved in &playable {
        matches.restore(saved).map_err(anyhow::Error::msg).with_context(about)?;
    }
    tracing::info!(path = %path.display(), matches = playable.len(), given_up = damaged.len(), "matches continue");
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

    fn restored(path: &Path) -> (Matches, Arc<Journal>) {
        let pool = Arc::new(Pool::new(1).expect("a thread starts"));
        let matches = Matches::new(Tables::new(Registry::standard()), MatchLimits::default(), pool);
        restore(matches, path, Retention::default(), false).expect("the file is valid")
    }

    /// Agents cannot connect while the server reads its journal, so clocks must not run.
    #[tokio::test]
    async fn clocks_of_restored_matches_stand_until_the_matches_start() {
        let (limit, zero) = (Duration::from_millis(100), Duration::ZERO);
        let clock = Clock { limit, bank: zero, increment: zero, strikes: 0, on_timeout: OnTimeout::Forfeit };
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("journal");
        let (matches, journal) = restored(&path);
        let table = matches.tables().table("faraway", 2, []).expect("the table is valid");
        let clocks = vec![Some(clock), None];
        let players = vec![Player::Agent, Player::Bot(Bot::Random)];
        let settings = Settings { clocks, ..Settings::of(players) };
        let arbiter = matches.create(None, Origin::Unknown, table, settings).await.expect("there is room");
        arbiter.join(Seat::FIRST, None, None).expect("the seat is free");
        arbiter.wait_until_written().await.expect("the journal is written");
        matches.stop();
        journal.close();

        let (matches, journal) = restored(&path);
        let again = matches.find(arbiter.id()).expect("the match was saved");
        tokio::time::sleep(5 * limit).await;
        assert_eq!(again.phase(), Phase::Playing, "the clock stands");
        matches.start_restored();
        while again.phase() == Phase::Playing {
            tokio::time::sleep(limit).await;
        }
        assert_eq!(again.phase(), Phase::Over, "the clock runs out");
        matches.stop();
        journal.close();
    }
}
