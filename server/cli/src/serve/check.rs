//! `serve --check`: checks whether a server with these settings would start here, and which resources are scarce.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use boardwire_batch::registry::Registry;
use clap::Command;
use rustix::fs::{Access, FlockOperation, access, fcntl_lock, statfs};
use rustix::process::{Resource, getrlimit};
use tempfile::TempDir;

use super::{ListenerConfig, Settings, journal};
use boardwire_server::edge::Bounds;
use boardwire_server::journal::JournalReader;
use boardwire_server::run::runtime;

/// Descriptors for listeners, the journal's files, the runtime and the log, in addition to connections.
const OTHER_DESCRIPTORS: u64 = 64;
/// The free bytes that a journal's disk should have. A match needs some kilobytes, so this lasts for days.
const ENOUGH_DISK: u64 = 1 << 30;
/// The file name of a copy of the journal.
const COPIED_JOURNAL_NAME: &str = "journal";
/// The environment variables of the Python client.
const CLIENT_VARIABLES: [&str; 1] = ["BOARDWIRE_BINARY"];
/// File systems that lose a journal, or whose locks `SQLite` cannot rely on, by their Linux magic numbers.
const UNFIT_FILE_SYSTEMS: [(i128, &str); 8] = [
    (0x0102_1994, "memory (tmpfs), which a reboot clears"),
    (
        0x794c_7630,
        "a container's layer (overlay), which is deleted with the container: use a folder on a volume",
    ),
    (0x6969, "a network file system (NFS), over which SQLite cannot rely on locks"),
    (0xff53_4d42, "a network file system (CIFS), over which SQLite cannot rely on locks"),
    (0xfe53_4d42, "a network file system (SMB), over which SQLite cannot rely on locks"),
    (0x00c3_6400, "a network file system (Ceph), over which SQLite cannot rely on locks"),
    (0x0102_1997, "another machine's files (9P), over which SQLite cannot rely on locks"),
    (0x6573_5546, "FUSE, over which SQLite may not rely on locks"),
];

#[derive(Debug, PartialEq, Eq)]
enum Finding {
    Ok(String),
    /// The server starts, but may run out of a resource.
    Warn(String),
    /// The server does not start.
    Fail(String),
}

impl<T: Into<String>> From<anyhow::Result<T>> for Finding {
    fn from(result: anyhow::Result<T>) -> Self {
        result.map_or_else(|error| Self::Fail(format!("{error:#}")), |text| Self::Ok(text.into()))
    }
}

