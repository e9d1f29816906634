//! The state of a match. Its events determine it.

use std::collections::VecDeque;
use std::time::SystemTime;

use boardwire_batch::play::AnyEpisode;
use boardwire_batch::tables::Table;
use boardwire_kernel::{BOT_STREAM, RngStream, SUBSTITUTE_STREAM, Seat, SeatSet};
use uuid::Uuid;

use super::clock::{Clock, TimeBank};
use super::event::{Event, EventKind};
use super::fair::Deals;
use super::replay::PAST_EPISODES;
use super::{CloseReason, Decision, EpisodeKey, Settings};
use crate::record::{Cause, InvalidEvent, Move, Record};
use crate::secret::Seeds;

/// The state of a match.
pub(super) struct State {
    pub(super) id: Box<str>,
    pub(super) deals: Deals,
    /// The seats of agents.
    pub(super) agents: SeatSet,
    pub(super) clocks: Vec<Option<Clock>>,
    /// The game of the present episode.
    pub(super) play: Box<dyn AnyEpisode>,
    /// The record of the present episode.
    pub(super) present: Record,
    /// The records of the latest past episodes, the oldest first.
    pub(super) past: VecDeque<Record>,
    pub(super) by_seat: Vec<SeatState>,
    /// The source of the next episode's key, in a match without fair deals.
    pub(super) seeds: Seeds,
    /// The digest of each seat's latest invitation, if the host gave the seat to another agent.
    pub(super) invited: Vec<Option<[u8; 32]>>,
    pub(super) holders: Vec<Option<Holder>>,
    /// The seats that have asked for the next episode.
    pub(super) asked_seats: SeatSet,
    pub(super) closed: Option<CloseReason>,
}

/// The state of a seat in the present episode.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SeatState {
    /// The number of its decisions so far.
    pub(super) decision: u32,
    /// Whether the engine replaced the action of its last decision.
    pub(super) substituted: bool,
    /// Whether the engine made its last decision for it after a timeout.
    pub(super) last_timed_out: bool,
    /// The number of the last decision that the engine made after a timeout.
    pub(super) timed_out_decision: Option<u32>,
    /// Whether its time has run out for the present decision, so that the engine must decide for it.
    pub(super) has_timed_out: bool,
    pub(super) time: TimeBank,
    /// The last decision of its agent, which the agent may repeat.
    pub(super) last: Option<Decision>,
    /// The position in its bot's stream of random numbers, in words.
    bot_words: u64,
    /// The position in its random stream for actions that replace illegal or missing ones, in words.
    substitute_words: u64,
}

/// The agent that holds a seat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Holder {
    /// The digest of its token.
    pub(super) token: [u8; 32],
    /// The id of its join request.
    pub(super) request: Option<Uuid>,
}

/// The maximum number of words that an episode uses of one stream.
const MAX_WORDS: u64 = 1 << 48;

impl State {
    /// Creates the state of a match at time `at`, and deals the first episode unless deals are fair. No agent has joined.
    pub(super) fn new(
        table: &Table,
        settings: &Settings,
        id: &str,
        key: EpisodeKey,
        seeds: Seeds,
        deals: Deals,
        at: SystemTime,
    ) -> Self {
        let present = match deals.root() {
            Some(_) => Record::undealt(at),
            None => Record::new((id, &table.digest), 0, 1, key, at),
        };
        Self {
            id: id.into(),
            deals,
            agents: settings.agents(),
            clocks: settings.clocks.clone(),
            play: table.game.clone().deal(key.key),
            present,
            past: VecDeque::new(),
            by_seat: settings.seats().map(|seat| SeatState::new(settings.clock(seat))).collect(),
            seeds,
            invited: vec![None; settings.players.len()],
            holders: vec![None; settings.players.len()],
            asked_seats: SeatSet::EMPTY,
            closed: None,
        }
    }

    /// Applies an event.
    ///
    /// # Errors
    /// The event cannot follow the events before it; then the state does not change.
    pub(super) fn apply(&mut self, table: &Table, event: &Event) -> Result<(), InvalidEvent> {
        if let Some(seat) = event.kind.seat()
            && seat.index() >= self.by_seat.len()
        {
            return Err(InvalidEvent(format!("there is no seat {}", seat.number())));
        }
        match &event.kind {
            EventKind::Joined { seat, token, request, commitment } => {
                // After the deal the commitments stay, even if another agent takes the seat.
                if self.is_before_first_deal() {
                    self.deals.set_commitment(*seat, *commitment);
                }
                self.holders[seat.index()] = Some(Holder { token: *token, request: *request });
            }
            EventKind::Invited { seat, invitation } => {
                self.holders[seat.index()] = None;
                self.invited[seat.index()] = Some(*invitation);
                if self.is_before_first_deal() {
                    self.deals.set_commitment(*seat, None);
                }
            }
            EventKind::Opened { seat, secret } => self.deals.set_secret(*seat, *secret)?,
            EventKind::Dealt { key, seeds } => self.dealt(table, event.at, *key, seeds.clone())?,
            &EventKind::Played { seat, action, cause, decision_time } => {
                self.played(Move { seat, action, cause, decision_time, at: event.at })?;
            }
            EventKind::Forfeited { forfeited, given } => {
                if let Some(given) = given {
                    self.by_seat[forfeited.seat.index()].decide(self.present.episode, *given, false);
                }
                self.present.forfeited = Some(*forfeited);
                self.present.last_action_at = event.at;
            }
            EventKind::TimedOut { seat } => {
                let seat = &mut self.by_seat[seat.index()];
                seat.has_timed_out = !seat.time.use_strike();
            }
            EventKind::AskedForNext { seat } => self.asked_seats.insert(*seat),
            EventKind::Closed(reason) => self.closed = Some(reason.clone()),
        }
        Ok(())
    }

