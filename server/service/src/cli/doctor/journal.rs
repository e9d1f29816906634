//! Whether matches could be kept in a journal.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use super::Check;
use super::sockets::{Temporary, scratch};
use crate::journal::{Keeping, Reading};

/// What should be free: a match takes some kilobytes, so that this is room for days.
const ENOUGH: u64 = 1 << 30;

/// File systems that are reached over a network, where `SQLite`'s locks and its waits for the disk cannot be relied on.
const NETWORK: &[&str] = &[
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "fuse.glusterfs",
    "fuse.s3fs",
    "fuse.sshfs",
    "gpfs",
    "lustre",
    "nfs",
    "nfs4",
    "smb3",
    "smbfs",
];

/// Whether a planned journal could be written, or without one any in the temporary folder.
pub(super) fn check(planned: Option<&Path>, temporary: &Temporary) -> Check {
    match (planned, &temporary.folder) {
        (Some(file), _) => kept_in(file),
        (None, None) => Check::fail(
            "journal",
            "there is no temporary folder to try a journal in",
            "name a planned one: boardwire doctor --journal FILE",
        ),
        (None, Some(folder)) => match try_in(folder) {
            Ok(()) => Check::ok("journal", format!("SQLite writes in {}; none is planned", folder.display())),
            Err(problem) => {
                Check::fail("journal", problem, "set TMPDIR to a folder that can be written and has room")
            }
        },
    }
}

/// Whether this very file could be a journal.
fn kept_in(file: &Path) -> Check {
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let folder = file.parent().unwrap_or(&file);
    let path = folder.display();
    if !folder.is_dir() {
        return Check::fail("journal", format!("there is no folder {path}"), format!("mkdir -p '{path}'"));
    }
    if let Err(problem) = opened(&file).and_then(|()| try_in(folder)) {
        let advice =
            format!("let the server's user write {path} and what is in it, or name another --journal");
        return Check::fail("journal", problem, advice);
    }
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let free = rustix::fs::statvfs(&folder).ok().map(|about| about.f_bavail.saturating_mul(about.f_frsize));
    placed(&folder, file_system(&mounts, &folder).as_deref(), free)
}

/// Whether a file that is there could be opened. It is not looked into: a server may have it open.
fn opened(file: &Path) -> Result<(), String> {
    if !file.exists() {
        return Ok(());
    }
    let opened = OpenOptions::new().read(true).write(true).open(file);
    opened.map(drop).map_err(|error| format!("{} cannot be opened to write: {error}", file.display()))
}

/// Makes a journal in a folder of its own within this one, and removes it.
fn try_in(folder: &Path) -> Result<(), String> {
    let own = scratch(folder).map_err(|error| format!("{} cannot be written: {error}", folder.display()))?;
    let reading = Reading::open(&own.path().join("journal"), Keeping::default());
    reading.map(drop).map_err(|error| error.to_string())
}

/// Whether what is written there lasts.
fn placed(folder: &Path, file_system: Option<&str>, free: Option<u64>) -> Check {
    let on = file_system.map(|name| format!(" on {name}")).unwrap_or_default();
    let room = free.map(|free| format!(", {} MiB free", free >> 20)).unwrap_or_default();
    let found = format!("SQLite writes in {}{on}{room}", folder.display());
    let advice = match file_system {
        Some("tmpfs" | "ramfs") => {
            "memory alone: name a folder on a disk, where it outlives a start of the machine"
        }
        Some("overlay" | "aufs") => "a container's own layer, which ends with it: name a folder on a volume",
        Some(name) if NETWORK.contains(&name) => {
            "SQLite cannot rely on locks over a network: name a folder on a disk of this machine"
        }
        _ if free.is_some_and(|free| free < ENOUGH) => {
            "make room: matches whose journal cannot be written do not go on"
        }
        _ => return Check::ok("journal", found),
    };
    Check::warn("journal", found, advice)
}

/// The kind of file system that a folder is on, by Linux's `/proc/self/mountinfo`.
fn file_system(mounts: &str, folder: &Path) -> Option<String> {
    let mut found: Option<(PathBuf, &str)> = None;
    for line in mounts.lines() {
        let (mount, source) = line.split_once(" - ")?;
        let place = PathBuf::from(mount.split(' ').nth(4)?.replace("\\040", " "));
        let deeper = found.as_ref().is_none_or(|(other, _)| place.starts_with(other));
        // Of several at one place the last one is seen.
        if folder.starts_with(&place) && deeper {
            found = Some((place, source.split(' ').next()?));
        }
    }
    found.map(|(_, kind)| kind.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::Status;

    const MOUNTS: &str = "\
        22 1 253:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n\
        30 22 0:25 / /dev/shm rw,nosuid - tmpfs tmpfs rw\n\
        31 22 0:26 / /srv/a\\040share rw - nfs4 host:/share rw\n";

    #[test]
    fn the_file_system_is_that_of_the_deepest_mount() {
        let on = |folder: &str| file_system(MOUNTS, Path::new(folder));
        assert_eq!(on("/var/lib").as_deref(), Some("ext4"));
        assert_eq!(on("/dev/shm/deep").as_deref(), Some("tmpfs"));
        assert_eq!(on("/dev/shmother").as_deref(), Some("ext4"));
        assert_eq!(on("/srv/a share/x").as_deref(), Some("nfs4"));
        assert_eq!(file_system("", Path::new("/")), None);
    }

    #[test]
    fn a_journal_that_would_not_last_is_warned_of() {
        let advice = |file_system, free| {
            let check = placed(Path::new("/j"), Some(file_system), Some(free));
            (check.status, check.advice.unwrap_or_default())
        };
        assert_eq!(advice("ext4", ENOUGH), (Status::Ok, String::new()));
        for (file_system, free, expected) in [
            ("tmpfs", ENOUGH, "memory alone"),
            ("overlay", ENOUGH, "volume"),
            ("nfs4", ENOUGH, "network"),
            ("ext4", ENOUGH - 1, "room"),
        ] {
            let (status, advice) = advice(file_system, free);
            assert!(status == Status::Warn && advice.contains(expected), "{file_system}: {advice}");
        }
        assert_eq!(placed(Path::new("/j"), None, None).found, "SQLite writes in /j");
    }

    #[test]
    fn a_journal_is_tried_without_being_made_or_touched() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("matches.journal");
        let temporary = Temporary::default();
        assert_ne!(check(Some(&file), &temporary).status, Status::Fail);
        assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 0);
        std::fs::write(&file, "held by a server").expect("it can be written");
        assert_ne!(check(Some(&file), &temporary).status, Status::Fail);
        assert_eq!(std::fs::read_to_string(&file).expect("it is there"), "held by a server");
        let absent = check(Some(&folder.path().join("absent/journal")), &temporary);
        assert_eq!(absent.status, Status::Fail);
        assert!(absent.advice.expect("it says so").contains("mkdir -p"));
        let taken = check(Some(folder.path()), &temporary);
        assert!(taken.status == Status::Fail && taken.found.contains("cannot be opened"), "{taken}");
        assert_eq!(check(None, &temporary).status, Status::Fail, "no folder at all");
        let there = Temporary { folder: Some(folder.path().to_owned()), passed_over: Vec::new() };
        assert_eq!(check(None, &there).status, Status::Ok);
    }
}
