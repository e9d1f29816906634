//! A few environments of any game behind one interface: what one thread steps at a time.

use std::sync::Arc;

use boardwire_kernel::{Game, Seat};

use super::columns::{Ends, Rows};
use super::environment::{Due, End, Environment};
use super::snapshot::Saved;
use super::{Autoreset, Begin, Plan, flag};
use crate::reward::forfeit_ranks;

/// The seat of a row that shows no decision.
const NOBODY: u8 = 255;

/// A run of neighbouring environments, whichever the game. Places count from the block's first.
pub trait Block: Send {
    /// The decisions that the environments show.
    fn dues(&self) -> &[Due];

    /// Makes a decision in every environment from `from` on, and writes their rows and ends. All actions
    /// have been checked; the first row is environment `first` of the batch.
    fn step(&mut self, from: usize, actions: &[u8], rows: Rows<'_>, ends: &mut Ends, first: u32);

    /// Begins an episode.
    fn begin(&mut self, at: usize, how: Begin);

    /// Writes the rows of environments as they stand.
    fn show(&self, from: usize, rows: Rows<'_>);

    /// One environment as a value.
    fn save(&self, at: usize) -> Saved;

    /// Puts a saved environment in the place of one; or only looks whether it could.
    ///
    /// # Errors
    /// What is wrong with it.
    fn load(&mut self, at: usize, saved: &Saved, only_look: bool) -> Result<(), String>;
}

/// The environments of one game.
pub(crate) struct Environments<G: Game> {
    game: Arc<G>,
    plan: Arc<Plan>,
    all: Vec<Environment<G>>,
    /// Apart from the environments, so that checking a step's actions reads little memory.
    dues: Vec<Due>,
}

impl<G: Game> Environments<G> {
    /// `count` environments at the beginning of episode 0, numbered from `first`.
    pub(crate) fn open(game: Arc<G>, plan: Arc<Plan>, seed: u64, first: u64, count: usize) -> Self {
        let numbers = (0..count as u64).map(|place| first.wrapping_add(place));
        let (all, dues) = numbers.map(|number| Environment::open(&game, &plan, seed, number)).unzip();
        Self { game, plan, all, dues }
    }

    /// Writes rewards and results of the episode that has just ended; gives its flags.
    fn report(&self, at: usize, reward: &mut [u8], ends: &mut Ends, environment: u32) -> u8 {
        let (game, plan) = (&*self.game, &*self.plan);
        let info = game.info();
        let seats = usize::from(info.seats);
        let (mut scores, mut ranks) = ([0; boardwire_kernel::MAX_SEATS], [0; boardwire_kernel::MAX_SEATS]);
        let (scores, ranks) = (&mut scores[..seats], &mut ranks[..seats]);
        let end = self.all[at].end();
        match &end {
            Some(End::Scored(outcome)) => {
                scores.copy_from_slice(outcome.scores());
                ranks.copy_from_slice(outcome.ranks());
            }
            Some(End::Forfeited(loser)) => ranks.copy_from_slice(&forfeit_ranks(*loser, info.seats)[..seats]),
            Some(End::Truncated) | None => {}
        }
        for (seat, out) in Seat::all(info.seats).zip(reward.chunks_exact_mut(4)) {
            let reward = match &end {
                Some(End::Scored(_)) => plan.reward.of(seat, scores, ranks),
                Some(End::Forfeited(loser)) => plan.reward.of_forfeit(seat, *loser, info),
                Some(End::Truncated) | None => 0.0,
            };
            #[expect(
                clippy::cast_possible_truncation,
                reason = "rewards are small fractions or whole scores"
            )]
            out.copy_from_slice(&(reward as f32).to_le_bytes());
        }
        ends.environments.extend_from_slice(&environment.to_le_bytes());
        if plan.columns.scores {
            ends.scores.extend(scores.iter().flat_map(|score| score.to_le_bytes()));
            ends.ranks.extend_from_slice(ranks);
        }
        if plan.columns.final_views {
            for seat in plan.learners.iter() {
                let from = ends.views.len();
                ends.views.resize(from + info.layout.bytes(), 0);
                self.all[at].view(seat, &mut ends.views[from..]);
            }
        }
        flags(end.as_ref())
    }

    fn show_one(&self, at: usize, row: usize, flags: u8, rows: &mut Rows<'_>) {
        let (environment, due) = (&self.all[at], &self.dues[at]);
        rows.seat[row] = due.seat.map_or(NOBODY, Seat::number);
        rows.flags[row] = flags;
        rows.put_ply(row, environment.ply());
        rows.put_episode(row, environment.index());
        due.legal.write_bits(rows.mask(row));
        environment.view(due.seat.unwrap_or(self.plan.first_learner), rows.view(row));
    }
}

impl<G: Game> Block for Environments<G> {
    fn dues(&self) -> &[Due] {
        &self.dues
    }

    fn step(&mut self, from: usize, actions: &[u8], mut rows: Rows<'_>, ends: &mut Ends, first: u32) {
        for ((row, &action), environment) in actions.iter().enumerate().zip(first..) {
            let at = from + row;
            let Due { seat, legal } = self.dues[at];
            let (due, substituted) = match seat {
                Some(seat) => self.all[at].decide(&self.plan, seat, legal, action),
                None => (self.all[at].begin(&self.plan, Begin::Next), false),
            };
            self.dues[at] = due;
            let mut flags = if substituted { flag::SUBSTITUTED } else { 0 };
            let reward = rows.reward(row);
            reward.fill(0);
            if due.seat.is_none() {
                flags |= self.report(at, reward, ends, environment);
                if self.plan.autoreset == Autoreset::SameStep {
                    self.dues[at] = self.all[at].begin(&self.plan, Begin::Next);
                }
            }
            self.show_one(at, row, flags, &mut rows);
        }
    }

    fn begin(&mut self, at: usize, how: Begin) {
        self.dues[at] = self.all[at].begin(&self.plan, how);
    }

    fn show(&self, from: usize, mut rows: Rows<'_>) {
        for row in 0..rows.seat.len() {
            rows.reward(row).fill(0);
            let over = self.dues[from + row].seat.is_none();
            let flags = if over { flags(self.all[from + row].end().as_ref()) } else { 0 };
            self.show_one(from + row, row, flags, &mut rows);
        }
    }

    fn save(&self, at: usize) -> Saved {
        self.all[at].save()
    }

    fn load(&mut self, at: usize, saved: &Saved, only_look: bool) -> Result<(), String> {
        let restored = Environment::restore(&self.game, &self.plan, saved)?;
        if !only_look {
            (self.all[at], self.dues[at]) = restored;
        }
        Ok(())
    }
}

fn flags(end: Option<&End>) -> u8 {
    match end {
        Some(End::Scored(_)) => flag::TERMINATED,
        Some(End::Forfeited(_)) => flag::TERMINATED | flag::FORFEITED,
        Some(End::Truncated) => flag::TRUNCATED,
        None => 0,
    }
}
