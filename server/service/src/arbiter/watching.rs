//! Whoever watches a match: the public's view of every position, one after another.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use boardwire_batch::Refused;
use boardwire_kernel::Viewer;

use super::log::{Mark, written};
use super::record::{Record, Retrace, Shown};
use super::standing::Impossible;
use super::{Arbiter, CloseReason, Frame, Role};
use crate::error::ServiceError;
use crate::secret;

/// Somebody who watches a match. It takes frames when it has room for them, and nothing waits for it: whatever it has not
/// taken yet is made from the match's record when it does.
pub struct Watcher {
    arbiter: Arc<Arbiter>,
    /// The number of the frame shown last.
    after: u64,
    /// The episode that is shown, played once more, with as much of its record as is known.
    shown: Option<(Record, Retrace)>,
}

/// What there is for a watcher.
enum News {
    /// The frame after the last, when this has been written.
    Next(Mark),
    /// Nothing yet.
    Nothing,
    /// Nothing any more.
    End,
}

impl Arbiter {
    /// As whom the holder of a token looks at the match, and whether it is the host or a seat. Without a token anybody may
    /// look as the public does, unless the match is private; and with a spectator's even then.
    ///
    /// # Errors
    /// A private match without a token, or a token that is none of this match's.
    pub fn looks(&self, token: Option<&str>) -> Result<(Viewer, bool), ServiceError> {
        let is_spectator = |token| secret::digest(token) == self.name.spectator.digest;
        if token.map_or(!self.settings.private, is_spectator) {
            return Ok((Viewer::Public, false));
        }
        Ok(match self.role(token)? {
            Role::Seat(seat) => (seat.into(), true),
            Role::Host => (Viewer::Public, true),
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
    pub fn watch(self: &Arc<Self>, after: Option<u64>) -> Result<Watcher, ServiceError> {
        let last = self.lock().standing.present.end() - 1;
        let after = after.unwrap_or(last.saturating_sub(1));
        if after > last {
            let (value, expected) = (after.to_string(), format!("{last} or less"));
            return Err(Refused::BadField { field: "after", value, expected }.into());
        }
        Ok(Watcher { arbiter: Arc::clone(self), after, shown: None })
    }
}

impl Watcher {
    /// The next frame, however long that takes; none when the host has closed the match and all has been shown.
    ///
    /// # Errors
    /// A match that has ended otherwise, frames that are not kept any more, a journal that cannot be written.
    pub async fn next(&mut self) -> Result<Option<Frame>, ServiceError> {
        let arbiter = Arc::clone(&self.arbiter);
        loop {
            let mut changed = pin!(arbiter.changed.notified());
            changed.as_mut().enable();
            match self.look()? {
                News::End => return Ok(None),
                News::Nothing => changed.await,
                News::Next(mark) => {
                    written(mark).await?;
                    let frame = self.advance()?;
                    self.after = frame.sequence;
                    wait_until(frame.at + arbiter.settings.watch_delay).await;
                    return Ok(Some(frame));
                }
            }
        }
    }

    /// Looks what there is, and takes over what is new in the record.
    fn look(&mut self) -> Result<News, ServiceError> {
        let inner = self.arbiter.lock();
        let (standing, next) = (&inner.standing, self.after + 1);
        let Some(record) = standing.records().find(|record| next < record.end()) else {
            return match &standing.closed {
                None => Ok(News::Nothing),
                Some(CloseReason::Host) => Ok(News::End),
                Some(_) => self.arbiter.refuse_closed(&inner).map(|()| News::End),
            };
        };
        if next < record.first {
            let (after, oldest) = (self.after, record.first);
            return Err(ServiceError::FramesGone { after, oldest });
        }
        match &mut self.shown {
            Some((known, _)) if known.episode == record.episode => {
                known.moves.extend_from_slice(&record.moves[known.moves.len()..]);
                (known.forfeited, known.acted) = (record.forfeited, record.acted);
            }
            shown => *shown = Some((record.clone(), Retrace::new(&self.arbiter.table, record))),
        }
        Ok(News::Next(inner.mark()))
    }

    /// The frame after the last one shown, which is there.
    fn advance(&mut self) -> Result<Frame, ServiceError> {
        let place = || self.arbiter.table.rules.info().id.to_owned();
        let Some((record, retrace)) = &mut self.shown else {
            return Err(Refused::Internal { place: place(), what: "nothing is shown".to_owned() }.into());
        };
        loop {
            let frame = retrace.advance(&self.arbiter.table, record, Viewer::Public, Shown::Own);
            let frame = frame.map_err(|Impossible(what)| Refused::Internal { place: place(), what })?;
            match frame {
                Some(frame) if frame.sequence <= self.after => {}
                Some(frame) => return Ok(frame),
                None => {
                    let what = format!("there is no frame {}", self.after + 1);
                    return Err(Refused::Internal { place: place(), what }.into());
                }
            }
        }
    }
}

async fn wait_until(time: SystemTime) {
    let left = time.duration_since(SystemTime::now()).unwrap_or(Duration::ZERO);
    if !left.is_zero() {
        tokio::time::sleep(left).await;
    }
}
