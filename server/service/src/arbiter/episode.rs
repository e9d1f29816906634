//! How the present episode of a match stands, and what moves it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::SystemTime;

use boardwire_bots::{Bot, BotFault, Choice};
use boardwire_kernel::{BOT_STREAM, Key, Rejection, RngStream, SUBSTITUTE_STREAM, Seat, SeatSet};

use super::{Decision, Ended, IllegalActions, Player, Series, Settings};
use crate::error::ServiceError;
use crate::play::{Insight, Play, Round};
use crate::secret::{Opened, SeedSource, Seeds};
use crate::tables::Table;

/// The present episode, with what each seat has done in it.
pub(super) struct Standing {
    pub(super) play: Box<dyn Play>,
    pub(super) places: Vec<Place>,
    pub(super) forfeited: Option<Forfeited>,
    pub(super) episode: u32,
    seeds: Seeds,
    opened: Opened,
    /// When the last action was applied, or the episode dealt.
    acted: SystemTime,
}

/// How an episode was forfeited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forfeited {
    /// Who lost it.
    pub seat: Seat,
    /// Why.
    pub why: Forfeit,
}

/// Why a seat forfeited an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forfeit {
    /// It chose an illegal action.
    IllegalAction,
    /// It resigned.
    Resigned,
    /// The host ended the episode against it.
    Host,
}

/// What a seat has done in the present episode.
pub(super) struct Place {
    /// How many decisions it has made.
    pub(super) decision: u32,
    /// Whether another action was played for its last one.
    pub(super) substituted: bool,
    last: Option<Decision>,
    /// What its bot draws from; absent while the bot thinks.
    rng: Option<RngStream>,
    /// Words used of the stream that substitutes for its illegal actions are drawn from.
    substitutes: u64,
}

/// Nobody has done anything yet; each bot has a stream of its own.
fn places(settings: &Settings, key: Key) -> Vec<Place> {
    let rng =
        |stream, player: &Player| matches!(player, Player::Bot(_)).then(|| RngStream::keyed(key, stream));
    let seats = (BOT_STREAM..).zip(&settings.players);
    let place = |(stream, player)| Place {
        decision: 0,
        substituted: false,
        last: None,
        rng: rng(stream, player),
        substitutes: 0,
    };
    seats.map(place).collect()
}

impl Standing {
    /// Deals the first episode; nobody has moved.
    pub(super) fn new(table: &Table, settings: &Settings) -> Self {
        let skip = settings.series.as_ref().map_or(0, |series| series.skip);
        let (seeds, key, source) = Seeds::begin_at(settings.seed, skip);
        Self {
            play: table.rules.clone().deal(key),
            places: places(settings, key),
            forfeited: None,
            episode: 0,
            seeds,
            opened: Opened::new(key, source),
            acted: SystemTime::now(),
        }
    }

    /// Deals the next episode, from `given` or the next seed there is; nobody has moved.
    pub(super) fn begin(&mut self, table: &Table, settings: &Settings, given: Option<u64>) {
        let (key, source) = if given.is_some() {
            let (seeds, key, source) = Seeds::begin(given);
            self.seeds = seeds;
            (key, source)
        } else {
            self.seeds.next()
        };
        self.play = table.rules.clone().deal(key);
        self.places = places(settings, key);
        self.forfeited = None;
        self.episode += 1;
        self.opened = Opened::new(key, source);
        self.acted = SystemTime::now();
    }

    pub(super) fn episode(&self) -> u32 {
        self.episode
    }

    pub(super) fn ply(&self) -> u32 {
        self.play.ply()
    }

    pub(super) fn acted(&self) -> SystemTime {
        self.acted
    }

    pub(super) fn pending(&self) -> SeatSet {
        if self.forfeited.is_some() { SeatSet::EMPTY } else { self.play.pending() }
    }

    pub(super) fn is_over(&self) -> bool {
        self.pending().is_empty()
    }

    /// What whoever counts the series is told, if the episode is over.
    pub(super) fn ended(&self, series: &Series) -> Option<Ended> {
        self.is_over().then(|| Ended {
            series: series.number,
            episode: series.skip + self.episode,
            plies: self.play.ply(),
            outcome: self.play.outcome(),
            forfeited: self.forfeited,
        })
    }

