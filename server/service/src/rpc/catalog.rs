//! What can be played.

use std::sync::Arc;

use boardwire_api::v1::{
    GetGameRequest, GetGameResponse, GetServerRequest, GetServerResponse, ListGamesRequest,
    ListGamesResponse, catalog_service_server::CatalogService,
};
use boardwire_batch::messages;
use boardwire_games::Registry;
use tonic::{Request, Response, Status};

use super::pages::Paging;
use super::{caller, holding, room};
use crate::batches::Batches;
use crate::convert;
use crate::edge::{Caller, Origin};
use crate::error::ServiceError;
use crate::matches::Matches;

/// About what the description of a table takes.
const SPEC_BYTES: usize = 64 << 10;

/// Serves the descriptions of the server and its games.
pub(crate) struct Catalog {
    pub(crate) matches: Arc<Matches>,
    pub(crate) batches: Arc<Batches>,
}

#[tonic::async_trait]
impl CatalogService for Catalog {
    async fn get_server(
        &self,
        request: Request<GetServerRequest>,
    ) -> Result<Response<GetServerResponse>, Status> {
        let origin = caller(&request).as_ref().map_or(Origin::Unknown, Caller::origin);
        let server = convert::server(&self.matches, &self.batches, origin);
        Ok(Response::new(GetServerResponse { server: Some(server) }))
    }

    async fn list_games(
        &self,
        request: Request<ListGamesRequest>,
    ) -> Result<Response<ListGamesResponse>, Status> {
        let ListGamesRequest { page_size, page_token } = request.into_inner();
        let page = Paging::read(page_size, &page_token, &ListGamesRequest::default())?;
        let known = Registry::IDS.iter().position(|id| *id == page.after);
        let following = &Registry::IDS[known.map_or(0, |at| at + 1)..];
        let (shown, rest) = following.split_at(page.size.min(following.len()));
        let last = shown.last().filter(|_| !rest.is_empty()).map(|&id| id.to_owned());
        let games = shown.iter().map(|id| self.matches.tables().served(id));
        Ok(Response::new(ListGamesResponse {
            games: games.map(|served| Ok(messages::game(&served?))).collect::<Result<_, ServiceError>>()?,
            next_page_token: page.next(last),
        }))
    }

    async fn get_game(&self, request: Request<GetGameRequest>) -> Result<Response<GetGameResponse>, Status> {
        let room = room(caller(&request).as_ref(), SPEC_BYTES).await?;
        let spec = messages::game_spec(self.matches.tables(), request.get_ref());
        Ok(holding(GetGameResponse { spec: Some(spec.map_err(ServiceError::from)?) }, room))
    }
}
