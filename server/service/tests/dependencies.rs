//! Dependencies between our crates point one way, and the pure crates have no impure ones.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

/// What each of our crates may depend on, of ours.
const MAY: &[(&str, &[&str])] = &[
    ("boardwire-kernel", &[]),
    ("boardwire-games", &["boardwire-kernel"]),
    ("boardwire-bots", &["boardwire-kernel"]),
    ("boardwire-api", &[]),
    ("boardwire-server", &["boardwire-api", "boardwire-bots", "boardwire-games", "boardwire-kernel"]),
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

fn packages() -> BTreeMap<String, Vec<(String, bool)>> {
    let out = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--locked", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let metadata: Value = serde_json::from_slice(&out.stdout).expect("cargo prints JSON");
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
