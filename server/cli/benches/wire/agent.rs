//! An agent that plays one match of Faraway against a random bot, one decision at a time.

use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use boardwire_api::v1::match_service_client::MatchServiceClient;
use boardwire_api::v1::{
    ActRequest, CreateMatchRequest, CreateMatchResponse, JoinMatchRequest, JoinMatchResponse, MatchConfig,
    Observation, ObserveRequest, PlayRequest, PlayResponse, ResetRequest, play_request, play_response,
};
use boardwire_batch::messages::players;
use boardwire_kernel::{BOT_STREAM, RngStream};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Streaming};

use crate::batch::legal_action;

/// The seed of the match and of the agent's choices.
const SEED: u64 = 7;

/// How an agent asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// A call for every decision.
    Unary,
    /// All decisions on one stream.
    Stream,
}

/// What requests go out on.
enum Line {
    Unary(MatchServiceClient<Channel>, MetadataValue<Ascii>),
    Stream(mpsc::Sender<PlayRequest>, Streaming<PlayResponse>),
}

/// An agent at its seat.
pub(crate) struct Agent {
    /// What the server answered when the match was created.
    pub(crate) created: CreateMatchResponse,
    /// What it answered when the seat was taken.
    pub(crate) joined: JoinMatchResponse,
    /// The latest observation.
    pub(crate) seen: Observation,
    line: Line,
    match_id: String,
    rng: RngStream,
}

fn with_token<T>(message: T, token: &MetadataValue<Ascii>) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("authorization", token.clone());
    request
}

impl Line {
    async fn ask(&mut self, request: play_request::Request) -> anyhow::Result<Observation> {
        use play_request::Request::{Act, Observe, Reset, Resign};
        let seen = match (self, request) {
            (Self::Unary(client, token), Act(act)) => {
                client.act(with_token(act, token)).await?.into_inner().observation
            }
            (Self::Unary(client, token), Observe(observe)) => {
                client.observe(with_token(observe, token)).await?.into_inner().observation
            }
            (Self::Unary(client, token), Reset(reset)) => {
                client.reset(with_token(reset, token)).await?.into_inner().observation
            }
            (_, Resign(_)) => bail!("nobody resigns here"),
            (Self::Stream(ask, answers), request) => {
                ask.send(PlayRequest { tag: 0, request: Some(request) }).await?;
                match answers.message().await?.and_then(|answer| answer.answer) {
                    Some(play_response::Answer::Observe(seen)) => seen.observation,
                    Some(play_response::Answer::Act(seen)) => seen.observation,
                    Some(play_response::Answer::Reset(seen)) => seen.observation,
                    other => bail!("refused on the stream: {other:?}"),
                }
            }
        };
        seen.context("an answer without an observation")
    }

    async fn observe(&mut self, match_id: &str) -> anyhow::Result<Observation> {
        let observe = ObserveRequest { match_id: match_id.to_owned(), wait: true, extras: None };
        self.ask(play_request::Request::Observe(observe)).await
    }
}

/// A connection to a server.
pub(crate) async fn connect(address: &str) -> anyhow::Result<Channel> {
    Ok(Endpoint::from_shared(address.to_owned())?.tcp_nodelay(true).connect().await?)
}

/// Creates a match of Faraway for these players.
pub(crate) async fn create(channel: Channel, seats: [&str; 2]) -> anyhow::Result<CreateMatchResponse> {
    let create = CreateMatchRequest {
        config: Some(MatchConfig {
            game: "faraway".to_owned(),
            players: players(&seats),
            ..MatchConfig::default()
        }),
        seed: Some(SEED),
        ..CreateMatchRequest::default()
    };
    Ok(MatchServiceClient::new(channel).create_match(create).await?.into_inner())
}

impl Agent {
    /// Creates a match on a connection of its own, takes its agent's seat, and looks.
    pub(crate) async fn join(address: &str, way: Way) -> anyhow::Result<Self> {
        Self::sit(connect(address).await?, way).await
    }

    /// The same on a connection that there is.
    pub(crate) async fn sit(channel: Channel, way: Way) -> anyhow::Result<Self> {
        let created = create(channel.clone(), ["agent", "random"]).await?;
        Self::take(channel, way, created, 0).await
    }

    /// Takes one of the agents' seats of a match, and looks.
    pub(crate) async fn take(
        channel: Channel,
        way: Way,
        created: CreateMatchResponse,
        seat: usize,
    ) -> anyhow::Result<Self> {
        let mut client = MatchServiceClient::new(channel);
        let code = created.invitations.get(seat).context("an invitation")?.code.clone();
        let join = JoinMatchRequest { code, ..JoinMatchRequest::default() };
        let joined = client.join_match(join).await?.into_inner();
        let match_id = created.r#match.as_ref().context("a match")?.id.clone();
        let token = format!("Bearer {}", joined.token).parse()?;
        let mut line = match way {
            Way::Unary => Line::Unary(client, token),
            Way::Stream => {
                let (ask, asked) = mpsc::channel(1);
                let answers = client.play(with_token(ReceiverStream::new(asked), &token)).await?;
                Line::Stream(ask, answers.into_inner())
            }
        };
        let seen = line.observe(&match_id).await?;
        Ok(Self { created, joined, seen, line, match_id, rng: RngStream::new(SEED, BOT_STREAM) })
    }

    /// Looks again once the seat owes a decision, or the episode is over.
    pub(crate) async fn look(&mut self) -> anyhow::Result<()> {
        self.seen = self.line.observe(&self.match_id).await?;
        Ok(())
    }

    /// Whether the episode has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.seen.terminated || self.seen.truncated
    }

    /// Makes a random decision, and waits until the next one is due; gives the time its round trip took.
    pub(crate) async fn act(&mut self) -> anyhow::Result<Duration> {
        self.decide(true).await
    }

    /// Makes a random decision, and may wait until the next one is due; gives the time its round trip took.
    pub(crate) async fn decide(&mut self, wait: bool) -> anyhow::Result<Duration> {
        let act = ActRequest {
            match_id: self.match_id.clone(),
            episode: self.seen.episode,
            decision: self.seen.decision,
            action: legal_action(&self.seen.mask, &mut self.rng).into(),
            wait,
            ..ActRequest::default()
        };
        let start = Instant::now();
        self.seen = self.line.ask(play_request::Request::Act(act)).await?;
        Ok(start.elapsed())
    }

    /// Goes on to the next episode.
    pub(crate) async fn reset(&mut self) -> anyhow::Result<()> {
        let reset = ResetRequest { match_id: self.match_id.clone(), wait: true, ..ResetRequest::default() };
        self.seen = self.line.ask(play_request::Request::Reset(reset)).await?;
        Ok(())
    }
}
