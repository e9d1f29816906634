//! Deals in which everybody at the table has a hand, and nobody can choose what is dealt.
//!
//! The server binds itself to all that it will ever contribute when the match is created, every agent when it joins. Only
//! when all are bound do agents open what they have, and the first episode is dealt from all of it. So the server cannot
//! know what agents contribute before it is bound, agents neither know the server's part nor one another's, and whoever
//! does not open loses.
//!
//! What the server contributes to episode `e` is the `EPISODES - e`th hash of its root: it is bound by one hash more
//! than to the first, and an episode's contribution, which is shown at its end, tells nothing of the next one's.

use std::time::{Duration, SystemTime};

use boardwire_api::{Error, v1};
use boardwire_kernel::{Digest, Key, Seat, SeatSet};
use serde::{Deserialize, Serialize};

use super::event::EventKind;
use super::state::State;
use super::{EpisodeKey, SeedSource, Settings};
use crate::record::fair::{Contribution, EPISODES, commitment_to, hashed, key};
use crate::record::{InvalidEvent, Record};
use crate::secret::{self, Seeds};

/// How long an agent may take to open what it has, once all have joined.
pub const OPENING_TIMEOUT: Duration = Duration::from_secs(30);

/// What the server contributes to the deals of a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Root(#[serde(with = "crate::forms::hex")] Contribution);

/// What everybody contributes to the deals of a match.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fair {
    root: Root,
    /// What the server is bound by.
    server: Contribution,
    /// What each seat is bound by.
    bound: Vec<Option<Contribution>>,
    /// What each seat has opened.
    opened: Vec<Option<Contribution>>,
}

impl Root {
    fn fresh() -> Self {
        Self(secret::random())
    }
}

/// How the deals of a match are made: by the server alone, or fair. Only this file knows which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Deals(Option<Fair>);

impl Deals {
    /// The deals of a new match, with the key of its first episode and the source of later seeds.
    pub(super) fn first(settings: &Settings) -> (Self, EpisodeKey, Seeds) {
        if settings.fair_deals {
            let deals = Self::restored(Some(Root::fresh()), settings.players.len());
            return (deals, EpisodeKey::nothing(), Seeds::Drawn);
        }
        let (seeds, key, source) = Seeds::begin(settings.seed);
        (Self(None), EpisodeKey::new(key, source), seeds)
    }

    /// The deals of a match from a journal, before any agent has joined.
    pub(super) fn restored(root: Option<Root>, seats: usize) -> Self {
        let fair = |root: Root| Fair {
            root,
            server: hashed(root.0, EPISODES),
            bound: vec![None; seats],
            opened: vec![None; seats],
        };
        Self(root.map(fair))
    }

    /// What the journal needs to restore them.
    pub(super) fn root(&self) -> Option<Root> {
        self.0.as_ref().map(|fair| fair.root)
    }

    /// The record of the first episode before any event: dealt, unless agents contribute to the deal.
    pub(super) fn first_record(
        &self,
        identity: (&str, &Digest),
        opened: EpisodeKey,
        at: SystemTime,
    ) -> Record {
        match self.0 {
            Some(_) => Record::undealt(at),
            None => Record::new(identity, 0, 1, opened, at),
        }
    }

    /// Stores the commitment of an agent that has joined, or removes that of one that has lost its seat.
    pub(super) fn bind(&mut self, seat: Seat, bound: Option<Contribution>) {
        if let Some(fair) = &mut self.0 {
            fair.bound[seat.index()] = bound;
        }
    }

    /// The commitment of a seat.
    pub(super) fn bound(&self, seat: Seat) -> Option<Contribution> {
        self.0.as_ref().and_then(|fair| fair.bound[seat.index()])
    }

    /// The commitment to store for a seat that joins with this one.
    ///
    /// # Errors
    /// It gives nothing where deals are fair.
    pub(super) fn binding(&self, given: Option<Contribution>) -> Result<Option<Contribution>, Error> {
        if self.0.is_some() && given.is_none() {
            let expected = "the SHA-256 of 32 secret bytes, since the deals of this match are fair";
            return Err(Error::field("commitment", "nothing", expected));
        }
        Ok(given.filter(|_| self.0.is_some()))
    }

    /// Stores the secret of a seat.
    pub(super) fn open(&mut self, seat: Seat, part: Contribution) -> Result<(), InvalidEvent> {
        let fair =
            self.0.as_mut().ok_or_else(|| InvalidEvent("no seat contributes to its deals".to_owned()))?;
        fair.opened[seat.index()] = Some(part);
        Ok(())
    }

    /// The server's secret for an episode.
    pub(super) fn server_part(&self, episode: u32) -> Option<Contribution> {
        self.0.as_ref().map(|fair| fair.part(episode))
    }

    /// The key of an episode from the secrets of all parties; none where the server deals alone.
    pub(super) fn key(&self, match_id: &str, episode: u32) -> Option<EpisodeKey> {
        let fair = self.0.as_ref()?;
        Some(EpisodeKey::new(fair.key(match_id, episode), SeedSource::Drawn))
    }
}

