//! A block holds some environments of any game behind one interface. Only one thread at a time steps a block.

use boardwire_api::v1::AutoresetMode;
use std::ops::Range;
use std::sync::Arc;

use boardwire_bots::BotFault;
use boardwire_kernel::{Estimate, Seat};

use super::advice::Advice;
use super::columns::{Column, Ends, NOBODY, Rows};
use super::environment::{Due, End, Environment};
use super::operation::{Operation, Output, Span, Stage};
use super::snapshot::Saved;
use super::{Begin, Plan, flag};
use crate::play::Insight;
use crate::pool::Slice;
use crate::reward::{self, forfeit_ranks};

/// Consecutive environments of any game. Places count from the first environment of the block.
pub trait Block: Send {
    /// Returns the decision that each environment waits for.
    fn dues(&self) -> &[Due];

    /// Continues an operation, and writes rows and ends; returns whether the operation is done.
    ///
    /// # Errors
    /// A bot failed. Then the block is unusable.
    fn advance(
        &mut self,
        op: &Operation,
        span: Span,
        out: &mut Output,
        slice: &Slice,
    ) -> Result<bool, BotFault>;

    /// Returns a copy. No bot may be thinking.
    fn copy(&self) -> Box<dyn Block>;

    /// Returns the information set of the deciding seat of an environment. `None` if its episode is over.
    fn insight(&self, at: usize) -> Option<Box<dyn Insight>>;

    /// Returns an environment's position as text for people, as a seat knows it.
    fn text(&self, at: usize, seat: Seat) -> String;

    /// Saves an environment.
    fn save(&self, at: usize) -> Saved;

    /// Checks whether a saved environment can replace the one at `at`.
    ///
    /// # Errors
    /// The reason why it cannot.
    fn check(&self, at: usize, saved: &Saved) -> Result<(), String>;

    /// Resamples the information that is hidden from the deciding seat, in every environment.
    #[cfg(feature = "testkit")]
    fn determinize(&mut self, rng: &mut boardwire_kernel::RngStream);
}

pub(crate) struct Environments<G: Estimate> {
    game: Arc<G>,
    plan: Arc<Plan>,
    seed: u64,
    first: u64,
    all: Vec<Environment<G>>,
    /// The pending decisions. They are not in `all`, so that checking a step's actions reads little memory.
    dues: Vec<Due>,
    /// The advice for each decision; empty without an adviser.
    advice: Vec<Advice<G>>,
}

impl<G: Estimate> Environments<G> {
    /// Returns a block for `count` environments, numbered from `first`. [`Operation::Open`] creates the environments.
    pub(crate) fn new(game: Arc<G>, plan: Arc<Plan>, seed: u64, first: u64, count: usize) -> Self {
        let advised = if plan.adviser.is_some() { count } else { 0 };
        let advice = (0..advised).map(|_| Advice::New).collect();
        Self { game, plan, seed, first, all: Vec::new(), dues: vec![Due::OVER; count], advice }
    }

