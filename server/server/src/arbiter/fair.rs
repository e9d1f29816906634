//! Deals in which everybody at the table has a hand, and nobody can choose what is dealt.
//!
//! The server binds itself to all that it will ever contribute when the match is created, every agent when it joins. Only
//! when all are bound do agents open what they have, and the first episode is dealt from all of it. So the server cannot
//! know what agents contribute before it is bound, agents neither know the server's part nor one another's, and whoever
//! does not open loses.
//!
//! What the server contributes to episode `e` is the `EPISODES - e`th hash of its root: it is bound by one hash more
//! than to the first, and an episode's contribution, which is shown at its end, tells nothing of the next one's.

use std::time::Duration;

use boardwire_api::{Error, v1};
use boardwire_kernel::{Key, Seat, SeatSet};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::event::What;
use super::standing::Standing;
use crate::secret;

/// How many episodes a match with fair deals can have.
pub(super) const EPISODES: u32 = 1_024;
/// How long an agent may take to open what it has, once all have joined.
pub const OPENING: Duration = Duration::from_secs(30);
/// What the bytes begin with that an episode's key is the hash of.
const PURPOSE: &[u8] = b"boardwire fair deal";

/// What is contributed to deals, or bound to it.
pub type Part = [u8; 32];

/// What the server contributes to the deals of a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Root(#[serde(with = "crate::journal::forms::hex")] Part);

/// What everybody contributes to the deals of a match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fair {
    root: Root,
    /// What the server is bound by.
    server: Part,
    /// What each seat is bound by.
    pub(super) bound: Vec<Option<Part>>,
    /// What each seat has opened.
    pub(super) opened: Vec<Option<Part>>,
}

/// What binds to `part`.
#[must_use]
pub fn binds(part: &Part) -> Part {
    Sha256::digest(part).into()
}

/// The hash of the hash and so on, so many times.
fn hashed(part: Part, times: u32) -> Part {
    (0..times).fold(part, |part, _| binds(&part))
}

/// Whether the server, bound so, contributes this to an episode.
#[must_use]
pub fn is_bound(bound: &Part, part: &Part, episode: u32) -> bool {
    episode < EPISODES && hashed(*part, episode + 1) == *bound
}

/// The key of an episode that agents at some seats, ascending, and the server have contributed to.
#[must_use]
pub fn key(match_id: &str, episode: u32, server: &Part, agents: &[(Seat, Part)]) -> Key {
    let mut hasher = Sha256::new_with_prefix(PURPOSE);
    hasher.update(match_id);
    hasher.update(episode.to_le_bytes());
    hasher.update(server);
    for (seat, part) in agents {
        hasher.update([seat.number()]);
        hasher.update(part);
    }
    Key::from(Part::from(hasher.finalize()))
}

impl Root {
    /// A fresh one.
    pub(super) fn fresh() -> Self {
        Self(secret::random())
    }
}

impl Fair {
    /// Before anybody has joined.
    pub(super) fn new(root: Root, seats: usize) -> Self {
        let server = hashed(root.0, EPISODES);
        Self { root, server, bound: vec![None; seats], opened: vec![None; seats] }
    }

    /// What all that the server contributes follows from.
    pub(super) fn root(&self) -> Root {
        self.root
    }

    /// What the server contributes to an episode.
    pub(super) fn part(&self, episode: u32) -> Part {
        hashed(self.root.0, EPISODES - 1 - episode)
    }

    /// The key of an episode of a match.
    pub(super) fn key(&self, match_id: &str, episode: u32) -> Key {
        let agents = (0..).zip(&self.opened).filter_map(|(seat, part)| Some((Seat::new(seat), (*part)?)));
        key(match_id, episode, &self.part(episode), &agents.collect::<Vec<_>>())
    }

    fn to_message(&self, is_dealt: bool) -> v1::FairDeal {
        let bytes = |part: &Option<Part>| part.map(|part| part.to_vec().into()).unwrap_or_default();
        v1::FairDeal {
            server_commitment: self.server.to_vec().into(),
            seat_commitments: self.bound.iter().map(bytes).collect(),
            seat_secrets: self.opened.iter().map(|part| bytes(&part.filter(|_| is_dealt))).collect(),
        }
    }
}

impl Standing {
    /// What may be known of how its deals come about, if they are fair.
    pub(super) fn fair_deal(&self) -> Option<v1::FairDeal> {
        self.fair.as_ref().map(|fair| fair.to_message(!self.is_gathering()))
    }

    /// Whether seats have yet to join or to open, before anything can be dealt.
    pub(super) fn is_gathering(&self) -> bool {
        self.present.dealt.is_none()
    }

    /// The seats that have yet to be bound, or to open if all are.
    pub(super) fn missing(&self) -> SeatSet {
        let Some(fair) = &self.fair else { return SeatSet::EMPTY };
        let without = |parts: &[Option<Part>]| -> SeatSet {
            let seats = (0..).zip(parts).filter(|(_, part)| part.is_none());
            seats.map(|(seat, _)| Seat::new(seat)).filter(|seat| self.agents.contains(*seat)).collect()
        };
        let unbound = without(&fair.bound);
        if unbound.is_empty() { without(&fair.opened) } else { unbound }
    }

    /// Whether all are bound, and some have yet to open.
    pub(super) fn is_opening(&self) -> bool {
        let is_bound = |seat: Seat| self.fair.as_ref().is_some_and(|fair| fair.bound[seat.index()].is_some());
        self.is_gathering() && self.agents.iter().all(is_bound)
    }

    /// Refuses while nothing has been dealt.
    pub(super) fn check_dealt(&self) -> Result<(), Error> {
        if !self.is_gathering() {
            return Ok(());
        }
        let to = if self.is_opening() { "open their part of the deal" } else { "join" };
        Err(Error::NotDealt { missing: self.missing().to_string(), to })
    }

    /// Whether a seat may join that says what it is bound by.
    pub(super) fn check_bound(&self, given: Option<Part>) -> Result<(), Error> {
        if self.fair.is_none() || given.is_some() {
            return Ok(());
        }
        let expected = "the SHA-256 of 32 secret bytes, since the deals of this match are fair";
        Err(Error::field("commitment", "nothing", expected))
    }

    /// What happens when a seat opens what it has contributed; nothing yet, unless all seats are bound.
    pub(super) fn open(&self, seat: Seat, part: Part) -> Result<Option<Vec<What>>, Error> {
        let Some(fair) = &self.fair else {
            return Err(Error::field("secret", "a secret", "absent, since the server deals alone"));
        };
        if fair.bound[seat.index()] != Some(binds(&part)) {
            let expected = "the 32 bytes whose SHA-256 the seat has joined with";
            return Err(Error::field("secret", "another secret", expected));
        }
        if fair.opened[seat.index()].is_some() {
            return Ok(Some(Vec::new()));
        }
        Ok(self.is_opening().then(|| vec![What::Opened { seat, part }]))
    }

    /// Refuses another episode when the server has nothing left to contribute that it is bound to.
    pub(super) fn check_left(&self) -> Result<(), Error> {
        if self.fair.is_some() && self.present.episode + 1 >= EPISODES {
            let expected = format!("at most {EPISODES} when deals are fair");
            return Err(Error::field("episode", EPISODES + 1, expected));
        }
        Ok(())
    }
}
