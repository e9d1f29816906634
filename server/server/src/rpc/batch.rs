//! The batch service: batches of environments, each for one trusted owner.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use boardwire_api::Error;
use boardwire_api::v1::{
    CloseBatchRequest, CloseBatchResponse, DescribeEnvironmentRequest, LoadBatchRequest, OpenBatchRequest,
    OpenBatchResponse, ResetBatchRequest, RunBatchRequest, RunBatchResponse, SaveBatchRequest,
    SaveBatchResponse, Step, StepBatchRequest, run_batch_request, run_batch_response,
};
use boardwire_batch::batch::{Batch, BatchOptions};
use boardwire_batch::messages;
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::{Handlers, message_bytes, request_id};
use crate::batches::{LeaseGuard, LeaseTerms};
use crate::edge::{Call, EncodedMessage, MemoryCharge, Reply, RequestStream, Service, ServiceKind};
use crate::secret;
use crate::status;
use crate::telemetry::timed;

pub(super) const NAME: &str = "boardwire.v1.BatchService";

pub(super) fn service(handlers: &Arc<Handlers>) -> Service<Handlers> {
    Service::new(NAME, ServiceKind::Boardwire, Arc::clone(handlers))
        .unary("OpenBatch", Handlers::open_batch)
        .unary("ResetBatch", Handlers::reset_batch)
        .unary("StepBatch", Handlers::step_batch)
        .bidi_streaming("RunBatch", Handlers::run_batch)
        .unary("SaveBatch", Handlers::save_batch)
        .unary("LoadBatch", Handlers::load_batch)
        .unary("DescribeEnvironment", Handlers::describe_environment)
        .unary("CloseBatch", Handlers::close_batch)
}

/// The maximum number of responses of a stream that wait to be sent while the server executes the next request.
const MAX_WAITING_RESPONSES: usize = 1;
/// The approximate size in bytes of an error response.
const ERROR_BYTES: usize = 2 << 10;

impl Handlers {
    async fn open_batch(self: Arc<Self>, call: Call, request: OpenBatchRequest) -> Result<Reply, Error> {
        let id = request_id(&request.request_id, call.caller(), "", &request)?;
        let (table, environment_config) = messages::environment_config(self.matches.tables(), &request)?;
        let config = request.config.unwrap_or_default();
        let options = BatchOptions {
            config: environment_config,
            environments: config.environments as usize,
            first: config.first_environment,
            seed: config.seed.unwrap_or_else(secret::seed),
            message_bytes: message_bytes(request.max_message_bytes),
        };
        let terms = LeaseTerms {
            connection: Some(call.caller().connection_id()).filter(|_| !request.keep),
            origin: call.caller().origin(),
            request: id,
        };
        options.check(&table)?;
        let (environments, token) = (options.environments, secret::random_hex());
        let open = |group| async move { Batch::open(secret::random_hex(), table, options, &group).await };
        let (batch, token) = self.batches.create_lease(terms, environments, token, open).await?;
        tracing::info!(
            batch_id = batch.id(),
            game = config.game,
            line_ups = config.line_ups.len(),
            environments = config.environments,
            "batch opened"
        );
        call.reply(&OpenBatchResponse { batch: Some(messages::batch(&batch)), token })
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
                    Ok(request) => call.budget().with_request_permit(self.run_request(&call, request)).await,
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
                        let problem = "a request of RunBatch panicked".to_owned();
                        let error = Error::Internal { place: "a stream of batches".to_owned(), problem };
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
        let batch: LeaseGuard<Batch> = self.batches.find(&batch_id, call.token())?;
        // Twice the size: for the snapshot, and for the message that it is copied to.
        let charge = call.budget().reserve(2 * batch.snapshot_bytes(&mask)).await?;
        let snapshot = batch.save(self.batches.key(), &mask).await?;
        Reply::message(charge, &SaveBatchResponse { snapshot })
    }

    async fn load_batch(self: Arc<Self>, call: Call, request: LoadBatchRequest) -> Result<Reply, Error> {
        let LoadBatchRequest { batch_id, snapshot, mask } = request;
        let batch: LeaseGuard<Batch> = self.batches.find(&batch_id, call.token())?;
        let charge = call.budget().reserve(batch.step_bytes(0)).await?;
        let loaded = batch.load(self.batches.key(), snapshot, &mask).await?;
        step_reply((charge, messages::step(loaded)))
    }

    async fn describe_environment(
        self: Arc<Self>,
        call: Call,
        request: DescribeEnvironmentRequest,
    ) -> Result<Reply, Error> {
        let DescribeEnvironmentRequest { batch_id, environment, seat, label_seed } = request;
        let batch: LeaseGuard<Batch> = self.batches.find(&batch_id, call.token())?;
        call.reply(&batch.describe(environment, seat, label_seed).await?)
    }

    async fn close_batch(self: Arc<Self>, call: Call, request: CloseBatchRequest) -> Result<Reply, Error> {
        self.batches.close::<Batch>(&request.batch_id, call.token())?;
        call.reply(&CloseBatchResponse {})
    }

    async fn step_rows(
        &self,
        call: &Call,
        request: &StepBatchRequest,
    ) -> Result<(MemoryCharge, Step), Error> {
        let StepBatchRequest { first, count, sequence, .. } = *request;
        let batch: LeaseGuard<Batch> = self.batches.find(&request.batch_id, call.token())?;
        let charge = call.budget().reserve(batch.step_bytes(count)).await?;
        let step = batch.step(first, count, messages::actions(request), sequence).await?;
        Ok((charge, messages::step(step)))
    }

    async fn reset_rows(
        &self,
        call: &Call,
        request: &ResetBatchRequest,
    ) -> Result<(MemoryCharge, Step), Error> {
        let batch: LeaseGuard<Batch> = self.batches.find(&request.batch_id, call.token())?;
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
            None => Err(Error::field("request", "no value", "one of step, reset")),
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

fn step_reply((charge, step): (MemoryCharge, Step)) -> Result<Reply, Error> {
    Ok(Reply::Message(Some(EncodedMessage::step(charge, step, None)?)))
}
