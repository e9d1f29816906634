//! What can be played.

use std::sync::Arc;
use std::time::Duration;

use boardwire_api::v1::{
    self, GetGameRequest, GetGameResponse, GetServerRequest, GetServerResponse, ListGamesRequest,
    ListGamesResponse,
};
use boardwire_batch::messages;

use super::pages::Paging;
use crate::batches::Batches;
use crate::edge::{Call, Kind, Reply, Service};
use crate::matches::Matches;
use crate::origin::Origin;
use boardwire_api::Error;
use boardwire_api::MAX_MESSAGE_BYTES;

/// About what the description of a table takes.
const SPEC_BYTES: usize = 64 << 10;

/// What it speaks.
const PROTOCOLS: [&str; 1] = ["boardwire.v1"];
/// The server takes snapshots of others with the same key.
const LASTING_SNAPSHOTS: &str = "lasting_snapshots";

/// Serves the descriptions of the server and its games.
pub(crate) struct Catalog {
    matches: Arc<Matches>,
    batches: Arc<Batches>,
}

/// The service, as the protocol names it.
pub(super) const NAME: &str = "boardwire.v1.CatalogService";

pub(super) fn service(matches: &Arc<Matches>, batches: &Arc<Batches>) -> Service<Catalog> {
    let catalog = Catalog { matches: Arc::clone(matches), batches: Arc::clone(batches) };
    Service::new(NAME, Kind::Own, Arc::new(catalog))
        .call("GetServer", Catalog::get_server)
        .call("ListGames", Catalog::list_games)
        .call("GetGame", Catalog::get_game)
}

impl Catalog {
    async fn get_server(self: Arc<Self>, call: Call, _: GetServerRequest) -> Result<Reply, Error> {
        let server = server(&self.matches, &self.batches, call.caller().origin());
        call.answer(&GetServerResponse { server: Some(server) })
    }

    async fn list_games(self: Arc<Self>, call: Call, asked: ListGamesRequest) -> Result<Reply, Error> {
        let ListGamesRequest { page_size, page_token } = asked;
        let page = Paging::read(page_size, &page_token, &ListGamesRequest::default())?;
        let ids: Vec<_> = self.matches.tables().registry().ids().collect();
        let known = ids.iter().position(|id| *id == page.after);
        let following = &ids[known.map_or(0, |at| at + 1)..];
        let (shown, rest) = following.split_at(page.size.min(following.len()));
        let last = shown.last().filter(|_| !rest.is_empty()).map(|&id| id.to_owned());
        let games = shown.iter().map(|id| self.matches.tables().served(id));
        call.answer(&ListGamesResponse {
            games: games.map(|served| Ok(messages::game(&served?))).collect::<Result<_, Error>>()?,
            next_page_token: page.next(last),
        })
    }

    async fn get_game(self: Arc<Self>, call: Call, asked: GetGameRequest) -> Result<Reply, Error> {
        let charge = call.budget().reserve(SPEC_BYTES).await?;
        let spec = messages::game_spec(self.matches.tables(), &asked)?;
        Reply::message(charge, &GetGameResponse { spec: Some(spec) })
    }
}

/// What `origin` is told of the server.
fn server(matches: &Matches, batches: &Batches, origin: Origin) -> v1::Server {
    let quotas = origin.quotas();
    let (match_limits, batch_limits) = (matches.limits(), batches.limits());
    // What does not fit is more than any server has.
    let duration = |time: Duration| prost_types::Duration::try_from(time).unwrap_or_default();
    let features = batches.has_lasting_snapshots().then(|| LASTING_SNAPSHOTS.to_owned());
    v1::Server {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        protocols: PROTOCOLS.map(str::to_owned).into(),
        features: features.into_iter().collect(),
        limits: Some(v1::Limits {
            message_bytes: messages::count(MAX_MESSAGE_BYTES),
            matches: messages::count(match_limits.matches),
            matches_per_caller: messages::count(quotas.matches.unwrap_or(match_limits.per_caller)),
            waiting_calls: messages::count(match_limits.waiting),
            match_idle_timeout: Some(duration(match_limits.idle)),
            batches: messages::count(batch_limits.batches),
            environments: messages::count(batch_limits.environments),
            environments_per_caller: messages::count(quotas.environments.unwrap_or(batch_limits.per_caller)),
            batch_idle_timeout: Some(duration(batch_limits.idle)),
        }),
    }
}
