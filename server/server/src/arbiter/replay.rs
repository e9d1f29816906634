//! Replays: recorded episodes as each viewer may see them.

use std::time::SystemTime;

use boardwire_api::{Error, v1};
use boardwire_batch::release::Release;

use super::decide::check_at_most;
use super::state::State;
use super::{Arbiter, Audience, CloseReason};
use crate::record::{Record, Replayer, VisibleDecisions};
use crate::secret::{EpisodeKey, SeedSource};

/// How many past episodes of a match the server keeps.
pub(super) const PAST_EPISODES: usize = 4;

impl State {
    /// Returns the records that the server keeps, the present one last.
    pub(super) fn records(&self) -> impl DoubleEndedIterator<Item = &Record> {
        self.past.iter().chain([&self.present])
    }

    /// Returns the key of an episode if `to` may know it. Once the match has ended, all may. Before that, host and seats may
    /// know the key of an ended episode. A given seed also reveals later episodes, so only the host may know its key.
    pub(super) fn revealed(&self, record: &Record, to: Audience) -> Option<EpisodeKey> {
        let is_over = record.episode < self.present.episode || self.is_over();
        let may_know = to == Audience::Host || record.key.source == SeedSource::Drawn;
        let is_revealed = self.has_ended() || (is_over && may_know && to.is_participant());
        (is_revealed && record.dealt_at.is_some()).then_some(record.key)
    }

    /// Returns whether the match is closed and no server will continue it.
    pub(super) fn has_ended(&self) -> bool {
        self.closed.as_ref().is_some_and(CloseReason::is_final)
    }
}

impl Arbiter {
    /// Returns the maximum size of a replay in bytes.
    #[must_use]
    pub fn replay_bytes(&self) -> usize {
        /// The bytes of a frame without its view.
        const FRAME: usize = 128;
        let info = self.table.game.info();
        (info.max_plies as usize + 2) * (info.layout.bytes() + FRAME)
    }

    /// Returns an episode, by default the present one, as `audience` may see it. Until the episode is over, a seat sees only
    /// its own decisions.
    ///
    /// # Errors
    /// The episode has not begun, or the server no longer keeps it.
    pub fn replay(&self, audience: Audience, episode: Option<u32>) -> Result<v1::Replay, Error> {
        let viewer = audience.viewer();
        let (record, over, key, fair) = {
            let inner = self.lock();
            let state = &inner.state;
            let visible =
                state.visible_record(self.settings.watch_delay).filter(|_| !audience.is_participant());
            let latest_episode = visible.as_ref().map_or(state.present.episode, |record| record.episode);
            let episode = episode.unwrap_or(latest_episode);
            check_at_most(latest_episode, episode)?;
            state.require_dealt()?;
            let record = state.records().find(|record| record.episode == episode);
            let mut record = record.cloned().ok_or_else(|| {
                let oldest = state.past.front().map_or(state.present.episode, |record| record.episode);
                let expected = format!("{oldest} or more, since the server keeps no earlier episodes");
                Error::field("episode", episode, expected)
            })?;
            let over = state.has_ended() || episode < state.present.episode || state.is_over();
            let hides_frames =
                visible.is_some() && record.truncate_after(SystemTime::now() - self.settings.watch_delay);
            // A given seed also reveals the episodes after this one.
            let reveals_later = record.key.source != SeedSource::Drawn;
            let is_held_back = hides_frames || (reveals_later && visible.is_some());
            let key = state.revealed(&record, audience).filter(|_| !is_held_back);
            (record, over && !hides_frames, key, state.fair_deal())
        };
        let visible = if over { VisibleDecisions::All } else { VisibleDecisions::Own };
        let mut replayer = Replayer::new(&self.table, &record);
        let advance = || replayer.advance(&self.table, &record, viewer, visible).transpose();
        let frames: Result<_, _> = std::iter::from_fn(advance).collect();
        Ok(v1::Replay {
            match_id: self.identity.id.clone(),
            config: Some(self.settings.config(&self.table)),
            spec_digest: self.table.digest.to_string(),
            episode: record.episode,
            seed_commitment: record.commitment.to_vec().into(),
            seed_source: record.key.source.to_message().into(),
            seed_opening: key.map(|key| key.to_message(record.server_secret)),
            fair,
            viewer: viewer.seat().map(|seat| seat.number().into()),
            over,
            release: Release::OWN.to_string(),
            frames: frames.map_err(|error| self.internal(error))?,
        })
    }
}
