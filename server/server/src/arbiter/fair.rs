//! Fair deals: every party contributes a secret, so no party can choose the deal (a commit-reveal scheme).
//!
//! The server commits to all its secrets when the match is created. Each agent commits to a secret when it joins. When all
//! have joined, agents open (reveal) their secrets, and the first episode is dealt from all secrets. So no party knows
//! another party's secret when it commits. An agent that does not open its secret loses the match.
//!
//! The server's secret for episode `e` is its root, hashed `EPISODES - 1 - e` times. The server commits to the root hashed
//! `EPISODES` times. It shows an episode's secret at the end of the episode, which reveals nothing about the next secret.

use std::time::Duration;

use boardwire_api::{Error, v1};
use boardwire_kernel::{Seat, SeatSet};
use serde::{Deserialize, Serialize};

use super::event::EventKind;
use super::state::State;
use super::{EpisodeKey, SeedSource, Settings};
use crate::record::InvalidEvent;
use crate::record::fair::{Contribution, EPISODES, commitment_to, hashed, key};
use crate::secret::{self, Seeds};

/// The default timeout for agents to open their secrets, after all have joined.
pub const OPENING_TIMEOUT: Duration = Duration::from_secs(30);

/// The secret from which the server derives all its secrets for a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Root(#[serde(with = "crate::forms::hex")] Contribution);

/// The contributions of all parties to the deals of a match.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fair {
    root: Root,
    server_commitment: Contribution,
    /// The commitment of each seat.
    bound: Vec<Option<Contribution>>,
    /// The secret of each seat.
    opened: Vec<Option<Contribution>>,
}

/// How a match is dealt: with fair deals, or by the server alone (`None`). Only this file reads the field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Deals(Option<Fair>);

impl Deals {
    /// Returns the deals of a new match, the key of its first episode, and the source of later keys.
    pub(super) fn first(settings: &Settings) -> (Self, EpisodeKey, Seeds) {
        if settings.fair_deals {
            let deals = Self::restored(Some(Root(secret::random())), settings.players.len());
            return (deals, EpisodeKey::nothing(), Seeds::Drawn);
        }
        let (seeds, key, source) = Seeds::begin(settings.seed);
        (Self(None), EpisodeKey::new(key, source), seeds)
    }

    /// Returns the deals of a match from a journal, before any agent has joined.
    pub(super) fn restored(root: Option<Root>, seats: usize) -> Self {
        Self(root.map(|root| Fair {
            root,
            server_commitment: hashed(root.0, EPISODES),
            bound: vec![None; seats],
            opened: vec![None; seats],
        }))
    }

    /// Returns the root secret, which the journal stores for a restart; `None` where the server deals alone.
    pub(super) fn root(&self) -> Option<Root> {
        self.0.as_ref().map(|fair| fair.root)
    }

    /// Stores the commitment of an agent that has joined, or removes it when the agent loses its seat.
    pub(super) fn bind(&mut self, seat: Seat, bound: Option<Contribution>) {
        if let Some(fair) = &mut self.0 {
            fair.bound[seat.index()] = bound;
        }
    }

    /// Returns the commitment of a seat.
    pub(super) fn bound(&self, seat: Seat) -> Option<Contribution> {
        self.0.as_ref().and_then(|fair| fair.bound[seat.index()])
    }

    /// Returns the commitment to store for an agent that joins with `given`.
    ///
    /// # Errors
    /// Deals are fair, and `given` has no commitment.
    pub(super) fn binding(&self, given: Option<Contribution>) -> Result<Option<Contribution>, Error> {
        if self.0.is_some() && given.is_none() {
            let expected = "the SHA-256 of 32 secret bytes, since the deals of this match are fair";
            return Err(Error::field("commitment", "nothing", expected));
        }
        Ok(given.filter(|_| self.0.is_some()))
    }

    /// Stores the secret of a seat.
    pub(super) fn open(&mut self, seat: Seat, part: Contribution) -> Result<(), InvalidEvent> {
        let fair = self.0.as_mut().ok_or_else(|| InvalidEvent("its deals are not fair".to_owned()))?;
        fair.opened[seat.index()] = Some(part);
        Ok(())
    }

