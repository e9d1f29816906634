//! A block holds some environments of any game behind one interface. Only one thread at a time steps a block.

use boardwire_api::v1::AutoresetMode;
use std::ops::Range;
use std::sync::Arc;

use boardwire_bots::BotError;
use boardwire_kernel::{ActionSet, Estimate, Seat};

use super::advice::Advice;
use super::columns::{Column, EpisodeEndColumns, NO_VALUE, Rows};
use super::environment::{Environment, EpisodeEnd, PendingDecision};
use super::operation::{Operation, Output, Span, Stage};
use super::snapshot::SavedEnvironment;
use super::{EnvironmentConfig, EpisodeStart, flag};
use crate::play::{AnyEpisode, InformationSet};
use crate::pool::Slice;
use crate::reward::{self, forfeit_ranks};

/// Consecutive environments of any game. Indices count from the first environment of the block.
pub trait Block: Send {
    /// Returns the decision that each environment waits for.
    fn pending_decisions(&self) -> &[PendingDecision];

    /// Continues an operation, and writes rows and ends; returns whether the operation is done.
    ///
    /// # Errors
    /// A bot failed. Then the block is unusable.
    fn advance(
        &mut self,
        operation: &Operation,
        span: Span,
        out: &mut Output,
        slice: &Slice,
    ) -> Result<bool, BotError>;

    /// Returns a copy. No bot may be thinking.
    fn copy(&self) -> Box<dyn Block>;

    /// Returns the information set of the deciding seat of an environment. `None` if its episode is over.
    fn information_set(&self, index: usize) -> Option<Box<dyn InformationSet>>;

    /// Returns the episode of an environment.
    fn episode(&self, index: usize) -> &dyn AnyEpisode;

    /// Returns the legal actions of a seat in an environment; empty if the seat owes no decision.
    fn legal(&self, index: usize, seat: Seat) -> ActionSet;

    /// Saves an environment.
    fn save(&self, index: usize) -> SavedEnvironment;

    /// Checks whether a saved environment can replace the one at `index`.
    ///
    /// # Errors
    /// The reason why it cannot.
    fn check(&self, index: usize, saved: &SavedEnvironment) -> Result<(), String>;

    /// Resamples the information that is hidden from the deciding seat, in every environment.
    #[cfg(feature = "testkit")]
    fn determinize(&mut self, rng: &mut boardwire_kernel::RngStream);
}

pub(crate) struct Environments<G: Estimate> {
    game: Arc<G>,
    config: Arc<EnvironmentConfig>,
    seed: u64,
    first: u64,
    all: Vec<Environment<G>>,
    /// The pending decisions. They are not in `all`, so that checking a step's actions reads little memory.
    pending_decisions: Vec<PendingDecision>,
    /// The advice for each decision; empty without an adviser.
    advice: Vec<Advice<G>>,
    /// The estimates of each decision; empty if steps have none.
    estimates: Vec<Advice<G>>,
}

impl<G: Estimate> Environments<G> {
    /// Returns a block for `count` environments, numbered from `first`. [`Operation::Open`] creates the environments.
    pub(crate) fn new(
        game: Arc<G>,
        config: Arc<EnvironmentConfig>,
        seed: u64,
        first: u64,
        count: usize,
    ) -> Self {
        let not_started = |wanted: bool| {
            let count = if wanted { count } else { 0 };
            (0..count).map(|_| Advice::NotStarted).collect()
        };
        let (advice, estimates) =
            (not_started(config.adviser.is_some()), not_started(config.columns.estimates));
        Self {
            game,
            config,
            seed,
            first,
            all: Vec::new(),
            pending_decisions: vec![PendingDecision::NONE; count],
            advice,
            estimates,
        }
    }

