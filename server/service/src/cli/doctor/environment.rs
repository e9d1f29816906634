//! What the environment says: settings, variables that nobody reads, proxies in the way, another binary.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use clap::CommandFactory as _;

use super::{Check, VERSION, process};
use crate::cli::Cli;

/// What the client reads, beside what flags of the binary do.
const OF_THE_CLIENT: &[&str] = &["BOARDWIRE_BINARY", "BOARDWIRE_WIRE"];

/// How much alike names must be for one to be taken for another that was misspelt.
const ALIKE: f64 = 0.85;

/// Whether `serve` would take the settings that it finds.
pub(super) fn settings(problem: Option<&anyhow::Error>) -> Check {
    match problem {
        None => Check::ok("settings", "`boardwire serve` takes its settings here"),
        Some(problem) => {
            // What clap says begins with the problem, and goes on with how to get help.
            let text = format!("{problem:#}");
            let problem = text.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
            Check::fail(
                "settings",
                format!("`boardwire serve` would not start here: {problem}"),
                "correct the variable or the file that says so: private servers of the client read them, too",
            )
        }
    }
}

/// The names of all variables that begin as ours do.
pub(super) fn names() -> Vec<String> {
    let ours =
        |(name, _): (OsString, _)| name.into_string().ok().filter(|name| name.starts_with("BOARDWIRE_"));
    std::env::vars_os().filter_map(ours).collect()
}

/// Whether somebody reads all variables that begin as ours do.
pub(super) fn variables(names: &[String]) -> Check {
    let mut known: BTreeSet<String> = OF_THE_CLIENT.iter().map(|&name| name.to_owned()).collect();
    read_by(&Cli::command(), &mut known);
    let unknown = |name: &&String| !known.contains(*name);
    let mut told: Vec<String> = names.iter().filter(unknown).map(|name| misspelt(name, &known)).collect();
    told.sort();
    if told.is_empty() {
        let set = if names.is_empty() { "none is set".to_owned() } else { names.join(", ") };
        return Check::ok("variables", format!("every BOARDWIRE_ variable is read: {set}"));
    }
    Check::warn(
        "variables",
        format!("neither a flag nor the client reads {}", told.join(", ")),
        "correct the name, or unset it: `boardwire serve --help` names the variable of each flag",
    )
}

/// The variables that flags of a command take their values from.
fn read_by(command: &clap::Command, names: &mut BTreeSet<String>) {
    let variables = command.get_arguments().filter_map(|argument| argument.get_env());
    names.extend(variables.map(|name| name.to_string_lossy().into_owned()));
    for command in command.get_subcommands() {
        read_by(command, names);
    }
}

/// A name, with the one that was meant where there is one much like it.
fn misspelt(name: &str, known: &BTreeSet<String>) -> String {
    let word = |name: &str| name.trim_start_matches("BOARDWIRE_").to_owned();
    let likeness = |other: &&String| strsim::jaro(&word(name), &word(other));
    let meant = known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    match meant.filter(|meant| likeness(meant) > ALIKE) {
        Some(meant) => format!("{name} (is {meant} meant?)"),
        None => name.to_owned(),
    }
}

/// Whether a proxy would be asked for servers on this machine. gRPC's core, and with it grpcio, takes the first of these
/// variables that is set, and asks no proxy for hosts that end with an entry of the first list that is; it knows them in small
/// letters alone, and takes `*` for nothing special. Unix sockets never go by a proxy.
pub(super) fn proxy(variable: impl Fn(&str) -> Option<String>) -> Check {
    let first = |names: &[&'static str]| {
        let set = |&name: &&'static str| Some((name, variable(name).filter(|value| !value.is_empty())?));
        names.iter().find_map(set)
    };
    let Some((proxy, _)) = first(&["grpc_proxy", "https_proxy", "http_proxy"]) else {
        return Check::ok("proxy", "gRPC is told of no proxy");
    };
    let excepted = first(&["no_grpc_proxy", "no_proxy"]);
    let (list, excepted) = excepted.unwrap_or(("no_proxy", String::new()));
    let caught: Vec<&str> =
        ["localhost", "127.0.0.1"].into_iter().filter(|host| !is_excepted(host, &excepted)).collect();
    if caught.is_empty() {
        return Check::ok("proxy", format!("{proxy} is set, and {list} keeps this machine out of it"));
    }
    let others = if excepted.is_empty() { String::new() } else { format!("${list},") };
    Check::warn(
        "proxy",
        format!("{proxy} is set, and gRPC would ask that proxy for servers on {}", caught.join(" and ")),
        format!("export {list}={others}localhost,127.0.0.1"),
    )
}

/// Whether a list keeps a host from being asked for by a proxy.
fn is_excepted(host: &str, list: &str) -> bool {
    list.split(',').map(str::trim).filter(|entry| !entry.is_empty()).any(|entry| {
        host.ends_with(&entry.to_ascii_lowercase()) || host.parse().is_ok_and(|host| is_within(host, entry))
    })
}

