use serde_json::{Value, json};

use super::*;
use crate::cli::doctor::Status;

/// What a Python says in which nothing is missing, but for these parts of it.
fn report(parts: Value) -> Report {
    let mut whole = json!({
        "python": "3.12.3",
        "executable": "/env/bin/python",
        "version": VERSION,
        "requires": [
            { "name": "numpy", "wanted": ">=1.26", "found": "2.1.0", "satisfied": true },
            { "name": "grpcio", "wanted": ">=1.71.2", "found": "1.80.0", "satisfied": true },
        ],
        "local": { "version": VERSION, "error": null },
        "extras": { "gym": [], "torch": ["torch", "onnxscript>=0.5"] },
        "binary": "/env/bin/boardwire",
    });
    let Value::Object(parts) = parts else { panic!("parts have names") };
    whole.as_object_mut().expect("it has names").extend(parts);
    serde_json::from_value(whole).expect("it is a report")
}

/// The check of this name.
fn check(parts: Value, name: &str) -> Check {
    let checks = checks(&report(parts));
    checks.into_iter().find(|check| check.name == name).unwrap_or_else(|| panic!("there is no {name}"))
}

/// Sees to it that a check fails, names what it should, and advises what it should.
fn fails(parts: Value, name: &str, found: &str, advice: &str) {
    let check = check(parts, name);
    assert_eq!(check.status, Status::Fail, "{check}");
    assert!(check.found.contains(found), "{check}");
    assert!(check.advice.as_ref().expect("it says so").contains(advice), "{check}");
}

#[test]
fn a_whole_installation_is_in_order() {
    let checks = checks(&report(json!({})));
    let names = ["python", "package", "dependencies", "import", "extension", "extras"];
    assert_eq!(checks.iter().map(|check| check.name).collect::<Vec<_>>(), names);
    assert!(checks.iter().all(|check| check.status == Status::Ok), "{checks:?}");
    assert_eq!(
        checks[5].found,
        "gym ok; torch missing torch onnxscript>=0.5: pip install 'boardwire[torch]'"
    );
}

#[test]
fn a_python_without_the_package_is_warned_of() {
    let bare = serde_json::from_value(json!({ "python": "3.9.1", "executable": "/p" })).expect("a report");
    let checks = checks(&bare);
    assert_eq!(checks.len(), 2);
    assert_eq!((checks[1].name, checks[1].status), ("package", Status::Warn));
    assert!(checks[1].to_string().contains("/p -m pip install boardwire"), "{}", checks[1]);
}

#[test]
fn another_version_of_the_package_fails() {
    let advice = "/env/bin/python -m pip install 'boardwire==";
    fails(json!({ "version": "9.9.9" }), "package", "boardwire 9.9.9", advice);
    fails(json!({ "version": null, "folders": ["/old"] }), "package", "/old", advice);
    assert_eq!(python_version("1.0.0-rc.1"), "1.0.0rc1");
    assert_eq!(python_version("1.0.0"), "1.0.0");
}

#[test]
fn dependencies_that_are_missing_or_too_old_are_named_together() {
    let requires = json!([
        { "name": "numpy", "wanted": ">=1.26", "found": "1.20.0", "satisfied": false },
        { "name": "grpcio", "wanted": ">=1.71.2", "found": null, "satisfied": false },
        { "name": "protobuf", "wanted": ">=5.29", "found": "6.0", "satisfied": true },
    ]);
    let found = "numpy 1.20.0, but >=1.26 is needed; no grpcio";
    fails(
        json!({ "requires": requires }),
        "dependencies",
        found,
        "pip install 'numpy>=1.26' 'grpcio>=1.71.2'",
    );
    let good = check(json!({}), "dependencies");
    assert_eq!((good.status, &good.found[..]), (Status::Ok, "numpy 2.1.0, grpcio 1.80.0"));
}

#[test]
fn a_package_that_cannot_be_imported_fails() {
    let error = "ImportError: no luck\ntoday";
    fails(json!({ "error": error }), "import", "ImportError: no luck", "--force-reinstall boardwire");
    let line = check(json!({ "error": error }), "import").to_string();
    assert_eq!(line.lines().count(), 1, "{line}");
}

#[test]
fn the_extension_may_be_missing_but_not_broken() {
    let missing = check(json!({ "local": { "version": null, "error": null } }), "extension");
    assert_eq!(missing.status, Status::Warn);
    assert!(missing.found.contains("local:") && missing.found.contains("pictures"), "{missing}");
    assert!(missing.advice.expect("it says so").ends_with("pip install 'boardwire[local]'"));
    let other = json!({ "local": { "version": "9.9.9", "error": null } });
    fails(other, "extension", "boardwire_local 9.9.9", "pip install 'boardwire-local==");
    let broken = json!({ "local": { "version": VERSION, "error": "no symbol" } });
    fails(broken, "extension", "no symbol", "--force-reinstall");
}

#[test]
fn the_client_must_start_a_binary_of_this_version() {
    let path = Path::new("/env/bin/boardwire");
    assert_eq!(binary(path, None).status, Status::Ok);
    assert_eq!(binary(path, Some(&Ok(VERSION.to_owned()))).status, Status::Ok);
    for version in [Ok("9.9.9".to_owned()), Err("does not run: no".to_owned())] {
        let check = binary(path, Some(&version));
        assert_eq!(check.status, Status::Fail, "{check}");
        assert!(check.found.contains("/env/bin/boardwire"), "{check}");
    }
    let none = json!({ "binary": null, "binary_error": "no 'boardwire'" });
    fails(none, "client_binary", "no 'boardwire'", "pip install --force-reinstall");
}
