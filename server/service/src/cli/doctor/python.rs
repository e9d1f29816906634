//! The Python that has the package, or should, and what it says of it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::package::{self, Report};
use super::process::{answer, quoted};
use super::{Check, process};

/// Asks a Python what it has. The module that answers is a part of the package, and run as a file of its own: that works
/// where the package cannot be imported, too. The folder that this is run in is not searched, and one without an
/// `__init__.py` is no package.
const ASK: &str = r#"
import importlib.util, json, os, runpy, sys
sys.path[:] = filter(None, sys.path)
spec = importlib.util.find_spec("boardwire")
folders = list(spec.submodule_search_locations) if spec and spec.origin else []
modules = [os.path.join(folder, "_doctor.py") for folder in folders]
answering = [module for module in modules if os.path.isfile(module)]
if answering:
    runpy.run_path(answering[0], run_name="__main__")
else:
    print(json.dumps({"python": sys.version.split()[0], "executable": sys.executable, "folders": folders}))
"#;

/// Checks the installation of the client.
pub(super) async fn checks(named: Option<&Path>, timeout: Duration) -> Vec<Check> {
    let beside = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.to_owned()));
    let environment = std::env::var_os("VIRTUAL_ENV").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let python = match named {
        Some(named) => named.to_owned(),
        None => choose(beside.as_deref(), environment.as_deref()),
    };
    let report = match answer(&python, ["-c", ASK], timeout).await {
        Ok(said) => read(&said),
        Err(problem) => Err(problem),
    };
    let report = match report {
        Ok(report) => report,
        Err(problem) => return vec![silent(&python, &problem, named.is_some())],
    };
    let mut checks = package::checks(&report);
    if let Some(binary) = &report.binary {
        let version =
            if process::is_this(binary) { None } else { Some(process::version(binary, timeout).await) };
        checks.push(package::binary(binary, version.as_ref()));
    }
    checks
}

/// The interpreter to ask: that beside the binary, as the package's wheel installs both, else that of the active
/// environment, else the first on the search path.
fn choose(beside: Option<&Path>, environment: Option<&Path>) -> PathBuf {
    let beside = ["python3", "python"].map(|name| Some(beside?.join(name)));
    let own = environment.map(|folder| folder.join("bin/python"));
    let found = beside.into_iter().chain([own]).flatten().find(|path| path.is_file());
    found.unwrap_or_else(|| PathBuf::from("python3"))
}

/// What a Python answered: the last line, since whatever it loads may print, too.
fn read(said: &str) -> Result<Report, String> {
    let line = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    serde_json::from_str(line).map_err(|_| format!("did not say what it has, but {}", quoted(line)))
}

/// No Python has answered.
fn silent(python: &Path, problem: &str, is_named: bool) -> Check {
    let advice = if is_named {
        "name an interpreter of Python 3.10 or newer"
    } else {
        "install Python 3.10 or newer, or name one: boardwire doctor --python PATH; agents in other languages need none"
    };
    Check::warn("python", format!("{} {problem}", python.display()), advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::Status;

    #[test]
    fn the_interpreter_beside_the_binary_comes_first() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (beside, environment) = (folder.path().join("beside"), folder.path().join("environment"));
        for path in [&beside, &environment.join("bin")] {
            std::fs::create_dir_all(path).expect("it can be made");
        }
        let chosen = || choose(Some(&beside), Some(&environment));
        assert_eq!(chosen(), Path::new("python3"), "by the search path");
        for path in [environment.join("bin/python"), beside.join("python"), beside.join("python3")] {
            std::fs::write(&path, "").expect("it can be written");
            assert_eq!(chosen(), path);
        }
        assert_eq!(choose(None, None), Path::new("python3"));
    }

    #[test]
    fn what_a_python_answers_is_its_last_line() {
        let said = "a warning\n{\"python\": \"3.12.3\", \"executable\": \"/p\"}\n\n";
        assert_eq!(read(said).expect("it is an answer").python, "3.12.3");
        for garbage in ["", "{}", "[1]", "{\"python\": 3}", "hello"] {
            assert!(read(garbage).expect_err(garbage).starts_with("did not say"), "{garbage}");
        }
    }

    #[tokio::test]
    async fn a_python_that_is_not_there_is_warned_of() {
        let checks = checks(Some(Path::new("/absent/python")), Duration::from_secs(5)).await;
        assert_eq!((checks.len(), checks[0].name, checks[0].status), (1, "python", Status::Warn));
        assert!(silent(Path::new("python3"), "hangs", false).to_string().contains("other languages"));
    }
}
