//! What this process may have of the machine, and what is compiled into it.

use std::num::NonZero;
use std::thread::available_parallelism;

use rustix::process::{Resource, Rlimit, getrlimit};

use super::Check;
use crate::cli::Catalogues;

/// Descriptors that are no connections: listeners, the journal's files, what the runtime and the logs have open.
const OTHER_DESCRIPTORS: u64 = 64;

/// How many cores this process may use, which its affinity and its control group may limit.
pub(super) fn cores() -> Check {
    match available_parallelism().map(NonZero::get) {
        Ok(1) => Check::warn(
            "cores",
            "1 core may be used",
            "give it two or more: a server and its clients take turns on one",
        ),
        Ok(cores) => Check::ok("cores", format!("{cores} cores may be used")),
        Err(error) => Check::warn(
            "cores",
            format!("how many cores may be used cannot be told: {error}"),
            "say how many threads a server should have: boardwire serve --threads N",
        ),
    }
}

/// How many descriptors this process may have open, and up to how many it may raise that.
pub(super) fn descriptor_limit() -> Rlimit {
    getrlimit(Resource::Nofile)
}

/// Whether a server that is started from here may have so many connections. It does not raise the limit itself.
pub(super) fn descriptors(limit: Rlimit, connections: usize) -> Check {
    let needed = connections as u64 + OTHER_DESCRIPTORS;
    let current = match limit.current {
        Some(current) if current < needed => current,
        current => {
            let current = current.map_or_else(|| "any number of".to_owned(), |current| current.to_string());
            return Check::ok("descriptors", format!("{current} files may be open at once"));
        }
    };
    let found = format!(
        "{current} files may be open at once: a server comes to that limit before its own of {connections} connections"
    );
    let advice = if limit.maximum.is_none_or(|maximum| maximum >= needed) {
        format!("`ulimit -n {needed}` in the shell that starts a server for many; one for few does with less")
    } else {
        format!(
            "raise the hard limit to {needed} (LimitNOFILE= of systemd, nofile in /etc/security/limits.conf, --ulimit of \
             docker), or start with a lower --max-connections"
        )
    };
    Check::warn("descriptors", found, advice)
}

/// Whether the operating system gives random bytes, of which deals and tokens are made.
pub(super) fn entropy<E: std::fmt::Display>(fill: impl FnOnce(&mut [u8]) -> Result<(), E>) -> Check {
    match fill(&mut [0; 32]) {
        Ok(()) => Check::ok("entropy", "the operating system gives random bytes"),
        Err(error) => Check::fail(
            "entropy",
            format!("the operating system gives no random bytes: {error}"),
            "let the process call getrandom(2), or read /dev/urandom: a sandbox may forbid both",
        ),
    }
}

/// Whether the games can be played with the catalogues that a server would have.
pub(super) fn catalogues(catalogues: &Catalogues) -> Check {
    match catalogues.load() {
        Ok(registry) => {
            Check::ok("catalogues", format!("the catalogues of {} can be read", registry.known()))
        }
        Err(error) => Check::fail(
            "catalogues",
            format!("{error:#}"),
            "correct the file, or leave `catalogue` out of the settings: the built-in ones are complete",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::Status;

    #[test]
    fn descriptors_must_be_enough_for_the_connections() {
        let limit = |current, maximum| Rlimit { current, maximum };
        let check = |current, maximum| descriptors(limit(current, maximum), 4096);
        assert_eq!(check(None, None).status, Status::Ok);
        assert_eq!(check(Some(4160), Some(4160)).status, Status::Ok);
        let soft = check(Some(1024), Some(524_288));
        assert_eq!(soft.status, Status::Warn);
        assert!(soft.found.contains("1024 files") && soft.found.contains("4096 connections"), "{soft}");
        assert!(soft.advice.expect("it says so").contains("ulimit -n 4160"));
        let hard = check(Some(1024), Some(4096)).advice.expect("it says so");
        assert!(hard.contains("LimitNOFILE=") && hard.contains("4160"), "{hard}");
        assert_eq!(descriptors(limit(Some(1024), None), 900).status, Status::Ok, "a server for few");
    }

    #[test]
    fn a_system_without_random_bytes_fails() {
        let check = entropy(|_| Err("not permitted"));
        assert_eq!(check.status, Status::Fail);
        assert!(check.found.contains("not permitted"), "{check}");
        assert_eq!(entropy(getrandom::fill).status, Status::Ok);
    }

    #[test]
    fn a_catalogue_that_cannot_be_read_is_named() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let path = file.path().display().to_string();
        let check = catalogues(&Catalogues { catalogues: vec![("faraway".to_owned(), path.clone())] });
        assert_eq!(check.status, Status::Fail);
        assert!(check.found.contains(&path), "{check}");
        assert_eq!(catalogues(&Catalogues::default()).status, Status::Ok);
    }
}
