//! The search service: determinizations (worlds) to search in, for seats of matches and owners of batches.

use std::sync::Arc;

use boardwire_api::Error;
use boardwire_api::v1::{
    AdvanceRequest, AdvanceResponse, CloseSearchRequest, CloseSearchResponse, CreateSearchRequest,
    CreateSearchResponse, RolloutRequest, RolloutResponse, create_search_request::Of,
};
use boardwire_batch::batch::Batch;
use boardwire_batch::messages;
use boardwire_batch::play::Insight;
use boardwire_batch::search::{Search, row_bytes};
use boardwire_batch::tables::Table;
use tonic::codegen::BoxFuture;

use super::{Handlers, message_bytes, request_id};
use crate::batches::{InUse, LeaseTerms};
use crate::edge::{Call, Kind, Reply, Service};
use crate::secret;

pub(super) const NAME: &str = "boardwire.v1.SearchService";

pub(super) fn service(handlers: &Arc<Handlers>) -> Service<Handlers> {
    Service::new(NAME, Kind::Own, Arc::clone(handlers))
        .call("CreateSearch", Handlers::create_search)
        .call("Advance", Handlers::advance)
        .call("Rollout", Handlers::rollout)
        .call("CloseSearch", Handlers::close_search)
}

/// The seats of a search: one seat of a match, or the deciding seat of each chosen environment of a batch.
struct Source {
    table: Arc<Table>,
    seats: usize,
    /// The information set of each of these seats.
    insights: BoxFuture<Vec<Box<dyn Insight>>, Error>,
}

impl Handlers {
    async fn create_search(
        self: Arc<Self>,
        call: Call,
        request: CreateSearchRequest,
    ) -> Result<Reply, Error> {
        let token = call.token().ok_or(Error::TokenMissing)?.to_owned();
        let id = request_id(&request.request_id, call.caller(), &token, &request)?;
        let Source { table, seats, insights } = self.source(&token, &request)?;
        let message_bytes = message_bytes(request.max_message_bytes);
        let opening = messages::search_opening(&request, seats, secret::seed, message_bytes)?;
        opening.check(table.rules.info(), seats)?;
        let worlds = opening.worlds.saturating_mul(seats);
        let bytes = worlds.saturating_mul(row_bytes(table.rules.info())).min(message_bytes);
        // Twice the size: for the rows, and for the message that they are copied to.
        let charge = call.budget().reserve(2 * bytes).await?;
        let (peer, origin) = (Some(call.caller().peer()), call.caller().origin());
        let terms = LeaseTerms { peer, origin, request: id };
        let places = opening.places;
        let draw = |group| async move {
            Search::open(secret::word(), table, opening, insights.await?, &group).await
        };
        let (search, _) = self.batches.open(terms, places, token, draw).await?;
        tracing::debug!(search_id = search.id(), worlds, "search begun");
        let step = Some(search.first_rows().await?);
        Reply::message(charge, &CreateSearchResponse { search: Some(messages::search(&search)), step })
    }

    async fn advance(self: Arc<Self>, call: Call, request: AdvanceRequest) -> Result<Reply, Error> {
        let search: InUse<Search> = self.batches.find(&request.search_id, call.token())?;
        let moves = messages::moves(&request)?;
        // Twice the size: for the rows, and for the message that they are copied to.
        let charge = call.budget().reserve(2 * search.step_bytes(moves.worlds.len())).await?;
        let step = search.advance(moves).await?;
        Reply::message(charge, &AdvanceResponse { step: Some(step) })
    }

    async fn rollout(self: Arc<Self>, call: Call, request: RolloutRequest) -> Result<Reply, Error> {
        let search: InUse<Search> = self.batches.find(&request.search_id, call.token())?;
        let (worlds, playouts, rollout) = messages::playouts(&request)?;
        let seed = request.seed.unwrap_or_else(secret::seed);
        let charge = call.budget().reserve(search.reward_bytes(worlds.len())).await?;
        let rewards = search.roll_out(&worlds, playouts, rollout, seed).await?;
        Reply::message(charge, &RolloutResponse { reward: messages::rewards(&rewards) })
    }

    async fn close_search(self: Arc<Self>, call: Call, request: CloseSearchRequest) -> Result<Reply, Error> {
        self.batches.close::<Search>(&request.search_id, call.token())?;
        call.answer(&CloseSearchResponse {})
    }

    fn source(&self, token: &str, request: &CreateSearchRequest) -> Result<Source, Error> {
        let mask = request.mask.clone();
        match &request.of {
            Some(Of::MatchId(id)) => {
                let arbiter = self.matches.find(id)?;
                arbiter.seat_of(arbiter.role(Some(token))?)?;
                if !mask.is_empty() {
                    return Err(Error::field("mask", format!("{} bytes", mask.len()), "empty for a match"));
                }
                let (table, token) = (Arc::clone(arbiter.table()), token.to_owned());
                let insights = Box::pin(async move { Ok(vec![arbiter.insight(Some(&*token)).await?]) });
                Ok(Source { table, seats: 1, insights })
            }
            Some(Of::BatchId(id)) => {
                let batch: InUse<Batch> = self.batches.find(id, Some(token))?;
                let (table, seats) = (Arc::clone(batch.table()), batch.count(&mask)?);
                let insights = Box::pin(async move { batch.insights(&mask).await });
                Ok(Source { table, seats, insights })
            }
            None => Err(Error::field("of", "nothing", "one of match_id, batch_id")),
        }
    }
}
