//! How a match stands: what follows from its events.

use std::collections::VecDeque;
use std::time::SystemTime;

use boardwire_batch::play::Play;
use boardwire_batch::tables::Table;
use boardwire_kernel::{BOT_STREAM, RngStream, SUBSTITUTE_STREAM, Seat, SeatSet};
use uuid::Uuid;

use super::clock::{Clock, TimeLeft};
use super::event::{Event, EventKind};
use super::fair::Deals;
use super::replay::KEPT;
use super::{CloseReason, Decision, EpisodeKey, Settings};
use crate::record::{Cause, InvalidEvent, Move, Record};
use crate::secret::Seeds;

/// How a match stands.
pub(super) struct State {
    /// The match's id.
    pub(super) id: Box<str>,
    /// How its deals come about.
    pub(super) deals: Deals,
    /// The seats at which agents play.
    pub(super) agents: SeatSet,
    /// The clocks of seats that have one.
    pub(super) clocks: Vec<Option<Clock>>,
    /// The present episode as it stands.
    pub(super) play: Box<dyn Play>,
    /// How it came to that.
    pub(super) present: Record,
    /// Some episodes before it, the oldest first.
    pub(super) past: VecDeque<Record>,
    /// What each seat has done in it.
    pub(super) by_seat: Vec<SeatState>,
    /// What the next one follows from.
    pub(super) seeds: Seeds,
    /// The digest of the invitation to each seat that was given to another agent.
    pub(super) invited: Vec<Option<[u8; 32]>>,
    /// Who has taken each seat.
    pub(super) holders: Vec<Option<Holder>>,
    /// Who has asked for the next episode.
    pub(super) votes: SeatSet,
    /// Why the match has ended for good, if it has.
    pub(super) closed: Option<CloseReason>,
}

/// What a seat has done in the present episode.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SeatState {
    /// How many decisions it has made.
    pub(super) decision: u32,
    /// Whether another action was played for its last one.
    pub(super) substituted: bool,
    /// Whether its last decision was made for it, since its time had run out.
    pub(super) timed_out: bool,
    /// Which decision was last made for it so.
    pub(super) late: Option<u32>,
    /// Whether its time has run out for the present decision, which is to be made for it.
    pub(super) lapsed: bool,
    /// What its clock has left.
    pub(super) time: TimeLeft,
    pub(super) last: Option<Decision>,
    /// Words used of the stream that its bot draws from.
    bot: u64,
    /// The same of that from which what is played for its illegal actions is drawn.
    substitutes: u64,
}

/// Who has taken a seat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Holder {
    /// What the token is found by.
    pub(super) token: [u8; 32],
    /// What the request was named by.
    pub(super) request: Option<Uuid>,
}

/// More words than any stream gives in an episode.
const MOST_WORDS: u64 = 1 << 48;

impl State {
    /// A match whose first episode has been dealt at `at`; nobody has joined or moved.
    pub(super) fn new(
        table: &Table,
        settings: &Settings,
        id: &str,
        opened: EpisodeKey,
        seeds: Seeds,
        deals: Deals,
        at: SystemTime,
    ) -> Self {
        let present = deals.first_record((id, &table.digest), opened, at);
        Self {
            id: id.into(),
            deals,
            agents: settings.agents(),
            clocks: settings.clocks.clone(),
            play: table.rules.clone().deal(opened.key),
            present,
            past: VecDeque::new(),
            by_seat: settings.seats().map(|seat| SeatState::new(settings.clock(seat))).collect(),
            seeds,
            invited: vec![None; settings.players.len()],
            holders: vec![None; settings.players.len()],
            votes: SeatSet::EMPTY,
            closed: None,
        }
    }

    /// How the match stands after an event.
    ///
    /// # Errors
    /// An event that cannot follow upon those before it; then everything is as it was.
    pub(super) fn apply(&mut self, table: &Table, event: &Event) -> Result<(), InvalidEvent> {
        if let Some(seat) = event.what.seat()
            && seat.index() >= self.by_seat.len()
        {
            return Err(InvalidEvent(format!("there is no seat {}", seat.number())));
        }
        match &event.what {
            EventKind::Joined { seat, token, request, bound } => {
                // After the deal it stays as it is, also with another agent at the seat.
                if self.is_gathering() {
                    self.deals.bind(*seat, *bound);
                }
                self.holders[seat.index()] = Some(Holder { token: *token, request: *request });
            }
            EventKind::Invited { seat, invitation } => {
                self.holders[seat.index()] = None;
                self.invited[seat.index()] = Some(*invitation);
                if self.is_gathering() {
                    self.deals.bind(*seat, None);
                }
            }
            EventKind::Opened { seat, part } => self.deals.open(*seat, *part)?,
            EventKind::Dealt { opened, seeds } => self.dealt(table, event.at, *opened, seeds.clone()),
            &EventKind::Played { seat, action, cause, took } => {
                self.played(Move { seat, action, cause, took, at: event.at })?;
            }
            EventKind::Forfeited { forfeited, given } => {
                if let Some(given) = given {
                    self.by_seat[forfeited.seat.index()].decide(self.present.episode, *given, false);
                }
                self.present.forfeited = Some(*forfeited);
                self.present.acted = event.at;
            }
            EventKind::RanOut { seat } => {
                let place = &mut self.by_seat[seat.index()];
                place.lapsed = !place.time.run_out();
            }
            EventKind::Voted { seat } => self.votes.insert(*seat),
            EventKind::Closed(reason) => self.closed = Some(reason.clone()),
        }
        Ok(())
    }