/// Checks everything that a server with these settings needs, and prints one line per check. It listens briefly on the
/// server's addresses, reads the server's files, and changes no file.
pub(super) fn check(settings: &Settings, games: &Registry, command: &Command) -> anyhow::Result<ExitCode> {
    let runtime = runtime()?;
    // The exporter of traces spawns tasks.
    let _inside = runtime.enter();
    let logs = settings.observe().map(|_| "the log can be written");
    let files = ListenerConfig::of(settings).map(|_| "certificates, keys and accounts are valid");
    let key_origin = |key: Option<_>| if key.is_some() { "the key is valid" } else { "the key is random" };
    let threads = settings.pool().map(|_| "the pool can be started").map_err(anyhow::Error::from);
    let playable =
        settings.tables(games).map(|tables| format!("{} can be played", tables.registry().ids_text()));
    let sockets = runtime.block_on(sockets(settings)).map(|()| "the server can listen on all addresses");
    let journal = match &settings.journal {
        Some(path) => {
            journal_file(settings, games, path).unwrap_or_else(|error| Err::<String, _>(error).into())
        }
        None => Finding::Ok("none is set".to_owned()),
    };
    let findings = [
        ("logs", logs.into()),
        ("files", files.into()),
        ("snapshots", settings.snapshot_key().map(key_origin).into()),
        ("threads", threads.into()),
        ("games", playable.into()),
        ("sockets", sockets.into()),
        ("journal", journal),
        ("descriptors", descriptors(getrlimit(Resource::Nofile).current, settings.bounds().connections)),
        ("memory", memory(Path::new("/"), &settings.bounds())),
        (
            "variables",
            variables(command, std::env::vars_os().filter_map(|(name, _)| name.into_string().ok())),
        ),
    ];
    let mut out = std::io::stdout().lock();
    for (name, finding) in &findings {
        let (status, text) = match finding {
            Finding::Ok(text) => ("ok", text),
            Finding::Warn(text) => ("warn", text),
            Finding::Fail(text) => ("fail", text),
        };
        // Errors from libraries may have several lines.
        let text = text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        writeln!(out, "{status:<4}  {name}: {text}")?;
    }
    let fails = findings.iter().any(|(_, finding)| matches!(finding, Finding::Fail(_)));
    Ok(if fails { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn sockets(settings: &Settings) -> anyhow::Result<()> {
    let config = ListenerConfig::of(settings)?;
    for (address, resolved) in &config.addresses {
        // The server replaces a stale socket.
        if !resolved.is_stale_socket().await {
            resolved.bind(None).await.with_context(|| format!("cannot listen on {address}"))?;
        }
    }
    for address in [config.metrics, config.watch_page].into_iter().flatten() {
        TcpListener::bind(address).with_context(|| format!("cannot listen on {address}"))?;
    }
    Ok(())
}

/// Checks whether the journal's matches can continue or a new journal can be created, and whether its disk is suitable.
fn journal_file(settings: &Settings, games: &Registry, path: &Path) -> anyhow::Result<Finding> {
    let path = std::path::absolute(path)?;
    let folder = path.parent().context("the journal is a folder")?;
    // The server treats an empty file like a missing file.
    let found = if std::fs::metadata(&path).is_ok_and(|file| file.len() > 0) {
        let matches = settings.matches(games, &Arc::new(settings.pool()?))?;
        let copy = copy_journal(&path)?;
        let reading = JournalReader::open(&copy.path().join(COPIED_JOURNAL_NAME), settings.retention());
        let reading = reading.map_err(|problem| anyhow::anyhow!("journal {}: {problem}", path.display()))?;
        let (restored, _) = journal::read(&matches, &path, &reading, settings.journal_give_up)?;
        format!("{} matches can continue", restored.len())
    } else {
        access(folder, Access::WRITE_OK).with_context(|| format!("cannot write to {}", folder.display()))?;
        "a new one can be created".to_owned()
    };
    let disk = statfs(folder)?;
    let free = disk.f_bavail.saturating_mul(u64::try_from(disk.f_bsize)?);
    let unfit = UNFIT_FILE_SYSTEMS.iter().find(|(number, _)| *number == i128::from(disk.f_type));
    Ok(match unfit {
        Some((_, place)) => Finding::Warn(format!("{found}, but {} is on {place}", folder.display())),
        None if free < ENOUGH_DISK => Finding::Warn(format!(
            "{found}, but {} has {} MiB free: matches stop while the journal cannot be written",
            folder.display(),
            free >> 20
        )),
        None => Finding::Ok(found),
    })
}

/// Copies a journal that no server has open. A copy is needed since `SQLite` writes files next to those that it reads.
fn copy_journal(path: &Path) -> anyhow::Result<TempDir> {
    let about = || format!("journal {}", path.display());
    let file = File::options().read(true).write(true).open(path).with_context(about)?;
    // This is the kind of lock that SQLite takes.
    fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive)
        .with_context(|| format!("{}: another server has it open", about()))?;
    let folder = tempfile::tempdir().context("cannot create a folder for a copy of the journal")?;
    for ending in ["", "-wal", "-tail"] {
        let mut from = path.as_os_str().to_owned();
        from.push(ending);
        match std::fs::copy(&from, folder.path().join(format!("{COPIED_JOURNAL_NAME}{ending}"))) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            copied => drop(copied.with_context(about)?),
        }
    }
    Ok(folder)
}

/// Checks whether the process may open `connections` connections. The server does not raise the limit itself.
fn descriptors(limit: Option<u64>, connections: usize) -> Finding {
    let needed = connections as u64 + OTHER_DESCRIPTORS;
    match limit.filter(|limit| *limit < needed) {
        None => Finding::Ok(format!("{connections} connections may be open at the same time")),
        Some(limit) => Finding::Warn(format!(
            "{limit} files may be open at the same time, too few for {connections} connections: set \
             `ulimit -n {needed}` (LimitNOFILE= of systemd, --ulimit of docker) or a lower --max-connections"
        )),
    }
}

/// Checks whether memory is enough for the buffers of all connections. Reads `proc` and `sys` below `root`.
fn memory(root: &Path, bounds: &Bounds) -> Finding {
    let read = |path: &Path| std::fs::read_to_string(root.join(path)).unwrap_or_default();
    let number = |path: &Path| read(path).trim().parse::<u64>().ok();
    let system = read(Path::new("proc/meminfo"));
    let system =
        system.lines().find_map(|line| line.strip_prefix("MemAvailable:")?.trim().strip_suffix(" kB"));
    let system = system.and_then(|kilobytes| Some(kilobytes.trim().parse::<u64>().ok()? << 10));
    // The cgroup (version 2) of this process and its ancestors.
    let group = read(Path::new("proc/self/cgroup"));
    let group = group.lines().find_map(|line| line.strip_prefix("0::/"));
    let groups = group.into_iter().flat_map(|group| Path::new(group).ancestors());
    let free = groups.filter_map(|group| {
        let folder = Path::new("sys/fs/cgroup").join(group);
        Some(number(&folder.join("memory.max"))?.saturating_sub(number(&folder.join("memory.current"))?))
    });
    let Some(available) = free.chain(system).min() else {
        return Finding::Ok("this system does not report available memory".to_owned());
    };
    let (available, maximum) = (available >> 20, bounds.bytes as u64 >> 20);
    if available < maximum {
        let text = "MiB are available, but connections may take";
        Finding::Warn(format!("{available} {text} {maximum}: add memory, or set a lower --max-bytes"))
    } else {
        Finding::Ok(format!("{available} MiB are available"))
    }
}

/// Checks that every variable whose name begins with `BOARDWIRE_` is used by a flag or the client.
fn variables(command: &Command, names: impl Iterator<Item = String>) -> Finding {
    let flags = command.get_subcommands().flat_map(Command::get_arguments);
    let variables = flags.filter_map(|flag| flag.get_env()).map(|name| name.to_string_lossy().into_owned());
    let known: BTreeSet<String> = variables.chain(CLIENT_VARIABLES.map(str::to_owned)).collect();
    let unknown: Vec<String> =
        names.filter(|name| name.starts_with("BOARDWIRE_") && !known.contains(name)).collect();
    if unknown.is_empty() {
        return Finding::Ok("every BOARDWIRE_ variable is read".to_owned());
    }
    Finding::Warn(format!(
        "no flag and no client reads {}: `boardwire serve --help` names the variable of each flag",
        unknown.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn descriptors_must_be_enough_for_the_connections() {
        for limit in [None, Some(4160)] {
            assert!(matches!(descriptors(limit, 4096), Finding::Ok(_)), "{limit:?}");
        }
        let Finding::Warn(text) = descriptors(Some(1024), 4096) else { panic!("1024 are too few") };
        assert!(text.starts_with("1024 files") && text.contains("ulimit -n 4160"), "{text}");
    }

    #[test]
    fn memory_is_limited_by_cgroups() {
        let root = tempfile::tempdir().expect("a folder");
        let put = |name: &str, text: &str| {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder is writable");
            std::fs::write(path, text).expect("the folder is writable");
        };
        let found = || memory(root.path(), &Bounds::default());
        assert!(matches!(found(), Finding::Ok(_)), "without any files");
        put("proc/meminfo", "MemTotal:  8000000 kB\nMemAvailable:    4194304 kB\n");
        assert_eq!(found(), Finding::Ok("4096 MiB are available".to_owned()));
        put("proc/self/cgroup", "0::/a/b\n");
        put("sys/fs/cgroup/a/b/memory.max", "max\n");
        put("sys/fs/cgroup/a/memory.max", "536870912\n");
        put("sys/fs/cgroup/a/memory.current", "314572800\n");
        let Finding::Warn(text) = found() else { panic!("212 MiB are too little") };
        let named = ["212 MiB", "take 1024", "--max-bytes"];
        assert!(named.iter().all(|name| text.contains(name)), "{text}");
    }

    #[test]
    fn unknown_variables_are_named() {
        let check =
            |names: &[&str]| variables(&crate::Cli::command(), names.iter().map(|&name| name.to_owned()));
        assert!(matches!(check(&["BOARDWIRE_JOURNAL", "BOARDWIRE_BINARY", "HOME"]), Finding::Ok(_)));
        let Finding::Warn(text) = check(&["BOARDWIRE_MAX_MATCHS"]) else { panic!("the name is misspelt") };
        assert!(text.contains("BOARDWIRE_MAX_MATCHS"), "{text}");
    }
}
