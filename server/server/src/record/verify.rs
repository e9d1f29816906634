//! Checks an episode that somebody has been shown: plays it once more from its key, and compares everything.

use boardwire_api::v1;
use boardwire_api::v1::player::Kind;
use boardwire_batch::release::Release;
use boardwire_batch::tables::{Table, Tables};
use boardwire_kernel::{Digest, Seat, SeatSet, Viewer};
use thiserror::Error;

use super::{Cause, Forfeited, InvalidEvent, Move, Record, Replayer, ShownDecisions, fair};
use crate::secret::{EpisodeKey, SeedSource};

/// What is wrong with a replay.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Mismatch(pub String);

/// What has been checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// How many decisions have been made.
    pub decisions: usize,
    /// Where the seed comes from.
    pub source: SeedSource,
    /// The seats that had a hand in the deal.
    pub contributed: SeatSet,
    /// What all decisions chain up to.
    pub head: bytes::Bytes,
    /// The final scores by seat; none of an episode that was cut or forfeited.
    pub scores: Vec<i32>,
}

/// Plays an episode once more that somebody has been shown, and compares every frame: commitment, decisions, views, chain
/// and result.
///
/// # Errors
/// The first thing that is wrong.
pub fn verify(shown: &v1::Replay, tables: &Tables) -> Result<Verified, Mismatch> {
    let config = shown
        .config
        .as_ref()
        .ok_or_else(|| unreadable(&"it does not tell what the match was created with"))?;
    let options = config.options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let seats = u32::try_from(config.players.len()).unwrap_or(u32::MAX);
    let table = tables.table(&config.game, seats, options).map_err(|error| unreadable(&error))?;
    if shown.release != Release::OWN.to_string() {
        let given = if shown.release.is_empty() { "0.2.0 or an earlier one" } else { &shown.release };
        let own = Release::OWN;
        return Err(Mismatch(format!(
            "Boardwire {given} saved it and alone verifies it: this is Boardwire {own}"
        )));
    }
    let own = table.digest.to_string();
    if shown.spec_digest != own {
        return Err(Mismatch(format!(
            "it was played by other rules or components: its spec digest is {}, that of this program {own}",
            shown.spec_digest
        )));
    }
    let record = read(shown, &table)?;
    let contributed = match &shown.fair {
        Some(deal) => fair::check(shown, deal, &record.opened.key)?,
        None => SeatSet::EMPTY,
    };
    let viewer = match shown.viewer {
        None => Viewer::Public,
        Some(number) => Viewer::from(seat(number, shown)?),
    };
    let mut retrace = Replayer::new(&table, &record);
    let mut last = None;
    for (index, given) in shown.frames.iter().enumerate() {
        if let Some(played) = index.checked_sub(1).and_then(|at| record.moves.get(at)) {
            let is_bot = !is_agent(&players(shown)[played.seat.index()]);
            retrace
                .check_cause(played, is_bot)
                .map_err(|what| unreadable(&format!("frame {index}: {what}")))?;
        }
        let frame = retrace.advance(&table, &record, viewer, ShownDecisions::All);
        let frame = frame.map_err(|InvalidEvent(what)| Mismatch(what))?;
        let Some(frame) = frame else {
            let given = shown.frames.len();
            return Err(Mismatch(format!(
                "there are {given} frames, and the episode ends with frame {index}"
            )));
        };
        compare(index, given, &frame)?;
        last = Some(frame);
    }
    let last = last.ok_or_else(|| unreadable(&"there is no frame"))?;
    let outcome = last.outcome.ok_or_else(|| unreadable(&"the last frame is not the end of the episode"))?;
    let decisions = record.moves.len();
    let (source, head) = (record.opened.source, last.head);
    Ok(Verified { decisions, source, contributed, head, scores: outcome.scores })
}

fn unreadable(what: &impl ToString) -> Mismatch {
    Mismatch(format!("it cannot be checked: {}", what.to_string()))
}

pub(super) fn players(shown: &v1::Replay) -> &[v1::Player] {
    shown.config.as_ref().map_or(&[], |config| &config.players)
}

pub(super) fn is_agent(player: &v1::Player) -> bool {
    matches!(player.kind, Some(Kind::Agent(_)))
}

fn seats_of(table: &Table) -> u8 {
    table.rules.info().seats
}

pub(super) fn seat(number: u32, shown: &v1::Replay) -> Result<Seat, Mismatch> {
    let seat = u8::try_from(number).ok().filter(|seat| usize::from(*seat) < players(shown).len());
    seat.map(Seat::new).ok_or_else(|| unreadable(&format!("there is no seat {number}")))
}

