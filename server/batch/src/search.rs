//! A search holds determinizations, called worlds: states sampled from a seat's information set. The caller plays in
//! them.
//!
//! Each world has a numbered place. The search samples worlds only from the information set, with separate chance events.
//! So no response depends on the true state. Calls that change worlds run one after another. Rollouts share worlds:
//! a call that changes a shared world copies it first.

mod playouts;
mod world;

use std::sync::{Arc, OnceLock};

use boardwire_api::Error;
use boardwire_api::v1::{self, RewardKind};
use boardwire_bots::{BotError, Rollout};
use boardwire_kernel::{GameInfo, Seat};
use bytes::Bytes;
use tokio::sync::{Mutex, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};

pub use world::row_bytes;

use crate::batch::MAX_MESSAGE_OVERHEAD_BYTES;
use crate::play::InformationSet;
use crate::pool::{CallerGroup, WorkQueue};
use crate::tables::Table;
use playouts::Rewards;
use world::World;

/// The maximum number of playouts in one call.
pub const MAX_PLAYOUTS: usize = 1 << 16;
/// Up to this many rows, the thread that reads the request plays them itself.
const MAX_INLINE_ROWS: usize = 256;

/// The settings of a search on a table.
#[derive(Debug, Clone)]
pub struct SearchOptions {
    /// The number of worlds to sample for each seat.
    pub worlds: usize,
    /// The number of places.
    pub places: usize,
    /// The seed of worlds and their chance events.
    pub seed: u64,
    /// The kind of rewards.
    pub reward: RewardKind,
    /// Whether the search plays decisions with one legal action itself.
    pub skip_forced: bool,
    /// The maximum message size in bytes that the caller accepts.
    pub message_bytes: usize,
}

impl SearchOptions {
    /// Refuses a search for no seat. Refuses one for this many seats if its worlds do not fit its places, or their rows do
    /// not fit one message.
    ///
    /// # Errors
    /// The error names the field, its value and the allowed values.
    pub fn check(&self, info: &GameInfo, seats: usize) -> Result<(), Error> {
        if seats == 0 {
            return Err(Error::field("mask", "no environment", "a mask with at least one environment"));
        }
        let max = world::max_rows(info, self.message_bytes);
        if max < seats {
            let least = MAX_MESSAGE_OVERHEAD_BYTES + seats.saturating_mul(row_bytes(info));
            let scope = if seats == 1 { String::new() } else { format!(" of each of {seats} environments") };
            let expected = format!("at least {least}, for one world{scope}");
            return Err(Error::field("max_message_bytes", self.message_bytes, expected));
        }
        let sampled = seats.saturating_mul(self.worlds);
        if !(1..=max).contains(&sampled) {
            let scope =
                if seats == 1 { String::new() } else { format!(" for {seats} environments together") };
            let max_worlds = max / seats;
            let expected = format!("from 1 to {max_worlds} (at most {max} rows{scope} fit a message)");
            return Err(Error::field("worlds", self.worlds, expected));
        }
        if self.places < sampled {
            let expected = format!("at least {sampled}, one for each sampled world");
            return Err(Error::field("places", self.places, expected));
        }
        Ok(())
    }
}

/// A search on a table.
pub struct Search {
    id: String,
    table: Arc<Table>,
    options: SearchOptions,
    sampled: usize,
    work_queue: WorkQueue,
    /// The number of pool threads.
    threads: usize,
    worlds: Arc<Mutex<Worlds>>,
    /// A permit for each row that rollouts may hold.
    rollouts: Arc<Semaphore>,
    /// The reason why the search has ended, if it has.
    ended: OnceLock<Error>,
}

/// The worlds by place. `None` in an empty place.
type Worlds = Vec<Option<World>>;

/// The worlds that a rollout holds, in the order of its rows.
struct SharedWorlds {
    worlds: Vec<World>,
    _permits: OwnedSemaphorePermit,
}

/// Decisions to make in worlds, one in each row.
#[derive(Debug, Clone)]
pub struct WorldActions {
    /// The places of the worlds.
    pub worlds: Vec<u32>,
    /// The action in each world.
    pub actions: Bytes,
    /// The places for copies of the worlds. The search plays in the copies. If empty, it plays in the worlds themselves.
    pub into: Vec<u32>,
}

