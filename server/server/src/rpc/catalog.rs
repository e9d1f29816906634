//! What can be played.

use std::sync::Arc;

use boardwire_api::v1::{
    GetGameRequest, GetGameResponse, GetServerRequest, GetServerResponse, ListGamesRequest, ListGamesResponse,
};
use boardwire_batch::messages;

use super::pages::Paging;
use crate::batches::Batches;
use crate::convert;
use crate::edge::{Call, Kind, Reply, Service};
use crate::matches::Matches;
use boardwire_api::Error;

/// About what the description of a table takes.
const SPEC_BYTES: usize = 64 << 10;

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
        let server = convert::server(&self.matches, &self.batches, call.caller().origin());
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
