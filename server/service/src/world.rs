//! A world: one environment with a single agent, who comes, plays sequence after sequence, and goes.
//!
//! It is a batch of one environment whose next step begins the next episode, so that what is played, seen and
//! rewarded there is what it is in batches. A world says besides who is in it and which sequence has been ended from
//! outside.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use boardwire_batch::Refused;
use boardwire_batch::batch::{Actions, Batch, Reset, Step, flag};
use bytes::Bytes;

/// One world.
pub struct World {
    batch: Arc<Batch>,
    agent: Mutex<Agent>,
}

/// What is known of whoever plays in a world.
#[derive(Debug, Default)]
struct Agent {
    is_here: bool,
    /// How often sequences have been ended from outside.
    resets: u64,
    /// The seed from which the next sequence begins, if one was given.
    seed: Option<u64>,
    /// How many have been given.
    seeds: u64,
}

impl Agent {
    /// Lets the next sequence begin from a seed, if there is one; else from the one that was given last.
    fn give(&mut self, seed: Option<u64>) {
        self.seed = seed.or(self.seed);
        self.seeds += u64::from(seed.is_some());
    }
}

/// How a sequence stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// A decision is due.
    Running,
    /// The episode has ended.
    Terminated,
    /// It was cut at its greatest length, or ended from outside.
    Interrupted,
}

impl World {
    /// The world of a batch that has one environment.
    pub(crate) fn of(batch: Arc<Batch>) -> Self {
        Self { batch, agent: Mutex::default() }
    }

    /// The environment.
    #[must_use]
    pub fn batch(&self) -> &Arc<Batch> {
        &self.batch
    }

    fn agent(&self) -> MutexGuard<'_, Agent> {
        self.agent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the sequence of whoever is here, who learns of it with its next step; with a seed, the next begins as if
    /// the world had been made with it.
    pub fn reset(&self, seed: Option<u64>) {
        let mut agent = self.agent();
        agent.resets += 1;
        agent.give(seed);
    }
}

/// An agent's stay in a world; it leaves when this is dropped.
pub struct Visit {
    world: Arc<World>,
    /// What the running sequence shows; nothing if none runs.
    shown: Option<Step>,
    /// How often sequences had been ended from outside when it began.
    resets: u64,
}

impl Visit {
    /// Enters a world; none if somebody is there.
    #[must_use]
    pub fn enter(world: Arc<World>) -> Option<Self> {
        let was_here = std::mem::replace(&mut world.agent().is_here, true);
        if was_here {
            return None;
        }
        Some(Self { world, shown: None, resets: 0 })
    }

    /// The world.
    #[must_use]
    pub fn world(&self) -> &Arc<World> {
        &self.world
    }

    /// Ends the sequence, if one runs; with a seed, the next begins as if the world had been made with it.
    pub fn reset(&mut self, seed: Option<u64>) {
        self.shown = None;
        let mut agent = self.world.agent();
        agent.give(seed);
    }

    /// Plays `action` if a sequence runs, or else begins the next, for which no action is needed.
    ///
    /// # Errors
    /// No action, or one that may not be chosen; a world that has ended. Then nothing has changed.
    pub async fn step(
        &mut self,
        action: impl FnOnce() -> Result<u8, Refused>,
    ) -> Result<(Step, State), Refused> {
        let Some(shown) = &self.shown else { return self.begin().await };
        if self.resets != self.world.agent().resets {
            let last = shown.clone();
            self.shown = None;
            return Ok((last, State::Interrupted));
        }
        let actions = Actions::of_all(Bytes::copy_from_slice(&[action()?]));
        let step = self.world.batch.step(0, 0, actions, None).await?;
        Ok(self.show(step))
    }

    async fn begin(&mut self) -> Result<(Step, State), Refused> {
        let (resets, seed, seeds) = {
            let agent = self.world.agent();
            (agent.resets, agent.seed, agent.seeds)
        };
        let step = self.world.batch.reset(Reset { seed, ..Reset::default() }, None).await?;
        self.resets = resets;
        {
            let mut agent = self.world.agent();
            // Another may have been given meanwhile.
            if agent.seeds == seeds {
                agent.seed = None;
            }
        }
        Ok(self.show(step))
    }

    fn show(&mut self, step: Step) -> (Step, State) {
        let flags = step.flags().first().copied().unwrap_or_default();
        let state = match flags {
            flags if flags & flag::TERMINATED > 0 => State::Terminated,
            flags if flags & flag::TRUNCATED > 0 => State::Interrupted,
            _ => State::Running,
        };
        self.shown = (state == State::Running).then(|| step.clone());
        (step, state)
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.world.agent().is_here = false;
    }
}

#[cfg(test)]
mod tests;
