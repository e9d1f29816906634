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
use crate::record::fair::{DealCommitment, DealSecret, EPISODES, commitment_to, hashed, key};
use crate::secret::{self, Seeds};

/// The default timeout for agents to open their secrets, after all have joined.
pub const OPENING_TIMEOUT: Duration = Duration::from_secs(30);

/// The secret from which the server derives all its secrets for a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ServerSecretRoot(#[serde(with = "crate::serde_formats::hex")] DealSecret);

/// The secrets of all parties for the deals of a match, and the commitments to them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fair {
    root: ServerSecretRoot,
    server_commitment: DealCommitment,
    /// The commitment of each seat.
    commitments: Vec<Option<DealCommitment>>,
    /// The secret of each seat that has opened it.
    secrets: Vec<Option<DealSecret>>,
}

/// How a match is dealt: with fair deals, or by the server without them (`None`). Only this file reads the field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Deals(Option<Fair>);

impl Deals {
    /// Returns the deals of a new match, the key of its first episode, and the source of later keys.
    pub(super) fn first(settings: &Settings) -> (Self, EpisodeKey, Seeds) {
        if settings.fair_deals {
            let deals = Self::restore(Some(ServerSecretRoot(secret::random())), settings.players.len());
            return (deals, EpisodeKey::placeholder(), Seeds::Drawn);
        }
        let (seeds, key, source) = Seeds::first(settings.seed);
        (Self(None), EpisodeKey::new(key, source), seeds)
    }

    /// Returns the deals of a match from a journal, before any agent has joined.
    pub(super) fn restore(root: Option<ServerSecretRoot>, seats: usize) -> Self {
        Self(root.map(|root| Fair {
            root,
            server_commitment: hashed(root.0, EPISODES),
            commitments: vec![None; seats],
            secrets: vec![None; seats],
        }))
    }

    /// Returns the root secret, which the journal stores for a restart; `None` without fair deals.
    pub(super) fn root(&self) -> Option<ServerSecretRoot> {
        self.0.as_ref().map(|fair| fair.root)
    }

    /// Stores the commitment of an agent that has joined, or removes it when the agent loses its seat.
    pub(super) fn set_commitment(&mut self, seat: Seat, commitment: Option<DealCommitment>) {
        if let Some(fair) = &mut self.0 {
            fair.commitments[seat.index()] = commitment;
        }
    }

    /// Returns the commitment of a seat.
    pub(super) fn commitment(&self, seat: Seat) -> Option<DealCommitment> {
        self.0.as_ref().and_then(|fair| fair.commitments[seat.index()])
    }

    /// Returns the commitment to store for an agent that joins with `given`.
    ///
    /// # Errors
    /// Deals are fair, and `given` has no commitment.
    pub(super) fn commitment_to_store(
        &self,
        given: Option<DealCommitment>,
    ) -> Result<Option<DealCommitment>, Error> {
        if self.0.is_some() && given.is_none() {
            let expected = "the SHA-256 of 32 secret bytes, since the deals of this match are fair";
            return Err(Error::field("commitment", "no commitment", expected));
        }
        Ok(given.filter(|_| self.0.is_some()))
    }

    /// Stores the secret of a seat.
    pub(super) fn set_secret(&mut self, seat: Seat, secret: DealSecret) -> Result<(), InvalidEvent> {
        let problem = "`fair_deals` is false: the match takes no secrets";
        let fair = self.0.as_mut().ok_or_else(|| InvalidEvent(problem.to_owned()))?;
        fair.secrets[seat.index()] = Some(secret);
        Ok(())
    }

    /// Returns the server's secret for an episode; `None` without fair deals.
    ///
    /// # Errors
    /// Deals are fair, and the server has no secret for so late an episode.
    pub(super) fn server_secret(&self, episode: u32) -> Result<Option<DealSecret>, InvalidEvent> {
        let Some(fair) = &self.0 else { return Ok(None) };
        let later = EPISODES.checked_sub(episode + 1);
        let later = later.ok_or_else(|| {
            InvalidEvent(format!("a match with fair deals has at most {EPISODES} episodes"))
        })?;
        Ok(Some(hashed(fair.root.0, later)))
    }

