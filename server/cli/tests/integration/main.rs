//! Tests the server through its public interface and over real sockets.

mod batches;
mod callers;
mod dependencies;
mod edge;
mod server;
mod traces;

use tonic::{Request, Status};
use tonic_types::StatusExt as _;

fn with_token<T>(message: T, token: &str) -> Request<T> {
    let mut request = Request::new(message);
    let value = format!("Bearer {token}").parse().expect("a token is ASCII");
    request.metadata_mut().insert("authorization", value);
    request
}

fn reason(status: &Status) -> String {
    let info = status.get_details_error_info().expect("every status carries ErrorInfo");
    assert_eq!(info.domain, "boardwire.v1");
    info.reason
}
