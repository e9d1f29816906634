//! Episodes as each viewer may see them afterwards.

use std::time::SystemTime;

use boardwire_api::{Error, v1};
use boardwire_batch::release::Release;

use super::state::State;
use super::{Arbiter, Audience, CloseReason};
use crate::record::{InvalidEvent, Record, Replayer, ShownDecisions};
use crate::secret::{EpisodeKey, SeedSource};

/// How many episodes before the present one can still be looked at.
pub(super) const KEPT: usize = 4;

impl State {
    /// The record of an episode, if it is still kept.
    pub(super) fn record(&self, episode: u32) -> Option<&Record> {
        self.records().find(|record| record.episode == episode)
    }

    /// The records that are kept, the present one last.
    pub(super) fn records(&self) -> impl DoubleEndedIterator<Item = &Record> {
        self.past.iter().chain([&self.present])
    }

    /// The number of the oldest episode that is kept.
    pub(super) fn oldest(&self) -> u32 {
        self.past.front().map_or(self.present.episode, |record| record.episode)
    }

    /// What an episode follows from, once it may be known: to those who take part, when nothing hidden or to come follows from
    /// it any more, or the host has given it; to all, when the match is over.
    pub(super) fn revealed(&self, record: &Record, to: Audience) -> Option<EpisodeKey> {
        let over = record.episode < self.present.episode || self.is_over();
        let known = to == Audience::Host || record.opened.source == SeedSource::Drawn;
        let shown = self.has_ended() || (over && known && to.belongs());
        (shown && record.dealt.is_some()).then_some(record.opened)
    }

    /// Whether it is closed, and no server goes on with it.
    pub(super) fn has_ended(&self) -> bool {
        self.closed.as_ref().is_some_and(CloseReason::is_final)
    }
}

impl Arbiter {
    /// The most bytes that a replay takes.
    #[must_use]
    pub fn replay_bytes(&self) -> usize {
        /// What stands in a frame beside the view.
        const FRAME: usize = 128;
        let info = self.table.rules.info();
        (info.max_plies as usize + 2) * (info.layout.bytes() + FRAME)
    }

    /// An episode as `audience` may see it: the present one, unless another is asked for. As long as it is played, of all
    /// decisions only the looker's own are shown.
    ///
    /// # Errors
    /// An episode that has not come, or is not kept any more.
    pub fn replay(&self, audience: Audience, episode: Option<u32>) -> Result<v1::Replay, Error> {
        let viewer = audience.viewer();
        let (record, over, revealed, fair) = {
            let inner = self.lock();
            let state = &inner.state;
            let shown = state.shown(self.settings.watch_delay).filter(|_| !audience.belongs());
            let latest = shown.as_ref().map_or(state.present.episode, |record| record.episode);
            let episode = episode.unwrap_or(latest);
            State::not_after(latest, episode)?;
            state.check_dealt()?;
            let record = state.record(episode).ok_or_else(|| {
                let expected = format!("{} or more; those before are not kept", state.oldest());
                Error::field("episode", episode, expected)
            })?;
            let over = state.has_ended() || episode < state.present.episode || state.is_over();
            let mut record = record.clone();
            let is_cut = shown.is_some() && record.cut(SystemTime::now() - self.settings.watch_delay);
            // A seed that was given tells of the episodes after this one, too.
            let tells_later = record.opened.source != SeedSource::Drawn;
            let is_held_back = is_cut || (tells_later && shown.is_some());
            let revealed = state.revealed(&record, audience).filter(|_| !is_held_back);
            (record, over && !is_cut, revealed, state.fair_deal())
        };
        let shown = if over { ShownDecisions::All } else { ShownDecisions::Own };
        let mut retrace = Replayer::new(&self.table, &record);
        let mut frames = Vec::with_capacity(record.moves.len() + 2);
        while let Some(frame) =
            retrace.advance(&self.table, &record, viewer, shown).map_err(|InvalidEvent(what)| {
                Error::Internal { place: self.table.rules.info().id.to_owned(), what }
            })?
        {
            frames.push(frame);
        }
        let Record { episode, opened, commitment, server_part, .. } = record;
        Ok(v1::Replay {
            match_id: self.name.id.clone(),
            config: Some(self.settings.config(&self.table)),
            spec_digest: self.table.digest.to_string(),
            episode,
            seed_commitment: commitment.to_vec().into(),
            seed_source: opened.source.to_message().into(),
            seed_opening: revealed.map(|opened| opened.to_message(server_part)),
            fair,
            viewer: viewer.seat().map(|seat| seat.number().into()),
            over,
            release: Release::OWN.to_string(),
            frames,
        })
    }
}
