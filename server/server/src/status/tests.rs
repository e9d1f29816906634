use boardwire_batch::Refused;
use boardwire_kernel::{Seat, SeatSet};

use super::*;

/// One of every kind, with its variant's name.
fn every_error() -> Vec<(&'static str, ServiceError)> {
    let word = || "x".to_owned();
    let last = [
        ("JournalFailed", ServiceError::JournalFailed { problem: word() }),
        ("ShuttingDown", Refused::ShuttingDown.into()),
        ("Internal", Refused::Internal { place: word(), what: "secret".to_owned() }.into()),
    ];
    [errors_of_services(), errors_of_batches(), errors_of_searches(), errors_of_the_edge(), last.into()]
        .concat()
}

fn errors_of_searches() -> Vec<(&'static str, ServiceError)> {
    let word = || "x".to_owned();
    let seat = Seat::new(1);
    vec![
        ("UnknownSearch", Refused::UnknownSearch { id: word() }.into()),
        ("SearchOwnerOnly", ServiceError::SearchOwnerOnly { id: word() }),
        (
            "WorldActionIllegal",
            Refused::WorldActionIllegal { row: 5, world: 6, seat, action: 3, label: word() }.into(),
        ),
        (
            "WorldActionOutOfRange",
            Refused::WorldActionOutOfRange { row: 5, world: 6, action: 200, actions: 113 }.into(),
        ),
        ("WorldOver", Refused::WorldOver { row: 5, world: 6 }.into()),
    ]
}

fn errors_of_the_edge() -> Vec<(&'static str, ServiceError)> {
    let word = || "x".to_owned();
    vec![
        ("UnknownService", ServiceError::UnknownService { service: word() }),
        ("UnknownMethod", ServiceError::UnknownMethod { service: word(), method: word() }),
        ("UnknownHealth", ServiceError::UnknownHealth),
        ("UnknownDescriptor", ServiceError::UnknownDescriptor { problem: word() }),
        ("Undecodable", ServiceError::Undecodable { problem: word() }),
        ("MissingMessage", ServiceError::MissingMessage),
        ("MessageTooLarge", ServiceError::MessageTooLarge { bytes: 9, limit: 7 }),
        ("UnsupportedCompression", ServiceError::UnsupportedCompression { problem: word() }),
        ("TimedOut", ServiceError::TimedOut),
        ("BytesFull", ServiceError::BytesFull { limit: 7 }),
        ("RateExceeded", ServiceError::RateExceeded { limit: 7, wait: Duration::ZERO }),
    ]
}

fn errors_of_services() -> Vec<(&'static str, ServiceError)> {
    let word = || "x".to_owned();
    let seat = Seat::new(1);
    vec![
        ("UnknownGame", Refused::UnknownGame { game: word(), known: word() }.into()),
        ("Seats", Refused::Seats { game: "faraway", given: 9, min: 2, max: 6 }.into()),
        ("UnknownOption", Refused::UnknownOption { game: "faraway", option: word(), known: word() }.into()),
        ("OptionValue", Refused::OptionValue { option: "variant", value: word(), expected: word() }.into()),
        ("UnknownBot", Refused::UnknownBot { seat: 1, given: word(), expected: word() }.into()),
        ("BadField", Refused::BadField { field: "page_token", value: word(), expected: word() }.into()),
        ("UnknownMatch", ServiceError::UnknownMatch { id: word() }),
        ("UnknownInvitation", ServiceError::UnknownInvitation),
        ("DecisionLate", ServiceError::DecisionLate { episode: 0, decision: 1 }),
        ("NotDealt", ServiceError::NotDealt { missing: SeatSet::EMPTY, what: "join" }),
        ("DealWithheld", ServiceError::DealWithheld { id: word(), seats: SeatSet::EMPTY }),
        ("FramesGone", ServiceError::FramesGone { after: 0, oldest: 1 }),
        ("InvitationUsed", ServiceError::InvitationUsed { id: word(), seat }),
        ("MissingToken", ServiceError::MissingToken),
        ("TokenTooLong", ServiceError::TokenTooLong { limit: 9 }),
        ("MissingCallerToken", ServiceError::MissingCallerToken),
        ("WrongCallerToken", ServiceError::WrongCallerToken),
        ("WrongToken", ServiceError::WrongToken { id: word() }),
        ("HostOnly", ServiceError::HostOnly { id: word() }),
        ("SeatOnly", ServiceError::SeatOnly { id: word() }),
        ("NotYourTurn", ServiceError::NotYourTurn { seat, pending: SeatSet::all(1) }),
        ("IllegalAction", ServiceError::IllegalAction { seat, action: 3, label: word() }),
        ("ActionOutOfRange", ServiceError::ActionOutOfRange { action: 300, actions: 113 }),
        (
            "StaleDecision",
            ServiceError::StaleDecision {
                expected_episode: 1,
                expected_decision: 2,
                episode: 0,
                decision: 9,
            },
        ),
        ("EpisodeOver", ServiceError::EpisodeOver { episode: 0 }),
        ("EpisodeNotOver", ServiceError::EpisodeNotOver { episode: 0 }),
        ("MatchClosed", ServiceError::MatchClosed { id: word() }),
        ("MatchExpired", ServiceError::MatchExpired { id: word(), seconds: 9 }),
        ("BotFailed", Refused::BotFailed { id: word(), seat, problem: word() }.into()),
        ("SeatBusy", ServiceError::SeatBusy { seat, limit: 16 }),
        ("RequestReused", ServiceError::RequestReused { request: uuid::Uuid::from_u128(7) }),
        ("CallerFull", ServiceError::CallerFull { what: "matches", limit: 7 }),
        ("UnknownToken", ServiceError::UnknownToken),
        ("TableFull", ServiceError::TableFull { limit: 7 }),
    ]
}

