//! The batch service of the [echo server](crate::echo).
//!
//! When a client opens a batch, the echo server opens the same batch on the real server. It steps that batch with random
//! actions and records the responses. It answers each step with the next recorded rows, whatever the actions.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use boardwire_api::MAX_MESSAGE_BYTES;
use boardwire_api::v1::batch_service_client::BatchServiceClient;
use boardwire_api::v1::batch_service_server::{BatchService, BatchServiceServer};
use boardwire_api::v1::{
    CloseBatchRequest, CloseBatchResponse, DescribeEnvironmentRequest, DescribeEnvironmentResponse,
    LoadBatchRequest, LoadBatchResponse, OpenBatchRequest, OpenBatchResponse, ResetBatchRequest,
    ResetBatchResponse, RunBatchRequest, RunBatchResponse, SaveBatchRequest, SaveBatchResponse, Step,
    StepBatchRequest, StepBatchResponse, run_batch_request, run_batch_response,
};
use boardwire_kernel::{BOT_STREAM, RngStream};
use bytes::Bytes;
use tokio_stream::{Stream, StreamExt as _};
use tonic::{Request, Response, Status, Streaming};

use crate::agent::with_token;
use crate::echo::RpcResult;

/// The number of recorded steps.
const STEPS: usize = 48;

/// Returns the batch service of the echo server, which records responses of the server `real`.
pub(crate) fn service(real: &str) -> BatchServiceServer<EchoBatches> {
    let echo = EchoBatches { real: real.to_owned(), recordings: Arc::default() };
    BatchServiceServer::new(echo)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES)
}

/// The real server's responses for one batch.
struct BatchRecording {
    steps: Vec<Step>,
    environments: usize,
    /// The number of rows sent so far.
    sent_rows: AtomicUsize,
}

/// Returns a random legal action of a mask, or 0 if the mask is empty.
pub(crate) fn legal_action(mask: &[u8], rng: &mut RngStream) -> u8 {
    let mut skip = match mask.iter().map(|byte| byte.count_ones()).sum() {
        0 => return 0,
        legal => rng.below(legal),
    };
    for (at, &byte) in (0..).zip(mask) {
        if skip < byte.count_ones() {
            let rest = (0..skip).fold(byte, |rest, _| rest & (rest - 1));
            return 8 * at + u8::try_from(rest.trailing_zeros()).unwrap_or(0);
        }
        skip -= byte.count_ones();
    }
    0
}

impl BatchRecording {
    async fn record(real: &str, open: OpenBatchRequest) -> anyhow::Result<(OpenBatchResponse, Self)> {
        let client = BatchServiceClient::connect(real.to_owned()).await?;
        let mut client = client.max_decoding_message_size(MAX_MESSAGE_BYTES);
        let opened = client.open_batch(open).await?.into_inner();
        let batch = opened.batch.as_ref().context("a batch")?;
        let bearer: tonic::metadata::MetadataValue<_> = format!("Bearer {}", opened.token).parse()?;
        let batch_id = || batch.id.clone();
        let reset = ResetBatchRequest { batch_id: batch_id(), ..ResetBatchRequest::default() };
        let reset = with_token(reset, &bearer);
        let mut latest = client.reset_batch(reset).await?.into_inner().step.context("rows")?;
        let (mut steps, mut rng) = (vec![], RngStream::new(0, BOT_STREAM));
        for _ in 0..STEPS {
            let masks = latest.mask.chunks_exact(batch.mask_bytes as usize);
            let actions: Vec<u8> = masks.map(|mask| legal_action(mask, &mut rng)).collect();
            let step =
                StepBatchRequest { batch_id: batch_id(), actions: actions.into(), ..Default::default() };
            latest = client.step_batch(with_token(step, &bearer)).await?.into_inner().step.context("rows")?;
            steps.push(latest.clone());
        }
        let config = batch.config.as_ref().context("a batch without a configuration")?;
        let environments = config.environments as usize;
        Ok((opened, Self { steps, environments, sent_rows: AtomicUsize::new(0) }))
    }

