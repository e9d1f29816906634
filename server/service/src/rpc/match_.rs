//! Matches between mutually distrusting seats.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use boardwire_api::v1::{
    self, ActRequest, ActResponse, CloseMatchRequest, CloseMatchResponse, CreateMatchRequest,
    CreateMatchResponse, GetMatchRequest, GetMatchResponse, GetReplayRequest, GetReplayResponse, Invitation,
    InviteRequest, InviteResponse, JoinMatchRequest, JoinMatchResponse, ListMatchesRequest,
    ListMatchesResponse, ObserveRequest, ObserveResponse, OpenDealRequest, OpenDealResponse, PlayRequest,
    PlayResponse, ResetRequest, ResetResponse, ResignRequest, ResignResponse, WatchRequest, WatchResponse,
    match_service_server::MatchService, play_request, play_response,
};
use boardwire_batch::tables::Table;
use boardwire_batch::{Refused, messages};
use boardwire_kernel::Seat;
use futures_util::{Stream, StreamExt as _, stream};
use tonic::{Request, Response, Status, Streaming};

use super::pages::Paging;
use super::{caller, holding, request_id, room, token};
use crate::arbiter::{Arbiter, Decision, Part, Role, Settings};
use crate::convert;
use crate::edge::{Caller, Origin};
use crate::error::ServiceError;
use crate::matches::Matches;
use crate::requests::RequestId;
use crate::telemetry;

/// Plays matches.
pub(crate) struct MatchPlane(pub(crate) Arc<Matches>);

/// The longest that positions may be held back from spectators.
const DAY: Duration = Duration::from_hours(24);

/// About what a match takes on a page, most of it for as many labels as it may have.
const MATCH_BYTES: usize = 4 << 10;

type Answer<T> = Result<Response<T>, Status>;

/// A match as it stands, once all is written that this tells.
async fn told(arbiter: &Arbiter, belongs: bool) -> Result<Option<v1::Match>, ServiceError> {
    let told = convert::match_(arbiter, belongs);
    arbiter.kept().await?;
    Ok(Some(told))
}

#[tonic::async_trait]
impl MatchService for MatchPlane {
    type WatchStream = Pin<Box<dyn Stream<Item = Result<WatchResponse, Status>> + Send>>;
    type PlayStream = Pin<Box<dyn Stream<Item = Result<PlayResponse, Status>> + Send>>;

    async fn create_match(&self, request: Request<CreateMatchRequest>) -> Answer<CreateMatchResponse> {
        let (timed, caller) = (telemetry::Request::begin("CreateMatch"), caller(&request));
        let asked = request.into_inner();
        let id = request_id(&asked.request_id, caller.as_ref(), &asked)?;
        let (table, settings) = settings(&self.0, &asked).map_err(ServiceError::from)?;
        let origin = caller.as_ref().map_or(Origin::Unknown, Caller::origin);
        let arbiter = self.0.create(id, origin, table, settings).await?;
        tracing::info!(match_id = arbiter.id(), game = asked.game, players = ?asked.players, "match created");
        timed.answered(arbiter.table().rules.info().id, false);
        let invite = |(seat, code): (Seat, String)| Invitation { seat: seat.number().into(), code };
        Ok(Response::new(CreateMatchResponse {
            r#match: told(&arbiter, true).await?,
            invitations: arbiter.invitations().into_iter().map(invite).collect(),
            host_token: arbiter.host_token().to_owned(),
            spectator_token: arbiter.spectator_token().to_owned(),
        }))
    }

