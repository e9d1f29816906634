//! The batch service: batches of environments, each for one trusted owner.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use boardwire_api::Error;
use boardwire_api::v1::{
    CloseBatchRequest, CloseBatchResponse, DescribeEnvironmentRequest, DescribeEnvironmentResponse,
    LoadBatchRequest, OpenBatchRequest, OpenBatchResponse, ResetBatchRequest, RunBatchRequest,
    RunBatchResponse, SaveBatchRequest, SaveBatchResponse, Step, StepBatchRequest, run_batch_request,
    run_batch_response,
};
use boardwire_batch::batch::{Batch, Opening};
use boardwire_batch::messages;
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::{Handlers, message_bytes, request_id};
use crate::batches::{InUse, LeaseTerms};
use crate::edge::{Call, Charge, EncodedMessage, Kind, Reply, RequestStream, Service};
use crate::secret;
use crate::status;
use crate::telemetry::timed;

pub(super) const NAME: &str = "boardwire.v1.BatchService";

pub(super) fn service(handlers: &Arc<Handlers>) -> Service<Handlers> {
    Service::new(NAME, Kind::Own, Arc::clone(handlers))
        .call("OpenBatch", Handlers::open_batch)
        .call("ResetBatch", Handlers::reset_batch)
        .call("StepBatch", Handlers::step_batch)
        .stream("RunBatch", Handlers::run_batch)
        .call("SaveBatch", Handlers::save_batch)
        .call("LoadBatch", Handlers::load_batch)
        .call("DescribeEnvironment", Handlers::describe_environment)
        .call("CloseBatch", Handlers::close_batch)
}

/// The maximum number of responses of a stream that wait to be sent while the server executes the next request.
const MAX_WAITING_RESPONSES: usize = 1;
/// The approximate size in bytes of an error response.
const ERROR_BYTES: usize = 2 << 10;

