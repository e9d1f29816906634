//! Verifies a replay: plays the episode again from its key, and compares everything that the replay shows.

use std::fmt::Display;

use boardwire_api::v1;
use boardwire_api::v1::player::Kind;
use boardwire_batch::release::Release;
use boardwire_batch::tables::{Table, Tables};
use boardwire_kernel::{Digest, Seat, SeatSet, Viewer};
use thiserror::Error;

use super::{Cause, Forfeited, InvalidEvent, Move, Record, Replayer, VisibleDecisions, fair};
use crate::hex::hex;
use crate::secret::{EpisodeKey, SeedSource};

/// The first error found in a replay.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Mismatch(pub String);

/// The facts that [`verify`] has checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// The number of decisions.
    pub decisions: usize,
    /// The source of the seed.
    pub source: SeedSource,
    /// The seats that contributed to the deal; empty without fair deals.
    pub contributed: SeatSet,
    /// The head of the hash chain after the last decision.
    pub head: bytes::Bytes,
    /// The final scores by seat; empty for a truncated or forfeited episode.
    pub scores: Vec<i32>,
}

/// Plays an episode again from its key, and compares commitment, decisions, views, hash chain and outcome.
///
/// # Errors
/// The first difference, or the reason why the replay cannot be verified.
pub fn verify(replay: &v1::Replay, tables: &Tables) -> Result<Verified, Mismatch> {
    let config = replay.config.as_ref().ok_or_else(|| unreadable("it has no config"))?;
    let options = config.options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let seats = u32::try_from(config.players.len()).unwrap_or(u32::MAX);
    let table = tables.table(&config.game, seats, options).map_err(unreadable)?;
    let release = Release::OWN.to_string();
    if replay.release != release {
        let given = if replay.release.is_empty() { "0.2.0 or an earlier one" } else { &replay.release };
        return Err(Mismatch(format!(
            "Boardwire {given} saved this replay, and only that release can verify it; this is Boardwire {release}"
        )));
    }
    let spec = table.digest.to_string();
    if replay.spec_digest != spec {
        return Err(Mismatch(format!(
            "other rules or components: the replay has spec digest {}, this program has {spec}",
            replay.spec_digest
        )));
    }
    let record = read_record(replay, &table)?;
    let contributed = match &replay.fair {
        Some(deal) => fair::check(&config.players, replay, deal, &record.key.key)?,
        None => SeatSet::EMPTY,
    };
    let viewer = match replay.viewer {
        None => Viewer::Public,
        Some(number) => Viewer::from(seat(number, &table)?),
    };
    let mut replayer = Replayer::new(&table, &record);
    let mut last = None;
    for (index, given) in replay.frames.iter().enumerate() {
        if let Some(played) = index.checked_sub(1).and_then(|at| record.moves.get(at)) {
            let is_bot = !is_agent(&config.players[played.seat.index()]);
            let wrong_cause = |problem| unreadable(format!("frame {index}: {problem}"));
            replayer.check_cause(played, is_bot).map_err(wrong_cause)?;
        }
        let frame = replayer.advance(&table, &record, viewer, VisibleDecisions::All);
        let Some(frame) = frame.map_err(|InvalidEvent(problem)| Mismatch(problem))? else {
            let given = replay.frames.len();
            return Err(Mismatch(format!("it has {given} frames, but the episode has {index}")));
        };
        compare(index, given, &frame)?;
        last = Some(frame);
    }
    let last = last.ok_or_else(|| unreadable("it has no frames"))?;
    let outcome = last.outcome.ok_or_else(|| unreadable("its last frame is not the end of the episode"))?;
    let (decisions, source) = (record.moves.len(), record.key.source);
    Ok(Verified { decisions, source, contributed, head: last.head, scores: outcome.scores })
}

fn unreadable(problem: impl Display) -> Mismatch {
    Mismatch(format!("the replay cannot be verified: {problem}"))
}

pub(super) fn is_agent(player: &v1::Player) -> bool {
    matches!(player.kind, Some(Kind::Agent(_)))
}

fn seat(number: u32, table: &Table) -> Result<Seat, Mismatch> {
    let seat = Seat::all(table.game.info().seats).find(|seat| u32::from(seat.number()) == number);
    seat.ok_or_else(|| unreadable(format!("there is no seat {number}")))
}