    /// Returns the next recorded rows of these environments. A `count` of 0 means all environments.
    fn next(&self, first: u32, count: u32) -> Step {
        let from = first as usize;
        let to = if count == 0 { self.environments } else { from + count as usize };
        let sent_rows = self.sent_rows.fetch_add(to - from, Ordering::Relaxed);
        let step = &self.steps[sent_rows / self.environments % self.steps.len()];
        let rows = |column: &Bytes| {
            let width = column.len() / self.environments;
            column.slice(from * width..to * width)
        };
        Step {
            first,
            seat: rows(&step.seat),
            flags: rows(&step.flags),
            ply: rows(&step.ply),
            reward: rows(&step.reward),
            mask: rows(&step.mask),
            episode: rows(&step.episode),
            view: rows(&step.view),
            ..step.clone()
        }
    }
}

/// Recordings by batch id.
type Recordings = Mutex<HashMap<String, Arc<BatchRecording>>>;

pub(crate) struct EchoBatches {
    real: String,
    recordings: Arc<Recordings>,
}

fn find(recordings: &Recordings, id: &str) -> Result<Arc<BatchRecording>, Status> {
    let recordings = recordings.lock().unwrap_or_else(PoisonError::into_inner);
    recordings.get(id).cloned().ok_or_else(|| Status::not_found("no such batch"))
}

fn respond(recordings: &Recordings, request: &RunBatchRequest) -> Result<RunBatchResponse, Status> {
    let step = match &request.request {
        Some(run_batch_request::Request::Step(step)) => {
            find(recordings, &step.batch_id)?.next(step.first, step.count)
        }
        Some(run_batch_request::Request::Reset(reset)) => find(recordings, &reset.batch_id)?.next(0, 0),
        None => return Err(Status::invalid_argument("an empty request")),
    };
    Ok(RunBatchResponse { tag: request.tag, answer: Some(run_batch_response::Answer::Step(step)) })
}

#[tonic::async_trait]
impl BatchService for EchoBatches {
    type RunBatchStream = Pin<Box<dyn Stream<Item = Result<RunBatchResponse, Status>> + Send>>;

    async fn open_batch(&self, request: Request<OpenBatchRequest>) -> RpcResult<OpenBatchResponse> {
        let recorded = BatchRecording::record(&self.real, request.into_inner()).await;
        let (opened, recording) = recorded.map_err(|problem| Status::internal(format!("{problem:#}")))?;
        let id = opened.batch.as_ref().map(|batch| batch.id.clone()).unwrap_or_default();
        self.recordings.lock().unwrap_or_else(PoisonError::into_inner).insert(id, Arc::new(recording));
        Ok(Response::new(opened))
    }

    async fn reset_batch(&self, request: Request<ResetBatchRequest>) -> RpcResult<ResetBatchResponse> {
        let step = find(&self.recordings, &request.get_ref().batch_id)?.next(0, 0);
        Ok(Response::new(ResetBatchResponse { step: Some(step) }))
    }

    async fn step_batch(&self, request: Request<StepBatchRequest>) -> RpcResult<StepBatchResponse> {
        let StepBatchRequest { batch_id, first, count, .. } = request.get_ref();
        let step = find(&self.recordings, batch_id)?.next(*first, *count);
        Ok(Response::new(StepBatchResponse { step: Some(step) }))
    }

    async fn run_batch(
        &self,
        request: Request<Streaming<RunBatchRequest>>,
    ) -> RpcResult<Self::RunBatchStream> {
        let recordings = Arc::clone(&self.recordings);
        let responses = request.into_inner().map(move |request| respond(&recordings, &request?));
        Ok(Response::new(Box::pin(responses)))
    }

    async fn close_batch(&self, request: Request<CloseBatchRequest>) -> RpcResult<CloseBatchResponse> {
        let mut recordings = self.recordings.lock().unwrap_or_else(PoisonError::into_inner);
        recordings.remove(&request.get_ref().batch_id);
        Ok(Response::new(CloseBatchResponse {}))
    }

    async fn save_batch(&self, _: Request<SaveBatchRequest>) -> RpcResult<SaveBatchResponse> {
        Err(Status::unimplemented("an echo server saves nothing"))
    }

    async fn describe_environment(
        &self,
        _: Request<DescribeEnvironmentRequest>,
    ) -> RpcResult<DescribeEnvironmentResponse> {
        Err(Status::unimplemented("an echo server describes nothing"))
    }

    async fn load_batch(&self, _: Request<LoadBatchRequest>) -> RpcResult<LoadBatchResponse> {
        Err(Status::unimplemented("an echo server loads nothing"))
    }
}
