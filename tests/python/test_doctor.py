"""`boardwire doctor`: in order where everything is, and plain about what a machine is short of."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import boardwire
from boardwire import _doctor
from boardwire._server import find_binary
from doctors import after, doctor, machine, run

#: Every check, in its order.
CHECKS = [
    "settings",
    "cores",
    "memory",
    "descriptors",
    "entropy",
    "catalogues",
    "socket",
    "loopback",
    "journal",
    "proxy",
    "variables",
    "named_binary",
    "python",
    "package",
    "dependencies",
    "import",
    "extension",
    "extras",
    "client_binary",
]
#: Those that depend on how large the machine is that tests are run on.
OF_THE_MACHINE = {"cores", "memory", "descriptors"}


def test_where_everything_is_in_order_it_says_so() -> None:
    found = doctor()
    assert list(found) == CHECKS
    wrong = {name: check for name, check in found.items() if check.status != "ok"}
    assert wrong.keys() <= OF_THE_MACHINE, wrong
    ended = run()
    assert ended.returncode == 0
    lines = ended.stdout.splitlines()
    assert [line.split()[1].removesuffix(":") for line in lines] == CHECKS
    assert {line.split()[0] for line in lines} <= {"ok", "warn"}


def test_whoever_reads_it_may_stop_reading() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [str(find_binary()), "doctor", "--python", os.devnull]
    ended = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(writer)
    assert ended.stderr.startswith("boardwire: Broken pipe")


def test_every_check_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
    section = page.split("\n## Doctor\n")[1].split("\n## ")[0]
    assert re.findall("^\\| `([a-z_]+)` \\|", section, re.MULTILINE) == CHECKS


def test_a_temporary_folder_with_a_long_path_fails(tmp_path: Path) -> None:
    long = tmp_path / ("long" * 20) / "folder"
    long.mkdir(parents=True)
    found = machine(variables={"TMPDIR": str(long)})
    assert found["socket"].status == "fail"
    assert str(long) in found["socket"].found
    assert "TMPDIR" in found["socket"].advice
    assert not list(long.iterdir())
    assert found["journal"].status == "ok"


def test_what_it_says_of_the_temporary_folder_is_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Two paths, one of which is just short enough for the socket of a private server, one a byte too long.
    room = 107 - len("/boardwire-12345678/socket") - len(os.fsencode(tmp_path)) - 1
    if room < 1:
        pytest.skip("the temporary folder of this test has a long path itself")
    for size, status in ((room, "ok"), (room + 1, "fail")):
        folder = tmp_path / ("d" * size)
        folder.mkdir()
        assert machine(variables={"TMPDIR": str(folder)})["socket"].status == status
        monkeypatch.setattr("tempfile.tempdir", str(folder))
        if status == "ok":
            boardwire.connect().close()
        else:
            with pytest.raises(boardwire.errors.StartError):
                boardwire.connect()


def test_a_temporary_folder_that_is_not_there_is_passed_over(tmp_path: Path) -> None:
    socket = machine(variables={"TMPDIR": str(tmp_path / "absent"), "TMP": str(tmp_path)})["socket"]
    assert socket.status == "warn"
    assert f"listen in {tmp_path}, but TMPDIR names" in socket.found


@pytest.mark.parametrize(
    ("hard", "connections", "status", "advice"),
    [(None, None, "warn", "ulimit -n 4160"), (256, None, "warn", "LimitNOFILE"), (256, "100", "ok", "")],
)
def test_a_limit_of_descriptors_must_leave_room_for_connections(
    hard: int | None, connections: str | None, status: str, advice: str
) -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard is None and most != resource.RLIM_INFINITY and most < 4160:
        pytest.skip("the hard limit of this machine is low")
    limits = (256, most if hard is None else hard)
    found = machine(
        variables={"BOARDWIRE_MAX_CONNECTIONS": connections} if connections else {},
        wrapper=after(f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, {limits})"),
    )["descriptors"]
    assert found.status == status
    assert "256 files" in found.found
    assert advice in found.advice


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processes cannot be bound to cores here")
def test_a_single_core_is_warned_of() -> None:
    core = min(os.sched_getaffinity(0))
    cores = machine(wrapper=after(f"import os; os.sched_setaffinity(0, {{{core}}})"))["cores"]
    assert (cores.status, cores.found) == ("warn", "1 core may be used")


def test_a_machine_without_loopback_fails() -> None:
    apart = ("unshare", "--user", "--map-root-user", "--net")
    if not shutil.which("unshare") or subprocess.run([*apart, "true"], capture_output=True).returncode:
        pytest.skip("networks of one's own cannot be made here")
    loopback = machine(wrapper=apart)["loopback"]
    assert loopback.status == "fail"
    assert "ip link set lo up" in loopback.advice


def test_a_proxy_must_leave_this_machine_out() -> None:
    proxy = {"http_proxy": "http://user:secret@proxy.example:3128"}
    found = machine(variables=proxy)["proxy"]
    assert found.status == "warn"
    assert "localhost and 127.0.0.1" in found.found
    assert "secret" not in found.found + found.advice
    name, value = found.advice.removeprefix("export ").split("=")
    assert machine(variables={**proxy, name: value})["proxy"].status == "ok"


def test_a_variable_that_nobody_reads_is_told() -> None:
    found = machine(variables={"BOARDWIRE_JORNAL": "x", "BOARDWIRE_LOG": "json"})["variables"]
    assert found.status == "warn"
    assert found.found.endswith("reads BOARDWIRE_JORNAL (is BOARDWIRE_JOURNAL meant?)")


def test_every_variable_of_the_client_is_known() -> None:
    package = Path(_doctor.__file__).parent
    texts = (path.read_text() for path in package.rglob("*.py"))
    names = {name for text in texts for name in re.findall("BOARDWIRE_[A-Z_]+", text)}
    assert "BOARDWIRE_BINARY" in names
    values = dict.fromkeys(names, str(find_binary()))
    assert machine(variables=values)["variables"].status == "ok"


def test_settings_that_serve_refuses_fail(tmp_path: Path) -> None:
    settings = machine(variables={"BOARDWIRE_MAX_MATCHES": "many"})["settings"]
    assert settings.status == "fail"
    assert "many" in settings.found
    assert "--max-matches" in settings.found
    file = tmp_path / "boardwire.toml"
    file.write_text("lisen = []")
    assert "lisen" in machine("--config", str(file))["settings"].found
    file.write_text("listen = ['0.0.0.0:0']")
    assert "--insecure" in machine("--config", str(file))["settings"].found
    assert machine(variables={"BOARDWIRE_CONFIG": str(tmp_path / "absent")})["settings"].status == "fail"


def test_a_catalogue_of_the_settings_that_cannot_be_read_fails(tmp_path: Path) -> None:
    (tmp_path / "faraway.json").write_text("{}")
    file = tmp_path / "boardwire.toml"
    file.write_text(f"catalogue = ['faraway={tmp_path}/faraway.json']")
    found = machine("--config", str(file))
    assert found["settings"].status == "ok"
    assert found["catalogues"].status == "fail"
    assert f"{tmp_path}/faraway.json" in found["catalogues"].found


def test_a_journal_goes_where_it_can_be_written(tmp_path: Path) -> None:
    found = machine("--journal", str(tmp_path / "absent" / "journal"))["journal"]
    assert (found.status, found.advice) == ("fail", f"mkdir -p '{tmp_path / 'absent'}'")
    assert machine(variables={"BOARDWIRE_JOURNAL": str(tmp_path)})["journal"].status == "fail", "a folder"
    if sys.platform == "linux":
        # Nobody can write there.
        assert machine("--journal", "/proc/journal")["journal"].status == "fail"
    file = tmp_path / "boardwire.toml"
    file.write_text(f"journal = '{tmp_path}/journal'")
    planned = machine("--config", str(file))["journal"]
    assert planned.status != "fail"
    assert f"SQLite writes in {tmp_path}" in planned.found
    assert list(tmp_path.iterdir()) == [file], "nothing is left behind"


@pytest.mark.skipif(not os.path.ismount("/dev/shm"), reason="there is no file system in memory")
def test_a_journal_in_memory_is_warned_of() -> None:
    found = machine("--journal", "/dev/shm/boardwire.journal")["journal"]
    assert found.status == "warn"
    assert "tmpfs" in found.found
