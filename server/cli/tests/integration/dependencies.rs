//! Dependencies between our crates point one way, and the pure crates have no impure ones.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// What each of our crates may depend on, of ours.
const MAY: &[(&str, &[&str])] = &[
    ("boardwire-kernel", &[]),
    ("boardwire-games", &["boardwire-kernel"]),
    ("boardwire-bots", &["boardwire-kernel"]),
    ("boardwire-api", &[]),
    ("boardwire-agent", &["boardwire-api"]),
    ("boardwire-conformance", &["boardwire-games", "boardwire-kernel"]),
    ("boardwire-features", &["boardwire-api", "boardwire-batch", "boardwire-kernel", "boardwire-policy"]),
    ("boardwire-policy", &["boardwire-bots", "boardwire-kernel"]),
    (
        "boardwire-batch",
        &["boardwire-api", "boardwire-bots", "boardwire-games", "boardwire-kernel", "boardwire-policy"],
    ),
    ("boardwire-draw", &["boardwire-kernel"]),
    ("boardwire-local", &["boardwire-api", "boardwire-batch", "boardwire-draw", "boardwire-kernel"]),
    (
        "boardwire-server",
        &["boardwire-api", "boardwire-batch", "boardwire-bots", "boardwire-draw", "boardwire-kernel"],
    ),
    (
        "boardwire",
        &[
            "boardwire-api",
            "boardwire-batch",
            "boardwire-bots",
            "boardwire-kernel",
            "boardwire-policy",
            "boardwire-server",
        ],
    ),
];

/// All that the pure crates may use: no I/O, clock, thread or environment in any of them.
const PURE: &[&str] = &[
    "blake3",
    "borsh",
    "rand_chacha",
    "rand_core",
    "serde",
    "serde_json",
    "serde_path_to_error",
    "thiserror",
];

/// The features of all that a crate needs with these of its own: `tonic/channel` and so on.
fn features_needed_by(package: &str, features: &str) -> BTreeSet<String> {
    let own = ["--package", package, "--no-default-features", "--features", features];
    let shape = ["--edges=normal", "--prefix=none", "--format={p}|{f}", "--locked", "--offline"];
    let needed = cargo(&[&["tree"], &own[..], &shape[..]].concat());
    let mut all = BTreeSet::new();
    for line in needed.lines() {
        let (package, features) = line.split_once('|').expect("the format has it");
        let name = package.split(' ').next().expect("a name");
        let features = features.trim_end_matches(" (*)").split(',');
        all.extend(features.map(|feature| format!("{name}/{feature}")));
    }
    all
}

/// All that speaks gRPC or HTTP.
const WIRE: &[&str] = &["h2", "http", "http-body", "hyper", "tonic", "tower", "tower-service"];

/// The parts of a list of features that speak gRPC or HTTP.
fn of_the_wire(features: &BTreeSet<String>) -> Vec<&str> {
    let name = |feature: &'_ String| feature.split('/').next().is_some_and(|name| WIRE.contains(&name));
    features.iter().filter(|feature| name(feature)).map(String::as_str).collect()
}

/// What cargo prints.
fn cargo(args: &[&str]) -> String {
    let out = Command::new(env!("CARGO"))
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).expect("cargo prints UTF-8")
}

fn packages() -> BTreeMap<String, Vec<(String, bool)>> {
    let out = cargo(&["metadata", "--format-version=1", "--no-deps", "--locked", "--offline"]);
    let metadata: Value = serde_json::from_str(&out).expect("cargo prints JSON");
    let word = |value: &Value| value.as_str().expect("a word").to_owned();
    let edges = |package: &Value| {
        let all = package["dependencies"].as_array().expect("a list").iter();
        all.map(|edge| (word(&edge["name"]), edge["kind"].as_str() == Some("dev"))).collect()
    };
    let all = metadata["packages"].as_array().expect("a list").iter();
    all.map(|package| (word(&package["name"]), edges(package))).collect()
}

#[test]
fn dependencies_point_one_way() {
    let packages = packages();
    assert_eq!(packages.len(), MAY.len(), "a crate is missing from the table of this test");
    for (name, may) in MAY {
        for (edge, dev) in &packages[*name] {
            if edge.starts_with("boardwire-") && !dev {
                assert!(may.contains(&edge.as_str()), "{name} must not depend on {edge}");
            }
        }
    }
}

