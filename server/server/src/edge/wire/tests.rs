use std::future::poll_fn;

use boardwire_api::v1::{ObserveRequest, RunBatchResponse, StepBatchResponse, run_batch_response};
use futures_util::StreamExt as _;
use http_body::Body as _;
use http_body_util::StreamBody;

use super::super::ledger::MemoryLedger;
use super::*;
use crate::origin::Origin;
use crate::status;

fn budget(connection_bytes: usize) -> Arc<ConnectionBudget> {
    MemoryLedger::new(connection_bytes, 1 << 40).budget(Origin::Unknown)
}

fn framed(message: &[u8]) -> Vec<u8> {
    let mut framed = vec![0];
    framed.extend(u32::try_from(message.len()).expect("the message is short").to_be_bytes());
    framed.extend(message);
    framed
}

/// Creates a request stream whose bytes arrive in these pieces.
fn requests(limit: usize, budget: &Arc<ConnectionBudget>, pieces: &[&[u8]]) -> RequestStream {
    let pieces: Vec<_> = pieces.iter().map(|piece| Bytes::copy_from_slice(piece)).collect();
    let frames = stream::iter(pieces.into_iter().map(|piece| Ok::<_, Infallible>(Frame::data(piece))));
    RequestStream::new(Body::new(StreamBody::new(frames)), limit, Duration::from_secs(10), Arc::clone(budget))
}

/// Returns a request with a match id of this size.
fn request_with_id_of(bytes: usize) -> ObserveRequest {
    ObserveRequest { match_id: "x".repeat(bytes), ..ObserveRequest::default() }
}

#[tokio::test]
async fn messages_are_read_from_pieces_of_any_size() {
    let sent = [
        request_with_id_of(90),
        ObserveRequest::default(),
        ObserveRequest::default(),
        request_with_id_of(1),
        request_with_id_of(80),
    ];
    let bytes: Vec<u8> = sent.iter().flat_map(|message| framed(&message.encode_to_vec())).collect();
    for piece in 1..=bytes.len() {
        let pieces: Vec<_> = bytes.chunks(piece).collect();
        let mut requests = requests(100, &budget(1_000), &pieces);
        for message in &sent {
            assert_eq!(requests.next().await, Ok(Some(message.clone())), "pieces of {piece}");
        }
        assert_eq!(requests.next::<ObserveRequest>().await, Ok(None));
    }
}

#[tokio::test]
async fn a_too_long_message_is_refused_after_its_prefix() {
    let long = framed(&[0; 101]);
    let result = requests(100, &budget(1_000), &[&long[..PREFIX_BYTES]]).one::<ObserveRequest>().await;
    assert_eq!(result, Err(Error::MessageTooLarge { bytes: 101, limit: 100 }));
}