    /// After an episode has been dealt.
    fn dealt(&mut self, table: &Table, at: SystemTime, opened: EpisodeKey, seeds: Seeds) {
        let is_first = self.is_gathering();
        let (episode, first) = if is_first { (0, 1) } else { (self.present.episode + 1, self.present.end()) };
        let mut dealt = Record::new((&*self.id, &table.digest), episode, first, opened, at);
        dealt.server_part = self.deals.server_part(episode);
        let left = std::mem::replace(&mut self.present, dealt);
        self.play = table.rules.clone().deal(opened.key);
        self.seeds = seeds;
        if is_first {
            return;
        }
        if self.past.len() == KEPT {
            self.past.pop_front();
        }
        self.past.push_back(left);
        for (place, seat) in self.by_seat.iter_mut().zip(0..) {
            *place = SeatState::new(self.clocks.get(seat).and_then(Option::as_ref));
        }
        self.votes = SeatSet::EMPTY;
    }

    /// After an action has been played.
    fn played(&mut self, played: Move) -> Result<(), InvalidEvent> {
        let Move { seat, action, cause, took, at } = played;
        if let Cause::Bot { words } | Cause::Substituted { words, .. } | Cause::Late { words, .. } = cause
            && words > MOST_WORDS
        {
            return Err(InvalidEvent(format!("a stream gave {words} words")));
        }
        let refused = |error| InvalidEvent(format!("action {action}: {error}"));
        self.play.apply(seat, action.into()).map_err(refused)?;
        self.present.acted = at;
        self.present.moves.push(played);
        let place = &mut self.by_seat[seat.index()];
        if let (Some(took), Some(Some(clock))) = (took, self.clocks.get(seat.index())) {
            place.time.charge(clock, took);
        }
        let episode = self.present.episode;
        match cause {
            Cause::Agent => place.decide(episode, action.into(), false),
            Cause::Substituted { given, words } => {
                place.substitutes = words;
                place.decide(episode, given, true);
            }
            Cause::Bot { words } => place.bot = words,
            Cause::Forced => {}
            Cause::Late { words, bot } => place.lapse(words, bot),
        }
        Ok(())
    }

    pub(super) fn pending(&self) -> SeatSet {
        if self.present.forfeited.is_some() || self.is_gathering() {
            SeatSet::EMPTY
        } else {
            self.play.pending()
        }
    }

    pub(super) fn is_over(&self) -> bool {
        !self.is_gathering() && self.pending().is_empty()
    }

    /// What the bot of a seat draws from.
    pub(super) fn bot_rng(&self, seat: Seat) -> RngStream {
        let words = self.by_seat[seat.index()].bot;
        RngStream::resume(self.present.opened.key, BOT_STREAM + u64::from(seat.number()), words)
    }

    /// What is drawn from for the illegal actions of a seat: a stream for every seat, so that what one does never
    /// shifts what is played for another.
    pub(super) fn substitute_rng(&self, seat: Seat) -> RngStream {
        let words = self.by_seat[seat.index()].substitutes;
        RngStream::resume(self.present.opened.key, SUBSTITUTE_STREAM + u64::from(seat.number()), words)
    }

    /// The same with all that `seat` cannot know drawn anew.
    #[cfg(test)]
    pub(super) fn determinized(&self, seat: Seat, rng: &mut RngStream) -> Self {
        Self {
            play: self.play.determinized(seat, rng),
            // What hides the key must show the same for another; so it is no part of what is drawn anew. Nor is what
            // was played: another hidden choice chains up to something else, which nobody can tell from the first.
            id: self.id.clone(),
            deals: self.deals.clone(),
            agents: self.agents,
            clocks: self.clocks.clone(),
            present: self.present.clone(),
            past: self.past.clone(),
            by_seat: self.by_seat.clone(),
            seeds: self.seeds.clone(),
            invited: self.invited.clone(),
            holders: self.holders.clone(),
            votes: self.votes,
            closed: self.closed.clone(),
        }
    }
}

impl SeatState {
    fn new(clock: Option<&Clock>) -> Self {
        Self { time: TimeLeft::new(clock), ..Self::default() }
    }

    /// After a decision that was made for the seat, since its time had run out.
    fn lapse(&mut self, words: u64, bot: bool) {
        *(if bot { &mut self.bot } else { &mut self.substitutes }) = words;
        (self.lapsed, self.timed_out, self.substituted) = (false, true, false);
        (self.late, self.last) = (Some(self.decision), None);
        self.decision += 1;
    }

    fn decide(&mut self, episode: u32, action: u32, substituted: bool) {
        self.last = Some(Decision { episode, number: self.decision, action });
        self.decision += 1;
        (self.substituted, self.timed_out) = (substituted, false);
    }
}