/// Reads the key of the episode, and checks it against its seed and its commitment.
fn read_key(replay: &v1::Replay, spec: &Digest) -> Result<EpisodeKey, Mismatch> {
    let missing = "its key is not shown. The server shows it when the episode is over. If the host gave the seed, \
         only the host sees it until the match is closed";
    let opening = replay.seed_opening.as_ref().ok_or_else(|| unreadable(missing))?;
    let key: [u8; 32] = opening.key[..].try_into().map_err(|_| unreadable("the key must have 32 bytes"))?;
    let salt = opening.salt[..].try_into().map_err(|_| unreadable("the salt must have 16 bytes"))?;
    let source = opening.seed.map_or(SeedSource::Drawn, SeedSource::Given);
    let key = EpisodeKey { source, key: key.into(), salt };
    match (source, key.key.to_seed()) {
        (SeedSource::Given(given), seed) if seed != Some(given) => {
            return Err(Mismatch(format!("the key does not follow from seed {given}")));
        }
        (SeedSource::Drawn, Some(seed)) => {
            let problem =
                format!("the key follows from seed {seed}, but the replay says that the server drew it");
            return Err(Mismatch(problem));
        }
        _ => {}
    }
    if replay.seed_source() != source.to_message() {
        return Err(unreadable("its seed_source does not match its seed_opening"));
    }
    let commitment = key.commitment(&replay.match_id, replay.episode, spec);
    if replay.seed_commitment[..] != commitment {
        let [given, own] = [&replay.seed_commitment[..], &commitment].map(hex);
        return Err(Mismatch(format!(
            "the key does not match seed_commitment: the replay has {given}, the key gives {own}"
        )));
    }
    Ok(key)
}

fn read_record(replay: &v1::Replay, table: &Table) -> Result<Record, Mismatch> {
    let key = read_key(replay, &table.digest)?;
    let time = |frame: &v1::Frame, index: usize| {
        let time = frame.time.and_then(|time| time.try_into().ok());
        time.ok_or_else(|| unreadable(format!("frame {index} has no time")))
    };
    let first = replay.frames.first().ok_or_else(|| unreadable("it has no frames"))?;
    let identity = (replay.match_id.as_str(), &table.digest);
    let mut record = Record::new(identity, replay.episode, first.sequence, key, time(first, 0)?);
    for (index, frame) in replay.frames.iter().enumerate().skip(1) {
        let at = time(frame, index)?;
        record.last_action_at = at;
        match (frame.seat, frame.played) {
            (Some(number), Some(played)) => {
                let (seat, cause) = (seat(number, table)?, cause(played, index)?);
                let action = u8::try_from(played.action).map_err(|_| {
                    Mismatch(format!("ply {index}: action {} is out of range (0 to 255)", played.action))
                })?;
                record.moves.push(Move { seat, action, cause, decision_time: None, at });
            }
            (Some(_), None) => {
                return Err(unreadable(format!("frame {index} does not show its action")));
            }
            (None, _) => {
                let forfeits = frame.outcome.iter().flat_map(v1::Outcome::forfeits);
                let mut forfeits = Seat::all(table.game.info().seats).zip(forfeits);
                let forfeit = forfeits.find(|(_, reason)| *reason != v1::Forfeit::Unspecified);
                let missing = || unreadable(format!("frame {index} names neither a seat nor a forfeit"));
                let (seat, reason) = forfeit.ok_or_else(missing)?;
                record.forfeited = Some(Forfeited { seat, reason });
            }
        }
    }
    Ok(record)
}

/// Returns the cause of an action. Positions in streams of random numbers are 0, because a replay does not have them.
fn cause(played: v1::PlayedAction, index: usize) -> Result<Cause, Mismatch> {
    match (played.cause(), played.given) {
        (v1::ActionCause::Agent, _) => Ok(Cause::Agent),
        (v1::ActionCause::Substituted, Some(given)) => Ok(Cause::Substituted { given, words: 0 }),
        (v1::ActionCause::Bot, _) => Ok(Cause::Bot { words: 0 }),
        (v1::ActionCause::Forced, _) => Ok(Cause::Forced),
        (v1::ActionCause::TimedOut, _) => Ok(Cause::TimedOut { words: 0, bot: false }),
        (v1::ActionCause::Unspecified | v1::ActionCause::Substituted, _) => {
            Err(unreadable(format!("frame {index} does not say how its action was chosen")))
        }
    }
}

/// Compares a frame of the replay with the same frame of the repeated episode, except its times.
fn compare(index: usize, given: &v1::Frame, expected: &v1::Frame) -> Result<(), Mismatch> {
    let v1::Frame { sequence, episode, ply, time: _, took: _, view, pending, seat, played, head, outcome } =
        expected;
    let fields = [
        ("sequence", given.sequence.to_string(), sequence.to_string()),
        ("episode", given.episode.to_string(), episode.to_string()),
        ("ply", given.ply.to_string(), ply.to_string()),
        ("seat", format!("{:?}", given.seat), format!("{seat:?}")),
        ("played", format!("{:?}", given.played), format!("{played:?}")),
        ("view", hex(&given.view), hex(view)),
        ("pending", format!("{:?}", given.pending), format!("{pending:?}")),
        ("head", hex(&given.head), hex(head)),
        ("outcome", format!("{:?}", given.outcome), format!("{outcome:?}")),
    ];
    match fields.into_iter().find(|(_, given, expected)| given != expected) {
        None => Ok(()),
        Some((field, given, expected)) => {
            Err(Mismatch(format!("frame {index}: {field} must be {expected}; got {given}")))
        }
    }
}