    /// What the episode follows from: for the arbiter, never for a seat.
    pub(super) fn opened(&self) -> &Opened {
        &self.opened
    }

    /// The same, when nothing hidden or to come follows from it any more.
    pub(super) fn revealed(&self, closed: bool) -> Option<Opened> {
        let shown = closed || (self.is_over() && self.opened.source == SeedSource::Drawn);
        shown.then_some(self.opened)
    }

    /// Plays the decision of `seat`; [`settle`](Self::settle) plays what follows.
    pub(super) fn act(
        &mut self,
        table: &Table,
        settings: &Settings,
        seat: Seat,
        given: Decision,
    ) -> Result<(), ServiceError> {
        let due = self.places[seat.index()].decision;
        if self.places[seat.index()].last == Some(given) {
            return Ok(());
        }
        if (given.episode, given.number) != (self.episode, due) {
            return Err(ServiceError::StaleDecision {
                expected_episode: self.episode,
                expected_decision: due,
                episode: given.episode,
                decision: given.number,
            });
        }
        if self.is_over() {
            return Err(ServiceError::EpisodeOver { episode: self.episode });
        }
        let substituted = self.apply(table, settings, seat, given.action)?;
        self.acted = SystemTime::now();
        let place = &mut self.places[seat.index()];
        place.decision += 1;
        place.last = Some(given);
        place.substituted = substituted;
        Ok(())
    }

    /// What a seat knows that owes a decision.
    pub(super) fn insight(&self, seat: Seat) -> Result<Box<dyn Insight>, ServiceError> {
        let pending = self.pending();
        if pending.contains(seat) {
            return Ok(self.play.insight(seat));
        }
        Err(if self.is_over() {
            ServiceError::EpisodeOver { episode: self.episode }
        } else {
            ServiceError::NotYourTurn { seat, pending }
        })
    }

    /// Ends the episode against a seat; one that it has forfeited already stays as it is.
    pub(super) fn forfeit(&mut self, episode: u32, forfeited: Forfeited) -> Result<(), ServiceError> {
        self.not_to_come(episode)?;
        if episode == self.episode && self.forfeited.is_some_and(|known| known.seat == forfeited.seat) {
            return Ok(());
        }
        if episode < self.episode || self.is_over() {
            return Err(ServiceError::EpisodeOver { episode });
        }
        self.forfeited = Some(forfeited);
        self.acted = SystemTime::now();
        Ok(())
    }

    /// Refuses an episode that has not come yet.
    pub(super) fn not_to_come(&self, episode: u32) -> Result<(), ServiceError> {
        if episode <= self.episode {
            return Ok(());
        }
        let (expected, value) = (format!("{} or less", self.episode), episode.to_string());
        Err(ServiceError::BadField { field: "episode", value, expected })
    }

    /// Applies an action as the match treats it; whether another was played for it.
    fn apply(
        &mut self,
        table: &Table,
        settings: &Settings,
        seat: Seat,
        action: u32,
    ) -> Result<bool, ServiceError> {
        let Err(rejection) = self.play.apply(seat, action) else {
            return Ok(false);
        };
        let mut legal = self.play.legal(seat);
        let substitute = match (rejection, settings.illegal_actions) {
            (Rejection::Illegal { .. }, IllegalActions::FirstLegal) => legal.lowest(),
            (Rejection::Illegal { .. }, IllegalActions::SeededLegal) => {
                // A stream for every seat: what one does never shifts what is played for another.
                let stream = SUBSTITUTE_STREAM + u64::from(seat.number());
                let place = &mut self.places[seat.index()];
                let mut rng = RngStream::resume(self.opened.key, stream, place.substitutes);
                let drawn = rng.draw(&mut legal);
                place.substitutes = rng.words();
                Some(drawn)
            }
            (Rejection::Illegal { .. }, IllegalActions::Forfeit) => {
                self.forfeited = Some(Forfeited { seat, why: Forfeit::IllegalAction });
                return Ok(false);
            }
            _ => None,
        };
        let Some(substitute) = substitute else {
            let label = u8::try_from(action).ok().and_then(|index| table.rules.info().actions.label(index));
            let label = label.unwrap_or_default();
            return Err(ServiceError::rejected(rejection, self.episode, self.pending(), label));
        };
        self.play.apply(seat, substitute.into()).map_err(|error| ServiceError::Internal {
            place: table.rules.info().id.to_owned(),
            what: format!("the legal action {substitute} was refused: {error}"),
        })?;
        Ok(true)
    }