/// Whether an address is in a network, such as `127.0.0.0/8`.
fn is_within(address: Ipv4Addr, network: &str) -> bool {
    let Some((base, bits)) = network.split_once('/') else { return false };
    match (base.parse::<Ipv4Addr>(), bits.parse::<u32>()) {
        (Ok(base), Ok(bits @ 0..=32)) => {
            let outside = 32 - bits;
            (u64::from(address.to_bits()) >> outside) == (u64::from(base.to_bits()) >> outside)
        }
        _ => false,
    }
}

/// Whether the binary that the client is told to start can be, and is like this one.
pub(super) async fn named_binary(named: Option<OsString>, timeout: Duration) -> Check {
    const NAME: &str = "named_binary";
    let Some(named) = named.filter(|named| !named.is_empty()) else {
        return Check::ok(NAME, "BOARDWIRE_BINARY is not set: the client finds the binary by itself");
    };
    let path = Path::new(&named);
    let shown = path.display();
    if !path.is_file() {
        return Check::fail(
            NAME,
            format!("BOARDWIRE_BINARY names {shown}, which is no file"),
            "unset BOARDWIRE_BINARY, or have it name a binary",
        );
    }
    if process::is_this(path) {
        return Check::ok(NAME, "BOARDWIRE_BINARY names this binary");
    }
    match process::version(path, timeout).await {
        Ok(version) if version == VERSION => {
            Check::ok(NAME, format!("BOARDWIRE_BINARY names {shown}, another binary of version {version}"))
        }
        Ok(version) => Check::warn(
            NAME,
            format!("BOARDWIRE_BINARY names {shown} of version {version}; this is {VERSION}"),
            "unset BOARDWIRE_BINARY, or have it name a binary of this version",
        ),
        Err(problem) => Check::fail(
            NAME,
            format!("BOARDWIRE_BINARY names {shown}, which {problem}"),
            "unset BOARDWIRE_BINARY, or have it name a binary",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::Status;

    #[test]
    fn a_variable_that_nobody_reads_is_told_with_the_one_that_was_meant() {
        let check =
            |names: &[&str]| variables(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        assert_eq!(check(&[]).status, Status::Ok);
        assert_eq!(check(&["BOARDWIRE_JOURNAL", "BOARDWIRE_WIRE", "BOARDWIRE_CONFIG"]).status, Status::Ok);
        let wrong = check(&["BOARDWIRE_MAX_MATCHS", "BOARDWIRE_LISTEN", "BOARDWIRE_ZQ"]);
        assert_eq!(wrong.status, Status::Warn);
        let told = "BOARDWIRE_MAX_MATCHS (is BOARDWIRE_MAX_MATCHES meant?), BOARDWIRE_ZQ";
        assert_eq!(wrong.found, format!("neither a flag nor the client reads {told}"));
    }

    #[test]
    fn a_proxy_must_leave_this_machine_out() {
        let check = |set: &[(&str, &str)]| {
            proxy(|name| set.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned()))
        };
        let by_proxy = ("http_proxy", "http://user:secret@proxy:3128");
        assert_eq!(check(&[]).status, Status::Ok);
        assert_eq!(check(&[("HTTP_PROXY", "http://proxy:3128"), ("http_proxy", "")]).status, Status::Ok);
        for good in ["localhost,127.0.0.1", " LocalHost , 127.0.0.0/8,x", "host,0.0.1", "localhost,0.0.0.0/0"]
        {
            assert_eq!(check(&[by_proxy, ("no_proxy", good)]).status, Status::Ok, "{good}");
        }
        for (bad, caught) in [
            ("", "localhost and 127.0.0.1"),
            ("localhost", "127.0.0.1"),
            ("127.0.0.1", "localhost"),
            (".localhost,*,127.0.0.0/33,10.0.0.0/8", "localhost and 127.0.0.1"),
        ] {
            let found = check(&[by_proxy, ("no_proxy", bad)]);
            assert_eq!(found.status, Status::Warn, "{bad}");
            assert!(found.found.ends_with(&format!("on {caught}")), "{bad}: {found}");
            assert!(!found.to_string().contains("secret"), "{found}");
        }
        let own = check(&[
            ("grpc_proxy", "http://p:1"),
            by_proxy,
            ("no_grpc_proxy", "x"),
            ("no_proxy", "localhost,127.0.0.1"),
        ]);
        assert!(own.found.starts_with("grpc_proxy is set"), "{own}");
        assert_eq!(own.advice.as_deref(), Some("export no_grpc_proxy=$no_grpc_proxy,localhost,127.0.0.1"));
    }

    #[test]
    fn settings_that_serve_refuses_fail() {
        assert_eq!(settings(None).status, Status::Ok);
        let wrong = anyhow::anyhow!(
            "error: invalid value 'x' for '--threads'\n\nFor more information, try '--help'."
        );
        let check = settings(Some(&wrong));
        assert_eq!(check.status, Status::Fail);
        assert_eq!(check.found, "`boardwire serve` would not start here: invalid value 'x' for '--threads'");
    }
}
