//! Worlds for agents that speak `dm_env_rpc.v1`: one stream, on which every request is answered in its turn.

mod settings;
mod specs;
mod tensors;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use boardwire_api::dm_env_rpc::environment_request::Payload as Asked;
use boardwire_api::dm_env_rpc::environment_response::Payload as Answer;
use boardwire_api::dm_env_rpc::{
    ActionObservationSpecs, CreateWorldRequest, CreateWorldResponse, DestroyWorldRequest,
    DestroyWorldResponse, EnvironmentRequest, EnvironmentResponse, EnvironmentStateType, JoinWorldRequest,
    JoinWorldResponse, LeaveWorldResponse, ResetRequest, ResetResponse, ResetWorldRequest,
    ResetWorldResponse, StepRequest, StepResponse,
};
use boardwire_batch::Refused;
use futures_util::{StreamExt as _, stream};

use crate::batches::{Batches, Terms};
use crate::edge::{Answer as Sent, Call, Kind, Reply, Requests, Service};
use crate::error::ServiceError;
use crate::matches::Matches;
use crate::telemetry;
use crate::world::{State, Visit};
use settings::Settings;

/// Lets agents play in worlds; the games are those of the matches.
pub(crate) struct WorldPlane {
    matches: Arc<Matches>,
    batches: Arc<Batches>,
}

/// What an answer is charged with before it is made.
const ANSWER_BYTES: usize = 16 << 10;

/// The service, as the protocol names it.
pub(super) const NAME: &str = "dm_env_rpc.v1.Environment";

pub(super) fn service(matches: &Arc<Matches>, batches: &Arc<Batches>) -> Service<WorldPlane> {
    let plane = WorldPlane { matches: Arc::clone(matches), batches: Arc::clone(batches) };
    Service::new(NAME, Kind::Own, Arc::new(plane)).stream("Process", WorldPlane::process)
}

/// One agent, and the world it is in.
struct Session {
    matches: Arc<Matches>,
    batches: Arc<Batches>,
    terms: Terms,
    joined: Option<Joined>,
}

/// A world that was joined, by its name.
struct Joined {
    name: String,
    visit: Visit,
}

impl WorldPlane {
    async fn process(self: Arc<Self>, call: Call, requests: Requests) -> Result<Reply, ServiceError> {
        let terms = Terms { peer: Some(call.caller().peer()), origin: call.caller().origin(), request: None };
        let (matches, batches) = (Arc::clone(&self.matches), Arc::clone(&self.batches));
        let requests = Box::pin(requests.stream().take_until(matches.stopped()));
        let session = Session { matches, batches, terms, joined: None };
        let state = (call, requests, session);
        Ok(Reply::stream(stream::try_unfold(state, |(call, mut requests, mut session)| async move {
            let Some(asked) = requests.next().await.transpose()? else { return Ok(None) };
            let charge = call.budget().reserve(ANSWER_BYTES).await?;
            let payload = call.budget().in_turn(session.answer(asked)).await;
            let payload = payload.unwrap_or_else(|error| Answer::Error(error.into()));
            let answer = Sent::new(charge, &EnvironmentResponse { payload: Some(payload) })?;
            Ok(Some((answer, (call, requests, session))))
        })))
    }
}

impl Session {
    /// Answers one request; one that is refused has changed nothing.
    async fn answer(&mut self, asked: EnvironmentRequest) -> Result<Answer, ServiceError> {
        match asked.payload {
            Some(Asked::CreateWorld(asked)) => self.create(asked).await.map(Answer::CreateWorld),
            Some(Asked::JoinWorld(asked)) => self.join(asked).map(Answer::JoinWorld),
            Some(Asked::Step(asked)) => self.step(asked).await.map(Answer::Step),
            Some(Asked::Reset(asked)) => self.reset(&asked).map(Answer::Reset),
            Some(Asked::ResetWorld(asked)) => self.reset_world(&asked).map(Answer::ResetWorld),
            Some(Asked::LeaveWorld(_)) => {
                self.joined = None;
                Ok(Answer::LeaveWorld(LeaveWorldResponse {}))
            }
            Some(Asked::DestroyWorld(asked)) => self.destroy(&asked).map(Answer::DestroyWorld),
            other @ (Some(Asked::Extension(_)) | None) => Err(Refused::BadField {
                field: "payload",
                value: if other.is_some() { "extension" } else { "nothing" }.to_owned(),
                expected:
                    "one of create_world, join_world, step, reset, reset_world, leave_world, destroy_world"
                        .to_owned(),
            }
            .into()),
        }
    }

