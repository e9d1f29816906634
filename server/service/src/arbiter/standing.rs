//! How a match stands: what follows from its events.

use std::time::SystemTime;

use boardwire_kernel::{BOT_STREAM, RngStream, SUBSTITUTE_STREAM, Seat, SeatSet};
use uuid::Uuid;

use super::event::{Cause, Event, Forfeited, What};
use super::{CloseReason, Decision, Ended, Opened, Series, Settings};
use crate::play::Play;
use crate::secret::{SeedSource, Seeds};
use crate::tables::Table;

/// How a match stands.
pub(super) struct Standing {
    /// The present episode.
    pub(super) play: Box<dyn Play>,
    /// The same by its number.
    pub(super) episode: u32,
    /// What each seat has done in it.
    pub(super) places: Vec<Place>,
    pub(super) forfeited: Option<Forfeited>,
    /// What it follows from: for the arbiter, never for a seat.
    pub(super) opened: Opened,
    /// What the next one follows from.
    pub(super) seeds: Seeds,
    /// Who has taken each seat.
    pub(super) holders: Vec<Option<Holder>>,
    /// Who has asked for the next episode.
    pub(super) votes: SeatSet,
    /// Why the match has ended for good, if it has.
    pub(super) closed: Option<CloseReason>,
    /// When the last action was applied, or the episode dealt.
    pub(super) acted: SystemTime,
}

/// What a seat has done in the present episode.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// How many decisions it has made.
    pub(super) decision: u32,
    /// Whether another action was played for its last one.
    pub(super) substituted: bool,
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

/// An event that does not follow upon those before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Impossible(pub(super) String);

impl Standing {
    /// A match whose first episode has been dealt at `at`; nobody has joined or moved.
    pub(super) fn new(
        table: &Table,
        settings: &Settings,
        opened: Opened,
        seeds: Seeds,
        at: SystemTime,
    ) -> Self {
        Self {
            play: table.rules.clone().deal(opened.key),
            episode: 0,
            places: vec![Place::default(); settings.players.len()],
            forfeited: None,
            opened,
            seeds,
            holders: vec![None; settings.players.len()],
            votes: SeatSet::EMPTY,
            closed: None,
            acted: at,
        }
    }

    /// How the match stands after an event.
    ///
    /// # Errors
    /// An event that cannot follow upon those before it; then everything is as it was.
    pub(super) fn apply(&mut self, table: &Table, event: &Event) -> Result<(), Impossible> {
        if let Some(seat) = event.what.seat()
            && seat.index() >= self.places.len()
        {
            return Err(Impossible(format!("there is no seat {}", seat.number())));
        }
        match &event.what {
            What::Joined { seat, token, request } => {
                self.holders[seat.index()] = Some(Holder { token: *token, request: *request });
            }
            What::Dealt { opened, seeds } => {
                self.play = table.rules.clone().deal(opened.key);
                self.episode += 1;
                self.places.fill(Place::default());
                self.forfeited = None;
                (self.opened, self.seeds) = (*opened, seeds.clone());
                self.votes = SeatSet::EMPTY;
                self.acted = event.at;
            }
            &What::Played { seat, action, cause } => {
                let refused = |error| Impossible(format!("action {action}: {error}"));
                self.play.apply(seat, action.into()).map_err(refused)?;
                self.acted = event.at;
                let place = &mut self.places[seat.index()];
                match cause {
                    Cause::Agent => place.decide(self.episode, action.into(), false),
                    Cause::Substituted { given, words } => {
                        place.substitutes = words;
                        place.decide(self.episode, given, true);
                    }
                    Cause::Bot { words } => place.bot = words,
                    Cause::Forced => {}
                }
            }
            What::Forfeited { forfeited, given } => {
                if let Some(given) = given {
                    self.places[forfeited.seat.index()].decide(self.episode, *given, false);
                }
                self.forfeited = Some(*forfeited);
                self.acted = event.at;
            }
            What::Voted { seat } => self.votes.insert(*seat),
            What::Closed(reason) => self.closed = Some(reason.clone()),
        }
        Ok(())
    }

    pub(super) fn pending(&self) -> SeatSet {
        if self.forfeited.is_some() { SeatSet::EMPTY } else { self.play.pending() }
    }

    pub(super) fn is_over(&self) -> bool {
        self.pending().is_empty()
    }

    /// What the bot of a seat draws from.
    pub(super) fn bot_rng(&self, seat: Seat) -> RngStream {
        let words = self.places[seat.index()].bot;
        RngStream::resume(self.opened.key, BOT_STREAM + u64::from(seat.number()), words)
    }

    /// What is drawn from for the illegal actions of a seat: a stream for every seat, so that what one does never
    /// shifts what is played for another.
    pub(super) fn substitute_rng(&self, seat: Seat) -> RngStream {
        let words = self.places[seat.index()].substitutes;
        RngStream::resume(self.opened.key, SUBSTITUTE_STREAM + u64::from(seat.number()), words)
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

    /// What the episode follows from, when nothing hidden or to come follows from it any more.
    pub(super) fn revealed(&self) -> Option<Opened> {
        let shown = self.closed.is_some() || (self.is_over() && self.opened.source == SeedSource::Drawn);
        shown.then_some(self.opened)
    }

    /// The same with all that `seat` cannot know drawn anew.
    #[cfg(test)]
    pub(super) fn determinized(&self, seat: Seat, rng: &mut RngStream) -> Self {
        Self {
            play: self.play.determinized(seat, rng),
            episode: self.episode,
            places: self.places.clone(),
            forfeited: self.forfeited,
            // What hides the key must show the same for another; so it is no part of what is drawn anew.
            opened: self.opened,
            seeds: self.seeds.clone(),
            holders: self.holders.clone(),
            votes: self.votes,
            closed: self.closed.clone(),
            acted: self.acted,
        }
    }
}

impl Place {
    fn decide(&mut self, episode: u32, action: u32, substituted: bool) {
        self.last = Some(Decision { episode, number: self.decision, action });
        self.decision += 1;
        self.substituted = substituted;
    }
}
