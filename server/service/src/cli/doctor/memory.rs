//! How much memory is left to this process, by the system and by the control groups that it is in.

use std::path::{Path, PathBuf};

use super::Check;

/// What a server should have: answers under way may take 1 GiB by `--max-bytes`, a full table of environments half of that.
const ENOUGH: u64 = 1 << 30;

/// How much memory is available, by what `proc` and `sys` below `root` say.
pub(super) fn check(root: &Path) -> Check {
    let system = meminfo(&root.join("proc/meminfo"));
    let limits = groups(root).into_iter().filter_map(|group| group.left());
    let Some(available) = limits.chain(system).min() else {
        return Check::ok("memory", "how much is available cannot be seen on this system");
    };
    let limited = system.is_none_or(|system| available < system);
    let by = if limited { "below the limit of a control group" } else { "by what the system says" };
    let found = format!("{} MiB are available {by}", available >> 20);
    if available < ENOUGH {
        let advice = format!(
            "leave {} MiB or more to a server, or lower its --max-bytes and --max-environments (up to 18 KiB each)",
            ENOUGH >> 20
        );
        return Check::warn("memory", found, advice);
    }
    Check::ok("memory", found)
}

/// The bytes that can be had without swapping, by `/proc/meminfo`.
fn meminfo(path: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// The files of a control group that tell of memory.
struct Group {
    folder: PathBuf,
    limit: &'static str,
    usage: &'static str,
    /// What it has cached and would give back, as a key of `memory.stat`.
    inactive: &'static str,
}

impl Group {
    /// The bytes below its limit; nothing without one.
    fn left(&self) -> Option<u64> {
        let number = |name| -> Option<u64> {
            std::fs::read_to_string(self.folder.join(name)).ok()?.trim().parse().ok()
        };
        let limit = number(self.limit)?;
        let stat = std::fs::read_to_string(self.folder.join("memory.stat")).unwrap_or_default();
        let inactive = stat.lines().find_map(|line| line.strip_prefix(self.inactive)?.trim().parse().ok());
        let used = number(self.usage).unwrap_or(0).saturating_sub(inactive.unwrap_or(0));
        Some(limit.saturating_sub(used))
    }
}

/// The control groups that limit the memory of this process: its own and those around it, of either version.
fn groups(root: &Path) -> Vec<Group> {
    let text = std::fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let mut groups = Vec::new();
    for line in text.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let mounted = root.join("sys/fs/cgroup");
        let (mounted, [limit, usage, inactive]) = if controllers.is_empty() {
            (mounted, ["memory.max", "memory.current", "inactive_file "])
        } else if controllers.split(',').any(|controller| controller == "memory") {
            let files = ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "];
            (mounted.join("memory"), files)
        } else {
            continue;
        };
        let around = Path::new(path.trim_start_matches('/')).ancestors();
        groups.extend(around.map(|path| Group { folder: mounted.join(path), limit, usage, inactive }));
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::Status;

    /// What is found where these files tell of memory.
    fn found(files: &[(&str, &str)]) -> Check {
        let root = tempfile::tempdir().expect("a temporary folder");
        for (name, text) in files {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().expect("it has a folder")).expect("it can be made");
            std::fs::write(path, text).expect("it can be written");
        }
        check(root.path())
    }

    const SYSTEM: (&str, &str) =
        ("proc/meminfo", "MemTotal:  8000000 kB\nMemFree: 10 kB\nMemAvailable:    4194304 kB\n");

    #[test]
    fn little_memory_of_the_system_is_warned_of() {
        assert_eq!(found(&[SYSTEM]), Check::ok("memory", "4096 MiB are available by what the system says"));
        let little = found(&[("proc/meminfo", "MemAvailable: 307200 kB\n")]);
        assert_eq!(
            (little.status, &little.found[..]),
            (Status::Warn, "300 MiB are available by what the system says")
        );
        assert!(little.advice.expect("it says so").contains("--max-bytes"));
        assert_eq!(found(&[]).status, Status::Ok, "where nothing can be seen");
    }

    #[test]
    fn limits_of_control_groups_count() {
        let group = ("proc/self/cgroup", "0::/a/b\n");
        let unlimited = [SYSTEM, group, ("sys/fs/cgroup/a/b/memory.max", "max\n")];
        assert_eq!(found(&unlimited).found, "4096 MiB are available by what the system says");
        let limited = [
            SYSTEM,
            group,
            ("sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("sys/fs/cgroup/a/memory.max", "536870912\n"),
            ("sys/fs/cgroup/a/memory.current", "314572800\n"),
            ("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 104857600\n"),
        ];
        let check = found(&limited);
        assert_eq!(check.found, "312 MiB are available below the limit of a control group");
        assert_eq!(check.status, Status::Warn);
        let first = [
            SYSTEM,
            ("proc/self/cgroup", "9:cpu,cpuacct:/c\n8:memory:/c\n"),
            ("sys/fs/cgroup/memory/c/memory.limit_in_bytes", "2147483648\n"),
            ("sys/fs/cgroup/memory/c/memory.usage_in_bytes", "1048576\n"),
        ];
        assert_eq!(
            found(&first),
            Check::ok("memory", "2047 MiB are available below the limit of a control group")
        );
    }
}
