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
use crate::arbiter::{Arbiter, Decision, Looker, MOST_WATCH_DELAY, Part, Role, Settings};
use crate::convert;
use crate::edge::{Answer, Call, Kind, Reply, Requests, Service};
use crate::matches::{Matches, lost};
use crate::requests::RequestId;
use crate::{status, telemetry};

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
        .call("OpenDeal", MatchPlane::open_deal)
        .call("Observe", MatchPlane::observe)
        .call("Act", MatchPlane::act)
        .call("Reset", MatchPlane::reset)
        .call("ResetMatch", MatchPlane::reset_match)
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
async fn told(arbiter: &Arbiter, looker: Looker) -> Result<Option<v1::Match>, Error> {
    let told = convert::match_(arbiter, looker);
    arbiter.kept().await?;
    Ok(Some(told))
}

impl MatchPlane {
    async fn create(self: Arc<Self>, call: Call, asked: CreateMatchRequest) -> Result<Reply, Error> {
        let timed = telemetry::Request::begin("CreateMatch");
        let id = request_id(&asked.request_id, call.caller(), &asked)?;
        let (table, settings) = settings(&self.0, &asked)?;
        let arbiter = self.0.create(id, call.caller().origin(), table, settings).await?;
        let (game, players) = (arbiter.table().rules.info().id, &arbiter.settings().players);
        let players: Vec<_> = players.iter().map(ToString::to_string).collect();
        tracing::info!(match_id = arbiter.id(), game, ?players, "match created");
        timed.answered(game, false);
        let invite = |(seat, code): (Seat, String)| Invitation { seat: seat.number().into(), code };
        call.answer(&CreateMatchResponse {
            r#match: told(&arbiter, Looker::Host).await?,
            invitations: arbiter.invitations().into_iter().map(invite).collect(),
            host_token: arbiter.host_token().to_owned(),
            spectator_token: arbiter.spectator_token().to_owned(),
        })
    }

