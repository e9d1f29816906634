//! Worlds to search in, for seats of matches and owners of batches.

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
use bytes::Bytes;

use super::{message_bytes, request_id};
use crate::arbiter::Arbiter;
use crate::batches::{Batches, InUse, LeaseTerms};
use crate::edge::{Call, Kind, Reply, Service};
use crate::matches::Matches;
use crate::secret;

/// Searches; the matches and batches are those of the other services.
pub(crate) struct SearchPlane {
    matches: Arc<Matches>,
    batches: Arc<Batches>,
}

/// The service, as the protocol names it.
pub(super) const NAME: &str = "boardwire.v1.SearchService";

pub(super) fn service(matches: &Arc<Matches>, batches: &Arc<Batches>) -> Service<SearchPlane> {
    let plane = SearchPlane { matches: Arc::clone(matches), batches: Arc::clone(batches) };
    Service::new(NAME, Kind::Own, Arc::new(plane))
        .call("CreateSearch", SearchPlane::create)
        .call("Advance", SearchPlane::advance)
        .call("Rollout", SearchPlane::roll_out)
        .call("CloseSearch", SearchPlane::close)
}

impl SearchPlane {
    async fn create(self: Arc<Self>, call: Call, asked: CreateSearchRequest) -> Result<Reply, Error> {
        let token = call.token().ok_or(Error::TokenMissing)?.to_owned();
        let id = request_id(&asked.request_id, call.caller(), &token, &asked)?;
        let source = self.source(&token, &asked)?;
        let (table, seats) = (Arc::clone(source.table()), source.seats()?);
        let message_bytes = message_bytes(asked.max_message_bytes);
        let opening = messages::search_opening(&asked, seats, secret::seed, message_bytes)?;
        opening.check(table.rules.info(), seats)?;
        let (peer, origin) = (Some(call.caller().peer()), call.caller().origin());
        let drawn = opening.worlds.saturating_mul(seats);
        let bytes = drawn.saturating_mul(row_bytes(table.rules.info())).min(message_bytes);
        let charge = call.budget().reserve(2 * bytes).await?;
        let terms = LeaseTerms { peer, origin, request: id };
        let places = opening.places;
        let draw = |group| async move {
            let insights = source.insights().await?;
            Search::open(secret::word(), table, opening, insights, &group).await
        };
        let (search, _) = self.batches.open(terms, places, token, draw).await?;
        tracing::debug!(search_id = search.id(), worlds = drawn, "search begun");
        let step = Some(search.first_rows().await?);
        Reply::message(charge, &CreateSearchResponse { search: Some(messages::search(&search)), step })
    }

    async fn advance(self: Arc<Self>, call: Call, asked: AdvanceRequest) -> Result<Reply, Error> {
        let search: InUse<Search> = self.batches.find(&asked.search_id, call.token())?;
        let moves = messages::moves(&asked)?;
        // The rows, and the message that they are copied to.
        let charge = call.budget().reserve(2 * search.step_bytes(moves.worlds.len())).await?;
        let step = search.advance(moves).await?;
        Reply::message(charge, &AdvanceResponse { step: Some(step) })
    }

    async fn roll_out(self: Arc<Self>, call: Call, asked: RolloutRequest) -> Result<Reply, Error> {
        let search: InUse<Search> = self.batches.find(&asked.search_id, call.token())?;
        let (worlds, playouts, rollout) = messages::playouts(&asked)?;
        let seed = asked.seed.unwrap_or_else(secret::seed);
        let charge = call.budget().reserve(search.reward_bytes(worlds.len())).await?;
        let rewards = search.roll_out(&worlds, playouts, rollout, seed).await?;
        Reply::message(charge, &RolloutResponse { reward: messages::rewards(&rewards) })
    }

    async fn close(self: Arc<Self>, call: Call, asked: CloseSearchRequest) -> Result<Reply, Error> {
        self.batches.close::<Search>(&asked.search_id, call.token())?;
        call.answer(&CloseSearchResponse {})
    }

    /// For whom worlds are to be drawn.
    fn source(&self, token: &str, asked: &CreateSearchRequest) -> Result<Source, Error> {
        match &asked.of {
            Some(Of::MatchId(id)) => {
                let arbiter = self.matches.find(id)?;
                arbiter.seat_of(arbiter.role(Some(token))?)?;
                if !asked.mask.is_empty() {
                    let value = format!("{} bytes", asked.mask.len());
                    return Err(Error::field("mask", value, "empty for a match"));
                }
                Ok(Source::Seat(arbiter, token.to_owned()))
            }
            Some(Of::BatchId(id)) => {
                Ok(Source::Environments(self.batches.find(id, Some(token))?, asked.mask.clone()))
            }
            None => Err(Error::field("of", "nothing", "one of match_id, batch_id")),
        }
    }
}

/// For whom worlds are drawn.
enum Source {
    /// A seat of a match, by its token.
    Seat(Arc<Arbiter>, String),
    /// Those who decide in a batch: in all environments, or in those of a mask.
    Environments(InUse<Batch>, Bytes),
}

impl Source {
    /// Where they play.
    fn table(&self) -> &Arc<Table> {
        match self {
            Self::Seat(arbiter, _) => arbiter.table(),
            Self::Environments(batch, _) => batch.table(),
        }
    }

    /// How many they are.
    fn seats(&self) -> Result<usize, Error> {
        match self {
            Self::Seat(..) => Ok(1),
            Self::Environments(batch, mask) => Ok(batch.count(mask)?),
        }
    }

    /// What they know.
    async fn insights(self) -> Result<Vec<Box<dyn Insight>>, Error> {
        match self {
            Self::Seat(arbiter, token) => Ok(vec![arbiter.insight(Some(&*token)).await?]),
            Self::Environments(batch, mask) => Ok(batch.insights(&mask).await?),
        }
    }
}
