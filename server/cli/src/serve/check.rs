//! `serve --check`: whether a server with these settings would start here, and what it may run short of.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Command;
use rustix::fs::{Access, FlockOperation, access, fcntl_lock, statfs};
use rustix::process::{Resource, getrlimit};
use tempfile::TempDir;

use super::{ListenerConfig, Settings, journal};
use boardwire_server::edge::Bounds;
use boardwire_server::journal::JournalReader;
use boardwire_server::run::runtime;

/// Descriptors that are no connections: listeners, the journal's files, what the runtime and the logs have open.
const OTHER_DESCRIPTORS: u64 = 64;
/// What should be free on a journal's disk: a match takes some kilobytes, so that this is room for days.
const ENOUGH_DISK: u64 = 1 << 30;
/// What a copy of the journal is called.
const COPY: &str = "journal";
/// What the client reads, beside what flags of the binary do.
const OF_THE_CLIENT: [&str; 2] = ["BOARDWIRE_BINARY", "BOARDWIRE_WIRE"];
/// File systems on which a journal does not last or `SQLite` cannot rely on locks, by Linux's numbers.
const UNFIT: [(i128, &str); 8] = [
    (0x0102_1994, "memory alone (tmpfs): it ends with the machine's run"),
    (0x794c_7630, "a container's own layer (overlay), which ends with it: name a folder on a volume"),
    (0x6969, "a network (NFS), over which SQLite cannot rely on locks"),
    (0xff53_4d42, "a network (CIFS), over which SQLite cannot rely on locks"),
    (0xfe53_4d42, "a network (SMB), over which SQLite cannot rely on locks"),
    (0x00c3_6400, "a network (Ceph), over which SQLite cannot rely on locks"),
    (0x0102_1997, "another machine's files (9P), over which SQLite cannot rely on locks"),
    (0x6573_5546, "FUSE, over which SQLite may not rely on locks"),
];

/// What was found of one thing that a server needs.
#[derive(Debug, PartialEq, Eq)]
enum Finding {
    Ok(String),
    /// It starts, and may run short of this.
    Warn(String),
    /// It does not start.
    Fail(String),
}

impl<T: Into<String>> From<anyhow::Result<T>> for Finding {
    fn from(found: anyhow::Result<T>) -> Self {
        found.map_or_else(|error| Self::Fail(format!("{error:#}")), |found| Self::Ok(found.into()))
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Ok(text) | Self::Warn(text) | Self::Fail(text)) = self;
        // Errors of others may have several lines.
        out.write_str(&text.lines().map(str::trim).collect::<Vec<_>>().join(" "))
    }
}