    /// Writes the rewards and results of an episode that has just ended; returns its flags.
    fn report_end(
        &self,
        index: usize,
        reward: &mut [u8],
        ends: &mut EpisodeEndColumns,
        environment: usize,
    ) -> u8 {
        let (game, config) = (&*self.game, &*self.config);
        let info = game.info();
        let seats = usize::from(info.seats);
        let (mut scores, mut ranks) = ([0; boardwire_kernel::MAX_SEATS], [0; boardwire_kernel::MAX_SEATS]);
        let (scores, ranks) = (&mut scores[..seats], &mut ranks[..seats]);
        let end = self.all[index].end();
        match &end {
            Some(EpisodeEnd::Scored(outcome)) => {
                scores.copy_from_slice(outcome.scores());
                ranks.copy_from_slice(outcome.ranks());
            }
            Some(EpisodeEnd::Forfeited(loser)) => {
                ranks.copy_from_slice(&forfeit_ranks(*loser, info.seats)[..seats]);
            }
            Some(EpisodeEnd::Truncated) | None => {}
        }
        for (seat, out) in Seat::all(info.seats).zip(reward.chunks_exact_mut(4)) {
            let reward = match &end {
                Some(EpisodeEnd::Scored(_)) => reward::of(config.reward, seat, scores, ranks),
                Some(EpisodeEnd::Forfeited(loser)) => reward::of_forfeit(config.reward, seat, *loser, info),
                Some(EpisodeEnd::Truncated) | None => 0.0,
            };
            out.copy_from_slice(&reward.to_le_bytes());
        }
        let environment = u32::try_from(environment).unwrap_or(u32::MAX);
        ends.environments.extend_from_slice(&environment.to_le_bytes());
        if config.columns.scores {
            ends.scores.extend(scores.iter().flat_map(|score| score.to_le_bytes()));
            ends.ranks.extend_from_slice(ranks);
        }
        if config.columns.final_views {
            let (start, bytes) = (ends.views.len(), info.layout.bytes());
            ends.views.resize(start + config.agents() * bytes, 0);
            let agents = self.all[index].line_up(config).agents;
            for (seat, out) in agents.iter().zip(ends.views[start..].chunks_exact_mut(bytes)) {
                self.all[index].view(seat, out);
            }
        }
        flags(end.as_ref())
    }

    /// Writes the columns that every call writes. Writes the reward and the flags only if no step has written them.
    fn write_row(&self, operation: &Operation, span: Span, row: usize, rows: &mut Rows) {
        let index = span.offset + row;
        let (environment, decision) = (&self.all[index], &self.pending_decisions[index]);
        if !operation.steps(span, row) {
            rows.put(Column::Reward, row, 0);
            let flags = if decision.seat.is_none() { flags(environment.end().as_ref()) } else { 0 };
            rows.put(Column::Flags, row, flags);
        }
        rows.put(Column::Seat, row, decision.seat.map_or(NO_VALUE, Seat::number));
        rows.put_number(Column::Ply, row, environment.ply());
        rows.put_number(Column::Episode, row, environment.episode_index());
        decision.legal.write_bits(rows.cell(Column::Mask, row));
        let viewer = decision.seat.unwrap_or_else(|| environment.line_up(&self.config).first_agent);
        environment.view(viewer, rows.cell(Column::View, row));
        if let Some(advice) = self.advice.get(index) {
            advice.write_advice(row, rows);
        }
        if let Some(estimates) = self.estimates.get(index) {
            estimates.write_estimates(row, rows);
        }
        if self.config.columns.oracle {
            self.write_oracle(index, row, rows);
        }
    }

