//! Tests the rules on dependencies: which crates may use which, and which features they must not need.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The crates of this workspace that each crate may depend on.
const ALLOWED: &[(&str, &[&str])] = &[
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
    (
        "boardwire-python",
        &["boardwire", "boardwire-api", "boardwire-batch", "boardwire-draw", "boardwire-kernel"],
    ),
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

/// External crates that the pure crates may use. None does I/O or uses clocks, threads or environment variables.
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

/// Returns the features of all dependencies of a crate with these features, such as `tonic/channel`.
fn features_needed_by(package: &str, features: &str) -> BTreeSet<String> {
    let selection = ["--package", package, "--no-default-features", "--features", features];
    let format = ["--edges=normal", "--prefix=none", "--format={p}|{f}", "--locked", "--offline"];
    let needed = cargo(&[&["tree"], &selection[..], &format[..]].concat());
    let mut all = BTreeSet::new();
    for line in needed.lines() {
        let (package, features) = line.split_once('|').expect("the line has a `|`");
        let name = package.split(' ').next().expect("a name");
        let features = features.trim_end_matches(" (*)").split(',');
        all.extend(features.map(|feature| format!("{name}/{feature}")));
    }
    all
}

/// Crates for gRPC and HTTP.
const NETWORK: &[&str] = &["h2", "http", "http-body", "hyper", "tonic", "tower", "tower-service"];

fn network_features(features: &BTreeSet<String>) -> Vec<&str> {
    let is_network =
        |feature: &'_ String| feature.split('/').next().is_some_and(|name| NETWORK.contains(&name));
    features.iter().filter(|feature| is_network(feature)).map(String::as_str).collect()
}

fn cargo(args: &[&str]) -> String {
    let out = Command::new(env!("CARGO"))
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).expect("cargo prints UTF-8")
}

/// Returns cargo's metadata of the workspace's crates.
fn metadata() -> Value {
    let out = cargo(&["metadata", "--format-version=1", "--no-deps", "--locked", "--offline"]);
    serde_json::from_str(&out).expect("cargo prints JSON")
}

/// Returns the dependencies of each crate of the workspace, and whether they are for tests only.
fn packages() -> BTreeMap<String, Vec<(String, bool)>> {
    let metadata = metadata();
    let text = |value: &Value| value.as_str().expect("a string").to_owned();
    let dependencies = |package: &Value| {
        let all = package["dependencies"].as_array().expect("a list").iter();
        all.map(|edge| (text(&edge["name"]), edge["kind"].as_str() == Some("dev"))).collect()
    };
    let all = metadata["packages"].as_array().expect("a list").iter();
    all.map(|package| (text(&package["name"]), dependencies(package))).collect()
}

#[test]
fn crates_depend_only_on_allowed_crates() {
    let packages = packages();
    assert_eq!(packages.len(), ALLOWED.len(), "a crate is missing from the table of this test");
    for (name, allowed) in ALLOWED {
        for (dependency, dev) in &packages[*name] {
            if dependency.starts_with("boardwire-") && !dev {
                assert!(allowed.contains(&dependency.as_str()), "{name} must not depend on {dependency}");
            }
        }
    }
}

/// At most 5, each of at most 20 letters, digits, `_`, `+` and `-`. No other check finds invalid ones before publication.
#[test]
fn crates_io_takes_the_keywords() {
    for package in metadata()["packages"].as_array().expect("a list") {
        let keywords = package["keywords"].as_array().expect("a list");
        assert!(keywords.len() <= 5, "{}: {keywords:?}", package["name"]);
        for word in keywords.iter().map(|word| word.as_str().expect("a string")) {
            let allowed = |letter: char| letter.is_ascii_alphanumeric() || "_+-".contains(letter);
            let begins = word.starts_with(|first: char| first.is_ascii_alphanumeric());
            assert!(begins && word.len() <= 20 && word.chars().all(allowed), "{}: {word}", package["name"]);
        }
    }
}

#[test]
fn the_pure_crates_use_pure_crates_only() {
    let packages = packages();
    for name in ["boardwire-kernel", "boardwire-games", "boardwire-bots"] {
        for (dependency, dev) in &packages[name] {
            let is_pure = dependency.starts_with("boardwire-") || PURE.contains(&dependency.as_str());
            assert!(*dev || is_pure, "{name} is pure and must not depend on {dependency}");
        }
    }
}

#[test]
fn a_client_is_built_without_a_server() {
    let client = features_needed_by("boardwire-api", "client");
    let server = features_needed_by("boardwire-server", "");
    for feature in ["hyper/server", "hyper-util/server-graceful", "boardwire-api/server"] {
        assert!(server.contains(feature), "the server no longer needs {feature}: update this test");
        assert!(!client.contains(feature), "a client needs {feature}");
    }
    assert!(client.contains("tonic/channel"), "a client calls over a channel: {client:?}");
    assert!(client.contains("boardwire-api/client"), "update this test: {client:?}");
    assert!(!server.contains("boardwire-api/client"), "a server needs no client");
}

