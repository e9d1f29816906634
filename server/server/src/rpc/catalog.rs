//! The catalog service: descriptions of the server and its games.

use std::sync::Arc;
use std::time::Duration;

use boardwire_api::v1::{
    self, GetGameRequest, GetServerRequest, GetServerResponse, ListGamesRequest, ListGamesResponse,
};
use boardwire_api::{Error, MAX_MESSAGE_BYTES};
use boardwire_batch::messages;

use super::Handlers;
use super::pagination::Paging;
use crate::edge::{Call, Reply, Service, ServiceKind};

/// The approximate size in bytes of a table's description with the rules of the game.
pub(super) const APPROXIMATE_SPEC_BYTES: usize = 64 << 10;

pub(super) const NAME: &str = "boardwire.v1.CatalogService";

pub(super) fn service(handlers: &Arc<Handlers>) -> Service<Handlers> {
    Service::new(NAME, ServiceKind::Boardwire, Arc::clone(handlers))
        .unary("GetServer", Handlers::get_server)
        .unary("ListGames", Handlers::list_games)
        .unary("GetGame", Handlers::get_game)
}

impl Handlers {
    async fn get_server(self: Arc<Self>, call: Call, _: GetServerRequest) -> Result<Reply, Error> {
        let quotas = call.caller().origin().quotas();
        let (match_limits, batch_limits) = (self.matches.limits(), self.batches.limits());
        // A time that a message cannot hold is longer than any real limit.
        let duration = |time: Duration| prost_types::Duration::try_from(time).unwrap_or_default();
        let limits = v1::Limits {
            message_bytes: messages::to_u32(MAX_MESSAGE_BYTES),
            matches: messages::to_u32(match_limits.matches),
            matches_per_caller: messages::to_u32(quotas.matches.unwrap_or(match_limits.per_caller)),
            waiting_calls: messages::to_u32(match_limits.waiting),
            match_idle_timeout: Some(duration(match_limits.idle)),
            batches: messages::to_u32(batch_limits.batches),
            environments: messages::to_u32(batch_limits.environments),
            environments_per_caller: messages::to_u32(quotas.environments.unwrap_or(batch_limits.per_caller)),
            batch_idle_timeout: Some(duration(batch_limits.idle)),
            opening_timeout: Some(duration(match_limits.opening_timeout)),
        };
        let features = self.batches.has_portable_snapshots().then(|| "lasting_snapshots".to_owned());
        let server = v1::Server {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            protocols: vec!["boardwire.v1".to_owned()],
            features: features.into_iter().collect(),
            limits: Some(limits),
            bots: messages::bots(self.matches.tables()),
            policies: messages::policies(self.matches.tables()),
        };
        call.reply(&GetServerResponse { server: Some(server) })
    }

    async fn list_games(self: Arc<Self>, call: Call, request: ListGamesRequest) -> Result<Reply, Error> {
        let ListGamesRequest { page_size, page_token } = request;
        let page = Paging::read(page_size, &page_token, &ListGamesRequest::default())?;
        let ids: Vec<_> = self.matches.tables().registry().ids().collect();
        let first = ids.iter().position(|id| *id == page.after).map_or(0, |at| at + 1);
        let following = &ids[first..];
        let (listed, rest) = following.split_at(page.size.min(following.len()));
        let last = listed.last().filter(|_| !rest.is_empty()).map(|&id| id.to_owned());
        let games = listed.iter().map(|id| Ok(messages::game(&self.matches.tables().game_facts(id)?)));
        call.reply(&ListGamesResponse {
            games: games.collect::<Result<_, Error>>()?,
            next_page_token: page.next(last),
        })
    }

    async fn get_game(self: Arc<Self>, call: Call, request: GetGameRequest) -> Result<Reply, Error> {
        let charge = call.budget().reserve(APPROXIMATE_SPEC_BYTES).await?;
        Reply::message(charge, &messages::get_game(self.matches.tables(), &request)?)
    }
}
