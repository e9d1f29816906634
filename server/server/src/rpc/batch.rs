//! Batches of environments, each for one trusted owner.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use boardwire_api::Error;
use boardwire_api::v1::{
    CloseBatchRequest, CloseBatchResponse, LoadBatchRequest, OpenBatchRequest, OpenBatchResponse,
    ResetBatchRequest, RunBatchRequest, RunBatchResponse, SaveBatchRequest, SaveBatchResponse, Step,
    StepBatchRequest, run_batch_request, run_batch_response,
};
use boardwire_batch::batch::{Batch, Opening};
use boardwire_batch::messages;
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::{message_bytes, request_id};
use crate::batches::{Batches, InUse, LeaseTerms};
use crate::edge::{Budget, Call, Charge, EncodedMessage, Kind, Reply, RequestStream, Service};
use crate::matches::Matches;
use crate::secret;
use crate::status;
use crate::telemetry::timed;

/// Steps batches; the games are those of the matches.
pub(crate) struct BatchPlane {
    matches: Arc<Matches>,
    batches: Arc<Batches>,
}

/// The service, as the protocol names it.
pub(super) const NAME: &str = "boardwire.v1.BatchService";

pub(super) fn service(matches: &Arc<Matches>, batches: &Arc<Batches>) -> Service<BatchPlane> {
    let plane = BatchPlane { matches: Arc::clone(matches), batches: Arc::clone(batches) };
    Service::new(NAME, Kind::Own, Arc::new(plane))
        .call("OpenBatch", BatchPlane::open)
        .call("ResetBatch", BatchPlane::reset)
        .call("StepBatch", BatchPlane::step)
        .stream("RunBatch", BatchPlane::run)
        .call("SaveBatch", BatchPlane::save)
        .call("LoadBatch", BatchPlane::load)
        .call("CloseBatch", BatchPlane::close)
}

/// Answers of a stream that wait to be sent while the next request is being worked on.
const AHEAD: usize = 1;
/// About what a refusal takes.
const REFUSAL_BYTES: usize = 2 << 10;

impl BatchPlane {
    async fn open(self: Arc<Self>, call: Call, asked: OpenBatchRequest) -> Result<Reply, Error> {
        let id = request_id(&asked.request_id, call.caller(), "", &asked)?;
        let (table, plan) = messages::plan(self.matches.tables(), &asked)?;
        let config = asked.config.unwrap_or_default();
        let opening = Opening {
            plan,
            environments: config.environments as usize,
            first: config.first_environment,
            seed: config.seed.unwrap_or_else(secret::seed),
            message_bytes: message_bytes(asked.max_message_bytes),
        };
        let terms = LeaseTerms {
            peer: Some(call.caller().peer()).filter(|_| !asked.keep),
            origin: call.caller().origin(),
            request: id,
        };
        opening.check(&table)?;
        let (environments, token) = (opening.environments, secret::word());
        let deal = |group| async move { Batch::open(secret::word(), table, opening, &group).await };
        let (batch, token) = self.batches.open(terms, environments, token, deal).await?;
        tracing::info!(
            batch_id = batch.id(),
            game = config.game,
            line_ups = config.line_ups.len(),
            environments = config.environments,
            "batch opened"
        );
        call.answer(&OpenBatchResponse { batch: Some(messages::batch(&batch)), token })
    }

    async fn reset(self: Arc<Self>, call: Call, asked: ResetBatchRequest) -> Result<Reply, Error> {
        one(reset(&self.batches, call.token(), call.budget(), &asked).await?)
    }

    async fn step(self: Arc<Self>, call: Call, asked: StepBatchRequest) -> Result<Reply, Error> {
        one(step(&self.batches, call.token(), call.budget(), &asked).await?)
    }

    async fn run(self: Arc<Self>, call: Call, requests: RequestStream) -> Result<Reply, Error> {
        let batches = Arc::clone(&self.batches);
        let requests = requests.stream().take_until(self.matches.stopped());
        let (answering, answered) = mpsc::channel(AHEAD);
        let gone = answering.clone();
        let token = call.token().ok_or(Error::TokenMissing)?.to_owned();
        let answering = async move {
            let mut requests = std::pin::pin!(requests);
            while let Some(asked) = requests.next().await {
                let answer = match asked {
                    Ok(asked) => call.budget().in_turn(answer(&batches, &token, call.budget(), asked)).await,
                    Err(error) => Err(error),
                };
                let last = answer.is_err();
                if answering.send(answer).await.is_err() || last {
                    return;
                }
            }
        };
        // A caller that has gone wants no answer: what is being done for it ends with it.
        tokio::spawn(async move {
            tokio::select! {
                answered = AssertUnwindSafe(answering).catch_unwind() => {
                    if answered.is_err() {
                        let what = "a step panicked".to_owned();
                        let failed = Error::Internal { place: "a stream of batches".to_owned(), what };
                        let _ = gone.send(Err(failed)).await;
                    }
                }
                () = gone.closed() => {}
            }
        });
        Ok(Reply::stream(ReceiverStream::new(answered)))
    }

