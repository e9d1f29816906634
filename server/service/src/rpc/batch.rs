//! Batches of environments, each for one trusted owner.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use boardwire_api::v1::{
    BatchStep, CloseBatchRequest, CloseBatchResponse, LoadBatchRequest, LoadBatchResponse, OpenBatchRequest,
    OpenBatchResponse, ResetBatchRequest, ResetBatchResponse, RunBatchRequest, RunBatchResponse,
    SaveBatchRequest, SaveBatchResponse, StepBatchRequest, StepBatchResponse,
    batch_service_server::BatchService, run_batch_request, run_batch_response,
};
use boardwire_batch::batch::{Batch, Opening};
use boardwire_batch::{Refused, messages};
use futures_util::{FutureExt as _, StreamExt as _, stream};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use super::answers::{self, Answer};
use super::{caller, message_bytes, request_id, token};
use crate::batches::{Batches, Terms};
use crate::edge::{Caller, Origin, Room};
use crate::error::ServiceError;
use crate::matches::Matches;
use crate::secret;
use crate::telemetry;

/// Steps batches; the games are those of the matches.
pub(crate) struct BatchPlane {
    pub(crate) matches: Arc<Matches>,
    pub(crate) batches: Arc<Batches>,
}

/// Answers of a stream that wait to be sent while the next request is being worked on.
const AHEAD: usize = 1;

type Answered<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl BatchService for BatchPlane {
    type RunBatchStream = stream::Empty<Result<RunBatchResponse, Status>>;

    async fn open_batch(&self, request: Request<OpenBatchRequest>) -> Answered<OpenBatchResponse> {
        let caller = caller(&request);
        let asked = request.into_inner();
        let id = request_id(&asked.request_id, caller.as_ref(), &asked)?;
        let (table, plan) = messages::plan(self.matches.tables(), &asked).map_err(ServiceError::from)?;
        let opening = Opening {
            plan,
            environments: asked.environments as usize,
            first: asked.first_environment,
            seed: asked.seed.unwrap_or_else(secret::seed),
            message_bytes: message_bytes(asked.max_message_bytes),
        };
        let terms = Terms {
            peer: caller.as_ref().map(Caller::peer).filter(|_| !asked.keep),
            origin: caller.as_ref().map_or(Origin::Unknown, Caller::origin),
            request: id.as_ref().map(|request| request.id),
        };
        let (batch, token) = self.batches.open(id, table, opening, terms).await?;
        tracing::info!(
            batch_id = batch.id(),
            game = asked.game,
            line_ups = asked.line_ups.len(),
            environments = asked.environments,
            "batch opened"
        );
        Ok(Response::new(OpenBatchResponse { batch: Some(messages::batch(&batch)), token }))
    }

    async fn reset_batch(&self, request: Request<ResetBatchRequest>) -> Answered<ResetBatchResponse> {
        let caller = caller(&request);
        Ok(answers::one(reset(&self.batches, token(&request), caller.as_ref(), request.get_ref()).await?))
    }

    async fn step_batch(&self, request: Request<StepBatchRequest>) -> Answered<StepBatchResponse> {
        let caller = caller(&request);
        Ok(answers::one(step(&self.batches, token(&request), caller.as_ref(), request.get_ref()).await?))
    }

    async fn run_batch(
        &self,
        request: Request<Streaming<RunBatchRequest>>,
    ) -> Answered<Self::RunBatchStream> {
        let batches = Arc::clone(&self.batches);
        let token = token(&request).ok_or(ServiceError::MissingToken)?.to_owned();
        let caller = caller(&request);
        let requests = request.into_inner().take_until(self.matches.stopped());
        let (answering, answered) = mpsc::channel(AHEAD);
        let gone = answering.clone();
        let answering = async move {
            let mut requests = std::pin::pin!(requests);
            while let Some(asked) = requests.next().await {
                let (answer, last) = match asked {
                    Ok(asked) => (Ok(answer(&batches, &token, caller.as_ref(), asked).await), false),
                    Err(status) => (Err(status), true),
                };
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
                        let failed = Refused::Internal { place: "a stream of batches".to_owned(), what };
                        let _ = gone.send(Err(ServiceError::from(failed).into())).await;
                    }
                }
                () = gone.closed() => {}
            }
        });
        Ok(answers::many(ReceiverStream::new(answered), stream::empty()))
    }

    async fn save_batch(&self, request: Request<SaveBatchRequest>) -> Answered<SaveBatchResponse> {
        let SaveBatchRequest { batch_id, mask } = request.get_ref();
        let batch = self.batches.find(batch_id, token(&request))?;
        let room = super::room(caller(&request).as_ref(), batch.snapshot_bytes(mask)).await?;
        let snapshot = batch.save(self.batches.key(), mask).await.map_err(ServiceError::from)?;
        Ok(super::holding(SaveBatchResponse { snapshot }, room))
    }

    async fn load_batch(&self, request: Request<LoadBatchRequest>) -> Answered<LoadBatchResponse> {
        let LoadBatchRequest { batch_id, snapshot, mask } = request.get_ref();
        let batch = self.batches.find(batch_id, token(&request))?;
        let room = room(caller(&request).as_ref(), &batch, 0).await?;
        let loaded = batch.load(self.batches.key(), snapshot.clone(), mask).await;
        Ok(answers::one((messages::step(loaded.map_err(ServiceError::from)?), room)))
    }

    async fn close_batch(&self, request: Request<CloseBatchRequest>) -> Answered<CloseBatchResponse> {
        self.batches.close(&request.get_ref().batch_id, token(&request))?;
        Ok(Response::new(CloseBatchResponse {}))
    }
}