#[test]
fn the_pure_crates_use_pure_crates_only() {
    let packages = packages();
    for name in ["boardwire-kernel", "boardwire-games", "boardwire-bots"] {
        for (edge, dev) in &packages[name] {
            let known = edge.starts_with("boardwire-") || PURE.contains(&edge.as_str());
            assert!(*dev || known, "{name} is pure and must not depend on {edge}");
        }
    }
}

#[test]
fn a_client_is_built_without_a_server() {
    let client = features_needed_by("boardwire-api", "client");
    let server = features_needed_by("boardwire-server", "");
    // What serving needs.
    for part in ["hyper/server", "hyper-util/server-graceful", "boardwire-api/server"] {
        assert!(
            server.contains(part),
            "the server no longer needs {part}: this test looks for the wrong words"
        );
        assert!(!client.contains(part), "a client needs {part}");
    }
    assert!(client.contains("tonic/channel"), "a client calls over a channel: {client:?}");
    assert!(client.contains("boardwire-api/client"), "this test looks for the wrong words: {client:?}");
    assert!(!server.contains("boardwire-api/client"), "a server calls no server");
}

/// What tools need: command lines, terminals, pictures, charts, tables, processes.
const TOOLS: &[&str] =
    &["clap", "clap_builder", "console", "image", "indicatif", "parquet", "plotters", "png", "resvg"];

#[test]
fn the_server_is_built_without_what_tools_need() {
    let needs = |package| {
        let needed = features_needed_by(package, "");
        let is_there = |tool: &&&str| needed.iter().any(|part| part.split('/').next() == Some(tool));
        TOOLS.iter().filter(is_there).copied().collect::<Vec<_>>()
    };
    assert_eq!(needs("boardwire-server"), [""; 0]);
    assert!(needs("boardwire").contains(&"indicatif"), "this test looks for the wrong words");
}

#[test]
fn messages_alone_are_built_without_grpc() {
    let messages = features_needed_by("boardwire-api", "");
    assert_eq!(of_the_wire(&messages), [""; 0]);
    assert!(messages.contains("prost/std"), "this test looks for the wrong words: {messages:?}");
    assert!(!of_the_wire(&features_needed_by("boardwire-api", "server")).is_empty());
}

#[test]
fn batches_are_built_without_a_wire_or_a_runtime() {
    let batch = features_needed_by("boardwire-batch", "");
    assert_eq!(of_the_wire(&batch), [""; 0]);
    let runtime: Vec<_> =
        ["tokio/net", "tokio/rt", "tokio/time"].into_iter().filter(|part| batch.contains(*part)).collect();
    assert_eq!(runtime, [""; 0]);
    assert!(batch.contains("tokio/sync"), "this test looks for the wrong words: {batch:?}");
}

#[test]
fn the_extension_calls_servers_and_is_none() {
    let extension = features_needed_by("boardwire-local", "");
    assert!(extension.contains("tonic/channel"), "the client calls over its channels: {extension:?}");
    for part in ["tonic/server", "tonic/router", "hyper/server", "boardwire-api/server"] {
        assert!(!extension.contains(part), "the extension needs {part}");
    }
}

/// Every crate with its features, as `cargo --workspace` compiles it for these kinds of dependencies.
fn compiled(kinds: &str) -> BTreeSet<String> {
    let shape = ["--prefix=none", "--no-dedupe", "--format={p}|{f}", "--locked", "--offline"];
    let tree = cargo(&[&["tree", "--workspace", "--edges", kinds], &shape[..]].concat());
    tree.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
}

#[test]
fn a_server_that_is_published_has_no_fail_points() {
    assert!(
        compiled("normal,build").iter().any(|line| line.starts_with("fail ") && line.contains("|failpoints"))
    );
    assert!(!features_needed_by("boardwire-server", "").contains("fail/failpoints"));
}

#[test]
fn tests_and_builds_share_their_dependencies() {
    let (built, tested) = (compiled("normal,build"), compiled("normal,build,dev"));
    let differ: Vec<_> = built.symmetric_difference(&tested).collect();
    assert_eq!(differ, [""; 0], "tests/features/Cargo.toml must ask for all that tests alone ask for");
}
