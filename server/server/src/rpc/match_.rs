//! Matches between mutually distrusting seats.

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

use super::pages::Paging;
use super::request_id;
use crate::arbiter::{self, Act, Arbiter, Audience, Decision, Settings};
use crate::convert;
use crate::edge::{Call, EncodedMessage, Kind, Reply, RequestStream, Service};
use crate::matches::{Matches, lost};
use crate::record::fair::Contribution;
use crate::requests::RequestId;
use crate::status;
use crate::telemetry::timed;

/// Plays matches.
pub(crate) struct MatchPlane(Arc<Matches>);

/// The service, as the protocol names it.
pub(super) const NAME: &str = "boardwire.v1.MatchService";

pub(super) fn service(matches: &Arc<Matches>) -> Service<MatchPlane> {
    Service::new(NAME, Kind::Own, Arc::new(MatchPlane(Arc::clone(matches))))
        .call("CreateMatch", MatchPlane::create)
        .call("GetMatch", MatchPlane::get)
        .call("ListMatches", MatchPlane::list)
        .call("JoinMatch", MatchPlane::join)
        .call("Invite", MatchPlane::invite)
        .call_that_waits("OpenDeal", |_| true, MatchPlane::open_deal)
        .call_that_waits("Observe", |asked| asked.wait, MatchPlane::observe)
        .call_that_waits("Act", |asked| asked.wait, MatchPlane::act)
        .call_that_waits("Reset", |_| true, MatchPlane::reset)
        .call_that_waits("ResetMatch", |_| true, MatchPlane::reset_match)
        .call("Resign", MatchPlane::resign)
        .stream("Play", MatchPlane::play)
        .call("GetReplay", MatchPlane::replay)
        .watch("Watch", MatchPlane::watch)
        .call("CloseMatch", MatchPlane::close)
}

/// About what a match takes on a page, most of it for as many labels as it may have.
const MATCH_BYTES: usize = 4 << 10;

/// What an answer on a stream is charged with before it is made.
const ANSWER_BYTES: usize = 16 << 10;
/// About what a watcher keeps of the episode that it shows.
const WATCHER_BYTES: usize = 16 << 10;
/// About what a picture takes while it is drawn and sent.
const PICTURE_BYTES: usize = 256 << 10;

/// A match as it stands, once all is written that this tells.
async fn described(arbiter: &Arbiter, audience: Audience) -> Result<Option<v1::Match>, Error> {
    let described = arbiter.describe(audience);
    arbiter.kept().await?;
    Ok(Some(described))
}

impl MatchPlane {
    async fn create(self: Arc<Self>, call: Call, asked: CreateMatchRequest) -> Result<Reply, Error> {
        let id = request_id(&asked.request_id, call.caller(), "", &asked)?;
        let (table, settings) = settings(&self.0, &asked)?;
        let arbiter = self.0.create(id, call.caller().origin(), table, settings).await?;
        let (game, players) = (arbiter.table().rules.info().id, &arbiter.settings().players);
        let players: Vec<_> = players.iter().map(ToString::to_string).collect();
        tracing::info!(match_id = arbiter.id(), game, ?players, "match created");
        let invite = |(seat, code): (Seat, String)| Invitation { seat: seat.number().into(), code };
        call.answer(&CreateMatchResponse {
            r#match: described(&arbiter, Audience::Host).await?,
            invitations: arbiter.invitations().into_iter().map(invite).collect(),
            host_token: arbiter.host_token().to_owned(),
            spectator_token: arbiter.spectator_token().to_owned(),
        })
    }

