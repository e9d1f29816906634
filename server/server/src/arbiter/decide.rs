//! What follows upon what somebody asks for, and upon nothing at all: events, or a refusal.

use std::panic::{AssertUnwindSafe, catch_unwind};

use boardwire_api::Error;
use boardwire_api::v1::{Forfeit, IllegalActionPolicy};
use boardwire_batch::Player;
use boardwire_batch::play::{Insight, Round};
use boardwire_batch::tables::Table;
use boardwire_bots::{Bot, BotFault, Choice};
use boardwire_kernel::{Rejection, Seat, SeatSet};

use super::clock::OnTimeout;
use super::event::EventKind;
use super::state::State;
use super::{Decision, EpisodeKey, Settings};
use crate::record::{Cause, Forfeited};
use crate::secret::Seeds;

/// What comes next without an agent.
pub(super) enum Next {
    /// Nothing.
    Nothing,
    /// Something that takes next to no time.
    Events(Vec<EventKind>),
    /// Bots have to think first.
    Think(Box<dyn Round>),
}

impl State {
    /// The decision of `seat`; nothing, if it has been made already.
    pub(super) fn act(
        &self,
        table: &Table,
        settings: &Settings,
        seat: Seat,
        given: Decision,
    ) -> Result<Option<EventKind>, Error> {
        let place = &self.by_seat[seat.index()];
        if place.last == Some(given) {
            return Ok(None);
        }
        if given.episode == self.present.episode && place.late == Some(given.number) {
            let Decision { episode, number: decision, .. } = given;
            return Err(Error::DecisionLate { episode, decision });
        }
        if (given.episode, given.number) != (self.present.episode, place.decision) {
            return Err(Error::DecisionStale {
                expected_episode: self.present.episode,
                expected_decision: place.decision,
                episode: given.episode,
                decision: given.number,
            });
        }
        self.check_dealt()?;
        if self.is_over() {
            return Err(Error::EpisodeOver { episode: self.present.episode });
        }
        self.treat(table, settings, seat, given.action).map(Some)
    }

    /// An action as the match treats it.
    fn treat(&self, table: &Table, settings: &Settings, seat: Seat, given: u32) -> Result<EventKind, Error> {
        let Err(rejection) = self.play.check(seat, given) else {
            let action = u8::try_from(given).expect("it was checked");
            return Ok(EventKind::Played { seat, action, cause: Cause::Agent, took: None });
        };
        let (mut legal, mut rng) = (self.play.legal(seat), self.substitute_rng(seat));
        let action = match (rejection, settings.illegal_actions) {
            (Rejection::Illegal { .. }, IllegalActionPolicy::FirstLegal) => legal.lowest(),
            (Rejection::Illegal { .. }, IllegalActionPolicy::SeededLegal) => Some(rng.draw(&mut legal)),
            (Rejection::Illegal { .. }, IllegalActionPolicy::Forfeit) => {
                let forfeited = Forfeited { seat, why: Forfeit::IllegalAction };
                return Ok(EventKind::Forfeited { forfeited, given: Some(given) });
            }
            _ => None,
        };
        let Some(action) = action else {
            return Err(match rejection {
                Rejection::Over => Error::EpisodeOver { episode: self.present.episode },
                Rejection::NotPending { seat } | Rejection::NoSeat { seat, .. } => {
                    Error::NotYourTurn { seat: seat.number(), pending: self.pending().to_string() }
                }
                Rejection::OutOfRange { action, actions } => Error::ActionOutOfRange { action, actions },
                Rejection::Illegal { seat, action } => {
                    let label = table.rules.info().actions.label(action).unwrap_or_default().to_owned();
                    Error::ActionIllegal { seat: seat.number(), action: action.into(), label }
                }
            });
        };
        Ok(EventKind::Played {
            seat,
            action,
            cause: Cause::Substituted { given, words: rng.words() },
            took: None,
        })
    }

    /// The end of an episode against a seat; nothing, if the seat has forfeited it already.
    pub(super) fn forfeit(&self, episode: u32, forfeited: Forfeited) -> Result<Option<EventKind>, Error> {
        self.not_to_come(episode)?;
        self.check_dealt()?;
        if episode == self.present.episode
            && self.present.forfeited.is_some_and(|known| known.seat == forfeited.seat)
        {
            return Ok(None);
        }
        if episode < self.present.episode || self.is_over() {
            return Err(Error::EpisodeOver { episode });
        }
        Ok(Some(EventKind::Forfeited { forfeited, given: None }))
    }

    /// Refuses while the present episode is played.
    pub(super) fn check_over(&self) -> Result<(), Error> {
        if self.is_over() {
            return Ok(());
        }
        Err(Error::EpisodeNotOver { episode: self.present.episode })
    }

    /// Refuses an episode that has not come yet.
    pub(super) fn not_to_come(&self, episode: u32) -> Result<(), Error> {
        Self::not_after(self.present.episode, episode)
    }

    /// Refuses an episode after `latest`.
    pub(super) fn not_after(latest: u32, episode: u32) -> Result<(), Error> {
        if episode <= latest {
            return Ok(());
        }
        Err(Error::field("episode", episode, format!("{latest} or less")))
    }