    /// Writes the views and legal masks of all seats, starting with the deciding seat; zeros if no seat decides.
    fn write_oracle(&self, index: usize, row: usize, rows: &mut Rows) {
        let (info, environment) = (self.game.info(), &self.all[index]);
        let Some(first) = self.pending_decisions[index].seat else {
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

    /// Starts the operation in one row; returns whether a legal action replaced an illegal one.
    fn start_row(&mut self, operation: &Operation, span: Span, row: usize, out: &mut Output) -> bool {
        let (index, config) = (span.offset + row, &*self.config);
        if operation.changes(span, row) {
            let (advice, estimates) = (self.advice.get_mut(index), self.estimates.get_mut(index));
            advice.into_iter().chain(estimates).for_each(|each| *each = Advice::NotStarted);
        }
        match operation {
            Operation::Open => {
                let number = self.first.wrapping_add(index as u64);
                self.all.push(Environment::open(&self.game, config, self.seed, number));
            }
            Operation::Step(actions) => {
                let Some(action) = actions.get(span.first_row + row) else { return false };
                let PendingDecision { seat, legal } = self.pending_decisions[index];
                if let Some(seat) = seat {
                    out.decisions += 1;
                    return self.all[index].decide(config, seat, legal, action);
                }
                self.all[index].start_episode(config, EpisodeStart::default());
            }
            Operation::Reset(starts) => {
                if let Some(start) = starts[span.first_environment + row] {
                    self.all[index].start_episode(config, start);
                }
            }
            Operation::Load(saved) => {
                if let Some(saved) = &saved[span.first_environment + row] {
                    let replacement = self.all[index].replacement_from(&self.game, config, saved);
                    self.all[index] = replacement.expect("the call has checked the saved environment");
                }
            }
        }
        false
    }

    /// Continues the operation in some rows together; returns whether they are done.
    fn advance_rows(
        &mut self,
        operation: &Operation,
        span: Span,
        rows: Range<usize>,
        out: &mut Output,
        slice: &Slice,
    ) -> Result<bool, BotError> {
        let indices = span.offset + rows.start..span.offset + rows.end;
        if out.stage == Stage::NotStarted {
            for row in rows.clone() {
                let substituted = self.start_row(operation, span, row, out);
                if !matches!(operation, Operation::Open) {
                    out.rows.put(Column::Flags, row, if substituted { flag::SUBSTITUTED } else { 0 });
                }
            }
            out.stage = Stage::PlayingBots;
        }
        if out.stage == Stage::PlayingBots {
            if !self.play_to_decision(indices.clone(), slice)? {
                return Ok(false);
            }
            let restarted = self.report(operation, span, rows.clone(), out);
            out.stage = if restarted { Stage::PlayingNextEpisode } else { Stage::Advising };
        }
        if out.stage == Stage::PlayingNextEpisode {
            if !self.play_to_decision(indices.clone(), slice)? {
                return Ok(false);
            }
            out.stage = Stage::Advising;
        }
        if matches!(operation, Operation::Open) {
            return Ok(true);
        }
        if !self.advise(indices, slice)? {
            return Ok(false);
        }
        rows.for_each(|row| self.write_row(operation, span, row, &mut out.rows));
        Ok(true)
    }

    /// Writes rewards, and results of episodes that a step has ended; returns whether a next episode has started.
    fn report(&mut self, operation: &Operation, span: Span, rows: Range<usize>, out: &mut Output) -> bool {
        let mut restarted = false;
        for row in rows.filter(|&row| operation.steps(span, row)) {
            let index = span.offset + row;
            if self.pending_decisions[index].seat.is_some() {
                out.rows.put(Column::Reward, row, 0);
                continue;
            }
            let reward = out.rows.cell(Column::Reward, row);
            let flags = self.report_end(index, reward, &mut out.ends, span.first_environment + row);
            out.rows.cell(Column::Flags, row)[0] |= flags;
            if self.config.autoreset == AutoresetMode::SameStep {
                self.all[index].start_episode(&self.config, EpisodeStart::default());
                restarted = true;
            }
        }
        restarted
    }

    /// Lets bots play in some environments until an agent must decide; returns whether all are done.
    fn play_to_decision(&mut self, indices: Range<usize>, slice: &Slice) -> Result<bool, BotError> {
        advance_all(indices, slice, |index| {
            let decision = self.all[index].play_to_decision(&self.config, slice)?;
            self.pending_decisions[index] = decision.unwrap_or(self.pending_decisions[index]);
            Ok(decision.is_some())
        })
    }

    /// Lets the adviser think about the decisions of some environments, and estimates their actions; returns whether all are
    /// done.
    fn advise(&mut self, indices: Range<usize>, slice: &Slice) -> Result<bool, BotError> {
        let adviser = self.config.adviser.as_ref();
        for (all, adviser) in [(&mut self.advice, adviser), (&mut self.estimates, None)] {
            if all.is_empty() {
                continue;
            }
            let done =
                advance_all(indices.clone(), slice, |index| match self.pending_decisions[index].seat {
                    Some(seat) => all[index].advance(adviser, &self.all[index], seat, slice),
                    None => Ok(true),
                })?;
            if !done {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Advances each environment until all are done or the slice is over; returns whether all are done.
fn advance_all(
    indices: Range<usize>,
    slice: &Slice,
    mut advance: impl FnMut(usize) -> Result<bool, BotError>,
) -> Result<bool, BotError> {
    loop {
        let mut all_done = true;
        for index in indices.clone() {
            if advance(index)? {
                continue;
            }
            if slice.is_over() {
                return Ok(false);
            }
            // This environment waits for a policy. First the other environments send their requests, in one batch.
            all_done = false;
        }
        if all_done {
            return Ok(true);
        }
    }
}

impl<G: Estimate> Block for Environments<G> {
    fn pending_decisions(&self) -> &[PendingDecision] {
        &self.pending_decisions
    }

    fn advance(
        &mut self,
        operation: &Operation,
        span: Span,
        out: &mut Output,
        slice: &Slice,
    ) -> Result<bool, BotError> {
        // One row at a time, while its memory is cached. All rows together, if a policy evaluates them in batches.
        let together = if self.config.uses_policies() { span.len } else { 1 };
        while out.finished_rows < span.len {
            let rows = out.finished_rows..span.len.min(out.finished_rows + together);
            if !self.advance_rows(operation, span, rows.clone(), out, slice)? {
                return Ok(false);
            }
            (out.finished_rows, out.stage) = (rows.end, Stage::NotStarted);
        }
        Ok(true)
    }

    fn copy(&self) -> Box<dyn Block> {
        Box::new(Self {
            game: Arc::clone(&self.game),
            config: Arc::clone(&self.config),
            seed: self.seed,
            first: self.first,
            all: self.all.iter().map(Environment::copy).collect(),
            pending_decisions: self.pending_decisions.clone(),
            advice: self.advice.iter().map(Advice::copy).collect(),
            estimates: self.estimates.iter().map(Advice::copy).collect(),
        })
    }

    fn information_set(&self, index: usize) -> Option<Box<dyn InformationSet>> {
        Some(Box::new(self.all[index].knowledge(self.pending_decisions[index].seat?)))
    }

    fn episode(&self, index: usize) -> &dyn AnyEpisode {
        self.all[index].episode()
    }

    fn legal(&self, index: usize, seat: Seat) -> ActionSet {
        self.all[index].legal(seat)
    }

    fn save(&self, index: usize) -> SavedEnvironment {
        self.all[index].save(&self.config)
    }

    fn check(&self, index: usize, saved: &SavedEnvironment) -> Result<(), String> {
        self.all[index].replacement_from(&self.game, &self.config, saved).map(drop)
    }

    #[cfg(feature = "testkit")]
    fn determinize(&mut self, rng: &mut boardwire_kernel::RngStream) {
        for (environment, decision) in self.all.iter_mut().zip(&self.pending_decisions) {
            if let Some(seat) = decision.seat {
                environment.determinize(seat, rng);
            }
        }
        let thoughts = self.advice.iter_mut().chain(&mut self.estimates);
        thoughts.for_each(|each| *each = Advice::NotStarted);
    }
}

fn flags(end: Option<&EpisodeEnd>) -> u8 {
    match end {
        Some(EpisodeEnd::Scored(_)) => flag::TERMINATED,
        Some(EpisodeEnd::Forfeited(_)) => flag::TERMINATED | flag::FORFEITED,
        Some(EpisodeEnd::Truncated) => flag::TRUNCATED,
        None => 0,
    }
}
