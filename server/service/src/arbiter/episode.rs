//! How the present episode of a match stands, and what moves it.

use boardwire_bots::Bot;
use boardwire_kernel::{BOT_STREAM, Dice, Rejection, SUBSTITUTE_STREAM, Seat, SeatSet};

use super::{Decision, IllegalActions, Player, Settings};
use crate::error::ServiceError;
use crate::play::{Play, Thought};
use crate::secret::{Committed, Seeds};
use crate::tables::Table;

/// The present episode, with what each seat has done in it.
pub(super) struct Standing {
    pub(super) play: Box<dyn Play>,
    pub(super) places: Vec<Place>,
    pub(super) forfeited: Option<Seat>,
    pub(super) episode: u32,
    substitutes: Dice,
    seeds: Seeds,
    committed: Committed,
}

/// What a seat has done in the present episode.
pub(super) struct Place {
    /// How many decisions it has made.
    pub(super) decision: u32,
    /// Whether another action was played for its last one.
    pub(super) substituted: bool,
    last: Option<Decision>,
    dice: Option<Dice>,
}

/// A bot that is due, with its seat and episode.
pub(super) struct Thinking {
    pub(super) episode: u32,
    pub(super) seat: Seat,
    pub(super) thought: Thought,
}

/// Nobody has done anything yet; bots have dice of their own.
fn places(settings: &Settings, seed: u64) -> Vec<Place> {
    let dice = |stream, player: &Player| matches!(player, Player::Bot(_)).then(|| Dice::new(seed, stream));
    (BOT_STREAM..)
        .zip(&settings.players)
        .map(|(stream, player)| Place {
            decision: 0,
            substituted: false,
            last: None,
            dice: dice(stream, player),
        })
        .collect()
}

impl Standing {
    pub(super) fn new(table: &Table, settings: &Settings) -> Self {
        let (seeds, seed) = Seeds::begin(settings.seed);
        let mut standing = Self {
            play: table.rules.clone().deal(seed),
            places: places(settings, seed),
            forfeited: None,
            episode: 0,
            substitutes: Dice::new(seed, SUBSTITUTE_STREAM),
            seeds,
            committed: Committed::new(seed),
        };
        standing.settle(settings);
        standing
    }

    /// Begins the next episode, from `given` or the next seed there is.
    pub(super) fn begin(&mut self, table: &Table, settings: &Settings, given: Option<u64>) {
        let seed = if given.is_some() {
            let (seeds, seed) = Seeds::begin(given);
            self.seeds = seeds;
            seed
        } else {
            self.seeds.next()
        };
        self.play = table.rules.clone().deal(seed);
        self.places = places(settings, seed);
        self.forfeited = None;
        self.episode += 1;
        self.substitutes = Dice::new(seed, SUBSTITUTE_STREAM);
        self.committed = Committed::new(seed);
        self.settle(settings);
    }

    pub(super) fn episode(&self) -> u32 {
        self.episode
    }

    pub(super) fn ply(&self) -> u32 {
        self.play.ply()
    }

    pub(super) fn pending(&self) -> SeatSet {
        if self.forfeited.is_some() { SeatSet::EMPTY } else { self.play.pending() }
    }

    pub(super) fn is_over(&self) -> bool {
        self.pending().is_empty()
    }

    pub(super) fn commitment(&self) -> [u8; 32] {
        self.committed.commitment()
    }

    /// The seed and its salt, when nothing hidden or to come follows from them any more.
    pub(super) fn seed(&self, closed: bool) -> Option<(u64, [u8; 16])> {
        let shown = closed || (self.is_over() && self.seeds.may_be_shown());
        shown.then_some((self.committed.seed, self.committed.salt))
    }

    /// Plays the decision of `seat`, and all that follows without an agent.
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
        let place = &mut self.places[seat.index()];
        place.decision += 1;
        place.last = Some(given);
        place.substituted = substituted;
        self.settle(settings);
        Ok(())
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
                Some(self.substitutes.draw(&mut legal))
            }
            (Rejection::Illegal { .. }, IllegalActions::Forfeit) => {
                self.forfeited = Some(seat);
                return Ok(false);
            }
            _ => None,
        };
        let Some(substitute) = substitute else {
            let label = u8::try_from(action).ok().and_then(|index| table.rules.info().actions.get(index));
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
    fn settle(&mut self, settings: &Settings) {
        while !self.is_over() {
            let forced = if settings.skip_forced { self.play.forced() } else { None };
            let next = forced.or_else(|| {
                let (seat, bot) = self.due(settings, Bot::is_quick)?;
                let place = &mut self.places[seat.index()];
                let (action, dice) = self.play.thought(seat, bot, place.dice.take()?)();
                place.dice = Some(dice);
                Some((seat, action))
            });
            let Some((seat, action)) = next else { return };
            if let Err(error) = self.play.apply(seat, action.into()) {
                tracing::error!(seat = seat.number(), action, %error, "a legal action was refused");
                return;
            }
        }
    }

    /// The lowest pending seat with a bot of the kind asked for.
    fn due(&self, settings: &Settings, kind: impl Fn(Bot) -> bool) -> Option<(Seat, Bot)> {
        self.pending().iter().find_map(|seat| match settings.players[seat.index()] {
            Player::Bot(bot) if kind(bot) => Some((seat, bot)),
            Player::Bot(_) | Player::Remote => None,
        })
    }

    /// The next bot that has to think.
    pub(super) fn thinking(&self, settings: &Settings) -> Option<Thinking> {
        let (seat, bot) = self.due(settings, |bot| !bot.is_quick())?;
        let dice = self.places[seat.index()].dice.clone()?;
        Some(Thinking { episode: self.episode, seat, thought: self.play.thought(seat, bot, dice) })
    }

    /// Plays what a bot has chosen, unless the episode it thought about has been left.
    pub(super) fn act_for_bot(
        &mut self,
        settings: &Settings,
        episode: u32,
        seat: Seat,
        action: u8,
        dice: Dice,
    ) -> Result<(), String> {
        if episode != self.episode || self.is_over() {
            return Ok(());
        }
        self.play.apply(seat, action.into()).map_err(|error| error.to_string())?;
        self.places[seat.index()].dice = Some(dice);
        self.settle(settings);
        Ok(())
    }

    /// The same with all that `seat` cannot know drawn anew.
    #[cfg(test)]
    pub(super) fn imagined(&self, settings: &Settings, seat: Seat, dice: &mut Dice) -> Self {
        let copy = |place: &Place| Place { dice: place.dice.clone(), ..*place };
        Self {
            play: self.play.imagined(seat, dice),
            places: self.places.iter().map(copy).collect(),
            forfeited: self.forfeited,
            episode: self.episode,
            substitutes: Dice::new(dice.seed(), SUBSTITUTE_STREAM),
            seeds: Seeds::begin(settings.seed).0,
            committed: Committed::new(dice.seed()),
        }
    }
}