    fn dealt(
        &mut self,
        table: &Table,
        at: SystemTime,
        key: EpisodeKey,
        seeds: Seeds,
    ) -> Result<(), InvalidEvent> {
        let is_first = self.is_before_first_deal();
        let (episode, first) =
            if is_first { (0, 1) } else { (self.present.episode + 1, self.present.next_sequence()) };
        let mut record = Record::new((&*self.id, &table.digest), episode, first, key, at);
        record.server_secret = self.deals.server_secret(episode)?;
        let former = std::mem::replace(&mut self.present, record);
        self.play = table.game.clone().deal(key.key);
        self.seeds = seeds;
        if is_first {
            return Ok(());
        }
        if self.past.len() == PAST_EPISODES {
            self.past.pop_front();
        }
        self.past.push_back(former);
        for (seat, index) in self.by_seat.iter_mut().zip(0..) {
            *seat = SeatState::new(self.clocks.get(index).and_then(Option::as_ref));
        }
        self.asked_seats = SeatSet::EMPTY;
        Ok(())
    }

    fn played(&mut self, played: Move) -> Result<(), InvalidEvent> {
        let Move { seat, action, cause, decision_time, at } = played;
        if let Cause::Bot { words } | Cause::Substituted { words, .. } | Cause::TimedOut { words, .. } = cause
            && words > MAX_WORDS
        {
            return Err(InvalidEvent(format!("`words` must be at most {MAX_WORDS}; got {words}")));
        }
        let refused = |error| InvalidEvent(format!("action {action}: {error}"));
        self.play.apply(seat, action.into()).map_err(refused)?;
        self.present.last_action_at = at;
        self.present.moves.push(played);
        let seat_state = &mut self.by_seat[seat.index()];
        if let (Some(time), Some(Some(clock))) = (decision_time, self.clocks.get(seat.index())) {
            seat_state.time.apply_decision(clock, time);
        }
        let episode = self.present.episode;
        match cause {
            Cause::Agent => seat_state.decide(episode, action.into(), false),
            Cause::Substituted { given, words } => {
                seat_state.substitute_words = words;
                seat_state.decide(episode, given, true);
            }
            Cause::Bot { words } => seat_state.bot_words = words,
            Cause::Forced => {}
            Cause::TimedOut { words, bot } => seat_state.decide_after_timeout(words, bot),
        }
        Ok(())
    }

    pub(super) fn pending(&self) -> SeatSet {
        if self.present.forfeited.is_some() || self.is_before_first_deal() {
            SeatSet::EMPTY
        } else {
            self.play.pending()
        }
    }

    pub(super) fn is_over(&self) -> bool {
        !self.is_before_first_deal() && self.pending().is_empty()
    }

    /// Returns the stream of random numbers of a seat's bot.
    pub(super) fn bot_rng(&self, seat: Seat) -> RngStream {
        let words = self.by_seat[seat.index()].bot_words;
        RngStream::resume(self.present.key.key, BOT_STREAM + u64::from(seat.number()), words)
    }

    /// Returns the stream that draws substitutes for a seat's illegal or missing actions. Each seat has its own, so that
    /// actions of one seat do not change the substitutes of another.
    pub(super) fn substitute_rng(&self, seat: Seat) -> RngStream {
        let words = self.by_seat[seat.index()].substitute_words;
        RngStream::resume(self.present.key.key, SUBSTITUTE_STREAM + u64::from(seat.number()), words)
    }

    /// Returns a determinization: a copy in which everything that `seat` cannot know is resampled.
    #[cfg(test)]
    pub(super) fn determinized(&self, seat: Seat, rng: &mut RngStream) -> Self {
        Self {
            play: self.play.determinized(seat, rng),
            // The key stays, so that a test detects a response that reveals it. The record stays, too: another hidden choice
            // would change the head of the hash chain. Without the key, no reader can tell the two heads apart.
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
            asked_seats: self.asked_seats,
            closed: self.closed.clone(),
        }
    }
}

impl SeatState {
    fn new(clock: Option<&Clock>) -> Self {
        Self { time: TimeBank::new(clock), ..Self::default() }
    }

    /// Records a decision that the engine made for the seat after a timeout.
    fn decide_after_timeout(&mut self, words: u64, bot: bool) {
        *(if bot { &mut self.bot_words } else { &mut self.substitute_words }) = words;
        (self.has_timed_out, self.last_timed_out, self.substituted) = (false, true, false);
        (self.timed_out_decision, self.last) = (Some(self.decision), None);
        self.decision += 1;
    }

    fn decide(&mut self, episode: u32, action: u32, substituted: bool) {
        self.last = Some(Decision { episode, number: self.decision, action });
        self.decision += 1;
        (self.substituted, self.last_timed_out) = (substituted, false);
    }
}
