//! A network that evaluates the requests of many callers in batches.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use boardwire_bots::{ActionWeights, Policy, PolicyRequest};
use boardwire_kernel::{ActionSet, RngStream};

use crate::file::{Model, Outputs};
use crate::softmax::softmax;
use crate::workers::{JobError, Workers};

/// The number of rows of every evaluation. With another number, sums could be added up in another order, and a response
/// would depend on the other callers.
const BATCH_ROWS: usize = 16;

/// A network with its queue of requests.
///
/// A caller that needs a response evaluates the oldest requests of all callers until its own request has a response. So
/// no thread waits for more requests, and an evaluation takes all queued requests that fit.
pub(crate) struct Network {
    name: String,
    model: Arc<Model>,
    actions: usize,
    workers: Arc<Workers>,
    /// The requests that no thread evaluates yet. Their callers may have dropped them.
    queue: Mutex<VecDeque<Weak<QueuedRequest>>>,
    /// Notified when requests have responses.
    responded: Condvar,
    /// Evaluations that exceeded the timeout, and may still run.
    timed_out: Mutex<Vec<Weak<()>>>,
}

/// One request: one row of an evaluation.
struct QueuedRequest {
    view: Vec<u8>,
    legal: ActionSet,
    response: OnceLock<Response>,
}

type Response = Result<ActionWeights, String>;

/// A request, as its caller holds it.
struct PendingRequest {
    network: Arc<Network>,
    request: Arc<QueuedRequest>,
}

impl Network {
    /// Evaluates the model twice, and accepts it if it can play.
    pub(crate) fn new(name: String, model: Model, workers: Arc<Workers>) -> Result<Arc<Self>, String> {
        let mut network = Self {
            name,
            model: Arc::new(model),
            actions: 0,
            workers,
            queue: Mutex::default(),
            responded: Condvar::new(),
            timed_out: Mutex::default(),
        };
        network.actions = network.check_rows_independent()?;
        Ok(Arc::new(network))
    }

    /// Returns the number of actions. It evaluates one view at two positions, first with empty rows, then with other rows.
    /// The outputs must be the same, or a response would depend on the other callers.
    fn check_rows_independent(&self) -> Result<usize, String> {
        let bytes = self.model.view_bytes;
        // Only zeros and ones: a greater byte may not be a valid id.
        let random_view = |stream| {
            let mut rng = RngStream::new(0, stream);
            (0..bytes).map(|_| u8::from(rng.below(2) == 1)).collect::<Vec<_>>()
        };
        let (view, other) = (random_view(0), random_view(1));
        let outputs_at = |place: usize, others: &[u8]| {
            let mut views = others.repeat(BATCH_ROWS);
            views[place * bytes..][..bytes].copy_from_slice(&view);
            let Outputs { logits, actions, margins } = self.outputs(views)?;
            let own = logits[place * actions..][..actions].iter().map(|logit| logit.to_bits());
            let margin = margins.map(|margins| margins[place].to_bits());
            Ok::<(Vec<u32>, Option<u32>), String>((own.collect(), margin))
        };
        let reference = outputs_at(0, &vec![0; bytes])?;
        // Neither the first nor the last row: it has other rows before it and after it.
        let other = outputs_at(BATCH_ROWS / 2 + 1, &other)?;
        for (name, differs) in [("logits", other.0 != reference.0), ("value", other.1 != reference.1)] {
            if differs {
                return Err(format!(
                    "`{name}` of a row must depend only on its view, not on its position or on other rows"
                ));
            }
        }
        Ok(reference.0.len())
    }

    /// Returns the spec digest of its table.
    pub(crate) fn spec(&self) -> &str {
        &self.model.spec
    }

