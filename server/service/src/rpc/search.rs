//! Worlds to search in, for seats of matches and owners of batches.

use std::sync::Arc;

use boardwire_api::v1::{
    AdvanceRequest, AdvanceResponse, DeterminizeRequest, DeterminizeResponse, ReleaseRequest,
    ReleaseResponse, RolloutRequest, RolloutResponse, determinize_request::Of,
    search_service_server::SearchService,
};
use boardwire_batch::play::Insight;
use boardwire_batch::search::row_bytes;
use boardwire_batch::tables::Table;
use boardwire_batch::{Refused, messages};
use tonic::{Request, Response, Status};

use super::{caller, holding, message_bytes, room, token};
use crate::batches::{Batches, Terms};
use crate::edge::{Caller, Origin};
use crate::error::ServiceError;
use crate::matches::Matches;
use crate::secret;
use crate::telemetry;

/// Searches; the matches and batches are those of the other services.
pub(crate) struct SearchPlane {
    pub(crate) matches: Arc<Matches>,
    pub(crate) batches: Arc<Batches>,
}

type Answer<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl SearchService for SearchPlane {
    async fn determinize(&self, request: Request<DeterminizeRequest>) -> Answer<DeterminizeResponse> {
        let (timed, caller) = (telemetry::Request::begin("Determinize"), caller(&request));
        let token = token(&request).ok_or(ServiceError::MissingToken)?.to_owned();
        let asked = request.into_inner();
        let (table, insights) = self.insights(&token, &asked).await?;
        let message_bytes = message_bytes(asked.max_message_bytes);
        let opening = messages::search_opening(&asked, insights.len(), secret::seed, message_bytes);
        let opening = opening.map_err(ServiceError::from)?;
        let terms = Terms {
            peer: caller.as_ref().map(Caller::peer),
            origin: caller.as_ref().map_or(Origin::Unknown, Caller::origin),
            request: None,
        };
        let drawn = opening.worlds.saturating_mul(insights.len());
        let bytes = drawn.saturating_mul(row_bytes(table.rules.info())).min(message_bytes);
        let room = room(caller.as_ref(), bytes).await?;
        let (search, step) = self.batches.search(table, opening, insights, token, terms).await?;
        tracing::debug!(search_id = search.id(), worlds = drawn, "search begun");
        timed.answered(search.table().rules.info().id, false);
        let answer = DeterminizeResponse {
            search: Some(messages::search(&search)),
            step: Some(messages::world_step(step)),
        };
        Ok(holding(answer, room))
    }

    async fn advance(&self, request: Request<AdvanceRequest>) -> Answer<AdvanceResponse> {
        let (timed, asked) = (telemetry::Request::begin("Advance"), request.get_ref());
        let search = self.batches.find_search(&asked.search_id, token(&request))?;
        let moves = messages::moves(asked).map_err(ServiceError::from)?;
        let room = room(caller(&request).as_ref(), search.step_bytes(moves.worlds.len())).await?;
        let step = search.advance(moves).await.map_err(ServiceError::from)?;
        timed.answered(search.table().rules.info().id, false);
        Ok(holding(AdvanceResponse { step: Some(messages::world_step(step)) }, room))
    }

    async fn rollout(&self, request: Request<RolloutRequest>) -> Answer<RolloutResponse> {
        let (timed, asked) = (telemetry::Request::begin("Rollout"), request.get_ref());
        let search = self.batches.find_search(&asked.search_id, token(&request))?;
        let (worlds, playouts, rollout) = messages::playouts(asked).map_err(ServiceError::from)?;
        let seed = asked.seed.unwrap_or_else(secret::seed);
        let room = room(caller(&request).as_ref(), search.reward_bytes(worlds.len())).await?;
        let rewards = search.roll_out(&worlds, playouts, rollout, seed).await;
        let rewards = rewards.map_err(ServiceError::from)?;
        timed.answered(search.table().rules.info().id, false);
        Ok(holding(RolloutResponse { reward: messages::rewards(&rewards) }, room))
    }

    async fn release(&self, request: Request<ReleaseRequest>) -> Answer<ReleaseResponse> {
        self.batches.release(&request.get_ref().search_id, token(&request))?;
        Ok(Response::new(ReleaseResponse {}))
    }
}

impl SearchPlane {
    /// What those know for whom worlds are to be drawn, and the table they play at.
    async fn insights(
        &self,
        token: &str,
        asked: &DeterminizeRequest,
    ) -> Result<(Arc<Table>, Vec<Box<dyn Insight>>), ServiceError> {
        let token = Some(token);
        match &asked.of {
            Some(Of::MatchId(id)) => {
                let arbiter = self.matches.find(id)?;
                let seat = arbiter.seat(token)?;
                if !asked.mask.is_empty() {
                    return Err(Refused::BadField {
                        field: "mask",
                        value: format!("{} bytes", asked.mask.len()),
                        expected: "empty for a match".to_owned(),
                    }
                    .into());
                }
                let insight = arbiter.insight(seat).await?;
                Ok((Arc::clone(arbiter.table()), vec![insight]))
            }
            Some(Of::BatchId(id)) => {
                let batch = self.batches.find(id, token)?;
                let insights = batch.insights(&asked.mask).await?;
                Ok((Arc::clone(batch.table()), insights))
            }
            None => Err(Refused::BadField {
                field: "of",
                value: "nothing".to_owned(),
                expected: "one of match_id, batch_id".to_owned(),
            }
            .into()),
        }
    }
}
