//! Spectators: the public's view of every position, one after another.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use boardwire_api::{Error, v1};
use boardwire_batch::tables::Table;
use boardwire_kernel::{Seat, Viewer};

use super::log::{Mark, written};
use super::{Arbiter, CloseReason, Frame, Role};
use crate::record::{InvalidEvent, Record, Replayer, ShownDecisions};
use crate::secret;

/// Somebody who watches a match. It takes frames when it has room for them, and nothing waits for it: whatever it has not
/// taken yet is made from the match's record when it does.
pub struct Watcher {
    arbiter: Arc<Arbiter>,
    /// The number of the frame shown last.
    after: u64,
    /// The episode that is shown, played once more, with as much of its record as is known.
    shown: Option<(Record, Replayer)>,
    /// The frame that is to be shown next, once it may be.
    next: Option<Frame>,
}

/// Somebody who looks at a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Who created it: sees what the public may, at once.
    Host,
    /// An agent at a seat.
    Seat(Seat),
    /// Anybody else.
    Public,
}

impl Audience {
    /// Whose view it is shown.
    pub(super) fn viewer(self) -> Viewer {
        match self {
            Self::Host | Self::Public => Viewer::Public,
            Self::Seat(seat) => seat.into(),
        }
    }

    /// Whether it takes part in the match: it is shown without delay, and drawn seeds once their episode is over.
    #[must_use]
    pub fn belongs(self) -> bool {
        self != Self::Public
    }
}

/// What there is for a watcher.
enum NextFrame {
    /// The frame after the last, when this has been written.
    Next(Mark),
    /// Nothing yet.
    Nothing,
    /// Nothing any more.
    End,
}

impl Arbiter {
    /// As whom the holder of a token looks at the match. Without a token anybody may look as the public does, unless the match
    /// is private; and with a spectator's even then.
    ///
    /// # Errors
    /// A private match without a token, or a token that is none of this match's.
    pub fn audience(&self, token: Option<&str>) -> Result<Audience, Error> {
        let is_spectator = |token| secret::digest(token) == self.name.spectator.digest;
        if token.map_or(!self.settings.private, is_spectator) {
            return Ok(Audience::Public);
        }
        Ok(match self.role(token)? {
            Role::Seat(seat) => Audience::Seat(seat),
            Role::Host => Audience::Host,
        })
    }

    /// The spectators' token; empty after a restart.
    #[must_use]
    pub fn spectator_token(&self) -> &str {
        &self.name.spectator.secret
    }

    /// Lets somebody watch, from after the frame with this number, or from the present position on.
    ///
    /// # Errors
    /// A frame that is still to come.
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
        Ok(Watcher { arbiter: Arc::clone(self), after, shown: None, next: None })
    }
}

impl Watcher {
    /// Waits for the next frame, however long that takes; false when the host has closed the match, or all its episodes have been played, and
    /// all has been shown.
    ///
    /// # Errors
    /// A match that has ended otherwise, frames that are not kept any more, a journal that cannot be written.
    pub async fn wait(&mut self) -> Result<bool, Error> {
        let arbiter = Arc::clone(&self.arbiter);
        while self.next.is_none() {
            let mut changed = pin!(arbiter.changed.notified());
            changed.as_mut().enable();
            match self.look()? {
                NextFrame::End => return Ok(false),
                NextFrame::Nothing => changed.await,
                NextFrame::Next(mark) => {
                    written(mark).await?;
                    let frame = self.advance()?;
                    arbiter.wait_until_shown(self.at(&frame)).await?;
                    self.next = Some(frame);
                }
            }
        }
        Ok(true)
    }

    /// The frame that has been waited for, and how people look at it if that is asked for.
    ///
    /// # Errors
    /// Nobody has waited.
    pub fn show(&mut self, depict: bool) -> Result<(Frame, Option<v1::Depiction>), Error> {
        let frame = self.next.take().ok_or_else(|| lost(&self.arbiter.table, "nothing was waited for"))?;
        self.after = frame.sequence;
        let depiction = if depict { Some(self.depict(&frame)?) } else { None };
        Ok((frame, depiction))
    }

    /// Looks what there is, and takes over what is new in the record.
    fn look(&mut self) -> Result<NextFrame, Error> {
        let inner = self.arbiter.lock();
        let (state, next) = (&inner.state, self.after + 1);
        let Some(record) = state.records().find(|record| next < record.end()) else {
            return match &state.closed {
                None => Ok(NextFrame::Nothing),
                Some(CloseReason::Host | CloseReason::Finished) => Ok(NextFrame::End),
                Some(_) => self.arbiter.check_open(&inner).map(|()| NextFrame::End),
            };
        };
        if next < record.first {
            let (after, oldest) = (self.after, record.first);
            return Err(Error::FramesGone { after, oldest });
        }
        match &mut self.shown {
            Some((known, _)) if known.episode == record.episode => {
                known.moves.extend_from_slice(&record.moves[known.moves.len()..]);
                (known.forfeited, known.acted) = (record.forfeited, record.acted);
            }
            shown => *shown = Some((record.clone(), Replayer::new(&self.arbiter.table, record))),
        }
        Ok(NextFrame::Next(inner.mark()))
    }

    /// When the position of a frame came about.
    fn at(&self, frame: &Frame) -> SystemTime {
        self.shown.as_ref().map_or(SystemTime::UNIX_EPOCH, |(record, _)| record.at(frame.sequence))
    }

    /// The frame after the last one shown, which is there.
    fn advance(&mut self) -> Result<Frame, Error> {
        let (table, after) = (&self.arbiter.table, self.after);
        let (record, retrace) = self.shown.as_mut().ok_or_else(|| lost(table, "nothing is shown"))?;
        loop {
            let frame = retrace.advance(table, record, Viewer::Public, ShownDecisions::Own);
            match frame.map_err(|InvalidEvent(what)| lost(table, what))? {
                Some(frame) if frame.sequence <= after => {}
                Some(frame) => return Ok(frame),
                None => return Err(lost(table, format!("there is no frame {}", after + 1))),
            }
        }
    }

    /// How people look at the frame shown last.
    fn depict(&self, frame: &Frame) -> Result<v1::Depiction, Error> {
        let table = &self.arbiter.table;
        let (_, retrace) = self.shown.as_ref().ok_or_else(|| lost(table, "nothing is shown"))?;
        retrace.depict(table, Viewer::Public, frame).map_err(|InvalidEvent(what)| lost(table, what))
    }
}

/// A match whose record does not lead to what has been shown.
fn lost(table: &Table, what: impl Into<String>) -> Error {
    Error::Internal { place: table.rules.info().id.to_owned(), what: what.into() }
}

impl Arbiter {
    /// Waits until spectators may see what came about `at` a time, unless the server stops. However the system's clock is set, it
    /// waits no longer than the delay.
    async fn wait_until_shown(&self, at: SystemTime) -> Result<(), Error> {
        let left =
            (at + self.settings.watch_delay).duration_since(SystemTime::now()).unwrap_or(Duration::ZERO);
        let left = left.min(self.settings.watch_delay);
        // Even no time at all would take until the timer's next tick, a millisecond for every frame.
        if left.is_zero() {
            return Ok(());
        }
        let mut passed = pin!(tokio::time::sleep(left));
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            {
                let inner = self.lock();
                if inner.state.closed == Some(CloseReason::ShuttingDown) {
                    return self.check_open(&inner);
                }
            }
            tokio::select! {
                biased;
                () = &mut passed => return Ok(()),
                () = changed => {}
            }
        }
    }
}
