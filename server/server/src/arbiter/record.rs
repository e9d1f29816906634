//! An episode as it was played, and as each viewer may see it afterwards.

use std::time::SystemTime;

use boardwire_api::{Error, v1};
use boardwire_batch::play::Play;
use boardwire_batch::release::Release;
use boardwire_batch::tables::Table;
use boardwire_draw::draw;
use boardwire_kernel::{Digest, Seat, Viewer};

use super::clock::Took;
use super::event::{Cause, Forfeited};
use super::fair::Part;
use super::observation::outcome;
use super::standing::{Impossible, Standing};
use super::{Arbiter, CloseReason, Looker, Opened, SeedSource};
use crate::convert::{numbers, to_the_second};

/// How many episodes before the present one can still be looked at.
pub(super) const KEPT: usize = 4;

/// An episode as it was played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    /// Which it is.
    pub(super) episode: u32,
    /// The number of its first frame among those of the match.
    pub(super) first: u64,
    /// What it follows from: for the arbiter, never for a seat.
    pub(super) opened: Opened,
    /// What commits to that.
    pub(super) commitment: [u8; 32],
    /// What the server has contributed to it, if its deal was fair.
    pub(super) server_part: Option<Part>,
    /// When it was dealt, if it has been.
    pub(super) dealt: Option<SystemTime>,
    /// All that was played, in the order in which it came.
    pub(super) moves: Vec<Move>,
    /// Who has lost it without playing it to its end, and why.
    pub(super) forfeited: Option<Forfeited>,
    /// When the last action was applied, or when it was dealt.
    pub(super) acted: SystemTime,
}

/// An action as it was played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Move {
    /// Whose.
    pub(super) seat: Seat,
    /// Its index.
    pub(super) action: u8,
    /// How it came about.
    pub(super) cause: Cause,
    /// How long the seat took for it, if it has a clock.
    pub(super) took: Option<Took>,
    /// When.
    pub(super) at: SystemTime,
}

impl Move {
    /// The decision as a message.
    fn to_message(self) -> v1::PlayedAction {
        let given = if let Cause::Substituted { given, .. } = self.cause { Some(given) } else { None };
        v1::PlayedAction { action: self.action.into(), cause: self.cause.to_message().into(), given }
    }
}

/// The head after a decision: BLAKE3, keyed with the episode's key, of the head before it, the seat, the action and how it
/// came about. Before the first decision the head is the commitment. It tells nothing of a hidden choice without the key.
fn after_decision(key: &[u8; 32], head: &[u8; 32], played: &Move) -> [u8; 32] {
    let Move { seat, action, cause, .. } = *played;
    chained(key, head, &[seat.number(), action, number(cause.to_message())])
}

/// The head after a forfeit: the same of the head before it, the seat and the reason.
fn after_forfeit(key: &[u8; 32], head: &[u8; 32], forfeited: Forfeited) -> [u8; 32] {
    chained(key, head, &[forfeited.seat.number(), number(forfeited.why)])
}

fn chained(key: &[u8; 32], head: &[u8; 32], happened: &[u8]) -> [u8; 32] {
    *blake3::Hasher::new_keyed(key).update(head).update(happened).finalize().as_bytes()
}

/// The number of an enumeration's value, of which the protocol has few.
fn number(value: impl Into<i32>) -> u8 {
    u8::try_from(value.into()).expect("few")
}

impl Record {
    /// An episode of a match, by its id and the digest of its table, that has just been dealt.
    pub(super) fn new(
        (id, spec): (&str, &Digest),
        episode: u32,
        first: u64,
        opened: Opened,
        at: SystemTime,
    ) -> Self {
        let commitment = opened.commitment(id, episode, spec);
        let (server_part, moves, forfeited) = (None, Vec::new(), None);
        Self { episode, first, opened, commitment, server_part, dealt: Some(at), moves, forfeited, acted: at }
    }

    /// The first episode of a match, before it has been dealt.
    pub(super) fn undealt(at: SystemTime) -> Self {
        let (opened, commitment) = (Opened::nothing(), [0; 32]);
        let (server_part, moves, forfeited) = (None, Vec::new(), None);
        Self {
            episode: 0,
            first: 1,
            opened,
            commitment,
            server_part,
            dealt: None,
            moves,
            forfeited,
            acted: at,
        }
    }

    /// When the position of the frame with this number came about.
    pub(super) fn at(&self, sequence: u64) -> SystemTime {
        let index = usize::try_from(sequence - self.first).unwrap_or(usize::MAX);
        let played = index.checked_sub(1).map(|at| self.moves.get(at).map(|played| played.at));
        played.unwrap_or(self.dealt).unwrap_or(self.acted)
    }