    async fn get(self: Arc<Self>, call: Call, asked: GetMatchRequest) -> Result<Reply, Error> {
        let arbiter = self.0.find(&asked.match_id)?;
        let looker = arbiter.looks(call.token())?;
        call.answer(&GetMatchResponse { r#match: told(&arbiter, looker).await? })
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
        let tell = move |arbiter: &Arbiter| {
            is_wanted(arbiter, &asked).then(|| convert::match_(arbiter, Looker::Public))
        };
        let page = self.0.list(origin, after, paging.size, tell).await?;
        self.0.kept().await?;
        let answer = ListMatchesResponse { matches: page.matches, next_page_token: paging.next(page.last) };
        Reply::message(charge, &answer)
    }

    async fn join(self: Arc<Self>, call: Call, asked: JoinMatchRequest) -> Result<Reply, Error> {
        let timed = telemetry::Request::begin("JoinMatch");
        let JoinMatchRequest { code, request_id, commitment } = asked;
        let request = RequestId::parse(&request_id)?;
        let bound = if commitment.is_empty() { None } else { Some(part("commitment", &commitment)?) };
        let (arbiter, seat, token) = self.0.join(code.trim(), request, bound).await?;
        tracing::info!(match_id = arbiter.id(), seat = seat.number(), "seat joined");
        timed.answered(arbiter.table().rules.info().id, false);
        let r#match = told(&arbiter, Looker::Seat(seat)).await?;
        call.answer(&JoinMatchResponse { r#match, seat: seat.number().into(), token })
    }

    async fn invite(self: Arc<Self>, call: Call, asked: InviteRequest) -> Result<Reply, Error> {
        let (seat, code) = self.0.invite(&asked.match_id, call.token(), asked.seat).await?;
        tracing::info!(match_id = asked.match_id, seat = seat.number(), "seat given away anew");
        let invitation = Some(Invitation { seat: seat.number().into(), code });
        call.answer(&InviteResponse { invitation })
    }

    async fn open_deal(self: Arc<Self>, call: Call, asked: OpenDealRequest) -> Result<Reply, Error> {
        let arbiter = self.0.find(&asked.match_id)?;
        let seat = arbiter.seat(call.token())?;
        arbiter.open(seat, part("secret", &asked.secret)?).await?;
        call.answer(&OpenDealResponse {})
    }

    async fn observe(self: Arc<Self>, call: Call, asked: ObserveRequest) -> Result<Reply, Error> {
        let observed = observe(&self.0, call.token(), &asked).await?;
        call.answer(&observed)
    }

    async fn act(self: Arc<Self>, call: Call, asked: ActRequest) -> Result<Reply, Error> {
        let acted = act(&self.0, call.token(), call.arrived(), &asked).await?;
        call.answer(&acted)
    }

    async fn reset(self: Arc<Self>, call: Call, asked: ResetRequest) -> Result<Reply, Error> {
        let reset = reset(&self.0, call.token(), &asked).await?;
        call.answer(&reset)
    }

    async fn reset_match(self: Arc<Self>, call: Call, asked: ResetMatchRequest) -> Result<Reply, Error> {
        let arbiter = self.0.find(&asked.match_id)?;
        if arbiter.role(call.token())? != Role::Host {
            return Err(Error::HostOnly { match_id: asked.match_id });
        }
        arbiter.reset_match(asked.seed, asked.episode).await?;
        call.answer(&ResetMatchResponse { r#match: told(&arbiter, Looker::Host).await? })
    }

    async fn resign(self: Arc<Self>, call: Call, asked: ResignRequest) -> Result<Reply, Error> {
        let resigned = resign(&self.0, call.token(), &asked).await?;
        call.answer(&resigned)
    }

    async fn play(self: Arc<Self>, call: Call, requests: Requests) -> Result<Reply, Error> {
        let token = call.token().ok_or(Error::TokenMissing)?;
        self.0.holder(Some(token))?;
        let requests = Box::pin(requests.stream().take_until(self.0.stopped()));
        let state = (self, call, requests);
        Ok(Reply::stream(stream::try_unfold(state, |(plane, call, mut requests)| async move {
            let Some(asked) = requests.next().await.transpose()? else { return Ok(None) };
            let arrived = call.caller().last_read();
            let charge = call.budget().reserve(ANSWER_BYTES).await?;
            let answer = call.budget().in_turn(answer(&plane.0, call.token(), arrived, asked)).await;
            let answer = Answer::new(charge, &answer)?;
            Ok(Some((answer, (plane, call, requests))))
        })))
    }

    async fn replay(self: Arc<Self>, call: Call, asked: GetReplayRequest) -> Result<Reply, Error> {
        let timed = telemetry::Request::begin("GetReplay");
        let arbiter = self.0.find(&asked.match_id)?;
        arbiter.looks(call.token())?;
        // The replay, and the message that it is copied to.
        let charge = call.budget().reserve(2 * arbiter.replay_bytes()).await?;
        // The seat may have been given to somebody else while there was no room.
        let looker = arbiter.looks(call.token())?;
        let (played, owner) = (Arc::clone(&arbiter), self.0.owner(call.caller().origin()));
        let replayed = owner.run(move || {
            let replay = Some(convert::replay(&played, played.replay(looker, asked.episode)?));
            Reply::message(charge, &GetReplayResponse { replay })
        });
        let reply = replayed.await.ok_or_else(|| lost("a replay"))??;
        arbiter.kept().await?;
        timed.answered(arbiter.table().rules.info().id, false);
        Ok(reply)
    }

    async fn watch(self: Arc<Self>, call: Call, asked: WatchRequest) -> Result<Reply, Error> {
        let arbiter = self.0.find(&asked.match_id)?;
        arbiter.looks(call.token())?;
        let WatchRequest { after, depict, .. } = asked;
        let kept = call.budget().charge(WATCHER_BYTES)?;
        let watcher = arbiter.watch(after)?;
        let seats = arbiter.table().rules.info().seats;
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
                let (frame, depiction) = (convert::frame(frame, seats), depiction.map(convert::depiction));
                let answer = Answer::new(charge, &WatchResponse { frame: Some(frame), depiction })?;
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
        let r#match = told(&arbiter, Looker::Host).await?;
        tracing::info!(match_id = arbiter.id(), "match closed");
        call.answer(&CloseMatchResponse { r#match })
    }
}

/// The table of a new match, and its settings.
fn settings(matches: &Matches, asked: &CreateMatchRequest) -> Result<(Arc<Table>, Settings), Error> {
    let config = asked.config.as_ref().ok_or_else(|| messages::missing("config", "a MatchConfig"))?;
    let tables = matches.tables();
    let options = config.options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let seats = u32::try_from(config.players.len()).unwrap_or(u32::MAX);
    let table = tables.table(&config.game, seats, options)?;
    let players = config.players.iter().enumerate();
    let players = players.map(|(seat, given)| messages::player(tables, &table, seat, given));
    let players = players.collect::<Result<Vec<_>, _>>()?;
    let settings = Settings {
        clocks: convert::clocks(&config.clocks, &players, tables, &table)?,
        players,
        seed: asked.seed,
        reward: messages::reward(config.reward)?,
        skip_forced: config.skip_forced,
        illegal_actions: messages::illegal(config.illegal_actions)?,
        seat_may_seed: config.seat_may_seed,
        fair_deals: config.fair_deals,
        opening: matches.limits().opening,
        private: config.private,
        watch_delay: convert::duration("watch_delay", config.watch_delay, MOST_WATCH_DELAY)?,
        labels: config.labels.clone(),
        episodes: config.episodes,
        host_begins: config.host_begins,
    };
    Ok((table, settings))
}

/// What somebody contributes to deals, or is bound by.
fn part(field: &'static str, bytes: &[u8]) -> Result<Part, Error> {
    bytes.try_into().map_err(|_| Error::field(field, format!("{} bytes", bytes.len()), "32 bytes"))
}

/// Whether a match passes the filters of a request.
fn is_wanted(arbiter: &Arbiter, asked: &ListMatchesRequest) -> bool {
    let ListMatchesRequest { page_size: _, page_token: _, game, states, labels } = asked;
    let state = || i32::from(convert::match_state(&arbiter.shown_phase()));
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
) -> Result<Option<v1::Observation>, Error> {
    let Role::Seat(seat) = arbiter.role(token)? else { return Ok(None) };
    let seen = arbiter.observe(seat, wait, convert::extras(extras)).await?;
    Ok(Some(convert::observation(seen, arbiter.table())))
}

#[tracing::instrument(level = "debug", skip_all, err(level = "debug"), fields(match_id = asked.match_id))]
async fn observe(
    matches: &Matches,
    token: Option<&str>,
    asked: &ObserveRequest,
) -> Result<ObserveResponse, Error> {
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
    arrived: Instant,
    asked: &ActRequest,
) -> Result<ActResponse, Error> {
    let request = telemetry::Request::begin("Act");
    let arbiter = matches.find(&asked.match_id)?;
    let seat = arbiter.seat(token)?;
    tracing::Span::current().record("seat", seat.number());
    let decision = Decision { episode: asked.episode, number: asked.decision, action: asked.action };
    let thought = asked.thought.map(|thought| convert::elapsed(thought).unwrap_or_default());
    arbiter.act_after(seat, decision, arrived, thought).await?;
    let observation = seen(&arbiter, token, asked.wait, asked.extras).await?;
    request.answered(arbiter.table().rules.info().id, asked.wait);
    Ok(ActResponse { observation })
}

#[tracing::instrument(level = "debug", skip_all, err(level = "debug"), fields(match_id = asked.match_id))]
async fn reset(matches: &Matches, token: Option<&str>, asked: &ResetRequest) -> Result<ResetResponse, Error> {
    let request = telemetry::Request::begin("Reset");
    let arbiter = matches.find(&asked.match_id)?;
    arbiter.reset(arbiter.seat(token)?, asked.seed, asked.episode).await?;
    let observation = seen(&arbiter, token, asked.wait, asked.extras).await?;
    request.answered(arbiter.table().rules.info().id, true);
    Ok(ResetResponse { observation })
}

#[tracing::instrument(level = "debug", skip_all, err(level = "debug"), fields(match_id = asked.match_id))]
async fn resign(
    matches: &Matches,
    token: Option<&str>,
    asked: &ResignRequest,
) -> Result<ResignResponse, Error> {
    let request = telemetry::Request::begin("Resign");
    let arbiter = matches.find(&asked.match_id)?;
    let role = arbiter.role(token)?;
    arbiter.resign(role, asked.seat, asked.episode).await?;
    let observation = seen(&arbiter, token, false, asked.extras).await?;
    request.answered(arbiter.table().rules.info().id, false);
    Ok(ResignResponse { observation })
}

/// Answers one request of a stream; a refusal is an answer too.
async fn answer(
    matches: &Matches,
    token: Option<&str>,
    arrived: Instant,
    asked: PlayRequest,
) -> PlayResponse {
    use play_request::Request;
    use play_response::Answer;
    let answer = match &asked.request {
        Some(Request::Observe(asked)) => observe(matches, token, asked).await.map(Answer::Observe),
        Some(Request::Act(asked)) => act(matches, token, arrived, asked).await.map(Answer::Act),
        Some(Request::Reset(asked)) => reset(matches, token, asked).await.map(Answer::Reset),
        Some(Request::Resign(asked)) => resign(matches, token, asked).await.map(Answer::Resign),
        None => Err(Error::field("request", "nothing", "one of observe, act, reset, resign")),
    };
    let answer = answer.unwrap_or_else(|error| Answer::Error(status::message(&error)));
    PlayResponse { tag: asked.tag, answer: Some(answer) }
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
    use crate::edge::Origin;
    use crate::matches::Limits;

    #[tokio::test]
    async fn a_match_takes_no_more_on_a_page_than_there_is_room_for() {
        let tables = Tables::new(Registry::standard());
        let pool = Arc::new(Pool::new(1).expect("a thread starts"));
        let matches = Matches::new(tables, Limits::default(), pool);
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
        let bytes = convert::match_(&arbiter, Looker::Public).encoded_len();
        assert!((3_000..MATCH_BYTES).contains(&bytes), "{bytes}");
    }
}