#[tokio::test]
async fn malformed_messages_are_refused() {
    for (sent, problem) in [
        (&b"\0\0\0\0"[..], "ended in the middle"),
        (b"\0\0\0\0\x05abc", "ended in the middle"),
        (b"\0\0\0\0\x01\xff", "failed to decode"),
        (b"\x01\0\0\0\0", "its compression flag is 1"),
    ] {
        match requests(100, &budget(1_000), &[sent]).one::<ObserveRequest>().await {
            Err(Error::MessageUndecodable { problem: text }) => assert!(text.contains(problem), "{text}"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(requests(100, &budget(1), &[]).one::<ObserveRequest>().await, Err(Error::MessageMissing));
}

/// A client may announce a long message and send nothing of it.
#[tokio::test]
async fn bytes_are_charged_as_they_arrive() {
    let (limit, message) = (1 << 20, framed(&request_with_id_of(600_000).encode_to_vec()));
    let budget = budget(limit);
    let pieces: Vec<_> = message.chunks(10_000).collect();
    for (arrived, maximum) in [(1, 30_000), (10, 300_000), (pieces.len(), message.len())] {
        let mut requests = requests(1 << 20, &budget, &pieces[..arrived]);
        let read = requests.one::<ObserveRequest>().await;
        assert_eq!(read.is_ok(), arrived == pieces.len());
        let charged = limit - budget.free();
        assert!(
            ((arrived - 1) * 10_000..=maximum).contains(&(charged + REQUEST_BYTES)),
            "{charged} after {arrived} pieces"
        );
        drop(requests);
        assert_eq!(budget.free(), limit);
    }
    let _charge = budget.try_reserve(limit).expect("there is room");
    let result = requests(1 << 20, &budget, &pieces).one::<ObserveRequest>().await;
    assert_eq!(result, Err(Error::BytesFull { limit }));
    let small = framed(&request_with_id_of(100).encode_to_vec());
    assert_eq!(
        requests(1 << 20, &budget, &[&small]).one().await,
        Ok(request_with_id_of(100)),
        "the charge for the call covers it"
    );
}

/// A stream may stay open long after a large message.
#[tokio::test]
async fn reading_the_next_message_frees_the_buffer_of_a_large_one() {
    let (large, small) = (request_with_id_of(600_000), request_with_id_of(3));
    let message = framed(&large.encode_to_vec());
    // The start of the next message arrives with the end of the large one.
    let (start, rest) =
        (&message[..590_000], [&message[590_000..], &framed(&small.encode_to_vec())[..4]].concat());
    let mut requests =
        requests(1 << 20, &budget(1 << 20), &[start, &rest, &framed(&small.encode_to_vec())[4..]]);
    assert_eq!(requests.next().await, Ok(Some(large)));
    assert!(requests.charge.is_some());
    assert_eq!(requests.next().await, Ok(Some(small)));
    assert!(requests.charge.is_none());
    assert!(!requests.buffer.try_reclaim(100_000), "the buffer is still allocated");
}

/// The timeout is one second, and one more for each 64 KiB that have arrived.
#[tokio::test(start_paused = true)]
async fn a_message_that_arrives_too_slowly_times_out() {
    let message = framed(&request_with_id_of(200_000).encode_to_vec());
    let read = async |pause: Duration, is_single: bool| {
        let pieces: Vec<_> = message.chunks(10_000).map(Bytes::copy_from_slice).collect();
        let frames = stream::iter(pieces).then(move |piece| async move {
            tokio::time::sleep(pause).await;
            Ok::<_, Infallible>(Frame::data(piece))
        });
        let body = Body::new(StreamBody::new(Box::pin(frames)));
        let mut requests = RequestStream::new(body, 1 << 20, Duration::from_secs(1), budget(1 << 20));
        let message: Option<ObserveRequest> =
            if is_single { Some(requests.one().await?) } else { requests.next().await? };
        assert_eq!(message, Some(request_with_id_of(200_000)));
        Ok(())
    };
    assert_eq!(read(Duration::from_millis(150), true).await, Ok(()));
    assert_eq!(read(Duration::from_millis(300), true).await, Err(Error::TimedOut));
    assert_eq!(read(Duration::from_millis(300), false).await, Err(Error::TimedOut));
    // The time between the messages of a stream has no limit.
    let late = stream::once(async {
        tokio::time::sleep(Duration::from_hours(1)).await;
        Ok::<_, Infallible>(Frame::data(Bytes::from(framed(&request_with_id_of(1).encode_to_vec()))))
    });
    let body = Body::new(StreamBody::new(Box::pin(late)));
    let mut requests = RequestStream::new(body, 1 << 20, Duration::from_secs(1), budget(1 << 20));
    assert_eq!(requests.next().await, Ok(Some(request_with_id_of(1))));
}

fn rows(rows: usize) -> Step {
    let column = |width: usize| (0..rows * width).map(|at| u8::try_from(at % 251).unwrap_or(0)).collect();
    Step {
        first: 3,
        sequence: 300,
        seat: column(1),
        flags: column(1),
        ply: column(4),
        reward: column(8),
        mask: column(15),
        episode: Bytes::new(),
        ended: column(1),
        scores: Bytes::new(),
        ranks: column(2),
        final_view: column(3),
        advice: column(1),
        advice_shares: Bytes::new(),
        oracle: column(248),
        oracle_mask: Bytes::new(),
        estimates: Bytes::new(),
        view: column(124),
    }
}

fn step(rows: Step, tag: Option<u32>) -> EncodedMessage {
    EncodedMessage::step(budget(1).charge_unchecked(0), rows, tag).expect("the message is short")
}

/// Sends a response. Returns its messages as bytes, and the trailers.
async fn send(messages: Vec<Result<EncodedMessage, Error>>) -> (Vec<Vec<u8>>, HeaderMap) {
    let reply = Reply::stream(stream::iter(messages));
    let mut body = ResponseBody::respond(Ok(reply), &budget(1), None, &Span::none()).into_body();
    let (mut bytes, mut messages) = (vec![], vec![]);
    loop {
        let frame = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await;
        let Ok(frame) = frame.expect("trailers come last");
        match frame.into_data() {
            Ok(data) => bytes.extend_from_slice(&data),
            Err(frame) => {
                while !bytes.is_empty() {
                    let (prefix, rest) = bytes.split_at(PREFIX_BYTES);
                    let length = u32::from_be_bytes(prefix[1..].try_into().expect("four bytes"));
                    let (message, rest) = rest.split_at(length as usize);
                    messages.push(message.to_vec());
                    bytes = rest.to_vec();
                }
                assert!(body.is_end_stream());
                assert!(poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await.is_none());
                return (messages, frame.into_trailers().expect("the only other kind"));
            }
        }
    }
}

#[tokio::test]
async fn a_step_is_sent_as_prost_encodes_it() {
    // The views of the first three steps are copied. The views of the last two are not.
    for count in [1, 100, 528, 529, 5_000] {
        let (messages, trailers) = send(vec![Ok(step(rows(count), None))]).await;
        let expected = StepBatchResponse { step: Some(rows(count)) };
        assert_eq!(messages, [expected.encode_to_vec()], "{count} rows");
        assert_eq!(trailers["grpc-status"], "0");
    }
}

/// Protobuf allows any order of fields; the views are always last.
#[tokio::test]
async fn columns_with_higher_field_numbers_are_sent_before_the_views() {
    for count in [1, 5_000] {
        let (advice_shares, oracle_mask) =
            (Bytes::from(vec![7; 400 * count]), Bytes::from(vec![8; 30 * count]));
        let wide =
            || Step { advice_shares: advice_shares.clone(), oracle_mask: oracle_mask.clone(), ..rows(count) };
        let (messages, _) = send(vec![Ok(step(wide(), None))]).await;
        let message = StepBatchResponse::decode(messages[0].as_slice()).expect("the message is valid");
        assert_eq!(message.step, Some(wide()));
    }
}

#[tokio::test]
async fn a_response_is_charged_until_its_last_byte_has_been_sent() {
    // The views of the first step are copied. The views of the second are not.
    for count in [1, 5_000] {
        let budget = budget(10_000_000);
        let charge = budget.reserve(5_000_000).await.expect("there is room");
        let EncodedMessage { first_frame, views } =
            EncodedMessage::step(charge, rows(count), None).expect("the message is short");
        let bytes = first_frame.len() + views.len();
        assert_eq!(budget.free(), 10_000_000 - bytes - FRAME_BYTES, "{count} rows wait");
        drop(first_frame);
        drop(views);
        assert_eq!(budget.free(), 10_000_000, "{count} rows have been sent");
    }
}

#[tokio::test]
async fn a_message_longer_than_clients_accept_is_refused() {
    let columns = Step { view: vec![0; MAX_MESSAGE_BYTES].into(), ..Step::default() };
    let result = EncodedMessage::step(budget(1).charge_unchecked(0), columns, None);
    assert!(matches!(result, Err(Error::MessageTooLarge { .. })), "{result:?}");
}

#[tokio::test]
async fn messages_are_sent_in_order_and_an_error_ends_them() {
    let error = status::message(&Error::EnvironmentOver { environment: 3 });
    let refused = RunBatchResponse { tag: 7, answer: Some(run_batch_response::Answer::Error(error)) };
    let encoded = |tag| {
        let answer = run_batch_response::Answer::Step(rows(900));
        RunBatchResponse { tag, answer: Some(answer) }.encode_to_vec()
    };
    let (messages, trailers) = send(vec![
        Ok(step(rows(900), Some(0))),
        EncodedMessage::new(budget(1).charge_unchecked(0), &refused),
        Ok(step(rows(900), Some(u32::MAX))),
        Err(Error::TimedOut),
        Ok(step(rows(1), Some(1))),
    ])
    .await;
    assert_eq!(messages, [encoded(0), refused.encode_to_vec(), encoded(u32::MAX)]);
    assert_eq!(trailers["grpc-status"], "4");
}

#[tokio::test]
async fn a_stream_that_panics_ends_with_a_status() {
    let messages = stream::iter(0..3).map(|at| {
        assert!(at < 1, "a secret");
        EncodedMessage::new(budget(1).charge_unchecked(0), &request_with_id_of(3))
    });
    let mut body =
        ResponseBody::respond(Ok(Reply::stream(messages)), &budget(1), None, &Span::none()).into_body();
    let mut frames = vec![];
    while let Some(Ok(frame)) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        frames.push(frame);
    }
    assert_eq!(frames.len(), 2);
    let trailers = frames.pop().and_then(|frame| frame.into_trailers().ok()).expect("trailers come last");
    assert_eq!(trailers["grpc-status"], "13");
    assert!(!format!("{trailers:?}").contains("secret"));
}

#[tokio::test]
async fn an_error_is_charged_until_it_has_been_sent() {
    let ledger = MemoryLedger::new(0, 1 << 20);
    let budget = ledger.budget(Origin::Unknown);
    let response = ResponseBody::respond(Err(Error::TimedOut), &budget, None, &Span::none());
    let (parts, body) = response.into_parts();
    assert!(body.is_end_stream());
    drop(body);
    assert!(ledger.charged() > FRAME_BYTES);
    drop(parts);
    assert_eq!(ledger.charged(), 0);
}