impl Search {
    /// Opens a search: samples worlds for seats that owe a decision. All worlds of the first seat come first.
    ///
    /// # Errors
    /// An internal error, if the work panicked or was cancelled.
    pub async fn open(
        id: String,
        table: Arc<Table>,
        options: SearchOptions,
        information_sets: Vec<Box<dyn InformationSet>>,
        group: &CallerGroup,
    ) -> Result<Arc<Self>, Error> {
        let (work_queue, threads) = (group.work_queue(), group.threads());
        let sampled = information_sets.len() * options.worlds;
        let SearchOptions { worlds, places, seed, skip_forced, .. } = options;
        let sampling = work_queue.parallel_map(threads, sampled, move |number| {
            let information_set = &*information_sets[number / worlds];
            let mut world = World::sample(information_set, world::world_seed(seed, number), number % worlds);
            if skip_forced {
                world.skip_forced();
            }
            world
        });
        let failed = || Error::Internal {
            place: id.clone(),
            problem: "sampling panicked or was cancelled".to_owned(),
        };
        let mut worlds: Worlds = sampling.await.ok_or_else(failed)?.into_iter().map(Some).collect();
        worlds.resize(places, None);
        let worlds = Arc::new(Mutex::new(worlds));
        let rollouts = Arc::new(Semaphore::new(places.max(threads)));
        let ended = OnceLock::new();
        Ok(Arc::new(Self { id, table, options, sampled, work_queue, threads, worlds, rollouts, ended }))
    }

    /// Returns the current rows of the first places, which hold the sampled worlds.
    ///
    /// # Errors
    /// The search has ended.
    pub async fn sampled_rows(&self) -> Result<v1::Step, Error> {
        let worlds = self.worlds.lock().await;
        self.check_not_ended()?;
        let first: Vec<_> = worlds[..self.sampled].iter().flatten().collect();
        Ok(world::rows(&self.table, self.options.reward, first.into_iter()))
    }

    /// Returns the search's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the table of the worlds.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Returns the settings.
    #[must_use]
    pub fn options(&self) -> &SearchOptions {
        &self.options
    }

    /// Returns the number of sampled worlds.
    #[must_use]
    pub fn sampled_worlds(&self) -> usize {
        self.sampled
    }

    /// Returns the size in bytes of a step with this many rows. The rows count up to the limit of a call.
    #[must_use]
    pub fn step_bytes(&self, rows: usize) -> usize {
        let info = self.table.game.info();
        rows.min(world::max_rows(info, self.options.message_bytes)) * row_bytes(info)
    }

    /// Returns the size in bytes of a rollout with this many rows: the rewards of all playouts, and means. Playouts count up
    /// to the limit.
    #[must_use]
    pub fn reward_bytes(&self, rows: usize, playouts: usize) -> usize {
        let means = rows.min(MAX_PLAYOUTS) * size_of::<f32>() * usize::from(self.table.game.info().seats);
        rows.saturating_mul(playouts).min(MAX_PLAYOUTS) * size_of::<Rewards>() + 2 * means
    }

    /// Ends the search. Running, waiting and later calls return `reason`.
    pub fn end(&self, reason: Error) {
        // A second call does not replace the first reason.
        let _ = self.ended.set(reason);
        self.work_queue.cancel();
    }

    /// Returns why the pool dropped work. If the search has not ended, the work panicked, and worlds may be lost: it ends.
    fn work_lost_error(&self) -> Error {
        let panicked = || Error::Internal {
            place: self.id.clone(),
            problem: "a pool task of the search panicked".to_owned(),
        };
        self.ended.get_or_init(panicked).clone()
    }

    fn check_not_ended(&self) -> Result<(), Error> {
        self.ended.get().map_or(Ok(()), |reason| Err(reason.clone()))
    }

    /// Applies actions in worlds, or in copies of them.
    ///
    /// # Errors
    /// A place is out of range, empty or named twice, a world is over, or an action is not legal. Then no world changes.
    pub async fn advance(self: &Arc<Self>, actions: WorldActions) -> Result<v1::Step, Error> {
        self.check_rows(&actions.worlds)?;
        let worlds = Arc::clone(&self.worlds).lock_owned().await;
        self.check_not_ended()?;
        if actions.worlds.len() <= MAX_INLINE_ROWS {
            return self.play(worlds, &actions);
        }
        let search = Arc::clone(self);
        self.work_queue
            .run(move || search.play(worlds, &actions))
            .await
            .ok_or_else(|| self.work_lost_error())?
    }