fn errors_of_batches() -> Vec<(&'static str, ServiceError)> {
    let word = || "x".to_owned();
    let seat = Seat::new(1);
    vec![
        ("UnknownBatch", Refused::UnknownBatch { id: word() }.into()),
        ("BatchOwnerOnly", ServiceError::BatchOwnerOnly { id: word() }),
        ("BatchesFull", ServiceError::BatchesFull { limit: 7 }),
        ("EnvironmentsFull", ServiceError::EnvironmentsFull { limit: 7, open: 5, asked: 3 }),
        (
            "BatchActionIllegal",
            Refused::BatchActionIllegal { environment: 5, seat, action: 3, label: word() }.into(),
        ),
        (
            "BatchActionOutOfRange",
            Refused::BatchActionOutOfRange { environment: 5, action: 200, actions: 113 }.into(),
        ),
        ("SequenceStale", Refused::SequenceStale { expected: 3, sequence: 9 }.into()),
        ("EnvironmentOver", Refused::EnvironmentOver { environment: 5 }.into()),
        ("SnapshotInvalid", Refused::SnapshotInvalid { problem: word() }.into()),
    ]
}

/// `NotFound` as `NOT_FOUND`.
fn upper_snake(code: Code) -> String {
    let name = format!("{code:?}");
    let mut upper = String::new();
    for (at, letter) in name.char_indices() {
        if at > 0 && letter.is_uppercase() {
            upper.push('_');
        }
        upper.push(letter.to_ascii_uppercase());
    }
    upper
}

#[test]
fn the_table_of_errors_is_what_is_sent() {
    let table = include_str!("../../../../tests/errors.tsv");
    let rows: Vec<&str> = table.lines().skip(1).collect();
    let errors = every_error();
    assert_eq!(rows.len(), errors.len(), "tests/errors.tsv and ServiceError differ in length");
    for (row, (variant, error)) in rows.iter().zip(errors) {
        let refusal = error.refusal();
        if let ServiceError::Refused(refused) = &error {
            assert_eq!(refused.refusal().code.name(), upper_snake(refusal.code), "{variant}");
        }
        let names: Vec<_> = refusal.metadata.iter().map(|(name, _)| *name).collect();
        let sent =
            format!("{variant}\t{}\t{}\t{}", upper_snake(refusal.code), refusal.reason, names.join(","));
        assert_eq!(*row, sent);
    }
}

#[test]
fn every_value_a_message_mentions_is_metadata() {
    for (variant, error) in every_error() {
        let status = Status::from(error);
        let info = status.get_details_error_info().expect("every status carries ErrorInfo");
        assert_eq!(info.domain, DOMAIN, "{variant}");
        for word in status
            .message()
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|word| word.bytes().all(|byte| byte.is_ascii_digit()) && !word.is_empty())
        {
            assert!(
                info.metadata.values().any(|value| value.contains(word)),
                "{variant}: {word} of `{}` is not among {:?}",
                status.message(),
                info.metadata
            );
        }
    }
}

#[test]
fn what_went_wrong_inside_is_not_sent() {
    let status = Status::from(ServiceError::from(Refused::Internal {
        place: "m".to_owned(),
        what: "secret".to_owned(),
    }));
    assert!(!format!("{status:?}").contains("secret"));
}

#[test]
fn long_values_are_cut_and_the_status_stays_small() {
    // Four bytes a letter, each of them three in a header.
    let long = || "𝔵".repeat(16 << 10);
    let ours = || "𝔶".repeat(16 << 10);
    let errors: [ServiceError; 8] = [
        Refused::UnknownGame { game: long(), known: ours() }.into(),
        Refused::UnknownOption { game: "faraway", option: long(), known: ours() }.into(),
        Refused::OptionValue { option: "variant", value: long(), expected: ours() }.into(),
        Refused::UnknownBot { seat: 1, given: long(), expected: ours() }.into(),
        Refused::BadField { field: "page_token", value: long(), expected: ours() }.into(),
        ServiceError::UnknownMatch { id: long() },
        ServiceError::UnknownMethod { service: long(), method: long() },
        ServiceError::Undecodable { problem: long() },
    ];
    for error in errors {
        let headers = Status::from(error.clone()).into_http::<()>();
        let bytes: usize =
            headers.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 32).sum();
        assert!(bytes < 6 << 10, "{bytes} bytes for {}", error.refusal().reason);
        let Refusal { message, metadata, .. } = error.refusal();
        for (name, value) in metadata {
            assert!(message.contains(&value), "{name} of `{message}`");
        }
    }
    let cut = ServiceError::UnknownMatch { id: "é".repeat(33) }.refusal();
    assert_eq!(cut.metadata, [("match", format!("{}… (66 bytes)", "é".repeat(32)))]);
    let kept = ServiceError::UnknownMatch { id: "é".repeat(32) }.refusal();
    assert_eq!(kept.metadata, [("match", "é".repeat(32))]);
}