    /// Plays what needs no agent and next to no time: quick bots, and forced choices if they are skipped.
    ///
    /// Gives the round of bots that have to think. Bots go first, in rounds: the match takes no decision of an
    /// agent before they have chosen, so that what they know does not depend on when it comes.
    pub(super) fn settle(&mut self, settings: &Settings) -> Result<Option<Box<dyn Round>>, BotFault> {
        while !self.is_over() {
            let bots = self.due(settings);
            if bots.is_empty() {
                let Some((seat, action)) = self.forced(settings) else { return Ok(None) };
                self.play_for(seat, action)?;
                continue;
            }
            let (quick, first) = (bots.iter().all(|(_, bot)| bot.is_quick()), bots[0].0);
            let due = bots.into_iter().filter_map(|(seat, bot)| self.take_rng(seat, bot));
            let due = due.collect();
            let mut round = self.play.round(due);
            if !quick {
                return Ok(Some(round));
            }
            let thought = catch_unwind(AssertUnwindSafe(|| {
                while !round.advance()? {}
                Ok(())
            }));
            thought.unwrap_or_else(|_| {
                let seat = round.seat().unwrap_or(first);
                Err(BotFault { seat, what: "it panicked".to_owned() })
            })?;
            self.play_round(round.choices())?;
        }
        Ok(None)
    }

    /// The pending seats of bots.
    fn due(&self, settings: &Settings) -> Vec<(Seat, Bot)> {
        let bot = |seat: Seat| match &settings.players[seat.index()] {
            Player::Bot(bot) => Some((seat, bot.clone())),
            Player::Remote => None,
        };
        self.pending().iter().filter_map(bot).collect()
    }

    fn take_rng(&mut self, seat: Seat, bot: Bot) -> Option<(Seat, Bot, RngStream)> {
        Some((seat, bot, self.places[seat.index()].rng.take()?))
    }

    /// A forced choice that is to be skipped. Nobody but the one agent is there to draw conclusions from it.
    fn forced(&self, settings: &Settings) -> Option<(Seat, u8)> {
        if !settings.skip_forced {
            return None;
        }
        settings.remote().iter().find_map(|seat| Some((seat, self.play.forced(seat)?)))
    }

    /// Plays what the bots of a round have chosen.
    pub(super) fn play_round(&mut self, mut choices: Vec<Choice>) -> Result<(), BotFault> {
        choices.sort_unstable_by_key(|choice| choice.seat);
        for Choice { seat, action, rng } in choices {
            self.play_for(seat, action)?;
            self.places[seat.index()].rng = Some(rng);
        }
        Ok(())
    }

    fn play_for(&mut self, seat: Seat, action: u8) -> Result<(), BotFault> {
        let played = self.play.apply(seat, action.into());
        self.acted = SystemTime::now();
        played.map_err(|refused| BotFault { seat, what: format!("action {action}: {refused}") })
    }

    /// The same with all that `seat` cannot know drawn anew.
    #[cfg(test)]
    pub(super) fn determinized(&self, settings: &Settings, seat: Seat, rng: &mut RngStream) -> Self {
        let copy = |place: &Place| Place { rng: place.rng.clone(), ..*place };
        Self {
            play: self.play.determinized(seat, rng),
            places: self.places.iter().map(copy).collect(),
            forfeited: self.forfeited,
            episode: self.episode,
            seeds: Seeds::begin(settings.seed).0,
            // What hides the key must show the same for another; so it is no part of what is drawn anew.
            opened: self.opened,
            acted: self.acted,
        }
    }
}
