//! A search: worlds that a seat can believe in, each in a place of its own, to be played on at will.
//!
//! Worlds are drawn from what their seat knows alone and have luck of their own, so nothing that is shown of them depends
//! on the truth. Calls that change worlds wait for each other. Playing worlds to their end shares them instead: a world
//! that is to change in the meantime is copied first.

mod step;
mod world;

use std::sync::{Arc, OnceLock};

use boardwire_api::Error;
use boardwire_api::v1::{self, RewardKind};
use boardwire_bots::Rollout;
use boardwire_kernel::{BySeat, GameInfo, MAX_SEATS, RngStream, Seat};
use bytes::Bytes;
use tokio::sync::{Mutex, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore, oneshot};

pub use step::row_bytes;

use crate::batch::MESSAGE_HEAD;
use crate::play::{Insight, Play};
use crate::pool::{Group, Once, Owner};
use crate::reward;
use crate::tables::Table;
use world::World;

/// The most playouts of one call.
pub const MOST_PLAYOUTS: usize = 1 << 16;
/// The playouts of a row are added up in blocks, of which a rollout has about so many: they share its work between threads,
/// and what is kept does not grow with the playouts.
const MOST_BLOCKS: usize = 1 << 10;
/// Up to this many worlds are played by the thread that has read the call.
const ALONE: usize = 256;

/// What a search is begun with, beside its table.
#[derive(Debug, Clone)]
pub struct Opening {
    /// How many worlds are drawn for each seat.
    pub worlds: usize,
    /// How many places there are.
    pub places: usize,
    /// What worlds and luck follow from.
    pub seed: u64,
    /// What seats are rewarded for.
    pub reward: RewardKind,
    /// Whether decisions with a single legal action are played at once.
    pub skip_forced: bool,
    /// The most bytes of a message, which its owner takes.
    pub message_bytes: usize,
}

impl Opening {
    /// Refuses a search for so many seats that has no place for its worlds, or whose rows do not fit a message.
    ///
    /// # Errors
    /// What was asked for, and what would be right.
    pub fn check(&self, info: &GameInfo, seats: usize) -> Result<(), Error> {
        let most = step::most_rows(info, self.message_bytes);
        if most == 0 {
            let expected = format!("at least {}, for one world", MESSAGE_HEAD + row_bytes(info));
            return Err(Error::field("max_message_bytes", self.message_bytes, expected));
        }
        let drawn = seats.saturating_mul(self.worlds);
        if !(1..=most).contains(&drawn) {
            let each = if seats == 1 { String::new() } else { format!(" for {seats} environments together") };
            let expected = format!("so many that 1 to {most} rows{each} fit a message");
            return Err(Error::field("worlds", self.worlds, expected));
        }
        if self.places < drawn {
            let expected = format!("at least {drawn}, one for each sampled world");
            return Err(Error::field("places", self.places, expected));
        }
        Ok(())
    }
}

/// One search.
pub struct Search {
    id: String,
    table: Arc<Table>,
    opening: Opening,
    /// How many worlds were drawn.
    drawn: usize,
    /// On whose behalf the pool works.
    owner: Owner,
    /// How many threads it has.
    threads: usize,
    worlds: Arc<Mutex<Worlds>>,
    /// A permit for each world that rollouts may hold.
    rollouts: Arc<Semaphore>,
    /// Why it has ended, if it has.
    ended: OnceLock<Error>,
}

/// The worlds by their places.
type Worlds = Vec<Option<World>>;

/// Worlds that a rollout holds, in its rows' order.
struct Shared {
    plays: Vec<Arc<dyn Play>>,
    _permits: OwnedSemaphorePermit,
}

/// The rewards of one playout.
type Rewards = BySeat<f32, MAX_SEATS>;

/// Decisions in worlds, a row each.
#[derive(Debug, Clone)]
pub struct Moves {
    /// The places of the worlds.
    pub worlds: Vec<u32>,
    /// What is chosen in each.
    pub actions: Bytes,
    /// The places of the copies that are played instead; empty if none are.
    pub into: Vec<u32>,
}

/// The seed of the playout with this number.
fn playout_seed(seed: u64, number: usize) -> u64 {
    RngStream::new(seed, number as u64).seed()
}

impl Search {
    /// Draws worlds for seats that owe a choice: first all of the first seat.
    ///
    /// # Errors
    /// Worlds that could not be drawn, which is the server's mistake.
    pub async fn open(
        id: String,
        table: Arc<Table>,
        opening: Opening,
        insights: Vec<Box<dyn Insight>>,
        group: &Group,
    ) -> Result<Arc<Self>, Error> {
        let (owner, threads) = (group.owner(), group.threads());
        let drawn = insights.len() * opening.worlds;
        let Opening { worlds, places, seed, skip_forced, .. } = opening;
        let each = owner.each(threads, drawn, move |number| {
            let mut world = World::drawn(&*insights[number / worlds], seed, number);
            if skip_forced {
                world.skip_forced();
            }
            world
        });
        let failed = || Error::Internal { place: id.clone(), what: "worlds were not drawn".to_owned() };
        let drawn_worlds = each.await.ok_or_else(failed)?;
        let free = std::iter::repeat_with(|| None).take(places - drawn);
        let worlds = drawn_worlds.into_iter().map(Some).chain(free).collect();
        let worlds = Arc::new(Mutex::new(worlds));
        let rollouts = Arc::new(Semaphore::new(places.max(threads)));
        let ended = OnceLock::new();
        Ok(Arc::new(Self { id, table, opening, drawn, owner, threads, worlds, rollouts, ended }))
    }

