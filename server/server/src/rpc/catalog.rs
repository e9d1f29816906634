//! The catalog service: descriptions of the server and its games.

use std::sync::Arc;
use std::time::Duration;

use boardwire_api::v1::{
    self, GetGameRequest, GetGameResponse, GetServerRequest, GetServerResponse, ListGamesRequest,
    ListGamesResponse,
};
use boardwire_api::{Error, MAX_MESSAGE_BYTES};
use boardwire_batch::messages;

use super::Handlers;
use super::pages::Paging;
use crate::edge::{Call, Kind, Reply, Service};

/// The approximate size in bytes of a table's description.
const SPEC_BYTES: usize = 64 << 10;

pub(super) const NAME: &str = "boardwire.v1.CatalogService";

pub(super) fn service(handlers: &Arc<Handlers>) -> Service<Handlers> {
    Service::new(NAME, Kind::Own, Arc::clone(handlers))
        .call("GetServer", Handlers::get_server)
        .call("ListGames", Handlers::list_games)
        .call("GetGame", Handlers::get_game)
}

impl Handlers {
    async fn get_server(self: Arc<Self>, call: Call, _: GetServerRequest) -> Result<Reply, Error> {
        let quotas = call.caller().origin().quotas();
        let (match_limits, batch_limits) = (self.matches.limits(), self.batches.limits());
        // A time that a message cannot hold is longer than any real limit.
        let duration = |time: Duration| prost_types::Duration::try_from(time).unwrap_or_default();
        let limits = v1::Limits {
            message_bytes: messages::count(MAX_MESSAGE_BYTES),
            matches: messages::count(match_limits.matches),
            matches_per_caller: messages::count(quotas.matches.unwrap_or(match_limits.per_caller)),
            waiting_calls: messages::count(match_limits.waiting),
            match_idle_timeout: Some(duration(match_limits.idle)),
            batches: messages::count(batch_limits.batches),
            environments: messages::count(batch_limits.environments),
            environments_per_caller: messages::count(quotas.environments.unwrap_or(batch_limits.per_caller)),
            batch_idle_timeout: Some(duration(batch_limits.idle)),
        };
        let features = self.batches.has_lasting_snapshots().then(|| "lasting_snapshots".to_owned());
        let server = v1::Server {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            protocols: vec!["boardwire.v1".to_owned()],
            features: features.into_iter().collect(),
            limits: Some(limits),
        };
        call.answer(&GetServerResponse { server: Some(server) })
    }

    async fn list_games(self: Arc<Self>, call: Call, request: ListGamesRequest) -> Result<Reply, Error> {
        let ListGamesRequest { page_size, page_token } = request;
        let page = Paging::read(page_size, &page_token, &ListGamesRequest::default())?;
        let ids: Vec<_> = self.matches.tables().registry().ids().collect();
        let first = ids.iter().position(|id| *id == page.after).map_or(0, |at| at + 1);
        let following = &ids[first..];
        let (listed, rest) = following.split_at(page.size.min(following.len()));
        let last = listed.last().filter(|_| !rest.is_empty()).map(|&id| id.to_owned());
        let games = listed.iter().map(|id| Ok(messages::game(&self.matches.tables().served(id)?)));
        call.answer(&ListGamesResponse {
            games: games.collect::<Result<_, Error>>()?,
            next_page_token: page.next(last),
        })
    }

    async fn get_game(self: Arc<Self>, call: Call, request: GetGameRequest) -> Result<Reply, Error> {
        let charge = call.budget().reserve(SPEC_BYTES).await?;
        let spec = messages::game_spec(self.matches.tables(), &request)?;
        Reply::message(charge, &GetGameResponse { spec: Some(spec) })
    }
}