    /// How many frames there are: the deal, every decision, and a forfeit.
    pub(super) fn frames(&self) -> u64 {
        u64::from(self.dealt.is_some()) + self.moves.len() as u64 + u64::from(self.forfeited.is_some())
    }

    /// The number of the first frame after it.
    pub(super) fn end(&self) -> u64 {
        self.first + self.frames()
    }

    /// Leaves out what has happened after `time`; whether there was anything. The deal stays.
    pub(super) fn cut(&mut self, time: SystemTime) -> bool {
        let frames = self.frames();
        // All that follows the first of it, though a clock may have been set back since.
        if let Some(kept) = self.moves.iter().position(|played| played.at > time) {
            self.moves.truncate(kept);
            self.forfeited = None;
        }
        self.forfeited = self.forfeited.filter(|_| self.acted <= time);
        frames != self.frames()
    }

    /// What all that has happened chains up to.
    pub(super) fn head(&self) -> [u8; 32] {
        let key = self.opened.key.as_bytes();
        let played =
            self.moves.iter().fold(self.commitment, |head, played| after_decision(key, &head, played));
        self.forfeited.map_or(played, |forfeited| after_forfeit(key, &played, forfeited))
    }
}

/// An episode that is played once more, frame by frame.
pub(super) struct Retrace {
    play: Box<dyn Play>,
    key: [u8; 32],
    head: [u8; 32],
    /// The number of the next frame among those of the episode.
    next: usize,
}

impl Retrace {
    /// Before the first frame.
    pub(super) fn new(table: &Table, record: &Record) -> Self {
        let key = record.opened.key;
        let play = table.rules.clone().deal(key);
        Self { play, key: *key.as_bytes(), head: record.commitment, next: 0 }
    }

    /// The next frame as `viewer` may see it, if there is one.
    ///
    /// # Errors
    /// An action that cannot have been played.
    pub(super) fn advance(
        &mut self,
        table: &Table,
        record: &Record,
        viewer: Viewer,
        shown: ShownDecisions,
    ) -> Result<Option<v1::Frame>, Impossible> {
        let index = self.next;
        let sequence = record.first.checked_add(index as u64);
        let sequence = sequence.ok_or_else(|| Impossible(format!("frame {index} has no number left")))?;
        let played = index.checked_sub(1).and_then(|at| record.moves.get(at));
        let forfeited = record.forfeited.filter(|_| index == record.moves.len() + 1);
        if index > 0 && played.is_none() && forfeited.is_none() {
            return Ok(None);
        }
        if forfeited.is_some() && self.play.pending().is_empty() {
            return Err(Impossible(format!("frame {index}: nobody forfeits an episode that is over")));
        }
        if let Some(played) = played {
            let refused = |error| Impossible(format!("ply {index}: {error}"));
            self.play.apply(played.seat, u32::from(played.action)).map_err(refused)?;
            self.head = after_decision(&self.key, &self.head, played);
        }
        if let Some(forfeited) = forfeited {
            self.head = after_forfeit(&self.key, &self.head, forfeited);
        }
        self.next += 1;
        let info = table.rules.info();
        let mut view = vec![0; info.layout_for(viewer).bytes()];
        self.play.view(viewer, &mut view);
        let own = |seat: Seat| viewer == Viewer::from(seat);
        let told = played.filter(|played| shown == ShownDecisions::All || own(played.seat));
        Ok(Some(v1::Frame {
            sequence,
            episode: record.episode,
            ply: self.play.ply(),
            time: Some(to_the_second(record.at(sequence))),
            view: view.into(),
            pending: if forfeited.is_some() { Vec::new() } else { numbers(self.play.pending()) },
            seat: played.map(|played| played.seat.number().into()),
            took: played.and_then(|played| played.took?.charged().try_into().ok()),
            played: told.copied().map(Move::to_message),
            head: self.head.to_vec().into(),
            outcome: outcome(&*self.play, forfeited, info.seats, false),
        }))
    }

    /// Looks whether the next action can have come about as it is said to have.
    pub(super) fn check_cause(&self, played: &Move, is_bot: bool) -> Result<(), &'static str> {
        let Move { seat, action, cause, .. } = *played;
        match cause {
            Cause::Bot { .. } if !is_bot => Err("a bot is said to have chosen for an agent"),
            Cause::Agent | Cause::Substituted { .. } | Cause::Forced | Cause::Late { .. } if is_bot => {
                Err("an agent is said to have chosen for a bot")
            }
            Cause::Substituted { given, .. } if self.play.check(seat, given).is_ok() => {
                Err("what is said to have been replaced was legal")
            }
            Cause::Forced if self.play.forced(seat) != Some(action) => {
                Err("what is said to have been forced was a choice")
            }
            Cause::Agent
            | Cause::Substituted { .. }
            | Cause::Bot { .. }
            | Cause::Forced
            | Cause::Late { .. } => Ok(()),
        }
    }

    /// The frame that came last as `viewer` looks at it.
    pub(super) fn depict(
        &self,
        table: &Table,
        viewer: Viewer,
        frame: &v1::Frame,
    ) -> Result<v1::Depiction, Impossible> {
        let picture = draw(table.rules.info(), viewer, &frame.view).map_err(Impossible)?;
        Ok(v1::Depiction { picture: picture.svg(), text: self.play.text(viewer) })
    }
}

