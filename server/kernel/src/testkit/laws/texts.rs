//! Checks of phrases and reports.

use std::collections::BTreeSet;

use super::position::seats;
use crate::testkit::{ViewerSnapshot, viewer_snapshot::phrases};
use crate::{CheckResult, Episode, Game, RandomSource, RngStream, Seat, apply, ensure};

pub(super) fn phrases_are_unique<G: Game>(episode: &Episode<G>) -> CheckResult {
    for seat in episode.pending().iter() {
        let phrases = phrases(&**episode.game(), episode.state(), seat);
        let bad = phrases.iter().find(|phrase| phrase.is_empty() || phrase.contains('\n'));
        ensure(bad.is_none(), || format!("{seat} has the phrase {bad:?}, which is not one line"))?;
        let unique: BTreeSet<_> = phrases.iter().collect();
        ensure(unique.len() == phrases.len(), || format!("two actions of {seat} share one of {phrases:?}"))?;
    }
    Ok(())
}

/// A choice, and the positions before and after it.
struct Step<'a, G: Game> {
    game: &'a G,
    before: G::State,
    action: u8,
    after: G::State,
}

impl<'a, G: Game> Step<'a, G> {
    /// Plays `action` in `before`; none if it is not legal there.
    fn new(game: &'a G, before: G::State, seat: Seat, action: u8, chance: &RandomSource) -> Option<Self> {
        let (mut after, mut chance) = (before, chance.clone());
        apply(game, &mut after, seat, action.into(), &mut chance).ok()?;
        Some(Self { game, before, action, after })
    }

    fn report(&self, seat: Seat, viewer: Seat) -> String {
        let mut report = String::new();
        let action = self.game.decode(self.action).expect("a legal action is in the action space");
        let written = self.game.report(&self.before, (seat, action), &self.after, viewer, &mut report);
        written.expect("writing to a string does not fail");
        report
    }

    fn seen_after(&self, viewer: Seat) -> ViewerSnapshot {
        ViewerSnapshot::of(self.game, &self.after, viewer)
    }
}

/// Checks that choices of another seat have the same report if they show the viewer the same positions: other choices in
/// the true state, and the same choice in a sample of the viewer's knowledge.
pub(super) fn reports_follow_from_views<G: Game>(episode: &Episode<G>, rng: &mut RngStream) -> CheckResult {
    let (game, chance) = (&**episode.game(), episode.random_source());
    for seat in episode.pending().iter() {
        let mut legal = game.legal(episode.state(), seat);
        let action = rng.draw(&mut legal);
        let step =
            Step::new(game, *episode.state(), seat, action, chance).ok_or("a legal action is refused")?;
        for viewer in seats(episode).filter(|&viewer| viewer != seat) {
            let mut sample = *episode.state();
            game.resample(&mut sample, viewer, rng);
            let others = legal.iter().map(|other| (*episode.state(), other)).chain([(sample, action)]);
            let others = others.filter_map(|(state, other)| Step::new(game, state, seat, other, chance));
            let report = step.report(seat, viewer);
            for other in others.filter(|other| other.seen_after(viewer) == step.seen_after(viewer)) {
                let other = other.report(seat, viewer);
                ensure(report == other, || {
                    format!(
                        "{viewer} sees the same of two choices of {seat}, but the reports are {report:?} and {other:?}"
                    )
                })?;
            }
        }
    }
    Ok(())
}
