use boardwire_policy::DEFAULT_TIMEOUT;
use clap::Parser;

use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    settings: Settings,
}

fn flags(line: &[&str]) -> Settings {
    Line::try_parse_from([&["serve"], line].concat()).unwrap_or_else(|wrong| panic!("{wrong}")).settings
}

fn file(text: &str) -> Settings {
    toml::from_str(text).expect("the configuration is valid")
}

#[test]
fn a_configuration_with_an_unknown_setting_is_refused() {
    let good = file("listen = ['unix:/tmp/b']\nlog = 'json'");
    assert_eq!((good.listen.len(), good.log), (1, Some(LogFormat::Json)));
    let wrong = toml::from_str::<Settings>("lisen = []").expect_err("the name is misspelt").to_string();
    assert!(wrong.contains("lisen"), "{wrong}");
}

#[test]
fn flags_override_the_file_and_the_file_overrides_defaults() {
    let text = "max_connections = 1\nmax_rate = 2\nlisten = ['a:1']\ncatalogue = ['a=b']\ndrain_timeout = 0";
    let settings = flags(&["--max-connections", "3"]).or(file(text)).expect("paths are UTF-8");
    let bounds = Bounds { connections: 3, rate: 2, drain_timeout: Duration::ZERO, ..Bounds::default() };
    assert_eq!(settings.bounds(), bounds);
    assert_eq!((settings.listen.len(), settings.catalogue), (1, vec!["a=b".to_owned()]));
}

#[test]
fn a_flag_can_revoke_insecure() {
    let is_insecure =
        |line: &[&str], text: &str| flags(line).or(file(text)).expect("paths are UTF-8").is_insecure();
    assert!(is_insecure(&["--insecure"], "") && is_insecure(&["--insecure=true"], "insecure = false"));
    assert!(is_insecure(&[], "insecure = true"));
    assert!(!is_insecure(&["--insecure=false"], "insecure = true") && !is_insecure(&[], ""));
}

#[test]
fn a_certificate_comes_with_its_key() {
    let text = "tls_cert = 'a'\ntls_key = 'b'\ntls_client_ca = 'c'";
    let files = flags(&["--tls-cert", "d"]).or(file(text)).expect("paths are UTF-8").tls();
    let expected = TlsFiles { cert: "d".into(), key: "b".into(), client_ca: Some("c".into()) };
    assert_eq!(files.expect("nothing is missing"), Some(expected));
    assert_eq!(flags(&[]).tls().expect("nothing is missing"), None);
    for flag in ["--tls-cert", "--tls-key", "--tls-client-ca"] {
        let wrong = flags(&[flag, "a"]).tls().expect_err("something is missing");
        assert!(wrong.is::<clap::Error>(), "{wrong}");
    }
}

#[test]
fn the_systemd_unit_and_its_configuration_are_valid() {
    let unit = include_str!("../../../../../deploy/boardwire.service");
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).expect("a command");
    crate::Cli::try_parse_from(start.split_whitespace()).expect("the flags exist");
    let settings = file(include_str!("../../../../../deploy/boardwire.toml"));
    assert!(settings.tls().expect("nothing is missing").is_some());
    for address in settings.addresses() {
        address.resolve(true).expect("the address exists");
    }
}

#[test]
fn every_limit_of_the_edge_has_a_flag() {
    let line = "--max-connections 1 --max-connections-per-caller 2 --max-connection-streams 3 \
                --max-connection-bytes 4 --max-rate 7 \
                --handshake-timeout 8 --drain-timeout 9 --max-bytes 10";
    let bounds = flags(&line.split_whitespace().collect::<Vec<_>>()).bounds();
    let expected = Bounds {
        connections: 1,
        connections_per_caller: 2,
        connection_streams: 3,
        connection_bytes: 4,
        bytes: 10,
        rate: 7,
        handshake_timeout: Duration::from_secs(8),
        drain_timeout: Duration::from_secs(9),
    };
    assert_eq!(bounds, expected);
}

