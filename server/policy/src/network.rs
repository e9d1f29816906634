//! A network that many callers ask at the same time.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use boardwire_bots::{Policy, Preference, Question};
use boardwire_kernel::{ActionSet, RngStream};

use crate::file::Model;
use crate::preference::preference;
use crate::workers::{Lost, Workers};

/// The number of rows of every evaluation. With another number, sums could be added up in another order, and an answer
/// would depend on the other callers.
const TILE: usize = 16;

/// A network with its queue of questions.
///
/// A caller that needs an answer evaluates the oldest questions of all callers until its own question has an answer. So
/// no thread waits for more questions, and an evaluation takes all waiting questions that fit.
pub(crate) struct Network {
    name: String,
    model: Arc<Model>,
    actions: usize,
    workers: Arc<Workers>,
    /// The questions that no thread evaluates yet. Their callers may have dropped them.
    waiting: Mutex<VecDeque<Weak<Row>>>,
    /// Notified when questions have been answered.
    answered: Condvar,
    /// Evaluations that exceeded the timeout, and may still run.
    late: Mutex<Vec<Weak<()>>>,
}

/// One question: one row of an evaluation.
struct Row {
    view: Vec<u8>,
    legal: ActionSet,
    answer: OnceLock<Answer>,
}

type Answer = Result<Preference, String>;

/// A question, as its caller holds it.
struct Asked {
    network: Arc<Network>,
    row: Arc<Row>,
}

impl Network {
    /// Evaluates the model twice, and accepts it if it can play.
    pub(crate) fn new(name: String, model: Model, workers: Arc<Workers>) -> Result<Arc<Self>, String> {
        let mut network = Self {
            name,
            model: Arc::new(model),
            actions: 0,
            workers,
            waiting: Mutex::default(),
            answered: Condvar::new(),
            late: Mutex::default(),
        };
        network.actions = network.tried()?;
        Ok(Arc::new(network))
    }

    /// Returns the number of actions. It evaluates one view at two positions, beside empty rows and beside other rows. The
    /// logits must be the same, or an answer would depend on the other callers.
    fn tried(&self) -> Result<usize, String> {
        let bytes = self.model.view_bytes;
        // Only zeros and ones: a greater byte may not be a valid id.
        let made_up = |stream| {
            let mut rng = RngStream::new(0, stream);
            (0..bytes).map(|_| u8::from(rng.below(2) == 1)).collect::<Vec<_>>()
        };
        let (view, other) = (made_up(0), made_up(1));
        let among = |place: usize, others: &[u8]| {
            let mut views = others.repeat(TILE);
            views[place * bytes..][..bytes].copy_from_slice(&view);
            let (logits, actions) = self.logits(views)?;
            let own = logits[place * actions..][..actions].iter().map(|logit| logit.to_bits());
            Ok::<Vec<u32>, String>(own.collect())
        };
        let alone = among(0, &vec![0; bytes])?;
        // Neither the first nor the last row: it has other rows before it and after it.
        if among(TILE / 2 + 1, &other)? != alone {
            return Err("`logits` of a row follow from its view alone, not from its place or the rows beside it: rows \
                        must not depend on one another"
                .to_owned());
        }
        Ok(alone.len())
    }

    /// Returns the spec digest of its table.
    pub(crate) fn spec(&self) -> &str {
        &self.model.spec
    }

    /// Returns the number of bytes of a view, and the number of actions.
    pub(crate) fn shape(&self) -> (usize, usize) {
        (self.model.view_bytes, self.actions)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Weak<Row>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the oldest questions from the queue, and skips questions that their callers have dropped.
    fn take(&self) -> Vec<Arc<Row>> {
        let mut waiting = self.lock();
        std::iter::from_fn(|| waiting.pop_front()).filter_map(|row| row.upgrade()).take(TILE).collect()
    }

    fn evaluate(&self, rows: &[Arc<Row>]) {
        let _answering = Answering { network: self, rows };
        let mut views = Vec::with_capacity(TILE * self.model.view_bytes);
        for row in rows {
            views.extend_from_slice(&row.view);
        }
        views.resize(TILE * self.model.view_bytes, 0);
        match self.logits(views) {
            Ok((logits, actions)) if actions == self.actions => {
                for (row, logits) in rows.iter().zip(logits.chunks_exact(actions)) {
                    row.give(preference(logits, row.legal).map_err(|problem| self.failed(&problem)));
                }
            }
            // The guard answers with an error.
            Ok(_) => {}
            Err(problem) => rows.iter().for_each(|row| row.give(Err(self.failed(&problem)))),
        }
    }

    fn failed(&self, problem: &str) -> String {
        format!("policy `{}`: {problem}", self.name)
    }

    /// Evaluates one tile of views.
    fn logits(&self, views: Vec<u8>) -> Result<(Vec<f32>, usize), String> {
        let slow = || format!("an evaluation takes longer than {:?}", self.workers.patience());
        if self.is_late() {
            return Err(slow());
        }
        let (model, held) = (Arc::clone(&self.model), Arc::new(()));
        let running = Arc::downgrade(&held);
        let run = self.workers.run(move |pool| {
            let logits = model.logits(views, pool);
            drop(held);
            logits
        });
        match run {
            Ok(logits) => logits,
            Err(Lost::Panicked) => Err("its evaluation panicked".to_owned()),
            Err(Lost::Late) => {
                self.late.lock().unwrap_or_else(PoisonError::into_inner).push(running);
                Err(slow())
            }
        }
    }

    /// Returns whether an evaluation that exceeded the timeout still runs.
    fn is_late(&self) -> bool {
        let mut late = self.late.lock().unwrap_or_else(PoisonError::into_inner);
        late.retain(|running| running.strong_count() > 0);
        !late.is_empty()
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Network({})", self.name)
    }
}

impl Policy for Network {
    fn name(&self) -> &str {
        &self.name
    }

    fn ask(self: Arc<Self>, view: Vec<u8>, legal: ActionSet) -> Box<dyn Question> {
        let row = Arc::new(Row { view, legal, answer: OnceLock::new() });
        self.lock().push_back(Arc::downgrade(&row));
        Box::new(Asked { network: self, row })
    }
}

impl Row {
    fn give(&self, answer: Answer) {
        // Only the thread that took the row answers it. The first answer counts.
        let _ = self.answer.set(answer);
    }
}

impl Question for Asked {
    /// Evaluates at most one tile.
    fn advance(&mut self) -> Result<Option<Preference>, String> {
        if self.row.answer.get().is_none() {
            let rows = self.network.take();
            if rows.is_empty() {
                self.wait();
            } else {
                self.network.evaluate(&rows);
            }
        }
        self.row.answer.get().cloned().transpose()
    }
}

impl Asked {
    /// Waits until another thread, which has taken the row, has answered it.
    fn wait(&self) {
        let mut waiting = self.network.lock();
        while self.row.answer.get().is_none() {
            waiting = self.network.answered.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Rows under evaluation. On drop, every row without an answer gets an error.
struct Answering<'a> {
    network: &'a Network,
    rows: &'a [Arc<Row>],
}

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        self.rows.iter().for_each(|row| row.give(Err(self.network.failed("its evaluation was lost"))));
        // A waiting caller has checked for its answer while it held this lock.
        let waiting = self.network.lock();
        self.network.answered.notify_all();
        drop(waiting);
    }
}

#[cfg(test)]
mod tests;
