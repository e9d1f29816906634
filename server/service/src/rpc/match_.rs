//! Matches between mutually distrusting seats.

use std::pin::Pin;
use std::sync::Arc;

use boardwire_api::v1::{
    ActRequest, ActResponse, CloseMatchRequest, CloseMatchResponse, CreateMatchRequest, CreateMatchResponse,
    GetMatchRequest, GetMatchResponse, Invitation, JoinMatchRequest, JoinMatchResponse, ListMatchesRequest,
    ListMatchesResponse, ObserveRequest, ObserveResponse, PlayError, PlayRequest, PlayResponse, ResetRequest,
    ResetResponse, match_service_server::MatchService, play_request, play_response,
};
use futures_util::{Stream, StreamExt as _};
use tonic::{Request, Response, Status, Streaming};

use super::{caller, holding, named, page_size, request_id, room, token};
use crate::arbiter::{Decision, Observation, Role, Settings};
use crate::convert;
use crate::edge::{Caller, Origin};
use crate::error::ServiceError;
use crate::matches::Matches;
use crate::requests::RequestId;

/// Plays matches.
pub(crate) struct MatchPlane(pub(crate) Arc<Matches>);

/// About what a match takes on a page.
const MATCH_BYTES: usize = 512;

type Answer<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl MatchService for MatchPlane {
    type PlayStream = Pin<Box<dyn Stream<Item = Result<PlayResponse, Status>> + Send>>;

    async fn create_match(&self, request: Request<CreateMatchRequest>) -> Answer<CreateMatchResponse> {
        let caller = caller(&request);
        let asked = request.into_inner();
        let id = request_id(&asked.request_id, caller.as_ref(), &asked)?;
        let players = asked.seats.iter().enumerate().map(|(seat, name)| named(seat, name, "remote"));
        let settings = Settings {
            players: players.collect::<Result<_, _>>()?,
            seed: asked.seed,
            reward: convert::reward(asked.reward)?,
            skip_forced: asked.skip_forced,
            illegal_actions: convert::illegal(asked.illegal_actions)?,
            seat_may_seed: asked.seat_may_seed,
            private: asked.private,
        };
        let options = asked.options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let seats = u32::try_from(asked.seats.len()).unwrap_or(u32::MAX);
        let table = self.0.tables().table(&asked.game, seats, options)?;
        let origin = caller.as_ref().map_or(Origin::Unknown, Caller::origin);
        let arbiter = self.0.create(id, origin, table, settings).await?;
        tracing::info!(match_id = arbiter.id(), game = asked.game, seats = ?asked.seats, "match created");
        let invite = |(seat, invitation): (boardwire_kernel::Seat, String)| Invitation {
            seat: seat.number().into(),
            invitation,
        };
        Ok(Response::new(CreateMatchResponse {
            r#match: Some(convert::match_(&arbiter, true)),
            invitations: arbiter.invitations().into_iter().map(invite).collect(),
            host_token: arbiter.host_token().to_owned(),
        }))
    }

    async fn get_match(&self, request: Request<GetMatchRequest>) -> Answer<GetMatchResponse> {
        let arbiter = self.0.find(&request.get_ref().match_id)?;
        let token = token(&request);
        let belongs = token.is_some() || arbiter.settings().private;
        if belongs {
            arbiter.role(token)?;
        }
        Ok(Response::new(GetMatchResponse { r#match: Some(convert::match_(&arbiter, belongs)) }))
    }

    async fn list_matches(&self, request: Request<ListMatchesRequest>) -> Answer<ListMatchesResponse> {
        let caller = caller(&request);
        let ListMatchesRequest { page_size: size, page_token } = request.into_inner();
        let size = page_size(size);
        let room = room(caller.as_ref(), size * MATCH_BYTES).await?;
        let page = self.0.list(&page_token, size);
        let last = page.last().filter(|_| page.len() == size);
        Ok(holding(
            ListMatchesResponse {
                next_page_token: last.map_or(String::new(), |arbiter| arbiter.id().to_owned()),
                matches: page.iter().map(|arbiter| convert::match_(arbiter, false)).collect(),
            },
            room,
        ))
    }

    async fn join_match(&self, request: Request<JoinMatchRequest>) -> Answer<JoinMatchResponse> {
        let JoinMatchRequest { invitation, request_id } = request.into_inner();
        let request = RequestId::parse(&request_id)?;
        let (arbiter, seat, token) = self.0.join(&invitation, request)?;
        tracing::info!(match_id = arbiter.id(), seat = seat.number(), "seat joined");
        Ok(Response::new(JoinMatchResponse {
            r#match: Some(convert::match_(&arbiter, true)),
            seat: seat.number().into(),
            token,
        }))
    }

    async fn observe(&self, request: Request<ObserveRequest>) -> Answer<ObserveResponse> {
        let seen = observe(&self.0, token(&request), request.get_ref()).await?;
        Ok(Response::new(ObserveResponse { observation: Some(convert::observation(seen)) }))
    }

    async fn act(&self, request: Request<ActRequest>) -> Answer<ActResponse> {
        let seen = act(&self.0, token(&request), request.get_ref()).await?;
        Ok(Response::new(ActResponse { observation: Some(convert::observation(seen)) }))
    }

    async fn reset(&self, request: Request<ResetRequest>) -> Answer<ResetResponse> {
        let seen = reset(&self.0, token(&request), request.get_ref()).await?;
        Ok(Response::new(ResetResponse { observation: seen.map(convert::observation) }))
    }

    async fn play(&self, request: Request<Streaming<PlayRequest>>) -> Answer<Self::PlayStream> {
        let matches = Arc::clone(&self.0);
        let token = token(&request).ok_or(ServiceError::MissingToken)?.to_owned();
        matches.holder(Some(&token))?;
        let asked = request.into_inner().take_until(matches.stopped());
        let answers = asked.then(move |asked| {
            let (matches, token) = (Arc::clone(&matches), token.clone());
            async move { Ok(answer(&matches, &token, asked?).await) }
        });
        Ok(Response::new(Box::pin(answers)))
    }

    async fn close_match(&self, request: Request<CloseMatchRequest>) -> Answer<CloseMatchResponse> {
        let arbiter = self.0.close(&request.get_ref().match_id, token(&request))?;
        tracing::info!(match_id = arbiter.id(), "match closed");
        Ok(Response::new(CloseMatchResponse { r#match: Some(convert::match_(&arbiter, true)) }))
    }
}

async fn observe(
    matches: &Matches,
    token: Option<&str>,
    asked: &ObserveRequest,
) -> Result<Observation, ServiceError> {
    let arbiter = matches.find(&asked.match_id)?;
    let seat = arbiter.seat(token)?;
    arbiter.observe(seat, asked.wait, convert::extras(asked.extras)).await
}

#[tracing::instrument(
    level = "debug",
    skip_all,
    err(level = "debug"),
    fields(match_id = asked.match_id, episode = asked.episode, decision = asked.decision, seat)
)]
async fn act(
    matches: &Matches,
    token: Option<&str>,
    asked: &ActRequest,
) -> Result<Observation, ServiceError> {
    let arbiter = matches.find(&asked.match_id)?;
    let seat = arbiter.seat(token)?;
    tracing::Span::current().record("seat", seat.number());
    let decision = Decision { episode: asked.episode, number: asked.decision, action: asked.action };
    arbiter.act(seat, decision).await?;
    arbiter.observe(seat, asked.wait, convert::extras(asked.extras)).await
}

#[tracing::instrument(level = "debug", skip_all, err(level = "debug"), fields(match_id = asked.match_id))]
async fn reset(
    matches: &Matches,
    token: Option<&str>,
    asked: &ResetRequest,
) -> Result<Option<Observation>, ServiceError> {
    let arbiter = matches.find(&asked.match_id)?;
    let role = arbiter.role(token)?;
    arbiter.reset(role, asked.seed, asked.episode).await?;
    match role {
        Role::Host => Ok(None),
        Role::Seat(seat) => Ok(Some(arbiter.observe(seat, asked.wait, convert::extras(asked.extras)).await?)),
    }
}

/// Answers one request of a stream; a refusal is an answer too.
async fn answer(matches: &Matches, token: &str, asked: PlayRequest) -> PlayResponse {
    let token = Some(token);
    let seen = match &asked.request {
        Some(play_request::Request::Observe(asked)) => observe(matches, token, asked).await.map(Some),
        Some(play_request::Request::Act(asked)) => act(matches, token, asked).await.map(Some),
        Some(play_request::Request::Reset(asked)) => reset(matches, token, asked).await,
        None => Err(ServiceError::BadField {
            field: "request",
            value: "nothing".to_owned(),
            expected: "one of observe, act, reset".to_owned(),
        }),
    };
    let answer = match seen {
        Ok(seen) => play_response::Answer::Observation(seen.map(convert::observation).unwrap_or_default()),
        Err(error) => play_response::Answer::Error(play_error(&error)),
    };
    PlayResponse { answer: Some(answer) }
}

fn play_error(error: &ServiceError) -> PlayError {
    let refusal = error.refusal();
    PlayError {
        code: u32::try_from(i32::from(refusal.code)).unwrap_or_default(),
        reason: refusal.reason.to_owned(),
        message: refusal.message,
        metadata: refusal.metadata.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
    }
}