    async fn get(self: Arc<Self>, call: Call, asked: GetMatchRequest) -> Result<Reply, Error> {
        let arbiter = self.0.find(&asked.match_id)?;
        let audience = arbiter.audience(call.token())?;
        call.answer(&GetMatchResponse { r#match: described(&arbiter, audience).await? })
    }

    async fn list(self: Arc<Self>, call: Call, mut asked: ListMatchesRequest) -> Result<Reply, Error> {
        let (size, token) = (std::mem::take(&mut asked.page_size), std::mem::take(&mut asked.page_token));
        let paging = Paging::read(size, &token, &asked)?;
        if let Some(state) = asked.states.iter().find(|state| v1::MatchState::try_from(**state).is_err()) {
            return Err(Error::field("states", state, "values of MatchState"));
        }
        // The matches, and the message that they are copied to.
        let charge = call.budget().reserve(2 * paging.size * MATCH_BYTES).await?;
        let (origin, after) = (call.caller().origin(), paging.after.clone());
        let tell =
            move |arbiter: &Arbiter| is_wanted(arbiter, &asked).then(|| arbiter.describe(Audience::Public));
        let page = self.0.list(origin, after, paging.size, tell).await?;
        self.0.kept().await?;
        let answer = ListMatchesResponse { matches: page.matches, next_page_token: paging.next(page.last) };
        Reply::message(charge, &answer)
    }

    async fn join(self: Arc<Self>, call: Call, asked: JoinMatchRequest) -> Result<Reply, Error> {
        let JoinMatchRequest { code, request_id, commitment } = asked;
        let request = RequestId::parse(&request_id)?;
        let bound = if commitment.is_empty() { None } else { Some(part("commitment", &commitment)?) };
        let (arbiter, seat, token) = self.0.join(code.trim(), request, bound).await?;
        tracing::info!(match_id = arbiter.id(), seat = seat.number(), "seat joined");
        let r#match = described(&arbiter, Audience::Seat(seat)).await?;
        call.answer(&JoinMatchResponse { r#match, seat: seat.number().into(), token })
    }

    async fn invite(self: Arc<Self>, call: Call, asked: InviteRequest) -> Result<Reply, Error> {
        let (seat, code) = self.0.invite(&asked.match_id, call.token(), asked.seat).await?;
        tracing::info!(match_id = asked.match_id, seat = seat.number(), "seat given to another agent");
        let invitation = Some(Invitation { seat: seat.number().into(), code });
        call.answer(&InviteResponse { invitation })
    }

    async fn open_deal(self: Arc<Self>, call: Call, asked: OpenDealRequest) -> Result<Reply, Error> {
        let arbiter = self.0.find(&asked.match_id)?;
        arbiter.open(call.token(), part("secret", &asked.secret)?).await?;
        call.answer(&OpenDealResponse {})
    }

    async fn observe(self: Arc<Self>, call: Call, asked: ObserveRequest) -> Result<Reply, Error> {
        let observed = self.observed(call.token(), &asked).await?;
        call.answer(&observed)
    }

    async fn act(self: Arc<Self>, call: Call, asked: ActRequest) -> Result<Reply, Error> {
        let acted = self.acted(call.token(), call.arrived(), &asked).await?;
        call.answer(&acted)
    }

    async fn reset(self: Arc<Self>, call: Call, asked: ResetRequest) -> Result<Reply, Error> {
        let left = self.left(call.token(), &asked).await?;
        call.answer(&left)
    }

    async fn reset_match(self: Arc<Self>, call: Call, asked: ResetMatchRequest) -> Result<Reply, Error> {
        let arbiter = self.0.find(&asked.match_id)?;
        arbiter.reset_match(call.token(), asked.seed, asked.episode).await?;
        call.answer(&ResetMatchResponse { r#match: described(&arbiter, Audience::Host).await? })
    }

    async fn resign(self: Arc<Self>, call: Call, asked: ResignRequest) -> Result<Reply, Error> {
        let resigned = self.resigned(call.token(), &asked).await?;
        call.answer(&resigned)
    }

    async fn play(self: Arc<Self>, call: Call, requests: RequestStream) -> Result<Reply, Error> {
        call.token().ok_or(Error::TokenMissing)?;
        let requests = Box::pin(requests.stream().take_until(self.0.stopped()));
        let state = (self, call, requests);
        Ok(Reply::stream(stream::try_unfold(state, |(plane, call, mut requests)| async move {
            let Some(asked) = requests.next().await.transpose()? else { return Ok(None) };
            let arrived = call.caller().last_read();
            let charge = call.budget().reserve(ANSWER_BYTES).await?;
            let answer = call.budget().in_turn(plane.answered(call.token(), arrived, asked)).await;
            let answer = EncodedMessage::new(charge, &answer)?;
            Ok(Some((answer, (plane, call, requests))))
        })))
    }

    async fn replay(self: Arc<Self>, call: Call, asked: GetReplayRequest) -> Result<Reply, Error> {
        let arbiter = self.0.find(&asked.match_id)?;
        arbiter.audience(call.token())?;
        // The replay, and the message that it is copied to.
        let charge = call.budget().reserve(2 * arbiter.replay_bytes()).await?;
        // The seat may have been given to somebody else while there was no room.
        let audience = arbiter.audience(call.token())?;
        let (played, owner) = (Arc::clone(&arbiter), self.0.owner(call.caller().origin()));
        let replayed = owner.run(move || {
            let replay = Some(played.replay(audience, asked.episode)?);
            Reply::message(charge, &GetReplayResponse { replay })
        });
        let reply = replayed.await.ok_or_else(|| lost("a replay"))??;
        arbiter.kept().await?;
        Ok(reply)
    }

    async fn watch(self: Arc<Self>, call: Call, asked: WatchRequest) -> Result<Reply, Error> {
        let arbiter = self.0.find(&asked.match_id)?;
        arbiter.audience(call.token())?;
        let WatchRequest { after, depict, .. } = asked;
        let kept = call.budget().charge(WATCHER_BYTES)?;
        let watcher = arbiter.watch(after)?;
        let bytes = if depict { PICTURE_BYTES } else { ANSWER_BYTES };
        let owner = self.0.owner(call.caller().origin());
        let state = (call, watcher, owner, kept);
        Ok(Reply::stream(stream::try_unfold(state, move |(call, mut watcher, owner, kept)| async move {
            if !watcher.wait().await? {
                return Ok(None);
            }
            let charge = call.budget().reserve(bytes).await?;
            let show = move || {
                let (frame, depiction) = watcher.show(depict)?;
                let answer = EncodedMessage::new(charge, &WatchResponse { frame: Some(frame), depiction })?;
                Ok::<_, Error>((answer, watcher))
            };
            // A picture takes a while.
            let (answer, watcher) = if depict {
                owner.run(show).await.ok_or_else(|| lost("a picture"))??
            } else {
                call.budget().in_turn(async { show() }).await?
            };
            Ok(Some((answer, (call, watcher, owner, kept))))
        })))
    }

    async fn close(self: Arc<Self>, call: Call, asked: CloseMatchRequest) -> Result<Reply, Error> {
        let arbiter = self.0.close(&asked.match_id, call.token())?;
        let r#match = described(&arbiter, Audience::Host).await?;
        tracing::info!(match_id = arbiter.id(), "match closed");
        call.answer(&CloseMatchResponse { r#match })
    }
}

/// The table of a new match, and its settings.
fn settings(matches: &Matches, asked: &CreateMatchRequest) -> Result<(Arc<Table>, Settings), Error> {
    let config = asked.config.as_ref().ok_or_else(|| messages::missing("config", "a MatchConfig"))?;
    let (table, settings) = Settings::read(config, matches.tables())?;
    Ok((table, Settings { seed: asked.seed, opening: matches.limits().opening, ..settings }))
}

/// What somebody contributes to deals, or is bound by.
fn part(field: &'static str, bytes: &[u8]) -> Result<Contribution, Error> {
    bytes.try_into().map_err(|_| Error::field(field, format!("{} bytes", bytes.len()), "32 bytes"))
}

/// Whether a match passes the filters of a request.
fn is_wanted(arbiter: &Arbiter, asked: &ListMatchesRequest) -> bool {
    let ListMatchesRequest { page_size: _, page_token: _, game, states, labels } = asked;
    let state = || i32::from(arbiter.shown_state());
    let own = &arbiter.settings().labels;
    (game.is_empty() || arbiter.table().rules.info().id == game)
        && labels.iter().all(|(name, value)| own.get(name) == Some(value))
        && (states.is_empty() || states.contains(&state()))
}

impl MatchPlane {
    #[tracing::instrument(name = "observe", level = "debug", skip_all, err(level = "debug"), fields(match_id = asked.match_id))]
    async fn observed(&self, token: Option<&str>, asked: &ObserveRequest) -> Result<ObserveResponse, Error> {
        let arbiter = self.0.find(&asked.match_id)?;
        let observation = arbiter.observe(token, asked.wait, asked.extras.unwrap_or_default()).await?;
        Ok(ObserveResponse { observation: Some(observation) })
    }

    #[tracing::instrument(
        name = "act",
        level = "debug",
        skip_all,
        err(level = "debug"),
        fields(match_id = asked.match_id, episode = asked.episode, decision = asked.decision, seat)
    )]
    async fn acted(
        &self,
        token: Option<&str>,
        arrived: Instant,
        asked: &ActRequest,
    ) -> Result<ActResponse, Error> {
        let arbiter = self.0.find(&asked.match_id)?;
        let act = Act {
            decision: Decision { episode: asked.episode, number: asked.decision, action: asked.action },
            arrived,
            thought: asked.thought.map(|thought| convert::elapsed(thought).unwrap_or_default()),
            wait: asked.wait,
            extras: asked.extras.unwrap_or_default(),
        };
        Ok(ActResponse { observation: Some(arbiter.act(token, act).await?) })
    }

    #[tracing::instrument(name = "reset", level = "debug", skip_all, err(level = "debug"), fields(match_id = asked.match_id))]
    async fn left(&self, token: Option<&str>, asked: &ResetRequest) -> Result<ResetResponse, Error> {
        let arbiter = self.0.find(&asked.match_id)?;
        let reset = arbiter::Reset {
            seed: asked.seed,
            leave: asked.episode,
            wait: asked.wait,
            extras: asked.extras.unwrap_or_default(),
        };
        Ok(ResetResponse { observation: Some(arbiter.reset(token, reset).await?) })
    }

    #[tracing::instrument(name = "resign", level = "debug", skip_all, err(level = "debug"), fields(match_id = asked.match_id))]
    async fn resigned(&self, token: Option<&str>, asked: &ResignRequest) -> Result<ResignResponse, Error> {
        let (arbiter, extras) = (self.0.find(&asked.match_id)?, asked.extras.unwrap_or_default());
        Ok(ResignResponse { observation: arbiter.resign(token, asked.seat, asked.episode, extras).await? })
    }

    /// Answers one request of a stream; an error is an answer too.
    async fn answered(&self, token: Option<&str>, arrived: Instant, asked: PlayRequest) -> PlayResponse {
        use play_request::Request;
        use play_response::Answer;
        let answer = match &asked.request {
            Some(Request::Observe(asked)) => {
                timed("Observe", asked.wait, self.observed(token, asked)).await.map(Answer::Observe)
            }
            Some(Request::Act(asked)) => {
                timed("Act", asked.wait, self.acted(token, arrived, asked)).await.map(Answer::Act)
            }
            Some(Request::Reset(asked)) => {
                timed("Reset", true, self.left(token, asked)).await.map(Answer::Reset)
            }
            Some(Request::Resign(asked)) => {
                timed("Resign", false, self.resigned(token, asked)).await.map(Answer::Resign)
            }
            None => Err(Error::field("request", "nothing", "one of observe, act, reset, resign")),
        };
        let answer = answer.unwrap_or_else(|error| Answer::Error(status::message(&error)));
        PlayResponse { tag: asked.tag, answer: Some(answer) }
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
    async fn a_match_takes_no_more_on_a_page_than_there_is_room_for() {
        let tables = Tables::new(Registry::standard());
        let pool = Arc::new(Pool::new(1).expect("a thread starts"));
        let matches = Matches::new(tables, MatchLimits::default(), pool);
        let asked = CreateMatchRequest {
            config: Some(MatchConfig {
                game: "faraway".to_owned(),
                players: players(&["agent"; 6]),
                labels: (0..16).map(|at| (format!("{at:063}"), "x".repeat(128))).collect(),
                fair_deals: true,
                ..MatchConfig::default()
            }),
            ..CreateMatchRequest::default()
        };
        let (table, settings) = settings(&matches, &asked).expect("it is right");
        let arbiter = matches.create(None, Origin::Unknown, table, settings).await.expect("it is created");
        let bytes = arbiter.describe(Audience::Public).encoded_len();
        assert!((3_000..MATCH_BYTES).contains(&bytes), "{bytes}");
    }
}
