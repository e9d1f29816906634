//! The match service: matches between seats that do not trust each other.

use std::sync::Arc;

use boardwire_api::Error;
use boardwire_api::v1::{
    self, ActRequest, ActResponse, CloseMatchRequest, CloseMatchResponse, CreateMatchRequest,
    CreateMatchResponse, GetMatchRequest, GetMatchResponse, GetReplayRequest, GetReplayResponse, Invitation,
    InviteRequest, InviteResponse, JoinMatchRequest, JoinMatchResponse, ListMatchesRequest,
    ListMatchesResponse, ObserveRequest, ObserveResponse, OpenDealRequest, OpenDealResponse, PlayRequest,
    PlayResponse, ResetMatchRequest, ResetMatchResponse, ResetRequest, ResetResponse, ResignRequest,
    ResignResponse, WatchRequest, WatchResponse, play_request, play_response,
};
use boardwire_batch::messages;
use boardwire_batch::tables::Table;
use boardwire_kernel::Seat;
use futures_util::{StreamExt as _, stream};
use tokio::time::Instant;

use super::catalog::APPROXIMATE_SPEC_BYTES;
use super::pagination::Paging;
use super::{Handlers, request_id};
use crate::arbiter::{self, Act, Arbiter, Audience, Decision, Settings};
use crate::convert;
use crate::edge::{Call, EncodedMessage, Reply, RequestStream, Service, ServiceKind};
use crate::matches::{Matches, no_result_error};
use crate::requests::RequestId;
use crate::status;
use crate::telemetry::timed;

pub(super) const NAME: &str = "boardwire.v1.MatchService";

pub(super) fn service(handlers: &Arc<Handlers>) -> Service<Handlers> {
    Service::new(NAME, ServiceKind::Boardwire, Arc::clone(handlers))
        .unary("CreateMatch", Handlers::create_match)
        .unary_that_waits("GetMatch", |request| !request.known_etag.is_empty(), Handlers::get_match)
        .unary("ListMatches", Handlers::list_matches)
        .unary("JoinMatch", Handlers::join_match)
        .unary("Invite", Handlers::invite)
        .unary_that_waits("OpenDeal", |_| true, Handlers::open_deal)
        .unary_that_waits("Observe", |request| request.wait, Handlers::observe)
        .unary_that_waits("Act", |request| request.wait, Handlers::act)
        .unary_that_waits("Reset", |_| true, Handlers::reset)
        .unary_that_waits("ResetMatch", |_| true, Handlers::reset_match)
        .unary("Resign", Handlers::resign)
        .bidi_streaming("Play", Handlers::play)
        .unary("GetReplay", Handlers::get_replay)
        .server_streaming("Watch", Handlers::watch)
        .unary("CloseMatch", Handlers::close_match)
}

/// The maximum size in bytes of a match on a page. Its labels are most of it.
const MATCH_BYTES: usize = 4 << 10;
/// The bytes that are reserved for a response on a stream before its size is known.
const RESPONSE_BYTES: usize = 16 << 10;
/// The approximate memory of a watcher, in bytes.
const WATCHER_BYTES: usize = 16 << 10;
/// The approximate memory of a picture while it is drawn and sent, in bytes.
const PICTURE_BYTES: usize = 256 << 10;

/// Describes a match. Waits until the journal has written all that the description shows.
async fn describe_when_written(arbiter: &Arbiter, audience: Audience) -> Result<Option<v1::Match>, Error> {
    let description = arbiter.describe(audience);
    arbiter.wait_until_written().await?;
    Ok(Some(description))
}

impl Handlers {
    async fn create_match(self: Arc<Self>, call: Call, request: CreateMatchRequest) -> Result<Reply, Error> {
        let id = request_id(&request.request_id, call.caller(), "", &request)?;
        let (table, settings) = settings(&self.matches, &request)?;
        let arbiter = self.matches.create(id, call.caller().origin(), table, settings).await?;
        let (game, players) = (arbiter.table().game.info().id, &arbiter.settings().players);
        let players: Vec<_> = players.iter().map(ToString::to_string).collect();
        tracing::info!(match_id = arbiter.id(), game, ?players, "match created");
        let invitation = |(seat, code): (Seat, String)| Invitation { seat: seat.number().into(), code };
        call.reply(&CreateMatchResponse {
            r#match: describe_when_written(&arbiter, Audience::Host).await?,
            invitations: arbiter.invitations().into_iter().map(invitation).collect(),
            host_token: arbiter.host_token().to_owned(),
            spectator_token: arbiter.spectator_token().to_owned(),
        })
    }

