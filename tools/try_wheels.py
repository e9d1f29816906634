"""Tries the packages of a folder as strangers meet them: try_wheels.py FOLDER.

Each environment is new and sees neither Rust nor this checkout's sources. Of the Pythons here that the
package's classifiers name, one has the oldest with the oldest versions that the package takes, the other the
newest with the newest. In both the examples play and the client's tests pass. The sources are built into a
wheel, which plays too.
"""

from __future__ import annotations

import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from email.message import Message
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLIENT = ROOT / "client-py"
#: A Python that the package is for, among its classifiers.
CLASSIFIER = re.compile(r"Programming Language :: Python :: 3\.(\d+)")
#: What a requirement of some Pythons is bound to, as maturin writes it.
BOUND = re.compile(r"python_(?:full_)?version (<|>=) '3\.(\d+)'")
#: Tests of what an installation can break: messages, arrays, both engines, environments.
TESTS = "api batch columns envs errors features local seat spec vector"
EXAMPLES = ("first_match.py", "gym_loop.py")
NOTHING: Mapping[str, str] = {}


def say(words: str) -> None:
    """Tells what is being tried."""
    print(f"try_wheels: {words}", flush=True)


def pythons(minors: Iterable[int]) -> list[tuple[int, str]]:
    """The Pythons of this machine with these minor versions, each with its own, in the order of these."""
    asked = "import sys; print(sys.executable if sys.implementation.name == 'cpython' else '')"
    found = []
    for minor in minors:
        name = f"python3.{minor}"
        # A version that pyenv has, but is not told to use, is in its folder alone.
        homes = sorted(Path(os.environ.get("PYENV_ROOT", "/nowhere")).glob(f"versions/3.{minor}.*/bin"))
        for path in filter(None, [shutil.which(name), *(str(home / name) for home in homes)]):
            ran = subprocess.run([path, "-c", asked], capture_output=True, text=True, check=False)
            if ran.returncode == 0 and ran.stdout.strip():
                found.append((minor, ran.stdout.strip()))
                break
    return found


def metadata(wheel: Path) -> Message:
    """What a wheel says of itself."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(archive.read(name))


def required(told: Message, minor: int) -> list[str]:
    """What a wheel requires of a Python without extras: `numpy>=1.26` and so on."""
    found = []
    for line in told.get_all("Requires-Dist", []):
        wanted, _, marker = map(str.strip, line.partition(";"))
        if "extra ==" in marker:
            continue
        bound = BOUND.fullmatch(marker)
        # `packaging`, which knows all markers, is not in every Python that may run this.
        if marker and not bound:
            raise SystemExit(f"try_wheels: what is this bound to: {line}")
        if not bound or (minor >= int(bound[2])) == (bound[1] == ">="):
            found.append(wanted)
    return found


def has_licences(wheel: Path) -> None:
    """Sees to it that a wheel has its licence, and those of what it is made of."""
    with zipfile.ZipFile(wheel) as archive:
        names = {Path(name).name for name in archive.namelist() if "/licenses/" in name}
    if names != {"LICENSE", "LICENSE-THIRD-PARTY.txt"}:
        raise SystemExit(f"{wheel.name} has the licences {sorted(names)}")


class Environment:
    """An environment: what is installed into it, and the system's own programs."""

    def __init__(self, folder: Path, python: str) -> None:
        """Makes it."""
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
        self.folder = folder
        self._env = {
            "PATH": f"{folder}/bin:/usr/bin:/bin",
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            # Where packages come from is the machine's matter.
            **{
                name: value for name, value in os.environ.items() if re.match("PIP_|SSL_CERT|REQUESTS_", name)
            },
        }

    def run(self, *words: str, cwd: Path | None = None, more: Mapping[str, str] = NOTHING) -> None:
        """Runs a program of the environment, with more variables."""
        command = [str(self.folder / "bin" / words[0]), *words[1:]]
        subprocess.run(command, check=True, cwd=cwd or self.folder, env={**self._env, **more})

    def install(self, *words: str, more: Mapping[str, str] = NOTHING) -> None:
        """Installs packages."""
        self.run("python", "-m", "pip", "install", "--quiet", *words, more=more)

    def play(self) -> None:
        """Has the installation look at itself, and plays the examples."""
        self.run("python", "-m", "boardwire", "doctor")
        for name in EXAMPLES:
            shutil.copy(CLIENT / "examples" / name, self.folder)
            self.run("python", "-W", "error", name)


def try_wheels(folder: Path, python: str, where: Path, pins: list[str]) -> None:
    """Installs the wheels, plays, and runs the client's tests."""
    environment = Environment(where, python)
    limits = where / "constraints.txt"
    limits.write_text("".join(f"{pin}\n" for pin in pins))
    find = ("--find-links", str(folder), "--constraint", str(limits))
    environment.install(*find, "boardwire[gym]")
    environment.run("python", "-m", "pip", "check")
    environment.play()
    environment.install(*find, "boardwire[pettingzoo,render]", "pytest", "pytest-timeout")
    # Tests read messages by a second implementation.
    environment.install("googleapis-common-protos>=1.66")
    environment.run("python", "-m", "pip", "list")
    tests = [f"tests/test_{name}.py" for name in TESTS.split()]
    environment.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, cwd=CLIENT)


def try_sources(source: Path, python: str, where: Path) -> None:
    """Builds a wheel of the sources, by the rules of development, which are quicker, and plays."""
    environment = Environment(where, python)
    with tarfile.open(source) as archive:
        if not any(name.endswith("/LICENSE") for name in archive.getnames()):
            raise SystemExit(f"{source.name} has no licence")
    cargo = Path(shutil.which("cargo") or "cargo").parent
    more = {name: value for name, value in os.environ.items() if re.match("CARGO_HOME|RUSTUP_|HOME$", name)}
    more |= {
        "PATH": f"{where}/bin:{cargo}:/usr/bin:/bin",
        "CARGO_TARGET_DIR": str(ROOT / "target"),
        "MATURIN_PEP517_ARGS": "--profile dev",
    }
    # Sources are packed with a time of 2006, and Cargo builds nothing that is older than what it has built:
    # `m` gives the files the time of now. pip caches wheels by the path of their sources alone.
    subprocess.run(["tar", "xmzf", str(source), "-C", str(where)], check=True)
    (sources,) = where.glob("boardwire-*")
    environment.install("--no-cache-dir", f"boardwire[gym] @ {sources.as_uri()}", more=more)
    environment.play()


def main(folder: Path) -> None:
    """Tries all of it."""
    (wheel,), (source,) = folder.glob("boardwire-*.whl"), folder.glob("boardwire-*.tar.gz")
    say(f"{wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB")
    has_licences(wheel)
    told = metadata(wheel)
    named = map(CLASSIFIER.fullmatch, told.get_all("Classifier", []))
    found = pythons(sorted(int(match[1]) for match in named if match))
    if not found:
        raise SystemExit("try_wheels: no Python here is one that the package's classifiers name")
    (minor, oldest), (_, newest) = found[0], found[-1]
    floors = [line.replace(">=", "==") for line in required(told, minor)]
    with tempfile.TemporaryDirectory() as scratch:
        for name, python, pins in (("oldest", oldest, floors), ("newest", newest, [])):
            say(f"the {name} versions, with {python}")
            try_wheels(folder, python, Path(scratch, name), pins)
        say(f"{source.name}, built")
        try_sources(source, newest, Path(scratch, "sources"))
    say("all of it plays")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
