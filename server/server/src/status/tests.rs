use super::*;

#[test]
fn a_status_has_code_reason_values_and_field() {
    let unknown =
        Error::OptionUnknown { game: "faraway", option: "variant".to_owned(), known: "none".to_owned() };
    let status = status(&unknown);
    assert_eq!(status.code(), tonic::Code::InvalidArgument);
    assert_eq!(status.message(), unknown.to_string());
    let info = status.get_details_error_info().expect("every status carries ErrorInfo");
    assert_eq!((info.domain.as_str(), info.reason.as_str()), (DOMAIN, "OPTION_UNKNOWN"));
    assert_eq!(info.metadata["option"], "variant");
    let wrong = status.get_details_bad_request().expect("a field is wrong");
    assert_eq!(wrong.field_violations[0].field, "config.options.variant");
}

#[test]
fn a_status_says_when_to_try_again() {
    let wait = |error| status(&error).get_details_retry_info().and_then(|info| info.retry_delay);
    let second = Duration::from_secs(1);
    assert_eq!(wait(Error::RateExceeded { limit: 9, wait: second / 2 }), Some(second / 2));
    assert_eq!(wait(Error::ShuttingDown), Some(second));
    assert_eq!(wait(Error::TimedOut), None);
}

#[test]
fn a_status_with_long_values_stays_small() {
    // A letter has four bytes, and a header encodes each byte as three.
    let long = || "𝔵".repeat(16 << 10);
    let errors = [
        Error::GameUnknown { game: long(), known: long() },
        Error::OptionUnknown { game: "faraway", option: long(), known: long() },
        Error::OptionValueInvalid { option: "variant", value: long(), expected: long() },
        Error::BotUnknown { seat: 1, given: long(), expected: long() },
        Error::field("page_token", long(), long()),
        Error::MatchUnknown { match_id: long() },
        Error::MethodUnknown { service: long(), method: long() },
        Error::MessageUndecodable { problem: long() },
    ];
    for error in errors {
        let headers = status(&error).into_http::<()>();
        let bytes: usize =
            headers.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 32).sum();
        assert!(bytes < 6 << 10, "{bytes} bytes for {}", error.report().reason);
    }
}
