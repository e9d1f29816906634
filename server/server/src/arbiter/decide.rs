//! Turns requests into events or errors, and finds the events that need no agent. No function here changes the state.

use std::panic::{AssertUnwindSafe, catch_unwind};

use boardwire_api::Error;
use boardwire_api::v1::{Forfeit, IllegalActionPolicy};
use boardwire_batch::Player;
use boardwire_batch::play::{BotDecisions, InformationSet};
use boardwire_batch::tables::Table;
use boardwire_bots::{Bot, BotError, Choice};
use boardwire_kernel::{Rejection, Seat, SeatSet};

use super::clock::OnTimeout;
use super::event::EventKind;
use super::state::State;
use super::{Decision, EpisodeKey, Settings};
use crate::record::{Cause, Forfeited};
use crate::secret::Seeds;

/// The next step that needs no agent.
pub(super) enum NextStep {
    Nothing,
    /// Events that were quick to compute.
    Events(Vec<EventKind>),
    /// The next step needs the choices of slow bots, which must be computed first.
    StartBots(Box<dyn BotDecisions>),
}

impl State {
    /// Returns the event of a seat's decision; `None` if the seat repeats its last decision (a retry).
    pub(super) fn event_of_decision(
        &self,
        table: &Table,
        settings: &Settings,
        seat: Seat,
        given: Decision,
    ) -> Result<Option<EventKind>, Error> {
        let seat_state = &self.by_seat[seat.index()];
        if seat_state.last == Some(given) {
            return Ok(None);
        }
        let Decision { episode, number: decision, action } = given;
        let (expected_episode, expected_decision) = (self.present.episode, seat_state.decision);
        if episode == expected_episode && seat_state.timed_out_decision == Some(decision) {
            return Err(Error::DecisionLate { episode, decision });
        }
        if (episode, decision) != (expected_episode, expected_decision) {
            return Err(Error::DecisionStale { expected_episode, expected_decision, episode, decision });
        }
        self.require_dealt()?;
        if self.is_over() {
            return Err(Error::EpisodeOver { episode });
        }
        self.event_of_action(table, settings, seat, action).map(Some)
    }

    /// Returns the event of an action. The match's policy decides what happens to an illegal action.
    fn event_of_action(
        &self,
        table: &Table,
        settings: &Settings,
        seat: Seat,
        given: u32,
    ) -> Result<EventKind, Error> {
        let Err(rejection) = self.play.check(seat, given) else {
            let action = u8::try_from(given).expect("a checked action fits u8");
            return Ok(EventKind::Played { seat, action, cause: Cause::Agent, decision_time: None });
        };
        let (mut legal, mut rng) = (self.play.legal(seat), self.substitute_rng(seat));
        let action = match (rejection, settings.illegal_actions) {
            (Rejection::Illegal { .. }, IllegalActionPolicy::FirstLegal) => legal.lowest(),
            (Rejection::Illegal { .. }, IllegalActionPolicy::SeededLegal) => Some(rng.draw(&mut legal)),
            (Rejection::Illegal { .. }, IllegalActionPolicy::Forfeit) => {
                let forfeited = Forfeited { seat, reason: Forfeit::IllegalAction };
                return Ok(EventKind::Forfeited { forfeited, given: Some(given) });
            }
            _ => None,
        };
        if let Some(action) = action {
            let cause = Cause::Substituted { given, words: rng.words() };
            return Ok(EventKind::Played { seat, action, cause, decision_time: None });
        }
        Err(match rejection {
            Rejection::Over => Error::EpisodeOver { episode: self.present.episode },
            Rejection::NotPending { seat } | Rejection::NoSeat { seat, .. } => self.not_your_turn(seat),
            Rejection::OutOfRange { action, actions } => Error::ActionOutOfRange { action, actions },
            Rejection::Illegal { seat, action } => {
                let label = table.game.info().actions.label(action).unwrap_or_default().to_owned();
                Error::ActionIllegal { seat: seat.number(), action: action.into(), label }
            }
        })
    }

    fn not_your_turn(&self, seat: Seat) -> Error {
        Error::NotYourTurn { seat: seat.number(), pending: self.pending().to_string() }
    }

    /// Returns the event with which a seat forfeits an episode; `None` if the seat has already forfeited it.
    pub(super) fn forfeit_event(
        &self,
        episode: u32,
        forfeited: Forfeited,
    ) -> Result<Option<EventKind>, Error> {
        check_at_most(self.present.episode, episode)?;
        self.require_dealt()?;
        let is_present = episode == self.present.episode;
        if is_present && self.present.forfeited.is_some_and(|former| former.seat == forfeited.seat) {
            return Ok(None);
        }
        if !is_present || self.is_over() {
            return Err(Error::EpisodeOver { episode });
        }
        Ok(Some(EventKind::Forfeited { forfeited, given: None }))
    }

    /// Returns an error if the present episode is not over.
    pub(super) fn require_over(&self) -> Result<(), Error> {
        if self.is_over() { Ok(()) } else { Err(Error::EpisodeNotOver { episode: self.present.episode }) }
    }

    /// Returns the event that deals the next episode, from the seed `given` if there is one.
    pub(super) fn deal_event(&self, given: Option<u64>) -> EventKind {
        let episode = if self.is_before_first_deal() { 0 } else { self.present.episode + 1 };
        if let Some(key) = self.deals.key(&self.id, episode) {
            return EventKind::Dealt { key, seeds: Seeds::Drawn };
        }
        let (seeds, key, source) = if given.is_some() {
            Seeds::first(given)
        } else {
            let mut seeds = self.seeds.clone();
            let (key, source) = seeds.next();
            (seeds, key, source)
        };
        EventKind::Dealt { key: EpisodeKey::new(key, source), seeds }
    }