/// Crates for tools: command lines, terminals, pictures, charts, tables, processes.
const TOOLS: &[&str] =
    &["clap", "clap_builder", "console", "image", "indicatif", "parquet", "plotters", "png", "resvg"];

#[test]
fn the_server_library_needs_no_tools() {
    let tools_of = |package| {
        let needed = features_needed_by(package, "");
        let is_needed = |tool: &&&str| needed.iter().any(|feature| feature.split('/').next() == Some(tool));
        TOOLS.iter().filter(is_needed).copied().collect::<Vec<_>>()
    };
    assert_eq!(tools_of("boardwire-server"), [""; 0]);
    assert!(tools_of("boardwire").contains(&"indicatif"), "update this test");
}

#[test]
fn messages_alone_are_built_without_grpc() {
    let messages = features_needed_by("boardwire-api", "");
    assert_eq!(network_features(&messages), [""; 0]);
    assert!(messages.contains("prost/std"), "update this test: {messages:?}");
    assert!(!network_features(&features_needed_by("boardwire-api", "server")).is_empty());
}

#[test]
fn batches_are_built_without_network_or_runtime() {
    let batch = features_needed_by("boardwire-batch", "");
    assert_eq!(network_features(&batch), [""; 0]);
    let runtime = ["tokio/net", "tokio/rt", "tokio/time"];
    let runtime: Vec<_> = runtime.into_iter().filter(|feature| batch.contains(*feature)).collect();
    assert_eq!(runtime, [""; 0]);
    assert!(batch.contains("tokio/sync"), "update this test: {batch:?}");
}

/// Returns every crate with its features, as `cargo --workspace` compiles it for these kinds of dependencies.
fn compiled(kinds: &str) -> BTreeSet<String> {
    let format = ["--prefix=none", "--no-dedupe", "--format={p}|{f}", "--locked", "--offline"];
    let tree = cargo(&[&["tree", "--workspace", "--edges", kinds], &format[..]].concat());
    tree.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
}

#[test]
fn the_published_server_has_no_fail_points() {
    assert!(
        compiled("normal,build").iter().any(|line| line.starts_with("fail ") && line.contains("|failpoints"))
    );
    assert!(!features_needed_by("boardwire-server", "").contains("fail/failpoints"));
}

#[test]
fn tests_and_builds_share_their_dependencies() {
    let (built, tested) = (compiled("normal,build"), compiled("normal,build,dev"));
    let differ: Vec<_> = built.symmetric_difference(&tested).collect();
    assert_eq!(differ, [""; 0], "tests/features/Cargo.toml must list all features that only tests need");
}

/// The modules of `boardwire-server`. Each module uses only itself and modules later in this list.
const MODULES: &[&str] = &[
    "run",
    "rpc",
    "matches",
    "arbiter",
    "edge",
    "batches",
    "journal",
    "record",
    "status",
    "secret",
    "serde_formats",
    "quota",
    "requests",
    "telemetry",
    "convert",
    "stall",
    "hex",
    "operator_files",
    "origin",
    "page",
];

/// Returns all Rust sources in a folder, except tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder exists") {
        let path = entry.expect("the folder can be read").path();
        let name = path.file_stem().and_then(|name| name.to_str()).expect("UTF-8");
        if ["tests", "secrecy", "simulation", "vectors", "lib"].contains(&name) {
            continue;
        }
        if path.is_dir() {
            all.extend(sources(&path));
        } else {
            all.push(path);
        }
    }
    all
}

#[test]
fn modules_of_the_server_use_only_lower_ones() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/src");
    let position = |module: &str| MODULES.iter().position(|known| *known == module);
    let sources = sources(&folder);
    assert!(sources.len() > MODULES.len(), "there are too few sources: {sources:?}");
    for path in sources {
        let file = path.strip_prefix(&folder).expect("the file is in the folder").with_extension("");
        let module = file.iter().next().and_then(|name| name.to_str()).expect("UTF-8");
        let own =
            position(module).unwrap_or_else(|| panic!("{module} is missing from the list of this test"));
        let text = std::fs::read_to_string(&path).expect("the file can be read");
        let code = text.split("#[cfg(test)]\nmod tests").next().expect("one part");
        for used in code.split("crate::").skip(1) {
            let used =
                used.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().expect("one");
            let used = position(used).unwrap_or_else(|| panic!("{}: crate::{used}", path.display()));
            assert!(used >= own, "{} must not use crate::{}", path.display(), MODULES[used]);
        }
    }
}