impl Handlers {
    async fn open_batch(self: Arc<Self>, call: Call, request: OpenBatchRequest) -> Result<Reply, Error> {
        let id = request_id(&request.request_id, call.caller(), "", &request)?;
        let (table, plan) = messages::plan(self.matches.tables(), &request)?;
        let config = request.config.unwrap_or_default();
        let opening = Opening {
            plan,
            environments: config.environments as usize,
            first: config.first_environment,
            seed: config.seed.unwrap_or_else(secret::seed),
            message_bytes: message_bytes(request.max_message_bytes),
        };
        let terms = LeaseTerms {
            peer: Some(call.caller().peer()).filter(|_| !request.keep),
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

    async fn reset_batch(self: Arc<Self>, call: Call, request: ResetBatchRequest) -> Result<Reply, Error> {
        step_reply(self.reset_rows(&call, &request).await?)
    }

    async fn step_batch(self: Arc<Self>, call: Call, request: StepBatchRequest) -> Result<Reply, Error> {
        step_reply(self.step_rows(&call, &request).await?)
    }

    async fn run_batch(self: Arc<Self>, call: Call, requests: RequestStream) -> Result<Reply, Error> {
        call.token().ok_or(Error::TokenMissing)?;
        let requests = requests.stream().take_until(self.matches.stopped());
        let (sender, responses) = mpsc::channel(MAX_WAITING_RESPONSES);
        let closing = sender.clone();
        let respond = async move {
            let mut requests = std::pin::pin!(requests);
            while let Some(request) = requests.next().await {
                let response = match request {
                    Ok(request) => call.budget().in_turn(self.run_request(&call, request)).await,
                    Err(error) => Err(error),
                };
                let is_last = response.is_err();
                if sender.send(response).await.is_err() || is_last {
                    return;
                }
            }
        };
        // When the caller disconnects, its pending request is canceled.
        tokio::spawn(async move {
            tokio::select! {
                result = AssertUnwindSafe(respond).catch_unwind() => {
                    if result.is_err() {
                        let what = "a step panicked".to_owned();
                        let error = Error::Internal { place: "a stream of batches".to_owned(), what };
                        let _ = closing.send(Err(error)).await;
                    }
                }
                () = closing.closed() => {}
            }
        });
        Ok(Reply::stream(ReceiverStream::new(responses)))
    }

    async fn save_batch(self: Arc<Self>, call: Call, request: SaveBatchRequest) -> Result<Reply, Error> {
        let SaveBatchRequest { batch_id, mask } = request;
        let batch: InUse<Batch> = self.batches.find(&batch_id, call.token())?;
        // Twice the size: for the snapshot, and for the message that it is copied to.
        let charge = call.budget().reserve(2 * batch.snapshot_bytes(&mask)).await?;
        let snapshot = batch.save(self.batches.key(), &mask).await?;
        Reply::message(charge, &SaveBatchResponse { snapshot })
    }

    async fn load_batch(self: Arc<Self>, call: Call, request: LoadBatchRequest) -> Result<Reply, Error> {
        let LoadBatchRequest { batch_id, snapshot, mask } = request;
        let batch: InUse<Batch> = self.batches.find(&batch_id, call.token())?;
        let charge = call.budget().reserve(batch.step_bytes(0)).await?;
        let loaded = batch.load(self.batches.key(), snapshot, &mask).await?;
        step_reply((charge, messages::step(loaded)))
    }

    async fn describe_environment(
        self: Arc<Self>,
        call: Call,
        request: DescribeEnvironmentRequest,
    ) -> Result<Reply, Error> {
        let DescribeEnvironmentRequest { batch_id, environment, seat } = request;
        let batch: InUse<Batch> = self.batches.find(&batch_id, call.token())?;
        let text = batch.text(environment, seat).await?;
        call.answer(&DescribeEnvironmentResponse { text })
    }

    async fn close_batch(self: Arc<Self>, call: Call, request: CloseBatchRequest) -> Result<Reply, Error> {
        self.batches.close::<Batch>(&request.batch_id, call.token())?;
        call.answer(&CloseBatchResponse {})
    }

    async fn step_rows(&self, call: &Call, request: &StepBatchRequest) -> Result<(Charge, Step), Error> {
        let StepBatchRequest { first, count, sequence, .. } = *request;
        let batch: InUse<Batch> = self.batches.find(&request.batch_id, call.token())?;
        let charge = call.budget().reserve(batch.step_bytes(count)).await?;
        let step = batch.step(first, count, messages::actions(request), sequence).await?;
        Ok((charge, messages::step(step)))
    }

    async fn reset_rows(&self, call: &Call, request: &ResetBatchRequest) -> Result<(Charge, Step), Error> {
        let batch: InUse<Batch> = self.batches.find(&request.batch_id, call.token())?;
        let charge = call.budget().reserve(batch.step_bytes(0)).await?;
        Ok((charge, messages::step(batch.reset(messages::reset(request), request.sequence).await?)))
    }

    /// Executes one request of a stream. An error is a response too.
    async fn run_request(&self, call: &Call, request: RunBatchRequest) -> Result<EncodedMessage, Error> {
        let rows = match &request.request {
            Some(run_batch_request::Request::Step(request)) => {
                timed("StepBatch", false, self.step_rows(call, request)).await
            }
            Some(run_batch_request::Request::Reset(request)) => {
                timed("ResetBatch", false, self.reset_rows(call, request)).await
            }
            None => Err(Error::field("request", "nothing", "one of step, reset")),
        };
        match rows {
            Ok((charge, step)) => EncodedMessage::step(charge, step, Some(request.tag)),
            Err(error) => {
                let answer = Some(run_batch_response::Answer::Error(status::message(&error)));
                let response = RunBatchResponse { tag: request.tag, answer };
                EncodedMessage::new(call.budget().reserve(ERROR_BYTES).await?, &response)
            }
        }
    }
}

fn step_reply((charge, step): (Charge, Step)) -> Result<Reply, Error> {
    Ok(Reply::One(Some(EncodedMessage::step(charge, step, None)?)))
}