/// Prints a line for each thing that a server with these settings needs. It listens for a moment where the server would, reads
/// all files that it would read, and changes none.
pub(super) fn check(settings: &Settings, line: &Command) -> anyhow::Result<ExitCode> {
    let runtime = runtime()?;
    // What is sent to a collector takes tasks.
    let _inside = runtime.enter();
    let logs = settings.observe().map(|_| "they can be written");
    let snapshots = settings
        .snapshot_key()
        .map(|key| if key.is_some() { "the key can be used" } else { "the key is drawn at the start" });
    let found = [
        ("logs", logs.into()),
        ("files", ListenerConfig::of(settings).map(|_| "certificates, keys and accounts can be used").into()),
        ("snapshots", snapshots.into()),
        ("threads", settings.pool().map(|_| "the pool can be started").map_err(anyhow::Error::from).into()),
        (
            "games",
            settings.tables().map(|tables| format!("{} can be played", tables.registry().known())).into(),
        ),
        ("sockets", runtime.block_on(sockets(settings)).map(|()| "all addresses can be listened on").into()),
        (
            "journal",
            settings
                .journal
                .as_deref()
                .map_or(Ok(Finding::Ok("none is set".to_owned())), |path| kept(settings, path))
                .unwrap_or_else(|error| Err::<String, _>(error).into()),
        ),
        ("descriptors", descriptors(getrlimit(Resource::Nofile).current, settings.bounds().connections)),
        ("memory", memory(Path::new("/"), &settings.bounds())),
        ("variables", variables(line, std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()))),
    ];
    let mut out = std::io::stdout().lock();
    for (name, found) in &found {
        let status = match found {
            Finding::Ok(_) => "ok",
            Finding::Warn(_) => "warn",
            Finding::Fail(_) => "fail",
        };
        writeln!(out, "{status:<4}  {name}: {found}")?;
    }
    let fails = found.iter().any(|(_, found)| matches!(found, Finding::Fail(_)));
    Ok(if fails { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn sockets(settings: &Settings) -> anyhow::Result<()> {
    let front = ListenerConfig::of(settings)?;
    for (address, place) in &front.places {
        // What a server that was killed has left there is removed by the one that follows.
        if !place.is_left_behind().await {
            let listener = place.bind(None).await;
            listener.with_context(|| format!("cannot listen on {address}"))?;
        }
    }
    for address in [front.metrics, front.watch_page].into_iter().flatten() {
        TcpListener::bind(address).with_context(|| format!("cannot listen on {address}"))?;
    }
    Ok(())
}

/// Whether the matches of a journal could go on, or a new one be made, and whether it would last.
fn kept(settings: &Settings, path: &Path) -> anyhow::Result<Finding> {
    let path = std::path::absolute(path)?;
    let folder = path.parent().context("it is a folder")?;
    // An empty file is as good as none.
    let found = if std::fs::metadata(&path).is_ok_and(|file| file.len() > 0) {
        let matches = settings.matches(&Arc::new(settings.pool()?))?;
        let copy = copied(&path)?;
        let reading = JournalReader::open(&copy.path().join(COPY), settings.keeping());
        let reading = reading.map_err(|problem| anyhow::anyhow!("journal {}: {problem}", path.display()))?;
        let found = journal::read(&matches, &path, &reading, settings.journal_give_up)?;
        format!("{} matches can go on", found.sound.len())
    } else {
        access(folder, Access::WRITE_OK)
            .with_context(|| format!("{} cannot be written", folder.display()))?;
        "a new one can be made".to_owned()
    };
    let about = statfs(folder)?;
    let free = about.f_bavail.saturating_mul(u64::try_from(about.f_bsize)?);
    let unfit = UNFIT.iter().find(|(number, _)| *number == i128::from(about.f_type));
    Ok(match unfit {
        Some((_, place)) => Finding::Warn(format!("{found}, but {} is on {place}", folder.display())),
        None if free < ENOUGH_DISK => Finding::Warn(format!(
            "{found}, but {} has {} MiB free: matches whose journal cannot be written do not go on",
            folder.display(),
            free >> 20
        )),
        None => Finding::Ok(found),
    })
}

/// A folder with a copy of a journal that no server has open, since `SQLite` writes beside what it reads.
fn copied(path: &Path) -> anyhow::Result<TempDir> {
    let about = || format!("journal {}", path.display());
    let file = File::options().read(true).write(true).open(path).with_context(about)?;
    // Those of SQLite are of this kind.
    fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive)
        .with_context(|| format!("{}: another server has it open", about()))?;
    let folder = tempfile::tempdir().context("there is no folder for a copy of the journal")?;
    for ending in ["", "-wal", "-tail"] {
        let mut from = path.as_os_str().to_owned();
        from.push(ending);
        match std::fs::copy(&from, folder.path().join(format!("{COPY}{ending}"))) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            copied => drop(copied.with_context(about)?),
        }
    }
    Ok(folder)
}

/// Whether the server may have so many connections: it does not raise the limit itself.
fn descriptors(limit: Option<u64>, connections: usize) -> Finding {
    let needed = connections as u64 + OTHER_DESCRIPTORS;
    match limit.filter(|limit| *limit < needed) {
        None => Finding::Ok(format!("{connections} connections may be open at once")),
        Some(limit) => Finding::Warn(format!(
            "{limit} files may be open at once, fewer than {connections} connections take: `ulimit -n {needed}` (LimitNOFILE= \
             of systemd, --ulimit of docker), or a lower --max-connections"
        )),
    }
}

