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
    request.extensions_mut().insert(Method {
        kind,
        message_bytes: 1,
        is_awaited: true,
        is_open: kind == Kind::Health,
    });
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

/// Calls that wait to be answered.
fn waiting(permits: &Permits, calls: impl IntoIterator<Item = Request<()>>) -> Vec<impl Future> {
    let inner = tower::service_fn(|_| future::pending::<Result<Response<Sent>, _>>());
    let mut limited = Limited::new(inner, permits.clone());
    calls.into_iter().map(|call| limited.call(call)).collect()
}

#[test]
fn a_stream_has_its_permit_until_it_has_ended_and_a_call_until_it_is_answered() {
    let permits = Permits::new(&bounds());
    let unread: Vec<_> = (0..9).map(|_| answer(&permits, Kind::Call)).collect();
    assert!(!unread.iter().any(is_refused), "answers that nobody reads keep no call out");
    let stream = answer(&permits, Kind::Stream);
    assert!(!is_refused(&stream));
    assert!(is_refused(&answer(&permits, Kind::Stream)));
    drop(stream);
    assert!(!is_refused(&answer(&permits, Kind::Stream)));
}

#[test]
fn streams_and_health_checks_have_permits_of_their_own() {
    let permits = Permits::new(&Bounds { calls: 0, ..bounds() });
    let stream = answer(&permits, Kind::Stream);
    assert!(!is_refused(&stream));
    assert!(is_refused(&answer(&permits, Kind::Call)));
    assert!(!is_refused(&answer(&permits, Kind::Health)));
}

#[test]
fn a_call_that_is_given_up_gives_its_permit_back() {
    let permits = Permits::new(&bounds());
    let calls = waiting(&permits, [request(Kind::Call), request(Kind::Call)]);
    assert!(is_refused(&answer(&permits, Kind::Call)));
    drop(calls);
    assert!(!is_refused(&answer(&permits, Kind::Call)));
}

#[test]
fn one_caller_leaves_a_quarter_to_others() {
    let permits = Permits::new(&Bounds { calls: 8, ..bounds() });
    let calls = waiting(&permits, (0..6).map(|_| from(1, Kind::Call)));
    let answer = |host: u32| {
        let inner = tower::service_fn(|_| future::ready(Ok(Response::new(Sent::empty()))));
        let answered = Limited::new(inner, permits.clone()).call(from(host, Kind::Call)).now_or_never();
        answered.expect("it answers at once").expect("it cannot fail")
    };
    assert!(is_refused(&answer(1)));
    assert!(!is_refused(&answer(2)));
    drop(calls);
    assert!(!is_refused(&answer(1)));
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
