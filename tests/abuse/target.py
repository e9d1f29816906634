"""The server under attack: the real binary, its log in a file, and what Linux tells of its process."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

#: How long a server may take to begin.
START_SECONDS = 30.0
#: How long it may take from SIGTERM to its end: the drain time-out, and room for a busy machine.
STOP_SECONDS = 60.0


class Failed(Exception):
    """The server did not do what it should have done."""


def expect(condition: object, message: str) -> None:
    """Fails the attack unless the condition holds."""
    if not condition:
        raise Failed(message)


def wait_until(condition: Callable[[], object], seconds: float, message: str) -> float:
    """Polls until the condition holds; gives how long that took, fails after `seconds`."""
    start = time.monotonic()
    while not condition():
        expect(time.monotonic() - start < seconds, f"{message} within {seconds:g} s")
        time.sleep(0.02)
    return time.monotonic() - start


def resident(pid: int, name: str = "VmRSS:") -> float:
    """The resident memory of a process in MiB, or another value of its status."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) / 1024
    raise Failed("the process is gone")


class Target:
    """A running server that listens on a TCP port, for attackers, and on a Unix socket, for others.

    The two are different callers to it: what it limits by caller does not fall on the innocent.
    """

    #: Waits until the innocent client beside an attack has learnt that the server is gone.
    wait_for_normal_client: Callable[[], None]

    def __init__(self, binary: str, folder: Path, flags: Sequence[str] = ()) -> None:
        """Starts it."""
        self.binary = binary
        self.log = folder / "log"
        self.unix = f"unix:{folder}/socket"
        listen = ["--listen", "127.0.0.1:0", "--listen", self.unix]
        command = [binary, "serve", "--exit-with-stdin", "--log-level", "warn", *listen, *flags]
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self.process.stdout is not None
        lines = [self.process.stdout.readline() for _ in range(2)]
        if not all(line.startswith("listening on ") for line in lines):
            raise Failed(f"the server did not start: {self.log.read_text()}")
        self.address = lines[0].removeprefix("listening on ").strip()
        self.pid = self.process.pid

    @property
    def host(self) -> tuple[str, int]:
        """The TCP address as sockets take it."""
        host, port = self.address.rsplit(":", 1)
        return host, int(port)

    def resident(self) -> float:
        """Its resident memory in MiB."""
        return resident(self.pid)

    def peak(self) -> float:
        """The most resident memory it has had, in MiB."""
        return resident(self.pid, "VmHWM:")

    def descriptors(self) -> int:
        """How many file descriptors it has open."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def limit_descriptors(self, soft: int) -> int:
        """Limits how many file descriptors it may have; gives how many that were."""
        before, hard = resource.prlimit(self.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(self.pid, resource.RLIMIT_NOFILE, (soft, hard))
        return before

    def cpu(self) -> float:
        """The seconds of processor time it has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def load(self, seconds: float = 0.5) -> float:
        """How many processors it keeps busy, over a moment."""
        before, start = self.cpu(), time.monotonic()
        time.sleep(seconds)
        return (self.cpu() - before) / (time.monotonic() - start)

    def logged(self) -> str:
        """Its log."""
        return self.log.read_text(errors="replace")

    def stop(self, sign: signal.Signals = signal.SIGTERM) -> float:
        """Stops it by a signal; gives how long that took, fails if it ended with anything but 0."""
        start = time.monotonic()
        self.process.send_signal(sign)
        try:
            code = self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            raise Failed(f"the server was still there {STOP_SECONDS:g} s after {sign.name}") from None
        wanted = -sign if sign is signal.SIGKILL else 0
        expect(code == wanted, f"the server ended with {code} at {sign.name}")
        return time.monotonic() - start

    def close(self) -> None:
        """Leaves nothing behind, however it went."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()


@contextlib.contextmanager
def running_server(binary: str, folder: Path, flags: Sequence[str] = ()) -> Iterator[Target]:
    """A server for as long as the context lasts."""
    target = Target(binary, folder, flags)
    try:
        yield target
    finally:
        target.close()
