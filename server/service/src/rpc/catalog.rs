//! What can be played.

use std::sync::Arc;

use boardwire_api::v1::{
    GetGameRequest, GetGameResponse, ListGamesRequest, ListGamesResponse,
    catalog_service_server::CatalogService,
};
use boardwire_games::Registry;
use tonic::{Request, Response, Status};

use super::{bad_page, caller, holding, page_size, room};
use crate::convert;
use crate::matches::Matches;

/// About what the description of a table takes.
const SPEC_BYTES: usize = 64 << 10;

/// Serves the descriptions of the games.
pub(crate) struct Catalog(pub(crate) Arc<Matches>);

#[tonic::async_trait]
impl CatalogService for Catalog {
    async fn list_games(
        &self,
        request: Request<ListGamesRequest>,
    ) -> Result<Response<ListGamesResponse>, Status> {
        let ListGamesRequest { page_size: size, page_token } = request.into_inner();
        let first = if page_token.is_empty() {
            0
        } else {
            Registry::IDS.iter().position(|id| *id == page_token).ok_or_else(|| bad_page(&page_token))?
        };
        let last = Registry::IDS.len().min(first + page_size(size));
        let games = Registry::IDS[first..last].iter().map(|id| self.0.tables().served(id));
        Ok(Response::new(ListGamesResponse {
            games: games.map(|served| Ok(convert::game(&served?))).collect::<Result<_, Status>>()?,
            next_page_token: Registry::IDS.get(last).map_or(String::new(), |&id| id.to_owned()),
        }))
    }

    async fn get_game(&self, request: Request<GetGameRequest>) -> Result<Response<GetGameResponse>, Status> {
        let room = room(caller(&request).as_ref(), SPEC_BYTES).await?;
        let GetGameRequest { game, seats, options } = request.into_inner();
        let tables = self.0.tables();
        let served = tables.served(&game)?;
        let seats = if seats == 0 { (*served.game_type.seats.start()).into() } else { seats };
        let options = options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let table = tables.table(&game, seats, options)?;
        Ok(holding(GetGameResponse { spec: Some(convert::spec(&served, &table)) }, room))
    }
}