    /// The rows of the first places: of the worlds that were drawn, as they are now.
    ///
    /// # Errors
    /// A search that has ended.
    pub async fn first_rows(&self) -> Result<v1::Step, Error> {
        let worlds = self.worlds.lock().await;
        self.refuse_ended()?;
        let first: Vec<_> = worlds[..self.drawn].iter().flatten().collect();
        Ok(step::rows(&self.table, self.opening.reward, first.into_iter()))
    }

    /// The search's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The table its worlds are of.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// What it was begun with.
    #[must_use]
    pub fn opening(&self) -> &Opening {
        &self.opening
    }

    /// How many worlds were drawn.
    #[must_use]
    pub fn drawn(&self) -> usize {
        self.drawn
    }

    /// The bytes of so many rows, or of as many as are not refused.
    #[must_use]
    pub fn step_bytes(&self, rows: usize) -> usize {
        let info = self.table.rules.info();
        rows.min(step::most_rows(info, self.opening.message_bytes)) * row_bytes(info)
    }

    /// The bytes of a rollout of so many rows, or of as many as are not refused: sums of blocks, and means.
    #[must_use]
    pub fn reward_bytes(&self, rows: usize) -> usize {
        let rows = rows.min(MOST_PLAYOUTS);
        let means = rows * size_of::<f32>() * usize::from(self.table.rules.info().seats);
        (rows + MOST_BLOCKS) * size_of::<Option<Rewards>>() + 2 * means
    }

    /// Ends the search: calls that are under way, wait or come later are refused with `reason`.
    pub fn end(&self, reason: Error) {
        // It stays with what ended it first.
        let _ = self.ended.set(reason);
        self.owner.cancel();
    }

    /// Why work for it was lost. If it has not ended, what worked on it has panicked, and it ends: worlds may be gone.
    fn lost(&self) -> Error {
        let panicked =
            || Error::Internal { place: self.id.clone(), what: "work on a search was lost".to_owned() };
        self.ended.get_or_init(panicked).clone()
    }

    fn refuse_ended(&self) -> Result<(), Error> {
        self.ended.get().map_or(Ok(()), |reason| Err(reason.clone()))
    }

    /// Makes decisions in worlds, or in copies of them.
    ///
    /// # Errors
    /// Places that there are not, that are empty or named twice; a world that is over; an action that may not be chosen.
    /// Then nothing has been played.
    pub async fn advance(self: &Arc<Self>, moves: Moves) -> Result<v1::Step, Error> {
        let rows = moves.worlds.len();
        self.refuse_too_many(rows)?;
        let worlds = Arc::clone(&self.worlds).lock_owned().await;
        self.refuse_ended()?;
        if rows <= ALONE {
            return self.play(worlds, &moves);
        }
        let ((done, answer), search) = (oneshot::channel(), Arc::clone(self));
        self.owner.spawn(Once::new(move || {
            // Nobody may wait for it any more.
            let _ = done.send(search.play(worlds, &moves));
        }));
        answer.await.map_err(|_| self.lost())?
    }

    fn play(&self, mut worlds: OwnedMutexGuard<Worlds>, moves: &Moves) -> Result<v1::Step, Error> {
        let deciding = self.check(&worlds, moves)?;
        let mut played: Vec<World> = if moves.into.is_empty() {
            moves.worlds.iter().filter_map(|&at| worlds[at as usize].take()).collect()
        } else {
            moves.worlds.iter().filter_map(|&at| worlds[at as usize].clone()).collect()
        };
        for ((world, &action), seat) in played.iter_mut().zip(&moves.actions).zip(deciding) {
            world.own().apply(seat, action.into()).expect("it was checked");
            if self.opening.skip_forced {
                world.skip_forced();
            }
        }
        let step = step::rows(&self.table, self.opening.reward, played.iter());
        let into = if moves.into.is_empty() { &moves.worlds } else { &moves.into };
        for (world, &at) in played.into_iter().zip(into) {
            worlds[at as usize] = Some(world);
        }
        Ok(step)
    }

