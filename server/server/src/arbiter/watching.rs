//! Spectators: they see the public view of every position, in order.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use boardwire_api::{Error, v1};
use boardwire_kernel::{Seat, Viewer};

use super::log::{Mark, written};
use super::{Arbiter, CloseReason, Frame, Role};
use crate::record::{InvalidEvent, Record, Replayer, ShownDecisions};
use crate::secret;

/// A spectator of a match. The match never waits for it, and queues nothing for it. The watcher makes each frame from the
/// match's record when its caller asks for it.
pub struct Watcher {
    arbiter: Arc<Arbiter>,
    /// The sequence number of the last frame shown.
    after: u64,
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
    pub fn belongs(self) -> bool {
        self != Self::Public
    }
}

enum NextFrame {
    /// There is a next frame; the watcher may show it when the journal has written up to this mark.
    Ready(Mark),
    /// The next frame does not exist yet.
    Pending,
    /// The match is closed.
    End,
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
        let last = {
            let state = &self.lock().state;
            let shown = state.shown(self.settings.watch_delay);
            shown.map_or(state.present.end(), |record| record.end()) - 1
        };
        let after = after.unwrap_or(last.saturating_sub(1));
        if after > last {
            return Err(Error::field("after", after, format!("{last} or less")));
        }
        Ok(Watcher { arbiter: Arc::clone(self), after, episode: None, frame: None })
    }

    /// Waits until spectators may see a position that was reached at time `at`, or until the server stops. The call never
    /// waits longer than the delay, even if the system's clock is set back.
    async fn wait_until_shown(&self, at: SystemTime) -> Result<(), Error> {
        let delay = self.settings.watch_delay;
        let left = (at + delay).duration_since(SystemTime::now()).unwrap_or(Duration::ZERO).min(delay);
        // The timer waits at least until its next tick, which would cost a millisecond for every frame.
        if left.is_zero() {
            return Ok(());
        }
        let mut passed = pin!(tokio::time::sleep(left));
        loop {
            let mut changed = pin!(self.changed.notified());
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
    fn lost(&self, what: impl Into<String>) -> Error {
        self.internal(InvalidEvent(what.into()))
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
            let mut changed = pin!(arbiter.changed.notified());
            changed.as_mut().enable();
            match self.poll()? {
                NextFrame::End => return Ok(false),
                NextFrame::Pending => changed.await,
                NextFrame::Ready(mark) => {
                    written(mark).await?;
                    let (frame, at) = self.advance()?;
                    arbiter.wait_until_shown(at).await?;
                    self.frame = Some(frame);
                }
            }
        }
        Ok(true)
    }

    /// Returns the frame that [`wait`](Self::wait) has made, with a picture of it if `depict` is set.
    ///
    /// # Errors
    /// The caller did not call `wait` first.
    pub fn show(&mut self, depict: bool) -> Result<(Frame, Option<v1::Depiction>), Error> {
        let frame = self.frame.take().ok_or_else(|| self.arbiter.lost("no frame was waited for"))?;
        self.after = frame.sequence;
        let picture =
            |(_, replayer): &(Record, Replayer)| replayer.depict(&self.arbiter.table, Viewer::Public, &frame);
        let depiction = self.episode.as_ref().filter(|_| depict).map(picture).transpose();
        let depiction = depiction.map_err(|error| self.arbiter.internal(error))?;
        Ok((frame, depiction))
    }

    /// Looks for the next frame, and copies the new entries of the match's record.
    fn poll(&mut self) -> Result<NextFrame, Error> {
        let inner = self.arbiter.lock();
        let (state, next) = (&inner.state, self.after + 1);
        let Some(record) = state.records().find(|record| next < record.end()) else {
            return match &state.closed {
                None => Ok(NextFrame::Pending),
                Some(CloseReason::Host | CloseReason::Finished) => Ok(NextFrame::End),
                Some(_) => self.arbiter.check_open(&inner).map(|()| NextFrame::End),
            };
        };
        if next < record.first {
            return Err(Error::FramesGone { after: self.after, oldest: record.first });
        }
        match &mut self.episode {
            Some((copy, _)) if copy.episode == record.episode => {
                copy.moves.extend_from_slice(&record.moves[copy.moves.len()..]);
                (copy.forfeited, copy.acted) = (record.forfeited, record.acted);
            }
            episode => *episode = Some((record.clone(), Replayer::new(&self.arbiter.table, record))),
        }
        Ok(NextFrame::Ready(inner.mark()))
    }

    /// Makes the next frame. Returns it with the time at which its position was reached.
    fn advance(&mut self) -> Result<(Frame, SystemTime), Error> {
        let Self { arbiter, after, episode, .. } = self;
        let (record, replayer) = episode.as_mut().ok_or_else(|| arbiter.lost("no episode is shown"))?;
        loop {
            let frame = replayer.advance(&arbiter.table, record, Viewer::Public, ShownDecisions::Own);
            match frame.map_err(|error| arbiter.internal(error))? {
                Some(frame) if frame.sequence <= *after => {}
                Some(frame) => {
                    let at = record.frame_time(frame.sequence);
                    return Ok((frame, at));
                }
                None => return Err(arbiter.lost(format!("there is no frame {}", *after + 1))),
            }
        }
    }
}