impl Settings {
    /// Whether an agent that plays against bots alone may leave an episode before its end.
    pub(super) fn may_leave(&self) -> bool {
        !self.fair_deals && !self.host_begins && self.episodes == 0
    }

    /// Refuses what fair deals exclude.
    pub(super) fn check_fair(&self) -> Result<(), Error> {
        if !self.fair_deals {
            return Ok(());
        }
        if self.seed.is_some() || self.seat_may_seed || self.agents().is_empty() {
            return Err(Error::field("fair_deals", "true", "false when a seed is given or no agent plays"));
        }
        if self.episodes > EPISODES {
            let expected = format!("at most {EPISODES} when deals are fair");
            return Err(Error::field("episodes", self.episodes, expected));
        }
        Ok(())
    }
}

impl Fair {
    fn part(&self, episode: u32) -> Contribution {
        hashed(self.root.0, EPISODES - 1 - episode)
    }

    fn key(&self, match_id: &str, episode: u32) -> Key {
        let agents = (0..).zip(&self.opened).filter_map(|(seat, part)| Some((Seat::new(seat), (*part)?)));
        key(match_id, episode, &self.part(episode), &agents.collect::<Vec<_>>())
    }

    fn to_message(&self, is_dealt: bool) -> v1::FairDeal {
        let bytes = |part: &Option<Contribution>| part.map(|part| part.to_vec().into()).unwrap_or_default();
        v1::FairDeal {
            server_commitment: self.server.to_vec().into(),
            seat_commitments: self.bound.iter().map(bytes).collect(),
            seat_secrets: self.opened.iter().map(|part| bytes(&part.filter(|_| is_dealt))).collect(),
        }
    }
}

impl State {
    /// What may be known of how its deals come about, if they are fair.
    pub(super) fn fair_deal(&self) -> Option<v1::FairDeal> {
        self.deals.0.as_ref().map(|fair| fair.to_message(!self.is_gathering()))
    }

    /// Whether seats have yet to join or to open, before anything can be dealt.
    pub(super) fn is_gathering(&self) -> bool {
        self.present.dealt.is_none()
    }

    /// The seats that have yet to be bound, or to open if all are.
    pub(super) fn missing(&self) -> SeatSet {
        let Some(fair) = &self.deals.0 else { return SeatSet::EMPTY };
        let without = |parts: &[Option<Contribution>]| -> SeatSet {
            let seats = (0..).zip(parts).filter(|(_, part)| part.is_none());
            seats.map(|(seat, _)| Seat::new(seat)).filter(|seat| self.agents.contains(*seat)).collect()
        };
        let unbound = without(&fair.bound);
        if unbound.is_empty() { without(&fair.opened) } else { unbound }
    }

    /// Whether all are bound, and some have yet to open.
    pub(super) fn is_opening(&self) -> bool {
        self.is_gathering() && self.agents.iter().all(|seat| self.deals.bound(seat).is_some())
    }

    /// Refuses while nothing has been dealt.
    pub(super) fn check_dealt(&self) -> Result<(), Error> {
        if !self.is_gathering() {
            return Ok(());
        }
        let to = if self.is_opening() { "open their part of the deal" } else { "join" };
        Err(Error::NotDealt { missing: self.missing().to_string(), to })
    }

    /// What happens when a seat opens what it has contributed; nothing yet, unless all seats are bound.
    pub(super) fn open(&self, seat: Seat, part: Contribution) -> Result<Option<Vec<EventKind>>, Error> {
        let Some(fair) = &self.deals.0 else {
            return Err(Error::field("secret", "a secret", "absent, since the server deals alone"));
        };
        if fair.bound[seat.index()] != Some(commitment_to(&part)) {
            let expected = "the 32 bytes whose SHA-256 the seat has joined with";
            return Err(Error::field("secret", "another secret", expected));
        }
        if fair.opened[seat.index()].is_some() {
            return Ok(Some(Vec::new()));
        }
        Ok(self.is_opening().then(|| vec![EventKind::Opened { seat, part }]))
    }

    /// Refuses a next episode, from this seed if one is given, that fair deals exclude.
    pub(super) fn check_next(&self, seed: Option<u64>) -> Result<(), Error> {
        if self.deals.0.is_none() {
            return Ok(());
        }
        if self.present.episode + 1 >= EPISODES {
            let expected = format!("at most {EPISODES} when deals are fair");
            return Err(Error::field("episode", EPISODES + 1, expected));
        }
        if seed.is_some() {
            return Err(Error::field("seed", "a seed", "absent, since the deals of this match are fair"));
        }
        Ok(())
    }

    /// Refuses to leave an episode that is not over, where deals are fair: also to the host, who may dislike the deal.
    pub(super) fn check_leave(&self) -> Result<(), Error> {
        if self.deals.0.is_some() { self.check_over() } else { Ok(()) }
    }
}