    /// Samples a determinization of each of these worlds from what its deciding seat knows there. The new worlds replace
    /// their worlds, or fill the places `into`. `seed` determines the samples and their chance events.
    ///
    /// # Errors
    /// A place is out of range, empty or named twice, or a world is over. Then no world changes.
    pub async fn redeterminize(
        self: &Arc<Self>,
        rows: Vec<u32>,
        into: Vec<u32>,
        seed: u64,
    ) -> Result<v1::Step, Error> {
        self.check_rows(&rows)?;
        let mut worlds = Arc::clone(&self.worlds).lock_owned().await;
        self.check_not_ended()?;
        let search = Arc::clone(self);
        let sample = move || {
            let places = search.check_changed(&rows, &into)?;
            let sampled = rows.iter().enumerate().map(|(row, &world)| {
                let source = search.world_at(&worlds, world)?;
                let seat = source.deciding_seat().ok_or(Error::WorldOver { row, world })?;
                let mut sampled = source.redeterminized(seat, world::redeterminization_seed(seed, row));
                if search.options.skip_forced {
                    sampled.skip_forced();
                }
                Ok(sampled)
            });
            let sampled: Vec<World> = sampled.collect::<Result<_, Error>>()?;
            let step = world::rows(&search.table, search.options.reward, sampled.iter());
            for (world, &place) in sampled.into_iter().zip(places) {
                worlds[place as usize] = Some(world);
            }
            Ok(step)
        };
        self.work_queue.run(sample).await.ok_or_else(|| self.work_lost_error())?
    }

    fn play(&self, mut worlds: OwnedMutexGuard<Worlds>, actions: &WorldActions) -> Result<v1::Step, Error> {
        let deciding = self.check(&worlds, actions)?;
        let mut played: Vec<World> = if actions.into.is_empty() {
            actions.worlds.iter().filter_map(|&place| worlds[place as usize].take()).collect()
        } else {
            actions.worlds.iter().filter_map(|&place| worlds[place as usize].clone()).collect()
        };
        for ((world, &action), seat) in played.iter_mut().zip(&actions.actions).zip(deciding) {
            world.episode_mut().apply(seat, action.into()).expect("the action is legal");
            if self.options.skip_forced {
                world.skip_forced();
            }
        }
        let step = world::rows(&self.table, self.options.reward, played.iter());
        let into = if actions.into.is_empty() { &actions.worlds } else { &actions.into };
        for (world, &place) in played.into_iter().zip(into) {
            worlds[place as usize] = Some(world);
        }
        Ok(step)
    }

    /// Refuses a call without rows, or with more than fit a message.
    fn check_rows(&self, rows: &[u32]) -> Result<(), Error> {
        let (rows, max) = (rows.len(), world::max_rows(self.table.game.info(), self.options.message_bytes));
        if (1..=max).contains(&rows) {
            return Ok(());
        }
        let expected = format!("from 1 to {max} rows, which fit a message");
        Err(Error::field("worlds", format!("{rows} rows"), expected))
    }

    /// Returns the places that a call changes: `into`, or if that is empty those of its rows. Refuses places that are not
    /// valid.
    fn check_changed<'a>(&self, rows: &'a [u32], into: &'a [u32]) -> Result<&'a [u32], Error> {
        let (changed, field) = if into.is_empty() { (rows, "worlds") } else { (into, "into") };
        check_count(field, changed.len(), rows.len())?;
        let mut named = vec![false; self.options.places];
        for &place in changed {
            self.check_place(field, place)?;
            if std::mem::replace(&mut named[place as usize], true) {
                return Err(Error::field(field, format!("{place} twice"), "different places"));
            }
        }
        Ok(changed)
    }