    async fn get_match(self: Arc<Self>, call: Call, request: GetMatchRequest) -> Result<Reply, Error> {
        let arbiter = self.matches.find(&request.match_id)?;
        let r#match = if request.known_etag.is_empty() {
            let audience = arbiter.audience(call.token())?;
            describe_when_written(&arbiter, audience).await?
        } else {
            Some(arbiter.describe_when_changed(call.token(), &request.known_etag).await?)
        };
        call.reply(&GetMatchResponse { r#match })
    }

    async fn list_matches(self: Arc<Self>, call: Call, request: ListMatchesRequest) -> Result<Reply, Error> {
        let (size, token) = (request.page_size, request.page_token);
        let filters = ListMatchesRequest { page_size: 0, page_token: String::new(), ..request };
        let paging = Paging::read(size, &token, &filters)?;
        if let Some(state) = filters.states.iter().find(|state| v1::MatchState::try_from(**state).is_err()) {
            return Err(Error::field("states", state, "values of MatchState"));
        }
        // Twice the size: for the matches, and for the message that they are copied to.
        let charge = call.budget().reserve(2 * paging.size * MATCH_BYTES).await?;
        let (origin, after) = (call.caller().origin(), paging.after.clone());
        let describe =
            move |match_: &Arbiter| passes(match_, &filters).then(|| match_.describe(Audience::Public));
        let page = self.matches.list(origin, after, paging.size, describe).await?;
        self.matches.wait_until_written().await?;
        let next_page_token = paging.next(page.last);
        Reply::message(charge, &ListMatchesResponse { matches: page.matches, next_page_token })
    }

    async fn join_match(self: Arc<Self>, call: Call, request: JoinMatchRequest) -> Result<Reply, Error> {
        let JoinMatchRequest { code, request_id, commitment, with_spec } = request;
        let request = RequestId::parse(&request_id)?;
        let given = || bytes32("commitment", &commitment);
        let commitment = if commitment.is_empty() { None } else { Some(given()?) };
        let charge = call.budget().reserve(if with_spec { APPROXIMATE_SPEC_BYTES } else { 0 }).await?;
        let (arbiter, seat, token) = self.matches.join(code.trim(), request, commitment).await?;
        tracing::info!(match_id = arbiter.id(), seat = seat.number(), "seat joined");
        let spec = || {
            let facts = self.matches.tables().game_facts(arbiter.table().game.info().id)?;
            Ok::<_, Error>(messages::spec(&facts, arbiter.table()))
        };
        let response = JoinMatchResponse {
            r#match: describe_when_written(&arbiter, Audience::Seat(seat)).await?,
            seat: seat.number().into(),
            token,
            spec: with_spec.then(spec).transpose()?,
        };
        Reply::message(charge, &response)
    }

    async fn invite(self: Arc<Self>, call: Call, request: InviteRequest) -> Result<Reply, Error> {
        let (seat, code) = self.matches.invite(&request.match_id, call.token(), request.seat).await?;
        tracing::info!(match_id = request.match_id, seat = seat.number(), "seat given to another agent");
        let invitation = Some(Invitation { seat: seat.number().into(), code });
        call.reply(&InviteResponse { invitation })
    }

    async fn open_deal(self: Arc<Self>, call: Call, request: OpenDealRequest) -> Result<Reply, Error> {
        let arbiter = self.matches.find(&request.match_id)?;
        arbiter.open_deal(call.token(), bytes32("secret", &request.secret)?).await?;
        call.reply(&OpenDealResponse {})
    }

    async fn observe(self: Arc<Self>, call: Call, request: ObserveRequest) -> Result<Reply, Error> {
        let response = self.do_observe(&call, &request).await?;
        call.reply(&response)
    }

    async fn act(self: Arc<Self>, call: Call, request: ActRequest) -> Result<Reply, Error> {
        let response = self.do_act(&call, call.arrived(), &request).await?;
        call.reply(&response)
    }

    async fn reset(self: Arc<Self>, call: Call, request: ResetRequest) -> Result<Reply, Error> {
        let response = self.do_reset(&call, &request).await?;
        call.reply(&response)
    }

    async fn reset_match(self: Arc<Self>, call: Call, request: ResetMatchRequest) -> Result<Reply, Error> {
        let arbiter = self.matches.find(&request.match_id)?;
        arbiter.reset_match(call.token(), request.seed, request.episode).await?;
        call.reply(&ResetMatchResponse { r#match: describe_when_written(&arbiter, Audience::Host).await? })
    }

    async fn resign(self: Arc<Self>, call: Call, request: ResignRequest) -> Result<Reply, Error> {
        let response = self.do_resign(&call, &request).await?;
        call.reply(&response)
    }

    async fn play(self: Arc<Self>, call: Call, requests: RequestStream) -> Result<Reply, Error> {
        call.token().ok_or(Error::TokenMissing)?;
        let requests = Box::pin(requests.stream().take_until(self.matches.stopped()));
        let state = (self, call, requests);
        Ok(Reply::stream(stream::try_unfold(state, |(handlers, call, mut requests)| async move {
            let Some(request) = requests.next().await.transpose()? else { return Ok(None) };
            let arrived = call.caller().last_read();
            let charge = call.budget().reserve(RESPONSE_BYTES).await?;
            let response = call.budget().with_request_permit(handlers.do_play(&call, arrived, request)).await;
            Ok(Some((EncodedMessage::new(charge, &response)?, (handlers, call, requests))))
        })))
    }

    async fn get_replay(self: Arc<Self>, call: Call, request: GetReplayRequest) -> Result<Reply, Error> {
        let arbiter = self.matches.find(&request.match_id)?;
        arbiter.audience(call.token())?;
        // Twice the size: for the replay, and for the message that it is copied to.
        let charge = call.budget().reserve(2 * arbiter.replay_bytes()).await?;
        // Checks again: while the call waited for room, the host may have given the seat to another agent.
        let audience = arbiter.audience(call.token())?;
        let (played, work_queue) = (Arc::clone(&arbiter), self.matches.work_queue(call.caller().origin()));
        let reply = work_queue.run(move || {
            let replay = Some(played.replay(audience, request.episode)?);
            Reply::message(charge, &GetReplayResponse { replay })
        });
        let reply = reply.await.ok_or_else(|| no_result_error("replay"))??;
        arbiter.wait_until_written().await?;
        Ok(reply)
    }

    async fn watch(self: Arc<Self>, call: Call, request: WatchRequest) -> Result<Reply, Error> {
        let arbiter = self.matches.find(&request.match_id)?;
        arbiter.audience(call.token())?;
        let WatchRequest { after, depict, .. } = request;
        let memory = call.budget().charge(WATCHER_BYTES)?;
        let watcher = arbiter.watch(after)?;
        let bytes = if depict { PICTURE_BYTES } else { RESPONSE_BYTES };
        let work_queue = self.matches.work_queue(call.caller().origin());
        let state = (watcher, call, work_queue, memory);
        Ok(Reply::stream(stream::try_unfold(
            state,
            move |(mut watcher, call, work_queue, memory)| async move {
                if !watcher.wait().await? {
                    return Ok(None);
                }
                let charge = call.budget().reserve(bytes).await?;
                let respond = move || {
                    let (frame, depiction) = watcher.take_frame(depict)?;
                    let response =
                        EncodedMessage::new(charge, &WatchResponse { frame: Some(frame), depiction })?;
                    Ok::<_, Error>((response, watcher))
                };
                // Drawing is slow, so the pool does it.
                let (response, watcher) = if depict {
                    work_queue.run(respond).await.ok_or_else(|| no_result_error("picture"))??
                } else {
                    call.budget().with_request_permit(async { respond() }).await?
                };
                Ok(Some((response, (watcher, call, work_queue, memory))))
            },
        )))
    }

    async fn close_match(self: Arc<Self>, call: Call, request: CloseMatchRequest) -> Result<Reply, Error> {
        let arbiter = self.matches.close(&request.match_id, call.token())?;
        let r#match = describe_when_written(&arbiter, Audience::Host).await?;
        tracing::info!(match_id = arbiter.id(), "match closed");
        call.reply(&CloseMatchResponse { r#match })
    }
}

/// Returns the table and the settings of a new match.
fn settings(matches: &Matches, request: &CreateMatchRequest) -> Result<(Arc<Table>, Settings), Error> {
    let config =
        request.config.as_ref().ok_or_else(|| messages::missing_field_error("config", "a MatchConfig"))?;
    let (table, settings) = Settings::read(config, matches.tables())?;
    Ok((
        table,
        Settings { seed: request.seed, opening_timeout: matches.limits().opening_timeout, ..settings },
    ))
}

/// Reads a secret for fair deals, or the commitment to one.
fn bytes32(field: &'static str, bytes: &[u8]) -> Result<[u8; 32], Error> {
    bytes.try_into().map_err(|_| Error::field(field, format!("{} bytes", bytes.len()), "32 bytes"))
}

/// Returns whether a match passes the filters of a request.
fn passes(arbiter: &Arbiter, request: &ListMatchesRequest) -> bool {
    let ListMatchesRequest { page_size: _, page_token: _, game, states, labels } = request;
    let match_labels = &arbiter.settings().labels;
    (game.is_empty() || arbiter.table().game.info().id == game)
        && labels.iter().all(|(name, value)| match_labels.get(name) == Some(value))
        && (states.is_empty() || states.contains(&arbiter.visible_state().into()))
}

impl Handlers {
    #[tracing::instrument(name = "observe", level = "debug", skip_all, err(level = "debug"), fields(match_id = request.match_id))]
    async fn do_observe(&self, call: &Call, request: &ObserveRequest) -> Result<ObserveResponse, Error> {
        let arbiter = self.matches.find(&request.match_id)?;
        let observation =
            arbiter.observe(call.token(), request.wait, request.extras.unwrap_or_default()).await?;
        Ok(ObserveResponse { observation: Some(observation) })
    }

    #[tracing::instrument(
        name = "act",
        level = "debug",
        skip_all,
        err(level = "debug"),
        fields(match_id = request.match_id, episode = request.episode, decision = request.decision, seat)
    )]
    async fn do_act(
        &self,
        call: &Call,
        arrived: Instant,
        request: &ActRequest,
    ) -> Result<ActResponse, Error> {
        let arbiter = self.matches.find(&request.match_id)?;
        let &ActRequest { episode, decision: number, action, .. } = request;
        let act = Act {
            decision: Decision { episode, number, action },
            arrived,
            thinking_time: request
                .thought
                .map(|thought| convert::non_negative_duration(thought).unwrap_or_default()),
            wait: request.wait,
            extras: request.extras.unwrap_or_default(),
        };
        Ok(ActResponse { observation: Some(arbiter.act(call.token(), act).await?) })
    }

    #[tracing::instrument(name = "reset", level = "debug", skip_all, err(level = "debug"), fields(match_id = request.match_id))]
    async fn do_reset(&self, call: &Call, request: &ResetRequest) -> Result<ResetResponse, Error> {
        let arbiter = self.matches.find(&request.match_id)?;
        let &ResetRequest { seed, episode: from_episode, wait, extras, .. } = request;
        let reset = arbiter::Reset { seed, from_episode, wait, extras: extras.unwrap_or_default() };
        Ok(ResetResponse { observation: Some(arbiter.reset(call.token(), reset).await?) })
    }

    #[tracing::instrument(name = "resign", level = "debug", skip_all, err(level = "debug"), fields(match_id = request.match_id))]
    async fn do_resign(&self, call: &Call, request: &ResignRequest) -> Result<ResignResponse, Error> {
        let (arbiter, extras) = (self.matches.find(&request.match_id)?, request.extras.unwrap_or_default());
        let observation = arbiter.resign(call.token(), request.seat, request.episode, extras).await?;
        Ok(ResignResponse { observation })
    }

    /// Executes one request of a stream. An error is a response too.
    async fn do_play(&self, call: &Call, arrived: Instant, request: PlayRequest) -> PlayResponse {
        use play_request::Request;
        use play_response::Answer;
        let answer = match &request.request {
            Some(Request::Observe(request)) => {
                timed("Observe", request.wait, self.do_observe(call, request)).await.map(Answer::Observe)
            }
            Some(Request::Act(request)) => {
                timed("Act", request.wait, self.do_act(call, arrived, request)).await.map(Answer::Act)
            }
            Some(Request::Reset(request)) => {
                timed("Reset", true, self.do_reset(call, request)).await.map(Answer::Reset)
            }
            Some(Request::Resign(request)) => {
                timed("Resign", false, self.do_resign(call, request)).await.map(Answer::Resign)
            }
            None => Err(Error::field("request", "no value", "one of observe, act, reset, resign")),
        };
        let answer = answer.unwrap_or_else(|error| Answer::Error(status::message(&error)));
        PlayResponse { tag: request.tag, answer: Some(answer) }
    }
}

#[cfg(test)]
mod tests {
    use boardwire_api::v1::MatchConfig;
    use boardwire_batch::messages::players;
    use boardwire_batch::pool::Pool;
    use boardwire_batch::registry::Registry;
    use boardwire_batch::tables::Tables;
    use prost::Message as _;

    use super::*;
    use crate::matches::MatchLimits;
    use crate::origin::Origin;

    #[tokio::test]
    async fn the_largest_match_fits_its_reservation_on_a_page() {
        let tables = Tables::new(Registry::standard());
        let pool = Arc::new(Pool::new(1).expect("a thread starts"));
        let matches = Matches::new(tables, MatchLimits::default(), pool);
        let request = CreateMatchRequest {
            config: Some(MatchConfig {
                game: "faraway".to_owned(),
                players: players(&["agent"; 6]),
                labels: (0..16).map(|at| (format!("{at:063}"), "x".repeat(128))).collect(),
                fair_deals: true,
                ..MatchConfig::default()
            }),
            ..CreateMatchRequest::default()
        };
        let (table, settings) = settings(&matches, &request).expect("the config is valid");
        let arbiter =
            matches.create(None, Origin::Unknown, table, settings).await.expect("the match is created");
        let bytes = arbiter.describe(Audience::Public).encoded_len();
        assert!((3_000..MATCH_BYTES).contains(&bytes), "{bytes}");
    }
}
