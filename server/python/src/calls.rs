//! The calls of the protocol that need no server: the catalogue, batches (except steps), and searches.

use std::sync::Arc;

use boardwire_api::{Error, v1};
use boardwire_batch::batch::{Batch, BatchOptions};
use boardwire_batch::messages;
use boardwire_batch::search::Search;

use bytes::Bytes;
use prost::Message;

use crate::engine::{self, Core};
use crate::fork::{CallCount, pool};

const CREATE_SEARCH: &str = "SearchService/CreateSearch";

/// The most places that a search may have. A server's default limit for all its searches together is the same.
/// Places take memory even while they are empty.
const MAX_PLACES: usize = 1 << 18;

/// Answers a call, given the name of its method and its request. Returns `None` for a method that the engine lacks.
///
/// # Errors
/// The method refuses the request.
pub(crate) async fn answer(
    core: Arc<Core>,
    method: String,
    request: Bytes,
) -> Result<Option<Vec<u8>>, Error> {
    let core = &*core;
    Ok(Some(match method.as_str() {
        "CatalogService/GetServer" => server(core).encode_to_vec(),
        "CatalogService/ListGames" => games(core)?.encode_to_vec(),
        "CatalogService/GetGame" => messages::get_game(&core.tables, &read(request)?)?.encode_to_vec(),
        "BatchService/OpenBatch" => open(core, &read(request)?).await?.encode_to_vec(),
        CREATE_SEARCH => create_search(core, &read(request)?).await?.encode_to_vec(),
        "SearchService/Advance" => advance(core, &read(request)?).await?.encode_to_vec(),
        "SearchService/Redeterminize" => redeterminize(core, &read(request)?).await?.encode_to_vec(),
        "SearchService/Rollout" => roll_out(core, &read(request)?).await?.encode_to_vec(),
        "SearchService/CloseSearch" => {
            core.release(&read::<v1::CloseSearchRequest>(request)?.search_id)?;
            v1::CloseSearchResponse {}.encode_to_vec()
        }
        _ => return Ok(None),
    }))
}

/// Returns the id of the batch that a `CreateSearch` request samples from.
///
/// Returns `None` for another method, and if the request names no batch.
pub(crate) fn batch_of(method: &str, request: &Bytes) -> Option<String> {
    let request: v1::CreateSearchRequest = (method == CREATE_SEARCH).then(|| read(request.clone()))?.ok()?;
    match request.of? {
        v1::create_search_request::Of::BatchId(id) => Some(id),
        v1::create_search_request::Of::MatchId(_) => None,
    }
}

fn read<T: Message + Default>(request: Bytes) -> Result<T, Error> {
    let broken = |error: prost::DecodeError| Error::Internal {
        place: "a request".to_owned(),
        problem: error.to_string(),
    };
    T::decode(request).map_err(broken)
}

/// Describes this engine: it reports no optional features, and limits of 0, which mean no limit.
fn server(core: &Core) -> v1::GetServerResponse {
    let server = v1::Server {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        protocols: vec!["boardwire.v1".to_owned()],
        features: Vec::new(),
        limits: Some(v1::Limits::default()),
        bots: messages::bots(&core.tables),
        policies: messages::policies(&core.tables),
    };
    v1::GetServerResponse { server: Some(server) }
}

fn games(core: &Core) -> Result<v1::ListGamesResponse, Error> {
    let games = core.tables.registry().ids().map(|id| Ok(messages::game(&core.tables.game_facts(id)?)));
    Ok(v1::ListGamesResponse { games: games.collect::<Result<_, Error>>()?, next_page_token: String::new() })
}

async fn open(core: &Core, request: &v1::OpenBatchRequest) -> Result<v1::OpenBatchResponse, Error> {
    let (table, environment_config) = messages::environment_config(&core.tables, request)?;
    let config = request.config.clone().unwrap_or_default();
    let options = BatchOptions {
        config: environment_config,
        environments: config.environments as usize,
        first: config.first_environment,
        seed: config.seed.unwrap_or_else(seed),
        message_bytes: request.max_message_bytes as usize,
    };
    options.check(&table)?;
    let batch = Batch::open(engine::id(), table, options, &pool()?.new_group()).await?;
    core.enter_batch(&batch, &CallCount::new());
    Ok(v1::OpenBatchResponse { batch: Some(messages::batch(&batch)), token: String::new() })
}

async fn create_search(
    core: &Core,
    request: &v1::CreateSearchRequest,
) -> Result<v1::CreateSearchResponse, Error> {
    let Some(v1::create_search_request::Of::BatchId(id)) = &request.of else {
        return Err(Error::field("of", "no batch", "a batch: matches need a server"));
    };
    let (batch, _) = core.batch(id)?;
    let seats = batch.count(&request.mask)?;
    let message_bytes = request.max_message_bytes as usize;
    let options = messages::search_options(request, seats, seed, message_bytes)?;
    options.check(batch.table().game.info(), seats)?;
    if options.places > MAX_PLACES {
        let expected = format!("at most {MAX_PLACES}, those of the worlds included");
        return Err(Error::field("places", options.places, expected));
    }
    let information_sets = batch.information_sets(&request.mask).await?;
    let table = Arc::clone(batch.table());
    let search = Search::open(engine::id(), table, options, information_sets, &pool()?.new_group()).await?;
    core.enter_search(&search);
    let step = Some(search.sampled_rows().await?);
    Ok(v1::CreateSearchResponse { search: Some(messages::search(&search)), step })
}

async fn advance(core: &Core, request: &v1::AdvanceRequest) -> Result<v1::AdvanceResponse, Error> {
    let search = core.search(&request.search_id)?;
    let step = search.advance(messages::world_actions(request)?).await?;
    Ok(v1::AdvanceResponse { step: Some(step) })
}

async fn redeterminize(
    core: &Core,
    request: &v1::RedeterminizeRequest,
) -> Result<v1::RedeterminizeResponse, Error> {
    let search = core.search(&request.search_id)?;
    let (worlds, into) = messages::redeterminized(request)?;
    let step = search.redeterminize(worlds, into, request.seed.unwrap_or_else(seed)).await?;
    Ok(v1::RedeterminizeResponse { step: Some(step) })
}

async fn roll_out(core: &Core, request: &v1::RolloutRequest) -> Result<v1::RolloutResponse, Error> {
    let search = core.search(&request.search_id)?;
    let (worlds, playouts, rollout) = messages::playouts(&core.tables, &search, request)?;
    let seed = request.seed.unwrap_or_else(seed);
    let rewards = search.roll_out(&worlds, playouts, rollout, seed).await?;
    Ok(v1::RolloutResponse { reward: messages::rewards(&rewards) })
}

/// Returns a random seed from the operating system.
fn seed() -> u64 {
    getrandom::u64().expect("the system has random numbers")
}