    /// Returns the number of bytes of a view, and the number of actions.
    pub(crate) fn shape(&self) -> (usize, usize) {
        (self.model.view_bytes, self.actions)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Weak<QueuedRequest>>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the oldest requests from the queue, and skips requests that their callers have dropped.
    fn take_batch(&self) -> Vec<Arc<QueuedRequest>> {
        let mut queue = self.lock();
        std::iter::from_fn(|| queue.pop_front())
            .filter_map(|request| request.upgrade())
            .take(BATCH_ROWS)
            .collect()
    }

    fn evaluate(&self, requests: &[Arc<QueuedRequest>]) {
        let _respond_on_drop = RespondOnDrop { network: self, requests };
        let mut views = Vec::with_capacity(BATCH_ROWS * self.model.view_bytes);
        for request in requests {
            views.extend_from_slice(&request.view);
        }
        views.resize(BATCH_ROWS * self.model.view_bytes, 0);
        match self.outputs(views) {
            Ok(outputs) if outputs.actions == self.actions => {
                for (row, request) in requests.iter().enumerate() {
                    let response = response(&outputs, row, request.legal);
                    request.set_response(response.map_err(|problem| self.failed(&problem)));
                }
            }
            // The guard responds with an error.
            Ok(_) => {}
            Err(problem) => {
                for request in requests {
                    request.set_response(Err(self.failed(&problem)));
                }
            }
        }
    }

    fn failed(&self, problem: &str) -> String {
        format!("policy `{}`: {problem}", self.name)
    }

    /// Evaluates one batch of views.
    fn outputs(&self, views: Vec<u8>) -> Result<Outputs, String> {
        let slow = || format!("an evaluation takes longer than {:?}", self.workers.timeout());
        if self.has_timed_out_evaluation() {
            return Err(slow());
        }
        let (model, guard) = (Arc::clone(&self.model), Arc::new(()));
        let running = Arc::downgrade(&guard);
        let run = self.workers.run(move |pool| {
            let outputs = model.evaluate(views, pool);
            drop(guard);
            outputs
        });
        match run {
            Ok(outputs) => outputs,
            Err(JobError::Panicked) => Err("the evaluation panicked".to_owned()),
            Err(JobError::TimedOut) => {
                self.timed_out.lock().unwrap_or_else(PoisonError::into_inner).push(running);
                Err(slow())
            }
        }
    }

    /// Returns whether an evaluation that exceeded the timeout still runs.
    fn has_timed_out_evaluation(&self) -> bool {
        let mut timed_out = self.timed_out.lock().unwrap_or_else(PoisonError::into_inner);
        timed_out.retain(|running| running.strong_count() > 0);
        !timed_out.is_empty()
    }
}

/// Returns a margin in thousandths of a point, limited to their range; none if it is not finite.
fn thousandths(margin: f32) -> Option<i32> {
    #[expect(clippy::cast_possible_truncation, reason = "the cast limits to the range")]
    let rounded = (f64::from(margin) * 1_000.0).round() as i32;
    margin.is_finite().then_some(rounded)
}

/// Returns the response to a row of an evaluation.
fn response(outputs: &Outputs, row: usize, legal: ActionSet) -> Response {
    let weights = softmax(&outputs.logits[row * outputs.actions..][..outputs.actions], legal)?;
    let value = outputs.margins.as_ref().and_then(|margins| thousandths(margins[row]));
    Ok(ActionWeights { value, ..weights })
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

    fn has_values(&self) -> bool {
        self.model.has_values()
    }

    fn submit(self: Arc<Self>, view: Vec<u8>, legal: ActionSet) -> Box<dyn PolicyRequest> {
        let request = Arc::new(QueuedRequest { view, legal, response: OnceLock::new() });
        self.lock().push_back(Arc::downgrade(&request));
        Box::new(PendingRequest { network: self, request })
    }
}

impl QueuedRequest {
    fn set_response(&self, response: Response) {
        // Only the thread that took the request sets its response. The first response counts.
        let _ = self.response.set(response);
    }
}

impl PolicyRequest for PendingRequest {
    /// Evaluates at most one batch.
    fn advance(&mut self) -> Result<Option<ActionWeights>, String> {
        if self.request.response.get().is_none() {
            let requests = self.network.take_batch();
            if requests.is_empty() {
                self.wait();
            } else {
                self.network.evaluate(&requests);
            }
        }
        self.request.response.get().cloned().transpose()
    }
}

impl PendingRequest {
    /// Waits until another thread, which has taken the request, has set its response.
    fn wait(&self) {
        let mut queue = self.network.lock();
        while self.request.response.get().is_none() {
            queue = self.network.responded.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Requests under evaluation. On drop, every request without a response gets an error.
struct RespondOnDrop<'a> {
    network: &'a Network,
    requests: &'a [Arc<QueuedRequest>],
}

impl Drop for RespondOnDrop<'_> {
    fn drop(&mut self) {
        self.requests.iter().for_each(|request| {
            request.set_response(Err(self.network.failed("the evaluation ended without a result")));
        });
        // A waiting caller has checked for its response while it held this lock.
        let queue = self.network.lock();
        self.network.responded.notify_all();
        drop(queue);
    }
}

#[cfg(test)]
mod tests;
