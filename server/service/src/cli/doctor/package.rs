//! What a Python has of the client's package, judged.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Check, VERSION};

/// What `boardwire._doctor` of the package says. Without the package there is only a Python.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Report {
    /// Its version.
    pub(super) python: String,
    /// The interpreter, to install with.
    executable: String,
    /// The version of the package, as its metadata has it.
    #[serde(default)]
    version: Option<String>,
    /// The folders of a package that says no more than that it is there: it is older than this module.
    #[serde(default)]
    folders: Vec<String>,
    /// Why the package cannot be imported.
    #[serde(default)]
    error: Option<String>,
    /// What its metadata requires.
    #[serde(default)]
    requires: Vec<Requirement>,
    /// The extension.
    #[serde(default)]
    local: Extension,
    /// What is missing of each extra, as pip would be told.
    #[serde(default)]
    extras: BTreeMap<String, Vec<String>>,
    /// The server's binary that the client starts.
    #[serde(default)]
    pub(super) binary: Option<PathBuf>,
    /// Why it finds none.
    #[serde(default)]
    binary_error: Option<String>,
}

/// A distribution that the package requires.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Requirement {
    name: String,
    /// The versions that do, such as `>=1.26`.
    wanted: String,
    found: Option<String>,
    satisfied: bool,
}

/// The extension `boardwire_local`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
struct Extension {
    version: Option<String>,
    /// Why it cannot be imported.
    error: Option<String>,
}

/// The checks of everything but the binary that was found.
pub(super) fn checks(report: &Report) -> Vec<Check> {
    let python = Check::ok("python", format!("Python {} at {}", report.python, report.executable));
    let mut checks = vec![python, package(report)];
    if report.version.is_none() {
        return checks;
    }
    checks.extend([dependencies(report), import(report), extension(report), extras(report)]);
    checks.extend(report.binary_error.as_ref().map(|problem| {
        let advice = reinstalled(report);
        Check::fail("client_binary", problem, format!("unset BOARDWIRE_BINARY, or {advice}"))
    }));
    checks
}

/// The command that installs something into the Python that was asked.
fn pip(report: &Report, what: &str) -> String {
    format!("{} -m pip install {what}", report.executable)
}

/// This version as Python writes it: `1.0.0-rc.1` is `1.0.0rc1`.
fn python_version(version: &str) -> String {
    version.replace("-alpha.", "a").replace("-beta.", "b").replace("-rc.", "rc")
}

fn reinstalled(report: &Report) -> String {
    pip(report, &format!("--force-reinstall --no-deps 'boardwire=={}'", python_version(VERSION)))
}

fn package(report: &Report) -> Check {
    let own = python_version(VERSION);
    let this_version = pip(report, &format!("'boardwire=={own}'"));
    match &report.version {
        Some(version) if *version == own => Check::ok("package", format!("boardwire {version}")),
        Some(version) => {
            Check::fail("package", format!("boardwire {version}, and this binary is {own}"), this_version)
        }
        None => match report.folders.first() {
            Some(folder) => Check::fail(
                "package",
                format!("a boardwire in {folder} that does not say its version, and this binary is {own}"),
                this_version,
            ),
            None => Check::warn(
                "package",
                "this Python has no boardwire",
                format!("{}, or name another: boardwire doctor --python PATH", pip(report, "boardwire")),
            ),
        },
    }
}

fn dependencies(report: &Report) -> Check {
    let (good, bad): (Vec<_>, Vec<_>) = report.requires.iter().partition(|required| required.satisfied);
    let told = |required: &&Requirement| match &required.found {
        Some(found) if required.satisfied => format!("{} {found}", required.name),
        Some(found) => format!("{} {found}, but {} is needed", required.name, required.wanted),
        None => format!("no {}", required.name),
    };
    if bad.is_empty() {
        return Check::ok("dependencies", good.iter().map(told).collect::<Vec<_>>().join(", "));
    }
    let wanted = |required: &&Requirement| format!("'{}{}'", required.name, required.wanted);
    Check::fail(
        "dependencies",
        bad.iter().map(told).collect::<Vec<_>>().join("; "),
        pip(report, &bad.iter().map(wanted).collect::<Vec<_>>().join(" ")),
    )
}

fn import(report: &Report) -> Check {
    match &report.error {
        None => Check::ok("import", "the package can be imported"),
        Some(error) => Check::fail(
            "import",
            format!("the package cannot be imported: {error}"),
            format!("mend what it names, else {}", pip(report, "--force-reinstall boardwire")),
        ),
    }
}

fn extension(report: &Report) -> Check {
    let own = report.version.as_deref().unwrap_or_default();
    match (&report.local.version, &report.local.error) {
        (None, _) => Check::warn(
            "extension",
            "no boardwire_local: without it there is no connect(\"local:\") and there are no pictures, and small batches and \
             features take longer",
            pip(report, "'boardwire[local]'"),
        ),
        (Some(version), _) if version != own => Check::fail(
            "extension",
            format!("boardwire_local {version} beside boardwire {own}: it is not used"),
            pip(report, &format!("'boardwire-local=={own}'")),
        ),
        (Some(version), Some(error)) => Check::fail(
            "extension",
            format!("boardwire_local {version} cannot be imported: {error}"),
            pip(report, &format!("--force-reinstall --no-deps 'boardwire-local=={own}'")),
        ),
        (Some(version), None) => Check::ok("extension", format!("boardwire_local {version}")),
    }
}

/// What can be installed besides, which nobody must.
fn extras(report: &Report) -> Check {
    let told = report.extras.iter().map(|(extra, missing)| {
        if missing.is_empty() {
            format!("{extra} ok")
        } else {
            format!("{extra} missing {}: pip install 'boardwire[{extra}]'", missing.join(" "))
        }
    });
    Check::ok("extras", told.collect::<Vec<_>>().join("; "))
}

/// The binary that the client starts, if it is not this one with what it says that its version is.
pub(super) fn binary(path: &Path, version: Option<&Result<String, String>>) -> Check {
    let shown = path.display();
    let advice =
        "set BOARDWIRE_BINARY to this binary, or reinstall the package, which brings one of its version";
    match version {
        None => Check::ok("client_binary", format!("the client starts this binary, {shown}")),
        Some(Ok(version)) if version == VERSION => {
            Check::ok("client_binary", format!("the client starts {shown}, which has version {version}, too"))
        }
        Some(Ok(version)) => Check::fail(
            "client_binary",
            format!("the client starts {shown} of version {version}, and this is {VERSION}"),
            advice,
        ),
        Some(Err(problem)) => {
            Check::fail("client_binary", format!("the client starts {shown}, which {problem}"), advice)
        }
    }
}

#[cfg(test)]
mod tests;
