use std::net::Ipv4Addr;

use futures_util::FutureExt as _;
use tonic::body::Body as Sent;

use super::super::room::Budget;
use super::*;
use crate::batches::Peer;

fn bounds() -> Bounds {
    Bounds { calls: 2, streams: 1, ..Bounds::default() }
}

fn request(kind: Kind) -> Request<()> {
    let mut request = Request::new(());
    request.extensions_mut().insert(Method { kind, message_bytes: 1 });
    request
}

/// What a service that answers at once says to a call.
fn answer(permits: &Permits, kind: Kind) -> Response<Held<Sent>> {
    let inner = tower::service_fn(|_| future::ready(Ok(Response::new(Sent::empty()))));
    let answered = Limited::new(inner, permits.clone()).call(request(kind)).now_or_never();
    answered.expect("it answers at once").expect("it cannot fail")
}

fn is_refused<B>(response: &Response<B>) -> bool {
    response.headers().get("grpc-status").is_some_and(|status| status == "8")
}

#[test]
fn a_permit_is_held_until_the_response_has_been_sent() {
    let permits = Permits::new(&bounds());
    let held = [answer(&permits, Kind::Call), answer(&permits, Kind::Call)];
    assert!(!held.iter().any(is_refused));
    assert!(is_refused(&answer(&permits, Kind::Call)));
    drop(held);
    assert!(!is_refused(&answer(&permits, Kind::Call)));
}

#[test]
fn streams_and_health_checks_have_permits_of_their_own() {
    let permits = Permits::new(&bounds());
    let calls = [answer(&permits, Kind::Call), answer(&permits, Kind::Call)];
    let stream = answer(&permits, Kind::Stream);
    assert!(!is_refused(&stream));
    assert!(is_refused(&answer(&permits, Kind::Stream)));
    let checks: Vec<_> = (0..HEALTH_CHECKS).map(|_| answer(&permits, Kind::Health)).collect();
    assert!(!checks.iter().any(is_refused));
    assert!(is_refused(&answer(&permits, Kind::Health)));
    drop((calls, stream));
}

#[test]
fn a_call_that_is_given_up_gives_its_permit_back() {
    let permits = Permits::new(&bounds());
    let inner = tower::service_fn(|_| futures_util::future::pending::<Result<Response<Sent>, _>>());
    let mut limited = Limited::new(inner, permits.clone());
    let calls = [limited.call(request(Kind::Call)), limited.call(request(Kind::Call))];
    assert!(is_refused(&answer(&permits, Kind::Call)));
    drop(calls);
    assert!(!is_refused(&answer(&permits, Kind::Call)));
}

fn from(host: u32, kind: Kind) -> Request<()> {
    let mut request = request(kind);
    let origin = Origin::host(Ipv4Addr::from_bits(host).into());
    request.extensions_mut().insert(Caller::new(Peer(1), origin, Budget::new(1, 1)));
    request
}

#[test]
fn rates_are_those_of_one_caller() {
    let rates = Rates::new(3);
    let refused = |host, kind| rates.check(&from(host, kind)).is_err();
    assert_eq!([1, 1, 1, 1, 2].map(|host| refused(host, Kind::Call)), [false, false, false, true, false]);
    assert!(!refused(1, Kind::Health), "the health of the server is always told");
    let unlimited = Rates::new(0);
    assert!((0..1_000).all(|_| unlimited.check(&from(1, Kind::Call)).is_ok()));
}

#[test]
fn callers_are_forgotten() {
    // A caller whose calls are far below its rate is not remembered.
    let rates = Rates::new(1_000_000_000);
    for host in 0..10_000 {
        rates.forget();
        rates.check(&from(host, Kind::Call)).expect("its first");
    }
    let remembered = rates.0.as_ref().expect("there is a limit").by_origin.len();
    assert!(remembered <= ORIGINS + 1, "{remembered} callers");
}
