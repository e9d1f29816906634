//! A few environments of any game behind one interface: what one thread steps at a time.

use std::sync::Arc;

use boardwire_kernel::{Estimate, Seat};
use bytes::Bytes;

use super::columns::{Ends, Rows};
use super::environment::{Due, End, Environment};
use super::snapshot::Saved;
use super::{Autoreset, Begin, Plan, flag};
use crate::pool::Slice;
use crate::reward::forfeit_ranks;

/// The seat of a row that shows no decision.
const NOBODY: u8 = 255;

/// What a call does to its environments. All actions have been checked.
#[derive(Debug)]
pub enum Todo {
    /// Deals the first episodes; shows nothing.
    Open,
    /// Makes a decision in each environment, from the first of the call on.
    Step(Bytes),
    /// Begins the episodes that are named, by environment of the batch.
    Reset(Vec<Option<Begin>>),
    /// Shows them as they stand.
    Show,
}

/// Which environments of a block a call is about.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// The place of the first in the block.
    pub(super) from: usize,
    /// How many there are.
    pub(super) rows: usize,
    /// The number of the first in the batch.
    pub(super) environment: usize,
    /// The same, counted from the first environment of the call.
    pub(super) row: usize,
}

/// What a call writes for a block, and how far it has come between two slices.
#[derive(Debug)]
pub struct Output {
    pub(super) rows: Rows,
    pub(super) ends: Ends,
    /// Rows that are done.
    row: usize,
    stage: Stage,
    /// The flags of the present row so far.
    flags: u8,
}

impl Output {
    pub(super) fn new(rows: Rows) -> Self {
        Self { rows, ends: Ends::default(), row: 0, stage: Stage::New, flags: 0 }
    }
}

/// What has been done with the present row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Nothing.
    New,
    /// Its decision has been made, or an episode begun: bots play.
    Playing,
    /// Its next episode has begun in the same step: bots play.
    Restarted,
    /// All but showing it.
    Settled,
}

/// A run of neighbouring environments, whichever the game. Places count from the block's first.
pub trait Block: Send {
    /// The decisions that the environments show.
    fn dues(&self) -> &[Due];

    /// Goes on with what is to be done, and writes rows and ends; whether it is done.
    fn advance(&mut self, todo: &Todo, span: Span, out: &mut Output, slice: &Slice) -> bool;

    /// The same environments, in memory of their own; no bot may be thinking.
    fn copy(&self) -> Box<dyn Block>;

    /// One environment as a value.
    fn save(&self, at: usize) -> Saved;

    /// Puts a saved environment in the place of one; or only looks whether it could.
    ///
    /// # Errors
    /// What is wrong with it.
    fn load(&mut self, at: usize, saved: &Saved, only_look: bool) -> Result<(), String>;
}

/// The environments of one game.
pub(crate) struct Environments<G: Estimate> {
    game: Arc<G>,
    plan: Arc<Plan>,
    seed: u64,
    first: u64,
    all: Vec<Environment<G>>,
    /// Apart from the environments, so that checking a step's actions reads little memory.
    dues: Vec<Due>,
}

impl<G: Estimate> Environments<G> {
    /// Room for `count` environments, numbered from `first`, that are still to be opened.
    pub(crate) fn new(game: Arc<G>, plan: Arc<Plan>, seed: u64, first: u64, count: usize) -> Self {
        Self { game, plan, seed, first, all: Vec::new(), dues: vec![Due::OVER; count] }
    }

