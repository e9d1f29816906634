//! The search service: worlds (determinizations) to search in, for seats of matches and owners of batches.

use std::sync::Arc;

use boardwire_api::Error;
use boardwire_api::v1::{
    AdvanceRequest, AdvanceResponse, CloseSearchRequest, CloseSearchResponse, CreateSearchRequest,
    CreateSearchResponse, RedeterminizeRequest, RedeterminizeResponse, RolloutRequest, RolloutResponse,
    create_search_request::Of,
};
use boardwire_batch::batch::Batch;
use boardwire_batch::messages;
use boardwire_batch::play::InformationSet;
use boardwire_batch::search::{Search, row_bytes};
use boardwire_batch::tables::Table;
use tonic::codegen::BoxFuture;

use super::{Handlers, message_bytes, request_id};
use crate::batches::{LeaseGuard, LeaseTerms};
use crate::edge::{Call, Reply, Service, ServiceKind};
use crate::secret;

pub(super) const NAME: &str = "boardwire.v1.SearchService";

pub(super) fn service(handlers: &Arc<Handlers>) -> Service<Handlers> {
    Service::new(NAME, ServiceKind::Boardwire, Arc::clone(handlers))
        .unary("CreateSearch", Handlers::create_search)
        .unary("Advance", Handlers::advance)
        .unary("Redeterminize", Handlers::redeterminize)
        .unary("Rollout", Handlers::rollout)
        .unary("CloseSearch", Handlers::close_search)
}

/// The seats of a search: one seat of a match, or the deciding seat of each chosen environment of a batch.
struct SearchedSeats {
    table: Arc<Table>,
    seats: usize,
    /// The information sets of these seats.
    information_sets: BoxFuture<Vec<Box<dyn InformationSet>>, Error>,
}

impl Handlers {
    async fn create_search(
        self: Arc<Self>,
        call: Call,
        request: CreateSearchRequest,
    ) -> Result<Reply, Error> {
        let token = call.token().ok_or(Error::TokenMissing)?.to_owned();
        let id = request_id(&request.request_id, call.caller(), &token, &request)?;
        let SearchedSeats { table, seats, information_sets } = self.searched_seats(&token, &request)?;
        let message_bytes = message_bytes(request.max_message_bytes);
        let options = messages::search_options(&request, seats, secret::seed, message_bytes)?;
        options.check(table.game.info(), seats)?;
        let worlds = options.worlds.saturating_mul(seats);
        let bytes = worlds.saturating_mul(row_bytes(table.game.info())).min(message_bytes);
        // Twice the size: for the rows, and for the message that they are copied to.
        let charge = call.budget().reserve(2 * bytes).await?;
        let (connection, origin) = (Some(call.caller().connection_id()), call.caller().origin());
        let terms = LeaseTerms { connection, origin, request: id };
        let slots = options.places;
        let open = |group| async move {
            Search::open(secret::random_hex(), table, options, information_sets.await?, &group).await
        };
        let (search, _) = self.batches.create_lease(terms, slots, token, open).await?;
        tracing::debug!(search_id = search.id(), worlds, "search created");
        let step = Some(search.sampled_rows().await?);
        Reply::message(charge, &CreateSearchResponse { search: Some(messages::search(&search)), step })
    }

    async fn advance(self: Arc<Self>, call: Call, request: AdvanceRequest) -> Result<Reply, Error> {
        let search: LeaseGuard<Search> = self.batches.find(&request.search_id, call.token())?;
        let actions = messages::world_actions(&request)?;
        // Twice the size: for the rows, and for the message that they are copied to.
        let charge = call.budget().reserve(2 * search.step_bytes(actions.worlds.len())).await?;
        let step = search.advance(actions).await?;
        Reply::message(charge, &AdvanceResponse { step: Some(step) })
    }

    async fn redeterminize(
        self: Arc<Self>,
        call: Call,
        request: RedeterminizeRequest,
    ) -> Result<Reply, Error> {
        let search: LeaseGuard<Search> = self.batches.find(&request.search_id, call.token())?;
        let (worlds, into) = messages::redeterminized(&request)?;
        // Twice the size: for the rows, and for the message that they are copied to.
        let charge = call.budget().reserve(2 * search.step_bytes(worlds.len())).await?;
        let step = search.redeterminize(worlds, into, request.seed.unwrap_or_else(secret::seed)).await?;
        Reply::message(charge, &RedeterminizeResponse { step: Some(step) })
    }

    async fn rollout(self: Arc<Self>, call: Call, request: RolloutRequest) -> Result<Reply, Error> {
        let search: LeaseGuard<Search> = self.batches.find(&request.search_id, call.token())?;
        let (worlds, playouts, rollout) = messages::playouts(self.matches.tables(), &search, &request)?;
        let seed = request.seed.unwrap_or_else(secret::seed);
        let charge = call.budget().reserve(search.reward_bytes(worlds.len(), playouts)).await?;
        let rewards = search.roll_out(&worlds, playouts, rollout, seed).await?;
        Reply::message(charge, &RolloutResponse { reward: messages::rewards(&rewards) })
    }

    async fn close_search(self: Arc<Self>, call: Call, request: CloseSearchRequest) -> Result<Reply, Error> {
        self.batches.close::<Search>(&request.search_id, call.token())?;
        call.reply(&CloseSearchResponse {})
    }

    fn searched_seats(&self, token: &str, request: &CreateSearchRequest) -> Result<SearchedSeats, Error> {
        let mask = request.mask.clone();
        match &request.of {
            Some(Of::MatchId(id)) => {
                let arbiter = self.matches.find(id)?;
                arbiter.seat_of(arbiter.role(Some(token))?)?;
                if !mask.is_empty() {
                    return Err(Error::field("mask", format!("{} bytes", mask.len()), "empty for a match"));
                }
                let (table, token) = (Arc::clone(arbiter.table()), token.to_owned());
                let information_sets =
                    Box::pin(async move { Ok(vec![arbiter.information_set(Some(&*token)).await?]) });
                Ok(SearchedSeats { table, seats: 1, information_sets })
            }
            Some(Of::BatchId(id)) => {
                let batch: LeaseGuard<Batch> = self.batches.find(id, Some(token))?;
                let (table, seats) = (Arc::clone(batch.table()), batch.count(&mask)?);
                let information_sets = Box::pin(async move { batch.information_sets(&mask).await });
                Ok(SearchedSeats { table, seats, information_sets })
            }
            None => Err(Error::field("of", "no value", "one of match_id, batch_id")),
        }
    }
}