    /// Refuses what cannot be played; gives the seats that decide.
    fn check(&self, worlds: &Worlds, moves: &Moves) -> Result<Vec<Seat>, Error> {
        let Moves { worlds: rows, actions, into } = moves;
        let as_many = |field, count: usize| {
            let expected = format!("{} rows, one for each of `worlds`", rows.len());
            Error::field(field, format!("{count} rows"), expected)
        };
        if actions.len() != rows.len() {
            return Err(as_many("actions", actions.len()));
        }
        if !into.is_empty() && into.len() != rows.len() {
            return Err(as_many("into", into.len()));
        }
        let (changed, field) = if into.is_empty() { (rows, "worlds") } else { (into, "into") };
        let mut seen = vec![false; worlds.len()];
        for &at in changed {
            self.refuse_no_place(field, at)?;
            if std::mem::replace(&mut seen[at as usize], true) {
                return Err(Error::field(field, at, "places that are each named once"));
            }
        }
        let space = &self.table.rules.info().actions;
        let checked = rows.iter().zip(actions).enumerate().map(|(row, (&world, &action))| {
            let at = self.find(worlds, world)?;
            let seat = at.decides().ok_or(Error::WorldOver { row, world })?;
            let label = space.label(action).ok_or_else(|| {
                let actions = space.count();
                Error::WorldActionOutOfRange { row, world, action, actions }
            })?;
            if at.play.legal(seat).contains(action) {
                return Ok(seat);
            }
            Err(Error::WorldActionIllegal {
                row,
                world,
                seat: seat.number(),
                action,
                label: label.to_owned(),
            })
        });
        checked.collect()
    }

    /// Plays worlds to their end, each `playouts` times; the mean rewards by row and seat.
    ///
    /// # Errors
    /// Places that there are not or that are empty; too many playouts.
    pub async fn roll_out(
        &self,
        rows: &[u32],
        playouts: usize,
        rollout: Rollout,
        seed: u64,
    ) -> Result<Vec<f32>, Error> {
        let count = rows.len().saturating_mul(playouts);
        if rows.is_empty() || playouts == 0 || count > MOST_PLAYOUTS {
            let value = format!("{playouts} of {} worlds", rows.len());
            return Err(Error::field(
                "playouts",
                value,
                format!("1 to {MOST_PLAYOUTS} for all worlds together"),
            ));
        }
        let worlds = self.share(rows).await?;
        let (seats, reward) = (self.table.rules.info().seats, self.opening.reward);
        let block = count.div_ceil(MOST_BLOCKS);
        let blocks = playouts.div_ceil(block);
        let each = self.owner.each(self.threads, rows.len() * blocks, move |number| {
            let (row, first) = (number / blocks, number % blocks * block);
            let mut sums = Rewards::default();
            for playout in first..playouts.min(first + block) {
                if let Some(end) = worlds.plays[row].play_out(rollout, playout_seed(seed, playout)) {
                    Seat::all(seats)
                        .for_each(|seat| sums[seat] += reward::of(reward, seat, end.scores(), end.ranks()));
                }
            }
            sums
        });
        let sums = each.await.ok_or_else(|| self.lost())?;
        Ok(mean(&sums, blocks, playouts, seats))
    }

    /// The worlds at these places, shared and not copied, however often one is named.
    ///
    /// Worlds that move on in the meantime are copied, so a rollout waits while others hold as many as there are places,
    /// or threads: then no thread is idle for it.
    async fn share(&self, rows: &[u32]) -> Result<Shared, Error> {
        let permits = rows.len().min(self.opening.places.max(self.threads));
        let permits = u32::try_from(permits).expect("a message has fewer rows");
        let permits = Arc::clone(&self.rollouts).acquire_many_owned(permits).await;
        let worlds = self.worlds.lock().await;
        self.refuse_ended()?;
        let plays = rows.iter().map(|&at| self.find(&worlds, at).map(|world| Arc::clone(&world.play)));
        Ok(Shared { plays: plays.collect::<Result<_, _>>()?, _permits: permits.expect("it is never closed") })
    }

    fn find<'a>(&self, worlds: &'a Worlds, at: u32) -> Result<&'a World, Error> {
        self.refuse_no_place("worlds", at)?;
        let empty = || Error::field("worlds", at, "a place that holds a world");
        worlds[at as usize].as_ref().ok_or_else(empty)
    }

    fn refuse_no_place(&self, field: &'static str, at: u32) -> Result<(), Error> {
        let places = self.opening.places;
        if (at as usize) < places { Ok(()) } else { Err(Error::field(field, at, format!("below {places}"))) }
    }

    fn refuse_too_many(&self, rows: usize) -> Result<(), Error> {
        let most = step::most_rows(self.table.rules.info(), self.opening.message_bytes);
        if (1..=most).contains(&rows) {
            return Ok(());
        }
        let expected = format!("from 1 to {most} rows, which fit a message");
        Err(Error::field("worlds", format!("{rows} rows"), expected))
    }
}

/// The means of each row, seat by seat, from the sums of its blocks.
#[expect(clippy::cast_precision_loss, reason = "there are at most 65,536 playouts")]
fn mean(sums: &[Rewards], blocks: usize, playouts: usize, seats: u8) -> Vec<f32> {
    let of = |row: &[Rewards], seat| row.iter().map(|block| block[seat]).sum::<f32>() / playouts as f32;
    sums.chunks(blocks).flat_map(|row| Seat::all(seats).map(move |seat| of(row, seat))).collect()
}

#[cfg(test)]
mod tests;
