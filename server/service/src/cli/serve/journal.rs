//! Matches that outlive the server: what its journal has kept goes on.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail};

use crate::journal::{Damage, Journal, Keeping, Kept, Reading};
use crate::matches::Matches;

/// Lets the matches of a journal go on, and keeps all that happens from now on in it. What is damaged is given up only if
/// `give_up` says so.
///
/// # Errors
/// A file that cannot be used; matches that are damaged, or that cannot be played on here.
pub(super) fn keep(
    matches: Matches,
    path: &Path,
    keeping: Keeping,
    give_up: bool,
) -> anyhow::Result<(Matches, Arc<Journal>)> {
    let about = || format!("journal {}", path.display());
    let reading = Reading::open(path, keeping)?;
    let (kept, mut damaged) = reading.read().map_err(anyhow::Error::msg).with_context(about)?;
    let sound = |kept: &Kept| match matches.check(kept) {
        Ok(()) => true,
        Err(problem) => {
            damaged.push(Damage { id: kept.id.clone(), problem });
            false
        }
    };
    let sound: Vec<Kept> = kept.into_iter().filter(sound).collect();
    for damage in &damaged {
        tracing::error!(match_id = damage.id, problem = damage.problem, "the journal has lost something");
    }
    if !damaged.is_empty() && !give_up {
        let lost: Vec<String> = damaged.iter().map(ToString::to_string).collect();
        bail!(
            "{}: these cannot go on:\n  {}\nput it right, or give them up with --journal-give-up; {} others can go on",
            about(),
            lost.join("\n  "),
            sound.len(),
        );
    }
    let journal = reading.write(&damaged).map_err(anyhow::Error::msg).with_context(about)?;
    let matches = matches.kept_in(Arc::clone(&journal));
    for kept in &sound {
        matches.restore(kept).map_err(anyhow::Error::msg).with_context(about)?;
    }
    tracing::info!(path = %path.display(), matches = sound.len(), lost = damaged.len(), "matches go on");
    Ok((matches, journal))
}