    /// Returns the server's secret for an episode; `None` where the server deals alone.
    ///
    /// # Errors
    /// Deals are fair, and the server has no secret for so late an episode.
    pub(super) fn server_part(&self, episode: u32) -> Result<Option<Contribution>, InvalidEvent> {
        let Some(fair) = &self.0 else { return Ok(None) };
        let later = EPISODES.checked_sub(episode + 1);
        let later = later.ok_or_else(|| {
            InvalidEvent(format!("a match with fair deals has at most {EPISODES} episodes"))
        })?;
        Ok(Some(hashed(fair.root.0, later)))
    }

    /// Returns the key of an episode, derived from the secrets of all parties; `None` where the server deals alone.
    pub(super) fn key(&self, match_id: &str, episode: u32) -> Option<EpisodeKey> {
        let opened = (0..).zip(&self.0.as_ref()?.opened);
        let agents: Vec<_> = opened.filter_map(|(seat, part)| Some((Seat::new(seat), (*part)?))).collect();
        let key = key(match_id, episode, &self.server_part(episode).ok()??, &agents);
        Some(EpisodeKey::new(key, SeedSource::Drawn))
    }
}

impl Settings {
    /// Returns whether an agent that plays against bots alone may leave an episode before its end.
    pub(super) fn may_leave(&self) -> bool {
        !self.fair_deals && !self.host_begins && self.episodes == 0
    }

    /// Returns an error if other settings exclude fair deals.
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

impl State {
    /// Returns what callers may know about a fair deal, without agents' secrets before the deal; `None` without fair deals.
    pub(super) fn fair_deal(&self) -> Option<v1::FairDeal> {
        let fair = self.deals.0.as_ref()?;
        let bytes = |part: &Option<Contribution>| part.map(|part| part.to_vec().into()).unwrap_or_default();
        let secret = |part: &Option<Contribution>| bytes(&part.filter(|_| !self.is_gathering()));
        Some(v1::FairDeal {
            server_commitment: fair.server_commitment.to_vec().into(),
            seat_commitments: fair.bound.iter().map(bytes).collect(),
            seat_secrets: fair.opened.iter().map(secret).collect(),
        })
    }

    /// Returns whether agents must still join or open their secrets before the first deal.
    pub(super) fn is_gathering(&self) -> bool {
        self.present.dealt.is_none()
    }

    /// Returns the agents' seats that have not joined. When all have joined: the seats that have not opened their secrets.
    pub(super) fn missing(&self) -> SeatSet {
        let Some(fair) = &self.deals.0 else { return SeatSet::EMPTY };
        let without = |parts: &[Option<Contribution>]| -> SeatSet {
            self.agents.iter().filter(|seat| parts[seat.index()].is_none()).collect()
        };
        let unbound = without(&fair.bound);
        if unbound.is_empty() { without(&fair.opened) } else { unbound }
    }

    /// Returns whether all agents have joined, and the first episode is not dealt yet.
    pub(super) fn is_opening(&self) -> bool {
        self.is_gathering() && self.agents.iter().all(|seat| self.deals.bound(seat).is_some())
    }

    /// Returns an error before the first deal.
    pub(super) fn check_dealt(&self) -> Result<(), Error> {
        if !self.is_gathering() {
            return Ok(());
        }
        let to = if self.is_opening() { "open their part of the deal" } else { "join" };
        Err(Error::NotDealt { missing: self.missing().to_string(), to })
    }

    /// Returns the events of a seat that opens its secret; empty for a retry. `None` until all agents have joined.
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

    /// With fair deals, returns an error if a seed is given or no further episode is possible.
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

    /// With fair deals, returns an error if the episode is not over: the host must not discard a deal that it dislikes.
    pub(super) fn check_leave(&self) -> Result<(), Error> {
        if self.deals.0.is_some() { self.check_over() } else { Ok(()) }
    }
}
