//! Spectators: they see the public view of every position, in order.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use boardwire_api::{Error, v1};
use boardwire_kernel::{Seat, Viewer};

use super::match_journal::{JournalPosition, wait_until_written};
use super::{Arbiter, CloseReason, Frame, Role};
use crate::record::{InvalidEvent, Record, Replayer, VisibleDecisions};
use crate::secret;

/// A spectator of a match. The match never waits for it, and queues nothing for it. The watcher makes each frame from the
/// match's record when its caller asks for it.
pub struct Watcher {
    arbiter: Arc<Arbiter>,
    /// The sequence number of the last frame shown.
    after_sequence: u64,
    /// The episode that is shown, with a copy of its record.
    episode: Option<(Record, Replayer)>,
    /// The frame that [`wait`](Self::wait) has made.
    frame: Option<Frame>,
}

/// The role in which a caller views a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// The host: it sees the public view, without delay.
    Host,
    /// The agent at a seat.
    Seat(Seat),
    /// Any other caller.
    Public,
}

impl Audience {
    pub(super) fn viewer(self) -> Viewer {
        match self {
            Self::Host | Self::Public => Viewer::Public,
            Self::Seat(seat) => seat.into(),
        }
    }

    /// Returns whether it is the host or a seat: both see positions without delay, and drawn seeds after their episode.
    #[must_use]
    pub fn is_participant(self) -> bool {
        self != Self::Public
    }
}

enum NextFrame {
    /// There is a next frame; the watcher may show it when the journal has written up to this position.
    Ready(JournalPosition),
    /// The next frame does not exist yet.
    Pending,
    /// The match is closed.
    Closed,
}

impl Arbiter {
    /// Returns the role in which the holder of a token views the match. A public match needs no token. The spectators' token
    /// gives access to a private match as [`Audience::Public`].
    ///
    /// # Errors
    /// The match is private and there is no token; the token does not belong to the match.
    pub fn audience(&self, token: Option<&str>) -> Result<Audience, Error> {
        let is_spectator = |token| secret::digest(token) == self.identity.spectator.digest;
        if token.map_or(!self.settings.private, is_spectator) {
            return Ok(Audience::Public);
        }
        Ok(match self.role(token)? {
            Role::Seat(seat) => Audience::Seat(seat),
            Role::Host => Audience::Host,
        })
    }

    /// Returns the spectators' token; empty after a restart.
    #[must_use]
    pub fn spectator_token(&self) -> &str {
        &self.identity.spectator.secret
    }

    /// Starts to watch: after the frame with this sequence number, or from the present position.
    ///
    /// # Errors
    /// That frame does not exist yet.
    pub fn watch(self: &Arc<Self>, after: Option<u64>) -> Result<Watcher, Error> {
        let last_sequence = {
            let state = &self.lock().state;
            let visible = state.visible_record(self.settings.watch_delay);
            visible.map_or(state.present.next_sequence(), |record| record.next_sequence()) - 1
        };
        let after_sequence = after.unwrap_or(last_sequence.saturating_sub(1));
        if after_sequence > last_sequence {
            return Err(Error::field("after", after_sequence, format!("{last_sequence} or less")));
        }
        Ok(Watcher { arbiter: Arc::clone(self), after_sequence, episode: None, frame: None })
    }

    /// Waits until spectators may see a position that was reached at time `at`, or until the server stops. The call never
    /// waits longer than the delay, even if the system's clock is set back.
    pub(super) async fn wait_until_visible(&self, at: SystemTime) -> Result<(), Error> {
        let delay = self.settings.watch_delay;
        let left = (at + delay).duration_since(SystemTime::now()).unwrap_or(Duration::ZERO).min(delay);
        // The timer waits at least until its next tick, which would cost a millisecond for every frame.
        if left.is_zero() {
            return Ok(());
        }
        let mut passed = pin!(tokio::time::sleep(left));
        loop {
            let mut changed = pin!(self.change_notify.notified());
            changed.as_mut().enable();
            if self.lock().state.closed == Some(CloseReason::ShuttingDown) {
                return Err(Error::ShuttingDown);
            }
            tokio::select! {
                biased;
                () = &mut passed => return Ok(()),
                () = changed => {}
            }
        }
    }