    /// Refuses actions that are not valid; returns the deciding seat of each row.
    fn check(&self, worlds: &Worlds, actions: &WorldActions) -> Result<Vec<Seat>, Error> {
        let WorldActions { worlds: rows, actions, into } = actions;
        check_count("actions", actions.len(), rows.len())?;
        self.check_changed(rows, into)?;
        let space = &self.table.game.info().actions;
        let checked = rows.iter().zip(actions).enumerate().map(|(row, (&world, &action))| {
            let world_state = self.world_at(worlds, world)?;
            let seat = world_state.deciding_seat().ok_or(Error::WorldOver { row, world })?;
            let out_of_range = || Error::WorldActionOutOfRange { row, world, action, actions: space.count() };
            let label = space.label(action).ok_or_else(out_of_range)?;
            if world_state.episode.legal(seat).contains(action) {
                return Ok(seat);
            }
            let (seat, label) = (seat.number(), label.to_owned());
            Err(Error::WorldActionIllegal { row, world, seat, action, label })
        });
        checked.collect()
    }

    /// Plays each world `playouts` times, to its end or as far as `rollout` says. Returns the mean rewards by row and seat.
    ///
    /// # Errors
    /// A place is out of range or empty, the number of playouts is zero or too large, or the policy has failed.
    pub async fn roll_out(
        &self,
        rows: &[u32],
        playouts: usize,
        rollout: Rollout,
        seed: u64,
    ) -> Result<Vec<f32>, Error> {
        let count = rows.len().saturating_mul(playouts);
        if rows.is_empty() || playouts == 0 || count > MAX_PLAYOUTS {
            let value = format!("{playouts} of {} worlds", rows.len());
            let expected = format!("1 to {MAX_PLAYOUTS} for all worlds together");
            return Err(Error::field("playouts", value, expected));
        }
        let shared = self.share(rows).await?;
        let (seats, reward) = (self.table.game.info().seats, self.options.reward);
        let group = playouts::group_size(&rollout, count);
        let played = self.work_queue.parallel_map(self.threads, count.div_ceil(group), move |number| {
            let first = number * group;
            let started = (first..count.min(first + group)).map(|playout| {
                let (world, playout) = (&shared.worlds[playout / playouts], playout % playouts);
                let seed = world::playout_seed(seed, world.number, playout);
                world.episode.start_playout(&rollout, seed)
            });
            playouts::finish_all(started.collect(), reward, seats)
        });
        let groups = played.await.ok_or_else(|| self.work_lost_error())?;
        let rewards: Vec<Rewards> =
            groups.into_iter().collect::<Result<Vec<_>, _>>().map(|groups| groups.concat()).map_err(
                |BotError { seat, reason }| {
                    tracing::error!(search_id = self.id, seat = seat.number(), reason, "a policy failed");
                    Error::BotFailed { id: self.id.clone(), seat: seat.number(), problem: reason }
                },
            )?;
        Ok(playouts::mean(&rewards, playouts, seats))
    }

    /// Returns the worlds at these places, shared and not copied. The caller may name a place several times.
    ///
    /// A call that changes a shared world copies it. To bound the copies, all rollouts together hold at most as many rows
    /// as there are places or threads, whichever is more. Further rollouts wait. With that many rows, no thread is idle.
    async fn share(&self, rows: &[u32]) -> Result<SharedWorlds, Error> {
        let permits = rows.len().min(self.options.places.max(self.threads));
        let permits = u32::try_from(permits).expect("a message has fewer rows");
        let permits = Arc::clone(&self.rollouts).acquire_many_owned(permits).await;
        let worlds = self.worlds.lock().await;
        self.check_not_ended()?;
        let shared = rows.iter().map(|&place| self.world_at(&worlds, place).cloned());
        Ok(SharedWorlds {
            worlds: shared.collect::<Result<_, _>>()?,
            _permits: permits.expect("it is never closed"),
        })
    }

    fn world_at<'a>(&self, worlds: &'a Worlds, place: u32) -> Result<&'a World, Error> {
        self.check_place("worlds", place)?;
        let empty = || Error::field("worlds", place, "a place that holds a world");
        worlds[place as usize].as_ref().ok_or_else(empty)
    }

    fn check_place(&self, field: &'static str, place: u32) -> Result<(), Error> {
        let places = self.options.places;
        if (place as usize) < places {
            Ok(())
        } else {
            Err(Error::field(field, place, format!("below {places}")))
        }
    }
}

/// Refuses a column of `count` rows in a call with `rows` rows.
fn check_count(field: &'static str, count: usize, rows: usize) -> Result<(), Error> {
    if count == rows {
        return Ok(());
    }
    Err(Error::field(field, format!("{count} rows"), format!("{rows} rows, one for each of `worlds`")))
}

#[cfg(test)]
mod tests;