    async fn save(self: Arc<Self>, call: Call, asked: SaveBatchRequest) -> Result<Reply, Error> {
        let SaveBatchRequest { batch_id, mask } = asked;
        let batch: InUse<Batch> = self.batches.find(&batch_id, call.token())?;
        // The snapshot, and the message that it is copied to.
        let charge = call.budget().reserve(2 * batch.snapshot_bytes(&mask)).await?;
        let snapshot = batch.save(self.batches.key(), &mask).await?;
        Reply::message(charge, &SaveBatchResponse { snapshot })
    }

    async fn load(self: Arc<Self>, call: Call, asked: LoadBatchRequest) -> Result<Reply, Error> {
        let LoadBatchRequest { batch_id, snapshot, mask } = asked;
        let batch: InUse<Batch> = self.batches.find(&batch_id, call.token())?;
        let charge = rows(call.budget(), &batch, 0).await?;
        let loaded = batch.load(self.batches.key(), snapshot, &mask).await?;
        one((charge, messages::step(loaded)))
    }

    async fn close(self: Arc<Self>, call: Call, asked: CloseBatchRequest) -> Result<Reply, Error> {
        self.batches.close::<Batch>(&asked.batch_id, call.token())?;
        call.answer(&CloseBatchResponse {})
    }
}

/// Rows, and what they are charged with.
type Rows = (Charge, Step);

/// Answers with the rows of a step.
fn one((charge, step): Rows) -> Result<Reply, Error> {
    Ok(Reply::One(Some(EncodedMessage::step(charge, step, None)?)))
}

/// Charges the rows of `count` environments, all of them when it is 0.
async fn rows(budget: &Arc<Budget>, batch: &Batch, count: u32) -> Result<Charge, Error> {
    budget.reserve(batch.step_bytes(count)).await
}

async fn step(
    batches: &Batches,
    token: Option<&str>,
    budget: &Arc<Budget>,
    asked: &StepBatchRequest,
) -> Result<Rows, Error> {
    let batch: InUse<Batch> = batches.find(&asked.batch_id, token)?;
    let charge = rows(budget, &batch, asked.count).await?;
    let step = batch.step(asked.first, asked.count, messages::actions(asked), asked.sequence).await?;
    Ok((charge, messages::step(step)))
}

async fn reset(
    batches: &Batches,
    token: Option<&str>,
    budget: &Arc<Budget>,
    asked: &ResetBatchRequest,
) -> Result<Rows, Error> {
    let batch: InUse<Batch> = batches.find(&asked.batch_id, token)?;
    let charge = rows(budget, &batch, 0).await?;
    Ok((charge, messages::step(batch.reset(messages::reset(asked), asked.sequence).await?)))
}

/// Answers one request of a stream; a refusal is an answer too.
async fn answer(
    batches: &Batches,
    token: &str,
    budget: &Arc<Budget>,
    asked: RunBatchRequest,
) -> Result<EncodedMessage, Error> {
    let token = Some(token);
    let stepped = match &asked.request {
        Some(run_batch_request::Request::Step(asked)) => {
            timed("StepBatch", false, step(batches, token, budget, asked)).await
        }
        Some(run_batch_request::Request::Reset(asked)) => {
            timed("ResetBatch", false, reset(batches, token, budget, asked)).await
        }
        None => Err(Error::field("request", "nothing", "one of step, reset")),
    };
    match stepped {
        Ok((charge, step)) => EncodedMessage::step(charge, step, Some(asked.tag)),
        Err(error) => {
            let refused = run_batch_response::Answer::Error(status::message(&error));
            let refused = RunBatchResponse { tag: asked.tag, answer: Some(refused) };
            EncodedMessage::new(budget.reserve(REFUSAL_BYTES).await?, &refused)
        }
    }
}
