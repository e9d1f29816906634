//! Retries: an agent repeats a request after a lost connection, or when the server is busy.

use std::time::{Duration, Instant};

use boardwire_api::client::reason;
use boardwire_api::tonic::{Code, Request, Response, Status};

/// The timeout of one attempt.
const DEADLINE: Duration = Duration::from_secs(20);
/// The longest pause between two attempts.
const LONGEST: Duration = Duration::from_secs(5);

/// After this time without a failure, the count of failures in a row restarts.
const LONG_AGO: Duration = Duration::from_mins(1);

/// Counts failures in a row. The pause grows with each failure, and more than 10 failures are an error.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    failures: u32,
    last: Option<Instant>,
}

impl Patience {
    /// Waits until it is time to retry. Returns the status as an error if a retry cannot help.
    ///
    /// Every status of Boardwire has a reason. A status without a reason comes from the transport, whatever its code: Tonic
    /// reports a broken connection as `Unknown`.
    pub(crate) async fn wait(&mut self, status: Status) -> Result<(), Status> {
        // With `TIMED_OUT`, the server noticed the deadline before the client did.
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

/// Returns whether the agent must observe again: the host has ended or replaced the episode, or time has run out.
pub(crate) fn looks_again(refused: &Status) -> bool {
    let reason = reason(refused);
    matches!(reason.as_deref(), Some("DECISION_STALE" | "DECISION_LATE" | "EPISODE_OVER" | "NOT_YOUR_TURN"))
}

/// Retries a call until there is a response. Each attempt has a timeout. The method must be idempotent.
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

/// Returns the numbers, separated by spaces.
pub(crate) fn words<T: ToString>(numbers: &[T]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}