/// What the episode follows from, if that is what was committed to.
fn opened(shown: &v1::Replay, spec: &Digest) -> Result<EpisodeKey, Mismatch> {
    let missing = "its key is not shown: it is once the episode is over, and if its seed was given, to the host alone until the match is closed";
    let opening = shown.seed_opening.as_ref().ok_or_else(|| unreadable(&missing))?;
    let key: [u8; 32] = opening.key[..].try_into().map_err(|_| unreadable(&"the key has not 32 bytes"))?;
    let salt = opening.salt[..].try_into().map_err(|_| unreadable(&"the salt has not 16 bytes"))?;
    let source = opening.seed.map_or(SeedSource::Drawn, SeedSource::Given);
    let opened = EpisodeKey { source, key: key.into(), salt };
    match (source, opened.key.seed()) {
        (SeedSource::Given(told), seed) if seed != Some(told) => {
            return Err(Mismatch(format!("the key does not follow from seed {told}")));
        }
        (SeedSource::Drawn, Some(seed)) => {
            let what = format!("the key follows from seed {seed}, and the replay says that nobody gave one");
            return Err(Mismatch(what));
        }
        _ => {}
    }
    if shown.seed_source() != source.to_message() {
        return Err(unreadable(&"where its seed comes from is not what its opening tells"));
    }
    let own = opened.commitment(&shown.match_id, shown.episode, spec);
    if shown.seed_commitment[..] != own {
        let [given, own] = [&shown.seed_commitment[..], &own].map(crate::hex::hex);
        return Err(Mismatch(format!(
            "the key is not the one that was committed to: the commitment was {given}, that of the key is {own}"
        )));
    }
    Ok(opened)
}

/// What was played, as it is stated.
fn read(shown: &v1::Replay, table: &Table) -> Result<Record, Mismatch> {
    let opened = opened(shown, &table.digest)?;
    let time = |frame: &v1::Frame, index: usize| {
        let time = frame.time.and_then(|time| time.try_into().ok());
        time.ok_or_else(|| unreadable(&format!("frame {index} has no time")))
    };
    let first = shown.frames.first().ok_or_else(|| unreadable(&"there is no frame"))?;
    let identity = (shown.match_id.as_str(), &table.digest);
    let mut record = Record::new(identity, shown.episode, first.sequence, opened, time(first, 0)?);
    for (index, frame) in shown.frames.iter().enumerate().skip(1) {
        let at = time(frame, index)?;
        record.acted = at;
        match (&frame.seat, &frame.played) {
            (Some(number), Some(played)) => {
                let (seat, cause) = (seat(*number, shown)?, cause(*played, index)?);
                let action = u8::try_from(played.action)
                    .map_err(|_| Mismatch(format!("ply {index}: there is no such action")))?;
                record.moves.push(Move { seat, action, cause, took: None, at });
            }
            (Some(_), None) => {
                return Err(unreadable(&format!("frame {index} does not show what was played")));
            }
            (None, _) => {
                let forfeited =
                    frame.outcome.as_ref().and_then(|outcome| forfeited(outcome, seats_of(table)));
                let missing = || unreadable(&format!("frame {index} names no seat, and no forfeit"));
                record.forfeited = Some(forfeited.ok_or_else(missing)?);
            }
        }
    }
    Ok(record)
}

/// How an action came about, but for the luck that was used.
fn cause(played: v1::PlayedAction, index: usize) -> Result<Cause, Mismatch> {
    let unknown = || unreadable(&format!("frame {index}: nobody knows how its action came about"));
    match (played.cause(), played.given) {
        (v1::ActionCause::Agent, _) => Ok(Cause::Agent),
        (v1::ActionCause::Substituted, Some(given)) => Ok(Cause::Substituted { given, words: 0 }),
        (v1::ActionCause::Bot, _) => Ok(Cause::Bot { words: 0 }),
        (v1::ActionCause::Forced, _) => Ok(Cause::Forced),
        (v1::ActionCause::TimedOut, _) => Ok(Cause::Late { words: 0, bot: false }),
        (v1::ActionCause::Unspecified | v1::ActionCause::Substituted, _) => Err(unknown()),
    }
}

/// Who has lost an episode without playing it to its end.
fn forfeited(outcome: &v1::Outcome, seats: u8) -> Option<Forfeited> {
    Seat::all(seats)
        .zip(outcome.forfeits())
        .find_map(|(seat, why)| (why != v1::Forfeit::Unspecified).then_some(Forfeited { seat, why }))
}

/// Looks whether a frame is what it should be.
fn compare(frame: usize, given: &v1::Frame, own: &v1::Frame) -> Result<(), Mismatch> {
    let v1::Frame { sequence, episode, ply, time: _, took: _, view, pending, seat, played, head, outcome } =
        own;
    let bytes = |bytes: &[u8]| crate::hex::hex(bytes);
    let fields = [
        ("sequence", given.sequence.to_string(), sequence.to_string()),
        ("episode", given.episode.to_string(), episode.to_string()),
        ("ply", given.ply.to_string(), ply.to_string()),
        ("seat", format!("{:?}", given.seat), format!("{seat:?}")),
        ("played", format!("{:?}", given.played), format!("{played:?}")),
        ("view", bytes(&given.view), bytes(view)),
        ("pending", format!("{:?}", given.pending), format!("{pending:?}")),
        ("head", bytes(&given.head), bytes(head)),
        ("outcome", format!("{:?}", given.outcome), format!("{outcome:?}")),
    ];
    match fields.into_iter().find(|(_, given, own)| given != own) {
        None => Ok(()),
        Some((field, given, own)) => {
            Err(Mismatch(format!("frame {frame}: {field} is {given}, and should be {own}")))
        }
    }
}