    /// Returns the information set of a seat that owes a decision.
    pub(super) fn information_set(&self, seat: Seat) -> Result<Box<dyn InformationSet>, Error> {
        self.require_dealt()?;
        if self.pending().contains(seat) {
            Ok(self.play.information_set(seat))
        } else if self.is_over() {
            Err(Error::EpisodeOver { episode: self.present.episode })
        } else {
            Err(self.not_your_turn(seat))
        }
    }

    /// Returns the next step that needs no agent: a deal, a timeout, bots' choices, or a forced decision to skip.
    ///
    /// Bots choose first, in rounds, and only then does the match accept an agent's decision. So the arrival time of that
    /// decision does not change what the bots know.
    pub(super) fn next_step(&self, settings: &Settings) -> Result<NextStep, BotError> {
        if self.is_before_first_deal() {
            let all_have_opened = self.waits_for_secrets() && self.seats_to_join_or_open().is_empty();
            return Ok(if all_have_opened {
                NextStep::Events(vec![self.deal_event(None)])
            } else {
                NextStep::Nothing
            });
        }
        if let Some(event) = self.timeout_event(settings) {
            return Ok(NextStep::Events(vec![event]));
        }
        let bots = self.bots_to_move(settings);
        let Some(&(first, _)) = bots.first() else {
            let forced = self.forced_event(settings);
            return Ok(forced.map_or(NextStep::Nothing, |event| NextStep::Events(vec![event])));
        };
        let is_quick = bots.iter().all(|(_, bot)| bot.is_cheap());
        let bots = bots.into_iter().map(|(seat, bot)| (seat, bot, self.bot_rng(seat))).collect();
        let mut round = self.play.start_bots(bots);
        if !is_quick {
            return Ok(NextStep::StartBots(round));
        }
        let result = catch_unwind(AssertUnwindSafe(|| {
            while !round.advance()? {}
            Ok(())
        }));
        result.unwrap_or_else(|_| {
            let seat = round.seat().unwrap_or(first);
            Err(BotError { seat, reason: "the bot panicked".to_owned() })
        })?;
        Ok(NextStep::Events(self.bot_events(round.choices())))
    }

    /// Returns the pending seats for which a bot chooses, with their bots.
    fn bots_to_move(&self, settings: &Settings) -> Vec<(Seat, Bot)> {
        let bot = |seat: Seat| match &settings.players[seat.index()] {
            Player::Bot(bot) => Some((seat, bot.clone())),
            Player::Agent if self.by_seat[seat.index()].has_timed_out => {
                match &settings.clock(seat)?.on_timeout {
                    OnTimeout::Bot(bot) => Some((seat, bot.clone())),
                    OnTimeout::Forfeit | OnTimeout::FirstLegal | OnTimeout::SeededLegal => None,
                }
            }
            Player::Agent => None,
        };
        self.pending().iter().filter_map(bot).collect()
    }

    /// Returns the event for a seat whose time has run out, unless a bot decides for it.
    fn timeout_event(&self, settings: &Settings) -> Option<EventKind> {
        let timed_out: SeatSet =
            self.pending().iter().filter(|seat| self.by_seat[seat.index()].has_timed_out).collect();
        let policy = |seat| settings.clock(seat).map(|clock| &clock.on_timeout);
        let is_lost = |seat: &Seat| policy(*seat) == Some(&OnTimeout::Forfeit);
        let losers: SeatSet = timed_out.iter().filter(is_lost).collect();
        if let Some(first) = losers.lowest() {
            // Only one seat loses an episode. If several run out of time together, each is equally likely to lose.
            let drawn = self.substitute_rng(first).below(losers.len());
            let seat = losers.iter().nth(drawn as usize)?;
            let forfeited = Forfeited { seat, reason: Forfeit::Time };
            return Some(EventKind::Forfeited { forfeited, given: None });
        }
        let seat = timed_out.lowest()?;
        let (mut legal, mut rng) = (self.play.legal(seat), self.substitute_rng(seat));
        let action = match policy(seat)? {
            OnTimeout::Forfeit | OnTimeout::Bot(_) => return None,
            OnTimeout::FirstLegal => legal.lowest()?,
            OnTimeout::SeededLegal => rng.draw(&mut legal),
        };
        let cause = Cause::TimedOut { words: rng.words(), bot: false };
        Some(EventKind::Played { seat, action, cause, decision_time: None })
    }

    /// Returns the events of the bots' choices, ordered by seat.
    pub(super) fn bot_events(&self, mut choices: Vec<Choice>) -> Vec<EventKind> {
        choices.sort_unstable_by_key(|choice| choice.seat);
        let played = |Choice { seat, action, rng }| {
            let words = rng.words();
            let has_timed_out = self.by_seat[seat.index()].has_timed_out;
            let cause =
                if has_timed_out { Cause::TimedOut { words, bot: true } } else { Cause::Bot { words } };
            EventKind::Played { seat, action, cause, decision_time: None }
        };
        choices.into_iter().map(played).collect()
    }

    /// Returns the event of a forced decision that the match skips. With one agent only, no other agent learns from it.
    fn forced_event(&self, settings: &Settings) -> Option<EventKind> {
        if !settings.skip_forced || self.is_over() {
            return None;
        }
        let forced = |seat| {
            let action = self.play.forced(seat)?;
            Some(EventKind::Played { seat, action, cause: Cause::Forced, decision_time: None })
        };
        settings.agents().iter().find_map(forced)
    }
}

/// Returns an error if `episode` is after `latest_episode`, the last episode that the caller may know.
pub(super) fn check_at_most(latest_episode: u32, episode: u32) -> Result<(), Error> {
    if episode <= latest_episode {
        Ok(())
    } else {
        Err(Error::field("episode", episode, format!("{latest_episode} or less")))
    }
}
