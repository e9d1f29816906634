//! A Boardwire agent: joins a match with an invitation's code, and plays until the match is closed.
//!
//! To write your own agent, replace [`choose`].

mod wire;

use std::convert::Infallible;
use std::process::ExitCode;

use anyhow::Context as _;
use boardwire_api::client::{Tokens, connect, error_reason, legal_actions, stream_error_status};
use boardwire_api::tonic::Status;
use boardwire_api::tonic::service::interceptor::InterceptedService;
use boardwire_api::tonic::transport::Channel;
use boardwire_api::v1::match_service_client::MatchServiceClient;
use boardwire_api::v1::play_request::Request as PlayRequestKind;
use boardwire_api::v1::play_response::Answer;
use boardwire_api::v1::{ActRequest, GameSpec, JoinMatchRequest, Observation};
use boardwire_api::v1::{ObserveRequest, Outcome, PlayRequest, ResetRequest};

use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use uuid::Uuid;

use wire::{Backoff, call_with_retry, join_with_spaces, needs_observe, think_time};

/// Chooses a legal action. A trained policy also uses `observation.view`; `GameSpec::fields` has its layout. Do not use
/// `observation.ply`: simultaneous choices arrive in any order, so the same game can have different plies.
fn choose(legal: &[u32], observation: &Observation) -> u32 {
    legal[observation.decision as usize % legal.len()]
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Without the backtrace that `anyhow` adds to the result of `main`.
            eprintln!("agent: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (address, code, transcript) = match arguments.as_slice() {
        [address, code] => (address, code, false),
        [address, code, flag] if flag == "--transcript" => (address, code, true),
        _ => anyhow::bail!(
            "usage: agent ADDRESS CODE [--transcript], where ADDRESS is host:port or unix:/path"
        ),
    };
    let ca = std::env::var_os("BOARDWIRE_CA").map(std::fs::read).transpose().context("BOARDWIRE_CA")?;
    let tokens = Tokens::new(std::env::var("BOARDWIRE_ACCOUNT_TOKEN").ok().as_deref())?;
    let channel = connect(address, ca.as_deref())?;
    let result = async { Agent::join(channel, tokens, code, transcript).await?.play().await };
    result.await.map_err(|error: anyhow::Error| match error.downcast_ref::<Status>() {
        Some(status) => anyhow::anyhow!("{} {}", status.message(), error_reason(status).unwrap_or_default()),
        None => error,
    })
}

/// An agent with a seat in a match.
struct Agent {
    client: MatchServiceClient<InterceptedService<Channel, Tokens>>,
    match_id: String,
    spec: GameSpec,
    transcript: bool,
}

impl Agent {
    /// Joins the match. The request id makes the join idempotent: it can be retried after a lost response.
    async fn join(channel: Channel, tokens: Tokens, code: &str, transcript: bool) -> anyhow::Result<Self> {
        let join = JoinMatchRequest {
            code: code.to_owned(),
            request_id: Uuid::new_v4().to_string(),
            with_spec: true,
            ..JoinMatchRequest::default()
        };
        let matches = MatchServiceClient::with_interceptor(channel.clone(), tokens.clone());
        let joined =
            call_with_retry(&join, async |request| matches.clone().join_match(request).await).await?;
        let client = MatchServiceClient::with_interceptor(channel, tokens.with_bearer(&joined.token)?);
        Ok(Self {
            client,
            match_id: joined.r#match.context("the join response has no match")?.id,
            spec: joined.spec.context("the join response has no specification")?,
            transcript,
        })
    }

    /// Plays until the match is closed. If a stream breaks, sends the unanswered request again on a new stream.
    async fn play(mut self) -> anyhow::Result<()> {
        let mut next_request = self.observe();
        let mut backoff = Backoff::default();
        loop {
            let Err(status) = self.stream(&mut next_request, &mut backoff).await;
            if error_reason(&status).as_deref() == Some("MATCH_CLOSED") {
                return Ok(());
            }
            backoff.wait(status).await?;
        }
    }

    /// Sends requests and reads responses on one stream until it breaks or a request is refused. Sends `next_request`
    /// first, and replaces it after each response.
    async fn stream(
        &mut self,
        next_request: &mut PlayRequestKind,
        backoff: &mut Backoff,
    ) -> Result<Infallible, Status> {
        let (requests, receiver) = mpsc::channel(1);
        let wrap = |request| PlayRequest { tag: 0, request: Some(request) };
        // Send the first request before the server has confirmed the stream.
        let _ = requests.send(wrap(next_request.clone())).await;
        let mut responses = self.client.play(ReceiverStream::new(receiver)).await?.into_inner();
        while let Some(response) = responses.message().await? {
            *next_request = self.next(next_request, response.answer)?;
            *backoff = Backoff::default();
            if let PlayRequestKind::Act(_) = next_request {
                tokio::time::sleep(think_time()).await;
            }
            // If the stream is lost, the next read returns the reason.
            let _ = requests.send(wrap(next_request.clone())).await;
        }
        Err(Status::unavailable("the server has ended the stream"))
    }

    /// Returns a request to observe. With `wait`, the response comes when a decision is due or the episode is over.
    fn observe(&self) -> PlayRequestKind {
        PlayRequestKind::Observe(ObserveRequest { match_id: self.match_id.clone(), wait: true, extras: None })
    }

    /// Returns the request after a response: for the decision that is due, or for the next episode. Both requests are
    /// idempotent, since they name their decision or episode.
    fn next(&self, sent: &PlayRequestKind, answer: Option<Answer>) -> Result<PlayRequestKind, Status> {
        let observation = match answer {
            Some(Answer::Observe(response)) => response.observation,
            Some(Answer::Act(response)) => response.observation,
            Some(Answer::Reset(response)) => response.observation,
            Some(Answer::Error(error)) => {
                let status = stream_error_status(&error);
                return if needs_observe(&status) { Ok(self.observe()) } else { Err(status) };
            }
            Some(Answer::Resign(_)) | None => None,
        };
        let observation = observation.ok_or_else(|| Status::internal("the response has no observation"))?;
        if let PlayRequestKind::Act(ActRequest { episode, decision, action, .. }) = *sent {
            let label = &self.spec.actions[action as usize].label;
            self.log(&format!("{episode} {decision} {action} {label}"));
        }
        let (match_id, episode) = (self.match_id.clone(), observation.episode);
        if observation.terminated || observation.truncated {
            let Outcome { scores, ranks, .. } = observation.outcome.unwrap_or_default();
            self.log(&format!(
                "{episode} over scores {} ranks {}",
                join_with_spaces(&scores),
                join_with_spaces(&ranks)
            ));
            return Ok(PlayRequestKind::Reset(ResetRequest {
                match_id,
                episode: Some(episode),
                wait: true,
                ..Default::default()
            }));
        }
        let legal: Vec<u32> = legal_actions(&observation.mask).collect();
        let (decision, action) = (observation.decision, choose(&legal, &observation));
        Ok(PlayRequestKind::Act(ActRequest {
            match_id,
            episode,
            decision,
            action,
            wait: true,
            ..ActRequest::default()
        }))
    }

    fn log(&self, line: &str) {
        if self.transcript {
            println!("{line}");
        }
    }
}