#[test]
fn every_limit_of_matches_and_batches_has_a_flag() {
    let line = "--max-matches 1 --max-matches-per-caller 2 --max-waiting-calls 3 --match-idle-timeout 4 \
                --opening-timeout 9 --max-batches 5 --max-environments 6 --max-environments-per-caller 7 --idle-timeout 8";
    let settings = flags(&line.split_whitespace().collect::<Vec<_>>());
    let idle = Duration::from_secs(4);
    let opening_timeout = Duration::from_secs(9);
    let expected = matches::MatchLimits { matches: 1, per_caller: 2, waiting: 3, idle, opening_timeout };
    assert_eq!(settings.match_limits(), expected);
    let idle = Duration::from_secs(8);
    let expected = batches::BatchLimits { batches: 5, environments: 6, per_caller: 7, idle };
    assert_eq!(settings.batch_limits(), expected);
}

#[test]
fn the_defaults_in_the_help_are_those_of_the_code() {
    let (matches, batches) = (matches::MatchLimits::default(), batches::BatchLimits::default());
    let Bounds { connections, connections_per_caller, connection_streams, .. } = Bounds::default();
    let Bounds { connection_bytes, bytes, rate, handshake_timeout, drain_timeout, .. } = Bounds::default();
    let command = <Line as clap::CommandFactory>::command();
    for (flag, default) in [
        ("max-connections", connections.to_string()),
        ("max-connections-per-caller", connections_per_caller.to_string()),
        ("max-connection-streams", connection_streams.to_string()),
        ("max-connection-bytes", connection_bytes.to_string()),
        ("max-bytes", bytes.to_string()),
        ("max-rate", rate.to_string()),
        ("handshake-timeout", handshake_timeout.as_secs().to_string()),
        ("drain-timeout", drain_timeout.as_secs().to_string()),
        ("max-matches", matches.matches.to_string()),
        ("max-matches-per-caller", matches.per_caller.to_string()),
        ("max-waiting-calls", matches.waiting.to_string()),
        ("match-idle-timeout", matches.idle.as_secs().to_string()),
        ("opening-timeout", matches.opening_timeout.as_secs().to_string()),
        ("max-batches", batches.batches.to_string()),
        ("max-environments", batches.environments.to_string()),
        ("max-environments-per-caller", batches.per_caller.to_string()),
        ("idle-timeout", batches.idle.as_secs().to_string()),
        ("policy-timeout", DEFAULT_TIMEOUT.as_secs().to_string()),
    ] {
        let argument = command.get_arguments().find(|argument| argument.get_long() == Some(flag));
        let help = argument.and_then(clap::Arg::get_help).expect("a flag with help").to_string();
        assert!(help.ends_with(&format!("[default: {default}]")), "{flag}: {help}");
        let manual = include_str!("../../../../../docs/operations.md");
        let row = manual.lines().find(|line| line.starts_with(&format!("| `--{flag} ")));
        assert!(row.is_some_and(|row| row.ends_with(&format!("| {default} |"))), "{flag}: {row:?}");
    }
}

#[test]
fn timeouts_do_not_overflow_and_zero_is_no_timeout() {
    let names = ["idle", "match-idle", "opening", "handshake", "drain"];
    for time in ["0", "18446744073709551615"] {
        let line = names.map(|name| format!("--{name}-timeout={time}"));
        let settings = flags(&line.each_ref().map(String::as_str));
        let (matches, bounds) = (settings.match_limits(), settings.bounds());
        let all =
            [matches.idle, matches.opening_timeout, settings.batch_limits().idle, bounds.handshake_timeout];
        assert_eq!(all, [MAX_TIMEOUT; 4], "{time}");
        let drains = if time == "0" { Duration::ZERO } else { MAX_TIMEOUT };
        assert_eq!(bounds.drain_timeout, drains, "a server may stop immediately");
        assert!(std::time::Instant::now().checked_add(2 * MAX_TIMEOUT).is_some());
    }
}
