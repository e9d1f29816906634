"""The server under attack: the real binary with a log file, and measurements of its process."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

#: The time for a server to start.
START_SECONDS = 30.0
#: The time from SIGTERM to its end: the drain timeout and a margin for a busy machine.
STOP_SECONDS = 60.0


class Failed(Exception):
    """The server failed a check."""


def expect(condition: object, message: str) -> None:
    """Fails the attack unless the condition is true."""
    if not condition:
        raise Failed(message)


def wait_until(condition: Callable[[], object], seconds: float, message: str) -> float:
    """Polls until the condition is true and returns the duration; fails after `seconds`."""
    start = time.monotonic()
    while not condition():
        expect(time.monotonic() - start < seconds, f"{message} within {seconds:g} s")
        time.sleep(0.02)
    return time.monotonic() - start


def resident(pid: int, name: str = "VmRSS:") -> float:
    """Returns the resident memory of a process in MiB, or another value of its status."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) / 1024
    raise Failed("the process has ended")


class Target:
    """A running server that listens on a TCP port for attackers and on a Unix socket for other callers.

    The two are different callers, so limits per caller do not affect the normal client.
    """

    #: Waits until the normal client beside an attack notices the end of the server.
    wait_for_normal_client: Callable[[], None]

    def __init__(self, binary: str, folder: Path, flags: Sequence[str] = ()) -> None:
        """Starts the server."""
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
        """The TCP address for the module `socket`."""
        host, port = self.address.rsplit(":", 1)
        return host, int(port)

    def resident(self) -> float:
        """Returns its resident memory in MiB."""
        return resident(self.pid)

    def peak(self) -> float:
        """Returns its largest resident memory so far, in MiB."""
        return resident(self.pid, "VmHWM:")

    def descriptors(self) -> int:
        """Returns the number of its open file descriptors."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def limit_descriptors(self, soft: int) -> int:
        """Sets its soft limit of file descriptors and returns the previous limit."""
        before, hard = resource.prlimit(self.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(self.pid, resource.RLIMIT_NOFILE, (soft, hard))
        return before

    def cpu(self) -> float:
        """Returns its processor time in seconds."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def load(self, seconds: float = 0.5) -> float:
        """Measures the number of processors that it keeps busy."""
        before, start = self.cpu(), time.monotonic()
        time.sleep(seconds)
        return (self.cpu() - before) / (time.monotonic() - start)

    def stop(self, stop_signal: signal.Signals = signal.SIGTERM) -> float:
        """Stops it by a signal and returns the duration; fails if its exit code is wrong."""
        start = time.monotonic()
        self.process.send_signal(stop_signal)
        try:
            code = self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            raise Failed(f"the server still ran {STOP_SECONDS:g} s after {stop_signal.name}") from None
        expected = -stop_signal if stop_signal is signal.SIGKILL else 0
        expect(code == expected, f"the server ended with {code} at {stop_signal.name}")
        return time.monotonic() - start

    def close(self) -> None:
        """Kills the server if it still runs and closes its pipes."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()


@contextlib.contextmanager
def running_server(binary: str, folder: Path, flags: Sequence[str] = ()) -> Iterator[Target]:
    """Runs a server during the context."""
    target = Target(binary, folder, flags)
    try:
        yield target
    finally:
        target.close()
