//! A Boardwire agent: joins a match with an invitation's code, and plays until the host closes the match.
//!
//! To write your own agent, replace [`choose`].

mod wire;

use std::convert::Infallible;

use anyhow::Context as _;
use boardwire_api::client::{Bearer, connect, legal_actions, reason, refusal};
use boardwire_api::tonic::Status;
use boardwire_api::tonic::service::interceptor::InterceptedService;
use boardwire_api::tonic::transport::Channel;
use boardwire_api::v1::catalog_service_client::CatalogServiceClient;
use boardwire_api::v1::match_service_client::MatchServiceClient;
use boardwire_api::v1::play_request::Request as Ask;
use boardwire_api::v1::play_response::Answer;
use boardwire_api::v1::{ActRequest, GameSpec, GetGameRequest, JoinMatchRequest, Observation};
use boardwire_api::v1::{ObserveRequest, Outcome, PlayRequest, ResetRequest};

use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use uuid::Uuid;

use wire::{Patience, insist, looks_again, words};

/// Chooses a legal action. A trained policy also uses `seen.view`; `GameSpec::fields` has its layout. Do not use
/// `seen.ply`: simultaneous choices arrive in any order, so the same game can have different plies.
fn choose(legal: &[u32], seen: &Observation) -> u32 {
    legal[seen.decision as usize % legal.len()]
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (address, code, transcript) = match words.as_slice() {
        [address, code] => (address, code, false),
        [address, code, flag] if flag == "--transcript" => (address, code, true),
        _ => anyhow::bail!(
            "usage: agent ADDRESS CODE [--transcript], where ADDRESS is host:port or unix:/path"
        ),
    };
    let played = async { Agent::join(connect(address)?, code, transcript).await?.play().await };
    played.await.map_err(|error: anyhow::Error| match error.downcast_ref::<Status>() {
        Some(refused) => anyhow::anyhow!("{} {}", refused.message(), reason(refused).unwrap_or_default()),
        None => error,
    })
}

/// An agent with a seat in a match.
struct Agent {
    seat: MatchServiceClient<InterceptedService<Channel, Bearer>>,
    match_id: String,
    spec: GameSpec,
    transcript: bool,
}

impl Agent {
    /// Joins the match. The request id makes the join idempotent: it can be retried after a lost response.
    async fn join(channel: Channel, code: &str, transcript: bool) -> anyhow::Result<Self> {
        let join = JoinMatchRequest {
            code: code.to_owned(),
            request_id: Uuid::new_v4().to_string(),
            ..JoinMatchRequest::default()
        };
        let matches = MatchServiceClient::new(channel.clone());
        let joined = insist(&join, async |request| matches.clone().join_match(request).await).await?;
        let played = joined.r#match.context("a seat without a match")?;
        let config = played.config.context("a match without a configuration")?;
        let seats = u32::try_from(config.players.len())?;
        let table = GetGameRequest { game: config.game, seats, options: config.options };
        let catalog = CatalogServiceClient::new(channel.clone());
        let game = insist(&table, async |request| catalog.clone().get_game(request).await).await?;
        let seat = MatchServiceClient::with_interceptor(channel, Bearer::new(&joined.token)?);
        Ok(Self { seat, match_id: played.id, spec: game.spec.context("no table")?, transcript })
    }

    /// Plays until the match is closed. If a stream breaks, sends the unanswered request again on a new stream.
    async fn play(mut self) -> anyhow::Result<()> {
        let mut due = self.observe();
        let mut patience = Patience::default();
        loop {
            let Err(status) = self.stream(&mut due, &mut patience).await;
            if reason(&status).as_deref() == Some("MATCH_CLOSED") {
                return Ok(());
            }
            patience.wait(status).await?;
        }
    }

    /// Sends requests and reads responses on one stream until it breaks or a request is refused. `due` is the next one.
    async fn stream(&mut self, due: &mut Ask, patience: &mut Patience) -> Result<Infallible, Status> {
        let (requests, sent) = mpsc::channel(1);
        let ask = |request| PlayRequest { tag: 0, request: Some(request) };
        // Send the first request before the server has confirmed the stream.
        let _ = requests.send(ask(due.clone())).await;
        let mut answers = self.seat.play(ReceiverStream::new(sent)).await?.into_inner();
        while let Some(answer) = answers.message().await? {
            *due = self.next(due, answer.answer)?;
            *patience = Patience::default();
            // If the stream is lost, the next read returns the reason.
            let _ = requests.send(ask(due.clone())).await;
        }
        Err(Status::unavailable("the server has ended the stream"))
    }

    /// Returns a request to observe. With `wait`, the response comes when a decision is due or the episode is over.
    fn observe(&self) -> Ask {
        Ask::Observe(ObserveRequest { match_id: self.match_id.clone(), wait: true, extras: None })
    }

    /// Returns the request after a response: for the decision that is due, or for the next episode. Both requests are
    /// idempotent, since they name their decision or episode.
    fn next(&self, asked: &Ask, answer: Option<Answer>) -> Result<Ask, Status> {
        let seen = match answer {
            Some(Answer::Observe(answer)) => answer.observation,
            Some(Answer::Act(answer)) => answer.observation,
            Some(Answer::Reset(answer)) => answer.observation,
            Some(Answer::Error(error)) => {
                let refused = refusal(&error);
                return if looks_again(&refused) { Ok(self.observe()) } else { Err(refused) };
            }
            Some(Answer::Resign(_)) | None => None,
        };
        let seen = seen.ok_or_else(|| Status::internal("an answer without an observation"))?;
        if let Ask::Act(ActRequest { episode, decision, action, .. }) = *asked {
            let label = &self.spec.actions[action as usize].label;
            self.log(&format!("{episode} {decision} {action} {label}"));
        }
        let (match_id, episode) = (self.match_id.clone(), seen.episode);
        if seen.terminated || seen.truncated {
            let Outcome { scores, ranks, .. } = seen.outcome.unwrap_or_default();
            self.log(&format!("{episode} over scores {} ranks {}", words(&scores), words(&ranks)));
            return Ok(Ask::Reset(ResetRequest {
                match_id,
                episode: Some(episode),
                wait: true,
                ..Default::default()
            }));
        }
        let legal: Vec<u32> = legal_actions(&seen.mask).collect();
        let (decision, action) = (seen.decision, choose(&legal, &seen));
        Ok(Ask::Act(ActRequest { match_id, episode, decision, action, wait: true, ..ActRequest::default() }))
    }

    fn log(&self, line: &str) {
        if self.transcript {
            println!("{line}");
        }
    }
}
