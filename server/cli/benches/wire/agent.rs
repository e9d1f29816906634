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

/// The seed of the match and of the agent's random actions.
const SEED: u64 = 7;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    /// One call per decision.
    Unary,
    /// All decisions on one stream.
    Stream,
}

enum Connection {
    Unary(MatchServiceClient<Channel>, MetadataValue<Ascii>),
    Stream(mpsc::Sender<PlayRequest>, Streaming<PlayResponse>),
}

/// An agent that has joined a match.
pub(crate) struct BenchAgent {
    pub(crate) created: CreateMatchResponse,
    pub(crate) joined: JoinMatchResponse,
    pub(crate) observation: Observation,
    connection: Connection,
    match_id: String,
    rng: RngStream,
}

pub(crate) fn with_token<T>(message: T, token: &MetadataValue<Ascii>) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("authorization", token.clone());
    request
}

impl Connection {
    async fn send(&mut self, request: play_request::Request) -> anyhow::Result<Observation> {
        use play_request::Request::{Act, Observe, Reset, Resign};
        let observation = match (self, request) {
            (Self::Unary(client, token), Act(act)) => {
                client.act(with_token(act, token)).await?.into_inner().observation
            }
            (Self::Unary(client, token), Observe(observe)) => {
                client.observe(with_token(observe, token)).await?.into_inner().observation
            }
            (Self::Unary(client, token), Reset(reset)) => {
                client.reset(with_token(reset, token)).await?.into_inner().observation
            }
            (_, Resign(_)) => bail!("the agent never resigns"),
            (Self::Stream(requests, responses), request) => {
                requests.send(PlayRequest { tag: 0, request: Some(request) }).await?;
                match responses.message().await?.and_then(|response| response.answer) {
                    Some(play_response::Answer::Observe(response)) => response.observation,
                    Some(play_response::Answer::Act(response)) => response.observation,
                    Some(play_response::Answer::Reset(response)) => response.observation,
                    other => bail!("an error on the stream: {other:?}"),
                }
            }
        };
        observation.context("a response without an observation")
    }

    async fn observe(&mut self, match_id: &str) -> anyhow::Result<Observation> {
        let observe = ObserveRequest { match_id: match_id.to_owned(), wait: true, extras: None };
        self.send(play_request::Request::Observe(observe)).await
    }
}

pub(crate) async fn connect(address: &str) -> anyhow::Result<Channel> {
    Ok(Endpoint::from_shared(address.to_owned())?.tcp_nodelay(true).connect().await?)
}

/// Creates a match of Faraway with these players.
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

impl BenchAgent {
    /// Creates a match against a random bot, joins it, and observes.
    pub(crate) async fn start(channel: Channel, transport: Transport) -> anyhow::Result<Self> {
        let created = create(channel.clone(), ["agent", "random"]).await?;
        Self::join(channel, transport, created, 0).await
    }

    /// Joins a match with one of its invitations, and observes.
    pub(crate) async fn join(
        channel: Channel,
        transport: Transport,
        created: CreateMatchResponse,
        invitation: usize,
    ) -> anyhow::Result<Self> {
        let mut client = MatchServiceClient::new(channel);
        let code = created.invitations.get(invitation).context("an invitation")?.code.clone();
        let join = JoinMatchRequest { code, ..JoinMatchRequest::default() };
        let joined = client.join_match(join).await?.into_inner();
        let match_id = created.r#match.as_ref().context("a match")?.id.clone();
        let token = format!("Bearer {}", joined.token).parse()?;
        let mut connection = match transport {
            Transport::Unary => Connection::Unary(client, token),
            Transport::Stream => {
                let (requests, receiver) = mpsc::channel(1);
                let responses = client.play(with_token(ReceiverStream::new(receiver), &token)).await?;
                Connection::Stream(requests, responses.into_inner())
            }
        };
        let observation = connection.observe(&match_id).await?;
        Ok(Self { created, joined, observation, connection, match_id, rng: RngStream::new(SEED, BOT_STREAM) })
    }

    /// Waits until the seat owes a decision or the episode is over. Stores the observation.
    pub(crate) async fn observe(&mut self) -> anyhow::Result<()> {
        self.observation = self.connection.observe(&self.match_id).await?;
        Ok(())
    }

    pub(crate) fn is_over(&self) -> bool {
        self.observation.terminated || self.observation.truncated
    }

    /// Makes a random decision. With `wait`, the response comes when the next one is due. Returns the round-trip time.
    pub(crate) async fn act(&mut self, wait: bool) -> anyhow::Result<Duration> {
        let act = ActRequest {
            match_id: self.match_id.clone(),
            episode: self.observation.episode,
            decision: self.observation.decision,
            action: legal_action(&self.observation.mask, &mut self.rng).into(),
            wait,
            ..ActRequest::default()
        };
        let start = Instant::now();
        self.observation = self.connection.send(play_request::Request::Act(act)).await?;
        Ok(start.elapsed())
    }

    /// Starts the next episode.
    pub(crate) async fn reset(&mut self) -> anyhow::Result<()> {
        let reset = ResetRequest { match_id: self.match_id.clone(), wait: true, ..ResetRequest::default() };
        self.observation = self.connection.send(play_request::Request::Reset(reset)).await?;
        Ok(())
    }
}