    /// Returns the internal error for a record from which a watcher cannot make its frames.
    fn broken_record_error(&self, problem: impl Into<String>) -> Error {
        self.internal(InvalidEvent(problem.into()))
    }
}

impl Watcher {
    /// Waits for the next frame, without a timeout. Returns false after the last frame, if the host has closed the match or
    /// all its episodes have been played.
    ///
    /// # Errors
    /// The match was closed for another reason; the server no longer keeps the frame; the journal cannot be written.
    pub async fn wait(&mut self) -> Result<bool, Error> {
        let arbiter = Arc::clone(&self.arbiter);
        while self.frame.is_none() {
            let mut changed = pin!(arbiter.change_notify.notified());
            changed.as_mut().enable();
            match self.poll()? {
                NextFrame::Closed => return Ok(false),
                NextFrame::Pending => changed.await,
                NextFrame::Ready(position) => {
                    wait_until_written(position).await?;
                    let (frame, at) = self.advance()?;
                    arbiter.wait_until_visible(at).await?;
                    self.frame = Some(frame);
                }
            }
        }
        Ok(true)
    }

    /// Returns the frame that [`wait`](Self::wait) has made, with a picture of it if `with_picture` is set.
    ///
    /// # Errors
    /// The caller did not call `wait` first.
    pub fn take_frame(&mut self, with_picture: bool) -> Result<(Frame, Option<v1::Depiction>), Error> {
        let frame = self
            .frame
            .take()
            .ok_or_else(|| self.arbiter.broken_record_error("take_frame was called before wait"))?;
        self.after_sequence = frame.sequence;
        let picture = |(_, replayer): &(Record, Replayer)| {
            replayer.draw_frame(&self.arbiter.table, Viewer::Public, &frame)
        };
        let depiction = self.episode.as_ref().filter(|_| with_picture).map(picture).transpose();
        let depiction = depiction.map_err(|error| self.arbiter.internal(error))?;
        Ok((frame, depiction))
    }

    /// Looks for the next frame, and copies the new entries of the match's record.
    fn poll(&mut self) -> Result<NextFrame, Error> {
        let inner = self.arbiter.lock();
        let (state, next) = (&inner.state, self.after_sequence + 1);
        let Some(record) = state.records().find(|record| next < record.next_sequence()) else {
            return match &state.closed {
                None => Ok(NextFrame::Pending),
                Some(CloseReason::Host | CloseReason::Finished) => Ok(NextFrame::Closed),
                Some(_) => self.arbiter.require_open(&inner).map(|()| NextFrame::Closed),
            };
        };
        if next < record.first_sequence {
            return Err(Error::FramesGone { after: self.after_sequence, oldest: record.first_sequence });
        }
        match &mut self.episode {
            Some((copy, _)) if copy.episode == record.episode => {
                copy.moves.extend_from_slice(&record.moves[copy.moves.len()..]);
                (copy.forfeited, copy.last_action_at) = (record.forfeited, record.last_action_at);
            }
            episode => *episode = Some((record.clone(), Replayer::new(&self.arbiter.table, record))),
        }
        Ok(NextFrame::Ready(inner.journal_position()))
    }

    /// Makes the next frame. Returns it with the time at which its position was reached.
    fn advance(&mut self) -> Result<(Frame, SystemTime), Error> {
        let Self { arbiter, after_sequence, episode, .. } = self;
        let (record, replayer) =
            episode.as_mut().ok_or_else(|| arbiter.broken_record_error("advance was called before poll"))?;
        loop {
            let frame = replayer.advance(&arbiter.table, record, Viewer::Public, VisibleDecisions::Own);
            match frame.map_err(|error| arbiter.internal(error))? {
                Some(frame) if frame.sequence <= *after_sequence => {}
                Some(frame) => {
                    let at = record.frame_time(frame.sequence);
                    return Ok((frame, at));
                }
                None => {
                    return Err(
                        arbiter.broken_record_error(format!("there is no frame {}", *after_sequence + 1))
                    );
                }
            }
        }
    }
}
