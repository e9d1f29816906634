//! The batches of the [echo server](crate::echo).
//!
//! When one is opened, the same batch is opened at the real server and stepped at random for a while. What the
//! real server answered is the tape; a step is answered with the next rows of it, whatever the actions were.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use boardwire_api::MAX_MESSAGE_BYTES;
use boardwire_api::v1::batch_service_client::BatchServiceClient;
use boardwire_api::v1::batch_service_server::{BatchService, BatchServiceServer};
use boardwire_api::v1::{
    CloseBatchRequest, CloseBatchResponse, LoadBatchRequest, LoadBatchResponse, OpenBatchRequest,
    OpenBatchResponse, ResetBatchRequest, ResetBatchResponse, RunBatchRequest, RunBatchResponse,
    SaveBatchRequest, SaveBatchResponse, Step, StepBatchRequest, StepBatchResponse, run_batch_request,
    run_batch_response,
};
use boardwire_kernel::{BOT_STREAM, RngStream};
use bytes::Bytes;
use tokio_stream::{Stream, StreamExt as _};
use tonic::{Request, Response, Status, Streaming};

/// How many steps a tape holds.
const STEPS: usize = 48;

/// The batch service of the echo server, whose tapes are recorded at the server `real`.
pub(crate) fn service(real: &str) -> BatchServiceServer<Echo> {
    let echo = Echo { real: real.to_owned(), tapes: Arc::default() };
    BatchServiceServer::new(echo)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES)
}

/// What the real server answered to the steps of one batch.
struct Tape {
    steps: Vec<Step>,
    environments: usize,
    /// The rows that have been given, of all steps together.
    given: AtomicUsize,
}

/// A random one of the actions in a mask; 0 when there is none.
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

impl Tape {
    async fn record(real: &str, asked: OpenBatchRequest) -> anyhow::Result<(OpenBatchResponse, Self)> {
        let client = BatchServiceClient::connect(real.to_owned()).await?;
        let mut client = client.max_decoding_message_size(MAX_MESSAGE_BYTES);
        let opened = client.open_batch(asked).await?.into_inner();
        let batch = opened.batch.as_ref().context("a batch")?;
        let bearer: tonic::metadata::MetadataValue<_> = format!("Bearer {}", opened.token).parse()?;
        let with_token = |id: &str, actions: Option<Bytes>| {
            let mut request = Request::new((id.to_owned(), actions));
            request.metadata_mut().insert("authorization", bearer.clone());
            request
        };
        let first = with_token(&batch.id, None)
            .map(|(batch_id, _)| ResetBatchRequest { batch_id, ..ResetBatchRequest::default() });
        let mut shown = client.reset_batch(first).await?.into_inner().step.context("rows")?;
        let (mut steps, mut rng) = (vec![], RngStream::new(0, BOT_STREAM));
        for _ in 0..STEPS {
            let masks = shown.mask.chunks_exact(batch.mask_bytes as usize);
            let actions: Vec<u8> = masks.map(|mask| legal_action(mask, &mut rng)).collect();
            let next =
                with_token(&batch.id, Some(actions.into())).map(|(batch_id, actions)| StepBatchRequest {
                    batch_id,
                    actions: actions.unwrap_or_default(),
                    ..StepBatchRequest::default()
                });
            shown = client.step_batch(next).await?.into_inner().step.context("rows")?;
            steps.push(shown.clone());
        }
        let environments =
            batch.config.as_ref().context("a batch without a configuration")?.environments as usize;
        Ok((opened, Self { steps, environments, given: AtomicUsize::new(0) }))
    }

    /// The next rows of these environments.
    fn next(&self, first: u32, count: u32) -> Step {
        let from = first as usize;
        let to = if count == 0 { self.environments } else { from + count as usize };
        let given = self.given.fetch_add(to - from, Ordering::Relaxed);
        let step = &self.steps[given / self.environments % self.steps.len()];
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

/// Answers from tapes.
pub(crate) struct Echo {
    real: String,
    tapes: Arc<Mutex<HashMap<String, Arc<Tape>>>>,
}

type Answer<T> = Result<Response<T>, Status>;

fn find(tapes: &Mutex<HashMap<String, Arc<Tape>>>, id: &str) -> Result<Arc<Tape>, Status> {
    let tapes = tapes.lock().unwrap_or_else(PoisonError::into_inner);
    tapes.get(id).cloned().ok_or_else(|| Status::not_found("no such tape"))
}

fn answer(
    tapes: &Mutex<HashMap<String, Arc<Tape>>>,
    asked: &RunBatchRequest,
) -> Result<RunBatchResponse, Status> {
    let step = match &asked.request {
        Some(run_batch_request::Request::Step(step)) => {
            find(tapes, &step.batch_id)?.next(step.first, step.count)
        }
        Some(run_batch_request::Request::Reset(reset)) => find(tapes, &reset.batch_id)?.next(0, 0),
        None => return Err(Status::invalid_argument("nothing asked")),
    };
    Ok(RunBatchResponse { tag: asked.tag, answer: Some(run_batch_response::Answer::Step(step)) })
}

#[tonic::async_trait]
impl BatchService for Echo {
    type RunBatchStream = Pin<Box<dyn Stream<Item = Result<RunBatchResponse, Status>> + Send>>;

    async fn open_batch(&self, request: Request<OpenBatchRequest>) -> Answer<OpenBatchResponse> {
        let recorded = Tape::record(&self.real, request.into_inner()).await;
        let (opened, tape) = recorded.map_err(|problem| Status::internal(format!("{problem:#}")))?;
        let id = opened.batch.as_ref().map(|batch| batch.id.clone()).unwrap_or_default();
        self.tapes.lock().unwrap_or_else(PoisonError::into_inner).insert(id, Arc::new(tape));
        Ok(Response::new(opened))
    }

    async fn reset_batch(&self, request: Request<ResetBatchRequest>) -> Answer<ResetBatchResponse> {
        let step = find(&self.tapes, &request.get_ref().batch_id)?.next(0, 0);
        Ok(Response::new(ResetBatchResponse { step: Some(step) }))
    }

    async fn step_batch(&self, request: Request<StepBatchRequest>) -> Answer<StepBatchResponse> {
        let StepBatchRequest { batch_id, first, count, .. } = request.get_ref();
        let step = find(&self.tapes, batch_id)?.next(*first, *count);
        Ok(Response::new(StepBatchResponse { step: Some(step) }))
    }

    async fn run_batch(&self, request: Request<Streaming<RunBatchRequest>>) -> Answer<Self::RunBatchStream> {
        let tapes = Arc::clone(&self.tapes);
        let answers = request.into_inner().map(move |asked| answer(&tapes, &asked?));
        Ok(Response::new(Box::pin(answers)))
    }

    async fn close_batch(&self, request: Request<CloseBatchRequest>) -> Answer<CloseBatchResponse> {
        let mut tapes = self.tapes.lock().unwrap_or_else(PoisonError::into_inner);
        tapes.remove(&request.get_ref().batch_id);
        Ok(Response::new(CloseBatchResponse {}))
    }

    async fn save_batch(&self, _: Request<SaveBatchRequest>) -> Answer<SaveBatchResponse> {
        Err(Status::unimplemented("an echo server saves nothing"))
    }

    async fn load_batch(&self, _: Request<LoadBatchRequest>) -> Answer<LoadBatchResponse> {
        Err(Status::unimplemented("an echo server loads nothing"))
    }
}
