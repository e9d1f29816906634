//! Retries: an agent repeats a request after a lost connection, or when the server is busy.

use std::time::{Duration, Instant};

use boardwire_api::client::error_reason;
use boardwire_api::tonic::{Code, Request, Response, Status};

/// The timeout of one attempt.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(20);
/// The longest pause between two attempts.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(5);

/// After this time without a failure, the count of consecutive failures restarts.
const FAILURE_RESET_INTERVAL: Duration = Duration::from_mins(1);

/// Counts consecutive failures. The pause grows with each failure, and more than 10 failures are an error.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
    last: Option<Instant>,
}

impl Backoff {
    /// Waits until it is time to retry. Returns the status as an error if a retry cannot help.
    ///
    /// Every status of Boardwire has a reason. A status without a reason comes from the transport, whatever its code: Tonic
    /// reports a broken connection as `Unknown`.
    pub(crate) async fn wait(&mut self, status: Status) -> Result<(), Status> {
        // With `TIMED_OUT`, the server noticed the deadline before the client did.
        let is_transient = matches!(status.code(), Code::Unavailable | Code::ResourceExhausted)
            || matches!(error_reason(&status).as_deref(), None | Some("TIMED_OUT"));
        if self.last.replace(Instant::now()).is_some_and(|last| last.elapsed() > FAILURE_RESET_INTERVAL) {
            self.failures = 0;
        }
        self.failures += 1;
        if !is_transient || self.failures > 10 {
            return Err(status);
        }
        tokio::time::sleep(MAX_RETRY_DELAY.min(Duration::from_millis(50 << self.failures))).await;
        Ok(())
    }
}

/// Returns how long `boardwire agent-check` asks the agent to wait before each action.
pub(crate) fn think_time() -> Duration {
    let seconds = std::env::var("BOARDWIRE_CHECK_THINK").ok().and_then(|given| given.parse().ok());
    Duration::from_secs_f64(seconds.unwrap_or_default())
}

/// Returns whether the agent must observe again: the host has ended or replaced the episode, or time has run out.
pub(crate) fn needs_observe(status: &Status) -> bool {
    let reason = error_reason(status);
    matches!(reason.as_deref(), Some("DECISION_STALE" | "DECISION_LATE" | "EPISODE_OVER" | "NOT_YOUR_TURN"))
}

/// Retries a call until there is a response. Each attempt has a timeout. The method must be idempotent.
pub(crate) async fn call_with_retry<Q: Clone, R>(
    request: &Q,
    call: impl AsyncFn(Request<Q>) -> Result<Response<R>, Status>,
) -> Result<R, Status> {
    let mut backoff = Backoff::default();
    loop {
        let mut attempt = Request::new(request.clone());
        attempt.set_timeout(ATTEMPT_TIMEOUT);
        match call(attempt).await {
            Ok(response) => return Ok(response.into_inner()),
            Err(status) => backoff.wait(status).await?,
        }
    }
}

/// Returns the numbers, separated by spaces.
pub(crate) fn join_with_spaces<T: ToString>(numbers: &[T]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}