    /// Writes the rewards and results of an episode that has just ended; returns its flags.
    fn report_end(&self, at: usize, reward: &mut [u8], ends: &mut Ends, environment: usize) -> u8 {
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
                Some(End::Scored(_)) => reward::of(plan.reward, seat, scores, ranks),
                Some(End::Forfeited(loser)) => reward::of_forfeit(plan.reward, seat, *loser, info),
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
            ends.views.resize(from + plan.agents() * bytes, 0);
            let agents = self.all[at].line_up(plan).agents;
            for (seat, out) in agents.iter().zip(ends.views[from..].chunks_exact_mut(bytes)) {
                self.all[at].view(seat, out);
            }
        }
        flags(end.as_ref())
    }

    /// Writes the columns that every call writes. Writes the reward and the flags only if no step has written them.
    fn write_row(&self, op: &Operation, span: Span, row: usize, rows: &mut Rows) {
        let at = span.from + row;
        let (environment, due) = (&self.all[at], &self.dues[at]);
        if !op.steps(span, row) {
            rows.put(Column::Reward, row, 0);
            let flags = if due.seat.is_none() { flags(environment.end().as_ref()) } else { 0 };
            rows.put(Column::Flags, row, flags);
        }
        rows.put(Column::Seat, row, due.seat.map_or(NOBODY, Seat::number));
        rows.put_number(Column::Ply, row, environment.ply());
        rows.put_number(Column::Episode, row, environment.index());
        due.legal.write_bits(rows.cell(Column::Mask, row));
        let viewer = due.seat.unwrap_or_else(|| environment.line_up(&self.plan).first_agent);
        environment.view(viewer, rows.cell(Column::View, row));
        if let Some(advice) = self.advice.get(at) {
            advice.write(row, rows);
        }
        if self.plan.columns.oracle {
            self.write_oracle(at, row, rows);
        }
    }

    /// Writes the views and legal masks of all seats, starting with the deciding seat; zeros if no seat decides.
    fn write_oracle(&self, at: usize, row: usize, rows: &mut Rows) {
        let (info, environment) = (self.game.info(), &self.all[at]);
        let Some(first) = self.dues[at].seat else {
            rows.cell(Column::Oracle, row).fill(0);
            return rows.cell(Column::OracleMask, row).fill(0);
        };
        let seats = || first.round(info.seats);
        let views = rows.cell(Column::Oracle, row);
        for (seat, view) in seats().zip(views.chunks_exact_mut(info.layout.bytes())) {
            environment.view(seat, view);
        }
        let masks = rows.cell(Column::OracleMask, row);
        for (seat, mask) in seats().zip(masks.chunks_exact_mut(info.actions.mask_bytes())) {
            environment.legal(seat).write_bits(mask);
        }
    }

    /// Starts the operation in a row; returns whether a legal action replaced an illegal one.
    fn begin(&mut self, op: &Operation, span: Span, row: usize, out: &mut Output) -> bool {
        let (at, plan) = (span.from + row, &*self.plan);
        if let Some(advice) = self.advice.get_mut(at)
            && op.changes(span, row)
        {
            *advice = Advice::New;
        }
        match op {
            Operation::Open => {
                let number = self.first.wrapping_add(at as u64);
                self.all.push(Environment::open(&self.game, plan, self.seed, number));
            }
            Operation::Step(actions) => {
                let Some(action) = actions.at(span.row + row) else { return false };
                let Due { seat, legal } = self.dues[at];
                if let Some(seat) = seat {
                    out.decisions += 1;
                    return self.all[at].decide(plan, seat, legal, action);
                }
                self.all[at].begin(plan, Begin::default());
            }
            Operation::Reset(begins) => {
                if let Some(how) = begins[span.environment + row] {
                    self.all[at].begin(plan, how);
                }
            }
            Operation::Load(saved) => {
                if let Some(saved) = &saved[span.environment + row] {
                    let restored = self.all[at].restored(&self.game, plan, saved);
                    self.all[at] = restored.expect("the call has checked it");
                }
            }
        }
        false
    }

    /// Continues the operation in some rows together; returns whether they are done.
    fn advance_rows(
        &mut self,
        op: &Operation,
        span: Span,
        rows: Range<usize>,
        out: &mut Output,
        slice: &Slice,
    ) -> Result<bool, BotFault> {
        let places = span.from + rows.start..span.from + rows.end;
        if out.stage == Stage::New {
            for row in rows.clone() {
                let substituted = self.begin(op, span, row, out);
                if !matches!(op, Operation::Open) {
                    out.rows.put(Column::Flags, row, if substituted { flag::SUBSTITUTED } else { 0 });
                }
            }
            out.stage = Stage::Playing;
        }
        if out.stage == Stage::Playing {
            if !self.play_to_decision(places.clone(), slice)? {
                return Ok(false);
            }
            let restarted = self.report(op, span, rows.clone(), out);
            out.stage = if restarted { Stage::Restarted } else { Stage::Played };
        }
        if out.stage == Stage::Restarted {
            if !self.play_to_decision(places.clone(), slice)? {
                return Ok(false);
            }
            out.stage = Stage::Played;
        }
        if matches!(op, Operation::Open) {
            return Ok(true);
        }
        if !self.advise(places, slice)? {
            return Ok(false);
        }
        rows.for_each(|row| self.write_row(op, span, row, &mut out.rows));
        Ok(true)
    }

    /// Writes rewards, and results of episodes that a step has ended; returns whether a next episode has started.
    fn report(&mut self, op: &Operation, span: Span, rows: Range<usize>, out: &mut Output) -> bool {
        let mut restarted = false;
        for row in rows.filter(|&row| op.steps(span, row)) {
            let at = span.from + row;
            if self.dues[at].seat.is_some() {
                out.rows.put(Column::Reward, row, 0);
                continue;
            }
            let reward = out.rows.cell(Column::Reward, row);
            let flags = self.report_end(at, reward, &mut out.ends, span.environment + row);
            out.rows.cell(Column::Flags, row)[0] |= flags;
            if self.plan.autoreset == AutoresetMode::SameStep {
                self.all[at].begin(&self.plan, Begin::default());
                restarted = true;
            }
        }
        restarted
    }

    /// Lets bots play in some environments until an agent must decide; returns whether all are done.
    fn play_to_decision(&mut self, places: Range<usize>, slice: &Slice) -> Result<bool, BotFault> {
        advance_all(places, slice, |at| {
            let due = self.all[at].play_to_decision(&self.plan, slice)?;
            self.dues[at] = due.unwrap_or(self.dues[at]);
            Ok(due.is_some())
        })
    }

    /// Lets the adviser think about the decisions of some environments; returns whether all are done.
    fn advise(&mut self, places: Range<usize>, slice: &Slice) -> Result<bool, BotFault> {
        let Some(adviser) = &self.plan.adviser else { return Ok(true) };
        advance_all(places, slice, |at| match self.dues[at].seat {
            Some(seat) => self.advice[at].advance(adviser, &self.all[at], seat, slice),
            None => Ok(true),
        })
    }
}