    /// The next episode, from `given` or the next seed there is.
    pub(super) fn deal(&self, given: Option<u64>) -> EventKind {
        let episode = if self.is_gathering() { 0 } else { self.present.episode + 1 };
        if let Some(opened) = self.deals.key(&self.id, episode) {
            return EventKind::Dealt { opened, seeds: Seeds::Drawn };
        }
        let (seeds, key, source) = if given.is_some() {
            Seeds::begin(given)
        } else {
            let mut seeds = self.seeds.clone();
            let (key, source) = seeds.next();
            (seeds, key, source)
        };
        EventKind::Dealt { opened: EpisodeKey::new(key, source), seeds }
    }

    /// What a seat knows that owes a decision.
    pub(super) fn insight(&self, seat: Seat) -> Result<Box<dyn Insight>, Error> {
        self.check_dealt()?;
        let pending = self.pending();
        if pending.contains(seat) {
            return Ok(self.play.insight(seat));
        }
        Err(if self.is_over() {
            Error::EpisodeOver { episode: self.present.episode }
        } else {
            Error::NotYourTurn { seat: seat.number(), pending: pending.to_string() }
        })
    }

    /// What comes next without an agent: what bots choose, and forced choices if they are skipped.
    ///
    /// Bots go first, in rounds: the match takes no decision of an agent before they have chosen, so that what they
    /// know does not depend on when it comes.
    pub(super) fn next(&self, settings: &Settings) -> Result<Next, BotFault> {
        if self.is_gathering() {
            let all_have_opened = self.is_opening() && self.missing().is_empty();
            return Ok(if all_have_opened { Next::Events(vec![self.deal(None)]) } else { Next::Nothing });
        }
        if let Some(what) = self.late(settings) {
            return Ok(Next::Events(vec![what]));
        }
        let bots = self.due(settings);
        let Some(&(first, _)) = bots.first() else {
            let forced = self.forced(settings);
            let played =
                |(seat, action)| vec![EventKind::Played { seat, action, cause: Cause::Forced, took: None }];
            return Ok(forced.map_or(Next::Nothing, |forced| Next::Events(played(forced))));
        };
        let quick = bots.iter().all(|(_, bot)| bot.is_quick());
        let due = bots.into_iter().map(|(seat, bot)| (seat, bot, self.bot_rng(seat))).collect();
        let mut round = self.play.round(due);
        if !quick {
            return Ok(Next::Think(round));
        }
        let thought = catch_unwind(AssertUnwindSafe(|| {
            while !round.advance()? {}
            Ok(())
        }));
        thought.unwrap_or_else(|_| {
            let seat = round.seat().unwrap_or(first);
            Err(BotFault { seat, what: "it panicked".to_owned() })
        })?;
        Ok(Next::Events(self.chosen(round.choices())))
    }

    /// The pending seats of bots.
    fn due(&self, settings: &Settings) -> Vec<(Seat, Bot)> {
        let bot = |seat: Seat| match &settings.players[seat.index()] {
            Player::Bot(bot) => Some((seat, bot.clone())),
            Player::Agent if self.by_seat[seat.index()].lapsed => match &settings.clock(seat)?.on_timeout {
                OnTimeout::Bot(bot) => Some((seat, bot.clone())),
                OnTimeout::Forfeit | OnTimeout::FirstLegal | OnTimeout::SeededLegal => None,
            },
            Player::Agent => None,
        };
        self.pending().iter().filter_map(bot).collect()
    }

    /// What happens to a seat whose time has run out, unless a bot chooses for it.
    fn late(&self, settings: &Settings) -> Option<EventKind> {
        let late: SeatSet = self.pending().iter().filter(|seat| self.by_seat[seat.index()].lapsed).collect();
        let policy = |seat| settings.clock(seat).map(|clock| &clock.on_timeout);
        let is_lost = |seat: &Seat| policy(*seat) == Some(&OnTimeout::Forfeit);
        let losers: SeatSet = late.iter().filter(is_lost).collect();
        if let Some(first) = losers.lowest() {
            // One alone loses an episode: where the time of several has run out at once, each as likely.
            let drawn = self.substitute_rng(first).below(losers.len());
            let seat = losers.iter().nth(drawn as usize)?;
            let forfeited = Forfeited { seat, why: Forfeit::Time };
            return Some(EventKind::Forfeited { forfeited, given: None });
        }
        let seat = late.lowest()?;
        let (mut legal, mut rng) = (self.play.legal(seat), self.substitute_rng(seat));
        let action = match policy(seat)? {
            OnTimeout::Forfeit | OnTimeout::Bot(_) => return None,
            OnTimeout::FirstLegal => legal.lowest()?,
            OnTimeout::SeededLegal => rng.draw(&mut legal),
        };
        let cause = Cause::Late { words: rng.words(), bot: false };
        Some(EventKind::Played { seat, action, cause, took: None })
    }

    /// What the bots of a round have chosen, in the order of their seats.
    pub(super) fn chosen(&self, mut choices: Vec<Choice>) -> Vec<EventKind> {
        choices.sort_unstable_by_key(|choice| choice.seat);
        let played = |Choice { seat, action, rng }| {
            let words = rng.words();
            let lapsed = self.by_seat[seat.index()].lapsed;
            let cause = if lapsed { Cause::Late { words, bot: true } } else { Cause::Bot { words } };
            EventKind::Played { seat, action, cause, took: None }
        };
        choices.into_iter().map(played).collect()
    }

    /// A forced choice that is to be skipped. Nobody but the one agent is there to draw conclusions from it.
    fn forced(&self, settings: &Settings) -> Option<(Seat, u8)> {
        if !settings.skip_forced || self.is_over() {
            return None;
        }
        settings.agents().iter().find_map(|seat| Some((seat, self.play.forced(seat)?)))
    }
}