/// Which decisions a viewer is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShownDecisions {
    /// Its own.
    Own,
    /// Everybody's.
    All,
}

impl Standing {
    /// The record of an episode, if it is still kept.
    pub(super) fn record(&self, episode: u32) -> Option<&Record> {
        self.records().find(|record| record.episode == episode)
    }

    /// The records that are kept, the present one last.
    pub(super) fn records(&self) -> impl DoubleEndedIterator<Item = &Record> {
        self.past.iter().chain([&self.present])
    }

    /// The number of the oldest episode that is kept.
    pub(super) fn oldest(&self) -> u32 {
        self.past.front().map_or(self.present.episode, |record| record.episode)
    }

    /// What an episode follows from, once it may be known: to those who take part, when nothing hidden or to come follows from
    /// it any more, or the host has given it; to all, when the match is over.
    pub(super) fn revealed(&self, record: &Record, to: Looker) -> Option<Opened> {
        let over = record.episode < self.present.episode || self.is_over();
        let known = to == Looker::Host || record.opened.source == SeedSource::Drawn;
        let shown = self.has_ended() || (over && known && to.belongs());
        (shown && record.dealt.is_some()).then_some(record.opened)
    }

    /// Whether it is closed, and no server goes on with it.
    pub(super) fn has_ended(&self) -> bool {
        self.closed.as_ref().is_some_and(CloseReason::is_final)
    }
}

impl Arbiter {
    /// The most bytes that a replay takes.
    #[must_use]
    pub fn replay_bytes(&self) -> usize {
        /// What stands in a frame beside the view.
        const FRAME: usize = 128;
        let info = self.table.rules.info();
        (info.max_plies as usize + 2) * (info.layout.bytes() + FRAME)
    }

    /// An episode as `looker` may see it: the present one, unless another is asked for. As long as it is played, of all
    /// decisions only the looker's own are shown.
    ///
    /// # Errors
    /// An episode that has not come, or is not kept any more.
    pub fn replay(&self, looker: Looker, episode: Option<u32>) -> Result<v1::Replay, Error> {
        let viewer = looker.viewer();
        let (record, over, revealed, fair) = {
            let inner = self.lock();
            let standing = &inner.standing;
            let shown = standing.shown(self.settings.watch_delay).filter(|_| !looker.belongs());
            let latest = shown.as_ref().map_or(standing.present.episode, |record| record.episode);
            let episode = episode.unwrap_or(latest);
            Standing::not_after(latest, episode)?;
            standing.check_dealt()?;
            let record = standing.record(episode).ok_or_else(|| {
                let expected = format!("{} or more; those before are not kept", standing.oldest());
                Error::field("episode", episode, expected)
            })?;
            let over = standing.has_ended() || episode < standing.present.episode || standing.is_over();
            let mut record = record.clone();
            let is_cut = shown.is_some() && record.cut(SystemTime::now() - self.settings.watch_delay);
            // A seed that was given tells of the episodes after this one, too.
            let tells_later = record.opened.source != SeedSource::Drawn;
            let is_held_back = is_cut || (tells_later && shown.is_some());
            let revealed = standing.revealed(&record, looker).filter(|_| !is_held_back);
            (record, over && !is_cut, revealed, standing.fair_deal())
        };
        let shown = if over { ShownDecisions::All } else { ShownDecisions::Own };
        let mut retrace = Retrace::new(&self.table, &record);
        let mut frames = Vec::with_capacity(record.moves.len() + 2);
        while let Some(frame) =
            retrace.advance(&self.table, &record, viewer, shown).map_err(|Impossible(what)| {
                Error::Internal { place: self.table.rules.info().id.to_owned(), what }
            })?
        {
            frames.push(frame);
        }
        let Record { episode, opened, commitment, server_part, .. } = record;
        Ok(v1::Replay {
            match_id: self.name.id.clone(),
            config: Some(self.settings.config(&self.table)),
            spec_digest: self.table.digest.to_string(),
            episode,
            seed_commitment: commitment.to_vec().into(),
            seed_source: opened.source.to_message().into(),
            seed_opening: revealed.map(|opened| opened.to_message(server_part)),
            fair,
            viewer: viewer.seat().map(|seat| seat.number().into()),
            over,
            release: Release::OWN.to_string(),
            frames,
        })
    }
}
