//! Worlds to search in, for seats of matches and owners of batches.

use std::sync::Arc;

use boardwire_api::v1::{
    AdvanceRequest, AdvanceResponse, DeterminizeRequest, DeterminizeResponse, ReleaseRequest,
    ReleaseResponse, RolloutRequest, RolloutResponse, determinize_request::Of,
    search_service_server::SearchService,
};
use boardwire_batch::batch::Batch;
use boardwire_batch::play::Insight;
use boardwire_batch::search::row_bytes;
use boardwire_batch::tables::Table;
use boardwire_batch::{Refused, messages};
use boardwire_kernel::Seat;
use bytes::Bytes;
use tonic::{Request, Response, Status};

use super::{caller, holding, message_bytes, room, token};
use crate::arbiter::Arbiter;
use crate::batches::{Batches, InUse, Terms};
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
        let source = self.source(&token, &asked)?;
        let (table, seats) = (Arc::clone(source.table()), source.seats()?);
        let message_bytes = message_bytes(asked.max_message_bytes);
        let opening = messages::search_opening(&asked, seats, secret::seed, message_bytes);
        let opening = opening.map_err(ServiceError::from)?;
        let terms = Terms {
            peer: caller.as_ref().map(Caller::peer),
            origin: caller.as_ref().map_or(Origin::Unknown, Caller::origin),
            request: None,
        };
        let drawn = opening.worlds.saturating_mul(seats);
        let bytes = drawn.saturating_mul(row_bytes(table.rules.info())).min(message_bytes);
        let room = room(caller.as_ref(), bytes).await?;
        // The seat may have been given to somebody else while there was no room.
        let source = self.source(&token, &asked)?;
        let (search, step) =
            self.batches.search(table, opening, seats, source.insights(), token, terms).await?;
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
    /// For whom worlds are to be drawn.
    fn source(&self, token: &str, asked: &DeterminizeRequest) -> Result<Source, ServiceError> {
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
                Ok(Source::Seat(arbiter, seat))
            }
            Some(Of::BatchId(id)) => {
                Ok(Source::Environments(self.batches.find(id, token)?, asked.mask.clone()))
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

/// For whom worlds are drawn.
enum Source {
    /// A seat of a match.
    Seat(Arc<Arbiter>, Seat),
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
    fn seats(&self) -> Result<usize, ServiceError> {
        match self {
            Self::Seat(..) => Ok(1),
            Self::Environments(batch, mask) => Ok(batch.count(mask)?),
        }
    }

    /// What they know.
    async fn insights(self) -> Result<Vec<Box<dyn Insight>>, ServiceError> {
        match self {
            Self::Seat(arbiter, seat) => Ok(vec![arbiter.insight(seat).await?]),
            Self::Environments(batch, mask) => Ok(batch.insights(&mask).await?),
        }
    }
}