/// Whether there is memory for all that connections may hold, by what `proc` and `sys` below `root` say.
fn memory(root: &Path, bounds: &Bounds) -> Finding {
    let read = |path: &Path| std::fs::read_to_string(root.join(path)).unwrap_or_default();
    let number = |path: &Path| read(path).trim().parse::<u64>().ok();
    let system = read(Path::new("proc/meminfo"));
    let system =
        system.lines().find_map(|line| line.strip_prefix("MemAvailable:")?.trim().strip_suffix(" kB"));
    let system = system.and_then(|kilobytes| Some(kilobytes.trim().parse::<u64>().ok()? << 10));
    // The control group of this process and those around it, of version 2.
    let group = read(Path::new("proc/self/cgroup"));
    let group = group.lines().find_map(|line| line.strip_prefix("0::/"));
    let groups = group.into_iter().flat_map(|group| Path::new(group).ancestors());
    let left = groups.filter_map(|group| {
        let folder = Path::new("sys/fs/cgroup").join(group);
        Some(number(&folder.join("memory.max"))?.saturating_sub(number(&folder.join("memory.current"))?))
    });
    let Some(available) = left.chain(system).min() else {
        return Finding::Ok("how much is available cannot be seen on this system".to_owned());
    };
    let (available, most) = (available >> 20, bounds.bytes as u64 >> 20);
    if available < most {
        let text = "MiB are available, and connections may hold";
        Finding::Warn(format!("{available} {text} {most}: give it more, or a lower --max-bytes"))
    } else {
        Finding::Ok(format!("{available} MiB are available"))
    }
}

/// Whether a flag or the client reads every variable that begins with `BOARDWIRE_`.
fn variables(line: &Command, names: impl Iterator<Item = String>) -> Finding {
    let mut known: BTreeSet<String> = OF_THE_CLIENT.map(str::to_owned).into();
    for command in line.get_subcommands() {
        let read = command.get_arguments().filter_map(|argument| argument.get_env());
        known.extend(read.map(|name| name.to_string_lossy().into_owned()));
    }
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
        let Finding::Warn(few) = descriptors(Some(1024), 4096) else { panic!("they are not") };
        assert!(few.starts_with("1024 files") && few.contains("ulimit -n 4160"), "{few}");
    }

    #[test]
    fn limits_of_control_groups_count() {
        let root = tempfile::tempdir().expect("a folder");
        let put = |name: &str, text: &str| {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().expect("it has a folder")).expect("it can be made");
            std::fs::write(path, text).expect("it can be written");
        };
        let found = || memory(root.path(), &Bounds::default());
        assert!(matches!(found(), Finding::Ok(_)), "where nothing can be seen");
        put("proc/meminfo", "MemTotal:  8000000 kB\nMemAvailable:    4194304 kB\n");
        assert_eq!(found(), Finding::Ok("4096 MiB are available".to_owned()));
        put("proc/self/cgroup", "0::/a/b\n");
        put("sys/fs/cgroup/a/b/memory.max", "max\n");
        put("sys/fs/cgroup/a/memory.max", "536870912\n");
        put("sys/fs/cgroup/a/memory.current", "314572800\n");
        let Finding::Warn(little) = found() else { panic!("it is little") };
        assert!(
            little.starts_with("212 MiB") && little.contains("hold 1024") && little.contains("--max-bytes"),
            "{little}"
        );
    }

    #[test]
    fn a_variable_that_nobody_reads_is_told() {
        let check =
            |names: &[&str]| variables(&crate::Cli::command(), names.iter().map(|&name| name.to_owned()));
        assert!(matches!(check(&["BOARDWIRE_JOURNAL", "BOARDWIRE_WIRE", "HOME"]), Finding::Ok(_)));
        let Finding::Warn(told) = check(&["BOARDWIRE_MAX_MATCHS"]) else { panic!("nobody reads it") };
        assert!(told.contains("BOARDWIRE_MAX_MATCHS"), "{told}");
    }
}