    /// Returns the key of an episode, derived from the secrets of all parties; `None` without fair deals.
    pub(super) fn key(&self, match_id: &str, episode: u32) -> Option<EpisodeKey> {
        let secrets = (0..).zip(&self.0.as_ref()?.secrets);
        let agents: Vec<_> =
            secrets.filter_map(|(seat, secret)| Some((Seat::new(seat), (*secret)?))).collect();
        let key = key(match_id, episode, &self.server_secret(episode).ok()??, &agents);
        Some(EpisodeKey::new(key, SeedSource::Drawn))
    }
}

impl Settings {
    /// Returns whether an agent that plays only against bots may leave an episode before its end.
    pub(super) fn may_reset_early(&self) -> bool {
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
        let bytes = |value: &Option<[u8; 32]>| value.map(|value| value.to_vec().into()).unwrap_or_default();
        let secret = |secret: &Option<DealSecret>| bytes(&secret.filter(|_| !self.is_before_first_deal()));
        Some(v1::FairDeal {
            server_commitment: fair.server_commitment.to_vec().into(),
            seat_commitments: fair.commitments.iter().map(bytes).collect(),
            seat_secrets: fair.secrets.iter().map(secret).collect(),
        })
    }

    /// Returns whether agents must still join or open their secrets before the first deal.
    pub(super) fn is_before_first_deal(&self) -> bool {
        self.present.dealt_at.is_none()
    }

    /// Returns the agents' seats that have not joined. When all have joined: the seats that have not opened their secrets.
    pub(super) fn seats_to_join_or_open(&self) -> SeatSet {
        let Some(fair) = &self.deals.0 else { return SeatSet::EMPTY };
        let without = |values: &[Option<[u8; 32]>]| -> SeatSet {
            self.agents.iter().filter(|seat| values[seat.index()].is_none()).collect()
        };
        let without_commitment = without(&fair.commitments);
        if without_commitment.is_empty() { without(&fair.secrets) } else { without_commitment }
    }

    /// Returns whether all agents have joined, and the first episode is not dealt yet.
    pub(super) fn waits_for_secrets(&self) -> bool {
        self.is_before_first_deal() && self.agents.iter().all(|seat| self.deals.commitment(seat).is_some())
    }

    /// Returns an error before the first deal.
    pub(super) fn require_dealt(&self) -> Result<(), Error> {
        if !self.is_before_first_deal() {
            return Ok(());
        }
        let to = if self.waits_for_secrets() { "call OpenDeal" } else { "call JoinMatch" };
        Err(Error::NotDealt { missing: self.seats_to_join_or_open().to_string(), to })
    }

    /// Returns the events of a seat that opens its secret; empty for a retry. `None` until all agents have joined.
    pub(super) fn open_events(
        &self,
        seat: Seat,
        secret: DealSecret,
    ) -> Result<Option<Vec<EventKind>>, Error> {
        let Some(fair) = &self.deals.0 else {
            return Err(Error::field("secret", "a secret", "absent, since the match has no fair deals"));
        };
        if fair.commitments[seat.index()] != Some(commitment_to(&secret)) {
            let expected = "the 32 bytes whose SHA-256 was the `commitment` in JoinMatch";
            return Err(Error::field(
                "secret",
                "a secret that does not match the seat's commitment",
                expected,
            ));
        }
        if fair.secrets[seat.index()].is_some() {
            return Ok(Some(Vec::new()));
        }
        Ok(self.waits_for_secrets().then(|| vec![EventKind::Opened { seat, secret }]))
    }

    /// With fair deals, returns an error if a seed is given or no further episode is possible.
    pub(super) fn require_next_allowed(&self, seed: Option<u64>) -> Result<(), Error> {
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
    pub(super) fn require_leave_allowed(&self) -> Result<(), Error> {
        if self.deals.0.is_some() { self.require_over() } else { Ok(()) }
    }
}