/// Waits for room for the rows of `count` environments, all of them when it is 0.
async fn room(caller: Option<&Caller>, batch: &Batch, count: u32) -> Result<Option<Room>, ServiceError> {
    super::room(caller, batch.step_bytes(count)).await
}

async fn step(
    batches: &Batches,
    token: Option<&str>,
    caller: Option<&Caller>,
    asked: &StepBatchRequest,
) -> Result<(BatchStep, Option<Room>), ServiceError> {
    let request = telemetry::Request::begin("StepBatch");
    let batch = batches.find(&asked.batch_id, token)?;
    let room = room(caller, &batch, asked.count).await?;
    let step = batch.step(asked.first, asked.count, messages::actions(asked), asked.sequence).await?;
    request.answered(batch.table().rules.info().id, false);
    Ok((messages::step(step), room))
}

async fn reset(
    batches: &Batches,
    token: Option<&str>,
    caller: Option<&Caller>,
    asked: &ResetBatchRequest,
) -> Result<(BatchStep, Option<Room>), ServiceError> {
    let batch = batches.find(&asked.batch_id, token)?;
    let room = room(caller, &batch, 0).await?;
    Ok((messages::step(batch.reset(messages::reset(asked), asked.sequence).await?), room))
}

/// Answers one request of a stream; a refusal is an answer too.
async fn answer(batches: &Batches, token: &str, caller: Option<&Caller>, asked: RunBatchRequest) -> Answer {
    let token = Some(token);
    let stepped = match &asked.request {
        Some(run_batch_request::Request::Step(asked)) => step(batches, token, caller, asked).await,
        Some(run_batch_request::Request::Reset(asked)) => reset(batches, token, caller, asked).await,
        None => Err(Refused::BadField {
            field: "request",
            value: "nothing".to_owned(),
            expected: "one of step, reset".to_owned(),
        }
        .into()),
    };
    match stepped {
        Ok((step, room)) => Answer::Step(step, room, Some(asked.tag)),
        Err(error) => {
            let refused = run_batch_response::Answer::Error(error.into());
            Answer::Message(RunBatchResponse { tag: asked.tag, answer: Some(refused) })
        }
    }
}