/// Advances each place until all are done or the slice is over; returns whether all are done.
fn advance_all(
    places: Range<usize>,
    slice: &Slice,
    mut advance: impl FnMut(usize) -> Result<bool, BotFault>,
) -> Result<bool, BotFault> {
    loop {
        let mut all = true;
        for at in places.clone() {
            if advance(at)? {
                continue;
            }
            if slice.is_over() {
                return Ok(false);
            }
            // This place waits for a policy. First the other places send their requests, in one batch.
            all = false;
        }
        if all {
            return Ok(true);
        }
    }
}

impl<G: Estimate> Block for Environments<G> {
    fn dues(&self) -> &[Due] {
        &self.dues
    }

    fn advance(
        &mut self,
        op: &Operation,
        span: Span,
        out: &mut Output,
        slice: &Slice,
    ) -> Result<bool, BotFault> {
        // One row at a time, while its memory is cached. All rows together, if a policy evaluates them in batches.
        let together = if self.plan.asks_policies() { span.rows } else { 1 };
        while out.done < span.rows {
            let rows = out.done..span.rows.min(out.done + together);
            if !self.advance_rows(op, span, rows.clone(), out, slice)? {
                return Ok(false);
            }
            (out.done, out.stage) = (rows.end, Stage::New);
        }
        Ok(true)
    }

    fn copy(&self) -> Box<dyn Block> {
        Box::new(Self {
            game: Arc::clone(&self.game),
            plan: Arc::clone(&self.plan),
            seed: self.seed,
            first: self.first,
            all: self.all.iter().map(Environment::copy).collect(),
            dues: self.dues.clone(),
            advice: self.advice.iter().map(Advice::copy).collect(),
        })
    }

    fn insight(&self, at: usize) -> Option<Box<dyn Insight>> {
        Some(Box::new(self.all[at].knowledge(self.dues[at].seat?)))
    }

    fn text(&self, at: usize, seat: Seat) -> String {
        self.all[at].text(seat)
    }

    fn save(&self, at: usize) -> Saved {
        self.all[at].save(&self.plan)
    }

    fn check(&self, at: usize, saved: &Saved) -> Result<(), String> {
        self.all[at].restored(&self.game, &self.plan, saved).map(drop)
    }

    #[cfg(feature = "testkit")]
    fn determinize(&mut self, rng: &mut boardwire_kernel::RngStream) {
        for (environment, due) in self.all.iter_mut().zip(&self.dues) {
            if let Some(seat) = due.seat {
                environment.determinize(seat, rng);
            }
        }
        self.advice.iter_mut().for_each(|advice| *advice = Advice::New);
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