    async fn get_match(&self, request: Request<GetMatchRequest>) -> Answer<GetMatchResponse> {
        let arbiter = self.0.find(&request.get_ref().match_id)?;
        let (_, belongs) = arbiter.looks(token(&request))?;
        Ok(Response::new(GetMatchResponse { r#match: told(&arbiter, belongs).await? }))
    }

    async fn list_matches(&self, request: Request<ListMatchesRequest>) -> Answer<ListMatchesResponse> {
        let caller = caller(&request);
        let mut asked = request.into_inner();
        let (size, token) = (std::mem::take(&mut asked.page_size), std::mem::take(&mut asked.page_token));
        let paging = Paging::read(size, &token, &asked)?;
        if let Some(state) = asked.states.iter().find(|state| v1::MatchState::try_from(**state).is_err()) {
            let (value, expected) = (state.to_string(), "of MatchState".to_owned());
            return Err(ServiceError::from(Refused::BadField { field: "states", value, expected }).into());
        }
        let room = room(caller.as_ref(), paging.size * MATCH_BYTES).await?;
        let page = self.0.list(&paging.after, paging.size, |arbiter| is_wanted(arbiter, &asked));
        let matches = page.matches.iter().map(|arbiter| convert::match_(arbiter, false)).collect();
        self.0.kept().await?;
        Ok(holding(ListMatchesResponse { matches, next_page_token: paging.next(page.last) }, room))
    }

    async fn join_match(&self, request: Request<JoinMatchRequest>) -> Answer<JoinMatchResponse> {
        let timed = telemetry::Request::begin("JoinMatch");
        let JoinMatchRequest { code, request_id, commitment } = request.into_inner();
        let request = RequestId::parse(&request_id)?;
        let bound = if commitment.is_empty() { None } else { Some(part("commitment", &commitment)?) };
        let (arbiter, seat, token) = self.0.join(&code, request, bound).await?;
        tracing::info!(match_id = arbiter.id(), seat = seat.number(), "seat joined");
        timed.answered(arbiter.table().rules.info().id, false);
        let r#match = told(&arbiter, true).await?;
        Ok(Response::new(JoinMatchResponse { r#match, seat: seat.number().into(), token }))
    }

    async fn invite(&self, request: Request<InviteRequest>) -> Answer<InviteResponse> {
        let asked = request.get_ref();
        let (seat, code) = self.0.invite(&asked.match_id, token(&request), asked.seat).await?;
        tracing::info!(match_id = asked.match_id, seat = seat.number(), "seat given away anew");
        let invitation = Some(Invitation { seat: seat.number().into(), code });
        Ok(Response::new(InviteResponse { invitation }))
    }

    async fn open_deal(&self, request: Request<OpenDealRequest>) -> Answer<OpenDealResponse> {
        let asked = request.get_ref();
        let arbiter = self.0.find(&asked.match_id)?;
        let seat = arbiter.seat(token(&request))?;
        arbiter.open(seat, part("secret", &asked.secret)?).await?;
        Ok(Response::new(OpenDealResponse {}))
    }

    async fn observe(&self, request: Request<ObserveRequest>) -> Answer<ObserveResponse> {
        Ok(Response::new(observe(&self.0, token(&request), request.get_ref()).await?))
    }

    async fn act(&self, request: Request<ActRequest>) -> Answer<ActResponse> {
        Ok(Response::new(act(&self.0, token(&request), request.get_ref()).await?))
    }

    async fn reset(&self, request: Request<ResetRequest>) -> Answer<ResetResponse> {
        Ok(Response::new(reset(&self.0, token(&request), request.get_ref()).await?))
    }

    async fn resign(&self, request: Request<ResignRequest>) -> Answer<ResignResponse> {
        Ok(Response::new(resign(&self.0, token(&request), request.get_ref()).await?))
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

    async fn get_replay(&self, request: Request<GetReplayRequest>) -> Answer<GetReplayResponse> {
        let (timed, caller, asked) =
            (telemetry::Request::begin("GetReplay"), caller(&request), request.get_ref());
        let arbiter = self.0.find(&asked.match_id)?;
        arbiter.looks(token(&request))?;
        let room = room(caller.as_ref(), arbiter.replay_bytes()).await?;
        // The seat may have been given to somebody else while there was no room.
        let (viewer, belongs) = arbiter.looks(token(&request))?;
        let replay = arbiter.replay(viewer, asked.episode, !belongs)?;
        arbiter.kept().await?;
        timed.answered(arbiter.table().rules.info().id, false);
        let replay = Some(convert::replay(&arbiter, replay, belongs));
        Ok(holding(GetReplayResponse { replay }, room))
    }

    async fn watch(&self, request: Request<WatchRequest>) -> Answer<Self::WatchStream> {
        let arbiter = self.0.find(&request.get_ref().match_id)?;
        arbiter.looks(token(&request))?;
        let WatchRequest { after, depict, .. } = request.into_inner();
        let watcher = arbiter.watch(after)?;
        let seats = arbiter.table().rules.info().seats;
        let frames = stream::try_unfold(watcher, move |mut watcher| async move {
            let news = watcher.next(depict).await?;
            Ok(news.map(|(frame, depiction)| {
                let (frame, depiction) = (convert::frame(frame, seats), depiction.map(convert::depiction));
                (WatchResponse { frame: Some(frame), depiction }, watcher)
            }))
        });
        Ok(Response::new(Box::pin(frames)))
    }

    async fn close_match(&self, request: Request<CloseMatchRequest>) -> Answer<CloseMatchResponse> {
        let arbiter = self.0.close(&request.get_ref().match_id, token(&request))?;
        let r#match = told(&arbiter, true).await?;
        tracing::info!(match_id = arbiter.id(), "match closed");
        Ok(Response::new(CloseMatchResponse { r#match }))
    }
}

/// The table of a new match, and its settings.
fn settings(matches: &Matches, asked: &CreateMatchRequest) -> Result<(Arc<Table>, Settings), Refused> {
    let tables = matches.tables();
    let options = asked.options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let seats = u32::try_from(asked.players.len()).unwrap_or(u32::MAX);
    let table = tables.table(&asked.game, seats, options)?;
    let players = asked.players.iter().enumerate();
    let players = players.map(|(seat, name)| tables.player(&table, seat, name, "remote"));
    let players = players.collect::<Result<Vec<_>, _>>()?;
    let settings = Settings {
        clocks: convert::clocks(&asked.clocks, &players, tables, &table)?,
        players,
        seed: asked.seed,
        reward: messages::reward(asked.reward)?,
        skip_forced: asked.skip_forced,
        illegal_actions: messages::illegal(asked.illegal_actions)?,
        seat_may_seed: asked.seat_may_seed,
        fair_deals: asked.fair_deals,
        opening: matches.limits().opening,
        private: asked.private,
        watch_delay: convert::duration("watch_delay", asked.watch_delay, DAY)?,
        labels: asked.labels.clone(),
        series: None,
    };
    Ok((table, settings))
}

/// What somebody contributes to deals, or is bound by.
fn part(field: &'static str, bytes: &[u8]) -> Result<Part, ServiceError> {
    bytes.try_into().map_err(|_| {
        let (value, expected) = (format!("{} bytes", bytes.len()), "32 bytes".to_owned());
        Refused::BadField { field, value, expected }.into()
    })
}

/// Whether a match passes the filters of a request.
fn is_wanted(arbiter: &Arbiter, asked: &ListMatchesRequest) -> bool {
    let ListMatchesRequest { page_size: _, page_token: _, game, states, labels } = asked;
    let state = || i32::from(convert::match_state(&arbiter.phase()));
    let own = &arbiter.settings().labels;
    (game.is_empty() || arbiter.table().rules.info().id == game)
        && labels.iter().all(|(name, value)| own.get(name) == Some(value))
        && (states.is_empty() || states.contains(&state()))
}

/// What the seat of a token sees, as a message; the host sees nothing. Whose token it is is asked here, since what was done
/// before has been waited for, and the seat may have been given to somebody else by now.
async fn seen(
    arbiter: &Arbiter,
    token: Option<&str>,
    wait: bool,
    extras: Option<v1::Extras>,
) -> Result<Option<v1::Observation>, ServiceError> {
    let Role::Seat(seat) = arbiter.role(token)? else { return Ok(None) };
    let seen = arbiter.observe(seat, wait, convert::extras(extras)).await?;
    Ok(Some(convert::observation(seen, arbiter.table())))
}

#[tracing::instrument(level = "debug", skip_all, err(level = "debug"), fields(match_id = asked.match_id))]
async fn observe(
    matches: &Matches,
    token: Option<&str>,
    asked: &ObserveRequest,
) -> Result<ObserveResponse, ServiceError> {
    let request = telemetry::Request::begin("Observe");
    let arbiter = matches.find(&asked.match_id)?;
    arbiter.seat(token)?;
    let observation = seen(&arbiter, token, asked.wait, asked.extras).await?;
    request.answered(arbiter.table().rules.info().id, asked.wait);
    Ok(ObserveResponse { observation })
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
) -> Result<ActResponse, ServiceError> {
    let request = telemetry::Request::begin("Act");
    let arbiter = matches.find(&asked.match_id)?;
    let seat = arbiter.seat(token)?;
    tracing::Span::current().record("seat", seat.number());
    let decision = Decision { episode: asked.episode, number: asked.decision, action: asked.action };
    let thought = asked.thought.map(|thought| convert::elapsed(thought).unwrap_or_default());
    arbiter.act_after(seat, decision, thought).await?;
    let observation = seen(&arbiter, token, asked.wait, asked.extras).await?;
    request.answered(arbiter.table().rules.info().id, asked.wait);
    Ok(ActResponse { observation })
}

#[tracing::instrument(level = "debug", skip_all, err(level = "debug"), fields(match_id = asked.match_id))]
async fn reset(
    matches: &Matches,
    token: Option<&str>,
    asked: &ResetRequest,
) -> Result<ResetResponse, ServiceError> {
    let request = telemetry::Request::begin("Reset");
    let arbiter = matches.find(&asked.match_id)?;
    let role = arbiter.role(token)?;
    arbiter.reset(role, asked.seed, asked.episode).await?;
    let observation = seen(&arbiter, token, asked.wait, asked.extras).await?;
    request.answered(arbiter.table().rules.info().id, true);
    Ok(ResetResponse { observation })
}

#[tracing::instrument(level = "debug", skip_all, err(level = "debug"), fields(match_id = asked.match_id))]
async fn resign(
    matches: &Matches,
    token: Option<&str>,
    asked: &ResignRequest,
) -> Result<ResignResponse, ServiceError> {
    let request = telemetry::Request::begin("Resign");
    let arbiter = matches.find(&asked.match_id)?;
    let role = arbiter.role(token)?;
    arbiter.resign(role, asked.seat, asked.episode).await?;
    let observation = seen(&arbiter, token, false, asked.extras).await?;
    request.answered(arbiter.table().rules.info().id, false);
    Ok(ResignResponse { observation })
}

/// Answers one request of a stream; a refusal is an answer too.
async fn answer(matches: &Matches, token: &str, asked: PlayRequest) -> PlayResponse {
    use play_request::Request;
    use play_response::Answer;
    let token = Some(token);
    let answer = match &asked.request {
        Some(Request::Observe(asked)) => observe(matches, token, asked).await.map(Answer::Observe),
        Some(Request::Act(asked)) => act(matches, token, asked).await.map(Answer::Act),
        Some(Request::Reset(asked)) => reset(matches, token, asked).await.map(Answer::Reset),
        Some(Request::Resign(asked)) => resign(matches, token, asked).await.map(Answer::Resign),
        None => Err(Refused::BadField {
            field: "request",
            value: "nothing".to_owned(),
            expected: "one of observe, act, reset, resign".to_owned(),
        }
        .into()),
    };
    let answer = answer.unwrap_or_else(|error| Answer::Error(error.into()));
    PlayResponse { tag: asked.tag, answer: Some(answer) }
}

#[cfg(test)]
mod tests {
    use boardwire_batch::pool::Pool;
    use boardwire_batch::tables::Tables;
    use boardwire_games::Registry;
    use prost::Message as _;

    use super::*;
    use crate::matches::Limits;

    #[tokio::test]
    async fn a_match_takes_no_more_on_a_page_than_there_is_room_for() {
        let tables = Tables::new(Registry::load(|_| None).expect("the catalogues are valid"));
        let pool = Arc::new(Pool::new(1).expect("a thread starts"));
        let plane = MatchPlane(Arc::new(Matches::new(tables, Limits::default(), pool)));
        let asked = CreateMatchRequest {
            game: "faraway".to_owned(),
            players: vec!["remote".to_owned(); 6],
            labels: (0..16).map(|at| (format!("{at:063}"), "x".repeat(128))).collect(),
            fair_deals: true,
            ..CreateMatchRequest::default()
        };
        plane.create_match(Request::new(asked)).await.expect("it is created");
        let listed = plane.list_matches(Request::new(ListMatchesRequest::default())).await;
        let bytes = listed.expect("it is listed").get_ref().encoded_len();
        assert!((3_000..MATCH_BYTES).contains(&bytes), "{bytes}");
    }
}
