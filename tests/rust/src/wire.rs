//! What any agent needs around the client: it repeats what a lost connection or a busy server left unanswered.

use std::time::{Duration, Instant};

use boardwire_api::client::reason;
use boardwire_api::tonic::{Code, Request, Response, Status};

/// How long a call may take.
const DEADLINE: Duration = Duration::from_secs(20);
/// The longest pause between two attempts.
const LONGEST: Duration = Duration::from_secs(5);

/// Failures longer ago than this are not in a row with the next.
const LONG_AGO: Duration = Duration::from_mins(1);

/// Bears failures in a row: waits longer after each, and gives up in the end.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    failures: u32,
    last: Option<Instant>,
}

impl Patience {
    /// Returns when it is time to try again; gives back a refusal, which would come again.
    ///
    /// Every status of Boardwire has a reason. One without comes from the transport, whatever its code: Tonic gives
    /// a broken connection as `Unknown`.
    pub(crate) async fn wait(&mut self, status: Status) -> Result<(), Status> {
        // The server tells of a deadline too, if it notices first.
        let passes = matches!(status.code(), Code::Unavailable | Code::ResourceExhausted)
            || matches!(reason(&status).as_deref(), None | Some("TIMED_OUT"));
        if self.last.replace(Instant::now()).is_some_and(|last| last.elapsed() > LONG_AGO) {
            self.failures = 0;
        }
        self.failures += 1;
        if !passes || self.failures > 10 {
            return Err(status);
        }
        tokio::time::sleep(LONGEST.min(Duration::from_millis(50 << self.failures))).await;
        Ok(())
    }
}

/// Whether the host has begun another episode, or ended this one, or time has run out: then an agent observes
/// again.
pub(crate) fn looks_again(refused: &Status) -> bool {
    let reason = reason(refused);
    matches!(reason.as_deref(), Some("DECISION_STALE" | "DECISION_LATE" | "EPISODE_OVER" | "NOT_YOUR_TURN"))
}

/// Calls until there is an answer, each time with a deadline: for methods that are safe to repeat.
pub(crate) async fn insist<Q: Clone, A>(
    request: &Q,
    call: impl AsyncFn(Request<Q>) -> Result<Response<A>, Status>,
) -> Result<A, Status> {
    let mut patience = Patience::default();
    loop {
        let mut attempt = Request::new(request.clone());
        attempt.set_timeout(DEADLINE);
        match call(attempt).await {
            Ok(answer) => return Ok(answer.into_inner()),
            Err(status) => patience.wait(status).await?,
        }
    }
}

/// Numbers as words.
pub(crate) fn words<T: ToString>(numbers: &[T]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}