    async fn create(&self, asked: CreateWorldRequest) -> Result<CreateWorldResponse, ServiceError> {
        let (table, opening) = Settings(&asked.settings).opening(self.matches.tables())?;
        let (world, world_name) = self.batches.create_world(table, opening, self.terms.clone()).await?;
        let batch = world.batch();
        tracing::info!(batch_id = batch.id(), game = batch.table().rules.info().id, "world created");
        Ok(CreateWorldResponse { world_name })
    }

    fn join(&mut self, asked: JoinWorldRequest) -> Result<JoinWorldResponse, ServiceError> {
        Settings(&asked.settings).none()?;
        let taken = |problem| ServiceError::WorldJoined { problem, request: "join_world" };
        if self.joined.is_some() {
            return Err(taken("this stream is in a world"));
        }
        let world = self.batches.find_world(&asked.world_name)?;
        let visit =
            Visit::enter(Arc::clone(&world)).ok_or_else(|| taken("another stream is in that world"))?;
        let joined = self.joined.insert(Joined { name: asked.world_name, visit });
        Ok(JoinWorldResponse { specs: Some(joined.specs()) })
    }

    async fn step(&mut self, asked: StepRequest) -> Result<StepResponse, ServiceError> {
        let timed = telemetry::Request::begin("Process");
        let joined = self.joined.as_mut().ok_or(ServiceError::WorldNotJoined { request: "step" })?;
        // A world that is used does not expire.
        let world = self.batches.find_world(&joined.name)?;
        let info = world.batch().table().rules.info();
        let wanted = specs::wanted(info, &asked.requested_observations)?;
        let (step, state) = joined.visit.step(|| specs::action(info, &asked.actions)).await?;
        let seat = world.batch().opening().plan.line_ups[0].first_learner;
        timed.answered(info.id, false);
        Ok(StepResponse {
            state: converted(state).into(),
            observations: specs::observations(info, seat, &step, &wanted),
        })
    }

    fn reset(&mut self, asked: &ResetRequest) -> Result<ResetResponse, ServiceError> {
        let joined = self.joined.as_mut().ok_or(ServiceError::WorldNotJoined { request: "reset" })?;
        let seed = Settings(&asked.settings).seed()?;
        self.batches.find_world(&joined.name)?;
        joined.visit.reset(seed);
        Ok(ResetResponse { specs: Some(joined.specs()) })
    }

    fn reset_world(&mut self, asked: &ResetWorldRequest) -> Result<ResetWorldResponse, ServiceError> {
        let seed = Settings(&asked.settings).seed()?;
        let world = self.batches.find_world(&asked.world_name)?;
        match self.joined.as_mut().filter(|joined| joined.is_in(&asked.world_name)) {
            Some(joined) => joined.visit.reset(seed),
            None => world.reset(seed),
        }
        Ok(ResetWorldResponse {})
    }

    fn destroy(&self, asked: &DestroyWorldRequest) -> Result<DestroyWorldResponse, ServiceError> {
        if self.joined.as_ref().is_some_and(|joined| joined.is_in(&asked.world_name)) {
            let problem = "this stream is in that world";
            return Err(ServiceError::WorldJoined { problem, request: "destroy_world" });
        }
        self.batches.destroy_world(&asked.world_name)?;
        Ok(DestroyWorldResponse {})
    }
}

impl Joined {
    fn is_in(&self, name: &str) -> bool {
        self.name == name
    }

    fn specs(&self) -> ActionObservationSpecs {
        specs::specs(self.visit.world().batch().table().rules.info())
    }
}

fn converted(state: State) -> EnvironmentStateType {
    match state {
        State::Running => EnvironmentStateType::Running,
        State::Terminated => EnvironmentStateType::Terminated,
        State::Interrupted => EnvironmentStateType::Interrupted,
    }
}