    /// Writes rewards and results of the episode that has just ended; gives its flags.
    fn report(&self, at: usize, reward: &mut [u8], ends: &mut Ends, environment: usize) -> u8 {
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
            out.copy_from_slice(&reward.to_le_bytes());
        }
        let environment = u32::try_from(environment).unwrap_or(u32::MAX);
        ends.environments.extend_from_slice(&environment.to_le_bytes());
        if plan.columns.scores {
            ends.scores.extend(scores.iter().flat_map(|score| score.to_le_bytes()));
            ends.ranks.extend_from_slice(ranks);
        }
        if plan.columns.final_views {
            let (from, bytes) = (ends.views.len(), info.layout.bytes());
            ends.views.resize(from + plan.learners() * bytes, 0);
            let learners = self.all[at].line_up(plan).learners;
            for (seat, out) in learners.iter().zip(ends.views[from..].chunks_exact_mut(bytes)) {
                self.all[at].view(seat, out);
            }
        }
        flags(end.as_ref())
    }

    fn show_one(&self, at: usize, row: usize, flags: u8, rows: &mut Rows) {
        let (environment, due) = (&self.all[at], &self.dues[at]);
        rows.seat[row] = due.seat.map_or(NOBODY, Seat::number);
        rows.flags[row] = flags;
        rows.put_ply(row, environment.ply());
        rows.put_episode(row, environment.index());
        due.legal.write_bits(rows.mask(row));
        let shown = due.seat.unwrap_or_else(|| environment.line_up(&self.plan).first_learner);
        environment.view(shown, rows.view(row));
    }

    /// Begins what is to be done in the present row; gives its flags, and whether bots may have to play.
    fn begin(&mut self, todo: &Todo, span: Span, row: usize) -> (u8, bool) {
        let (at, plan) = (span.from + row, &*self.plan);
        match todo {
            Todo::Open => {
                let number = self.first.wrapping_add(at as u64);
                self.all.push(Environment::open(&self.game, plan, self.seed, number));
                (0, true)
            }
            Todo::Step(actions) => {
                let Due { seat, legal } = self.dues[at];
                let substituted = if let Some(seat) = seat {
                    self.all[at].decide(plan, seat, legal, actions[span.row + row])
                } else {
                    self.all[at].begin(plan, Begin::default());
                    false
                };
                (if substituted { flag::SUBSTITUTED } else { 0 }, true)
            }
            Todo::Reset(hows) => {
                let how = hows[span.environment + row];
                if let Some(how) = how {
                    self.all[at].begin(plan, how);
                }
                (0, how.is_some())
            }
            Todo::Show => (0, false),
        }
    }

    /// Goes on with the present row; whether it is done.
    fn advance_row(&mut self, todo: &Todo, span: Span, out: &mut Output, slice: &Slice) -> bool {
        let row = out.row;
        let at = span.from + row;
        if out.stage == Stage::New {
            let bots_play;
            (out.flags, bots_play) = self.begin(todo, span, row);
            out.stage = if bots_play { Stage::Playing } else { Stage::Settled };
        }
        if out.stage == Stage::Playing {
            if !self.settle(at, slice) {
                return false;
            }
            out.stage = Stage::Settled;
            let over = self.dues[at].seat.is_none();
            if let (Todo::Step(_), true) = (todo, over) {
                let reward = out.rows.reward(row);
                out.flags |= self.report(at, reward, &mut out.ends, span.environment + row);
                if self.plan.autoreset == Autoreset::SameStep {
                    self.all[at].begin(&self.plan, Begin::default());
                    out.stage = Stage::Restarted;
                }
            } else if let Todo::Step(_) = todo {
                out.rows.reward(row).fill(0);
            }
        }
        if out.stage == Stage::Restarted {
            if !self.settle(at, slice) {
                return false;
            }
            out.stage = Stage::Settled;
        }
        match todo {
            Todo::Open => {}
            Todo::Step(_) => self.show_one(at, row, out.flags, &mut out.rows),
            Todo::Reset(_) | Todo::Show => {
                out.rows.reward(row).fill(0);
                let over = self.dues[at].seat.is_none();
                let flags = if over { flags(self.all[at].end().as_ref()) } else { 0 };
                self.show_one(at, row, flags, &mut out.rows);
            }
        }
        true
    }

    /// Lets bots play in an environment; whether they have.
    fn settle(&mut self, at: usize, slice: &Slice) -> bool {
        let Some(due) = self.all[at].settle(&self.plan, slice) else { return false };
        self.dues[at] = due;
        true
    }
}

impl<G: Estimate> Block for Environments<G> {
    fn dues(&self) -> &[Due] {
        &self.dues
    }

    fn advance(&mut self, todo: &Todo, span: Span, out: &mut Output, slice: &Slice) -> bool {
        while out.row < span.rows {
            if !self.advance_row(todo, span, out, slice) {
                return false;
            }
            (out.row, out.stage) = (out.row + 1, Stage::New);
        }
        true
    }

    fn copy(&self) -> Box<dyn Block> {
        let all = self.all.iter().map(Environment::copy).collect();
        let (game, plan) = (Arc::clone(&self.game), Arc::clone(&self.plan));
        Box::new(Self { game, plan, seed: self.seed, first: self.first, all, dues: self.dues.clone() })
    }

    fn save(&self, at: usize) -> Saved {
        self.all[at].save(&self.plan)
    }

    fn load(&mut self, at: usize, saved: &Saved, only_look: bool) -> Result<(), String> {
        let restored = self.all[at].restored(&self.game, &self.plan, saved)?;
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
