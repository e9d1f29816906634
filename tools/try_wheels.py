"""Tests the wheel and the source archive in a folder, as users install them: try_wheels.py FOLDER.

Each environment is new and has no access to Rust or the sources of this checkout. Of the installed Pythons
in the package's classifiers, one environment has the oldest, with the oldest dependencies. The other has the
newest, with the newest dependencies. Both run the examples and the tests of the client. Then the script
builds a wheel from the sources and runs the examples with it. Last, it builds the extension of the crate
examples/kuhn, and plays with it.
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
#: The classifier of a supported Python version.
CLASSIFIER = re.compile(r"Programming Language :: Python :: 3\.(\d+)")
#: The marker of a requirement for some Python versions, as maturin writes it.
MARKER = re.compile(r"python_(?:full_)?version (<|>=) '3\.(\d+)'")
#: The tests of parts that depend on the installation: messages, arrays, both engines, environments.
TESTS = "api batch columns envs errors features local seat spec vector"
EXAMPLES = ("first_match.py", "gym_loop.py")
#: Plays against the networks of the package `boardwire-opponents`.
PLAY_STRONG = """
import boardwire

with boardwire.connect() as client:
    assert client.server().bots[-1].name == "strong"
    match = client.create_match("faraway", players=["agent", "strong"])
    with match.join(0) as seat:
        obs = seat.observe()
        while not obs.over:
            obs = seat.act(int(obs.mask.argmax()))
"""
#: Plays with the extension of examples/kuhn.
PLAY_OWN_GAME = """
import boardwire

with boardwire.connect("local:", module="kuhn_core") as client:
    with client.open_batch("kuhn", environments=8, seed=1) as batch:
        batch.step(batch.reset().mask.argmax(axis=1))
"""
NO_ENV: Mapping[str, str] = {}


def log(text: str) -> None:
    """Prints the current step."""
    print(f"try_wheels: {text}", flush=True)


def pythons(minors: Iterable[int]) -> list[tuple[int, str]]:
    """Returns the Python programs with these minor versions, in this order; missing ones are left out."""
    code = "import sys; print(sys.executable if sys.implementation.name == 'cpython' else '')"
    programs = []
    for minor in minors:
        name = f"python3.{minor}"
        # An installed but inactive version of pyenv is only in its folder.
        folders = sorted(Path(os.environ.get("PYENV_ROOT", "/nowhere")).glob(f"versions/3.{minor}.*/bin"))
        for path in filter(None, [shutil.which(name), *(str(folder / name) for folder in folders)]):
            result = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False)
            if result.returncode == 0 and result.stdout.strip():
                programs.append((minor, result.stdout.strip()))
                break
    return programs


def metadata(wheel: Path) -> Message:
    """Returns the metadata of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(archive.read(name))


def required(message: Message, minor: int) -> list[str]:
    """Returns the requirements of a wheel for a Python version, without extras: `numpy>=1.26` and so on."""
    requirements = []
    for line in message.get_all("Requires-Dist", []):
        requirement, _, marker = map(str.strip, line.partition(";"))
        if "extra ==" in marker:
            continue
        match = MARKER.fullmatch(marker)
        # The library `packaging` parses all markers, but may be missing here.
        if marker and not match:
            raise SystemExit(f"try_wheels: a requirement must have a marker of python_version; got {line}")
        if not match or (minor >= int(match[2])) == (match[1] == ">="):
            requirements.append(requirement)
    return requirements


def check_licences(wheel: Path) -> None:
    """Checks that a wheel contains its own licence and those of its dependencies."""
    with zipfile.ZipFile(wheel) as archive:
        names = {Path(name).name for name in archive.namelist() if "/licenses/" in name}
    if names != {"LICENSE", "LICENSE-THIRD-PARTY.txt"}:
        raise SystemExit(f"{wheel.name} must contain two licence files; got {sorted(names)}")


class Environment:
    """A virtual environment that sees only its own packages and the programs of the system."""

    def __init__(self, folder: Path, python: str) -> None:
        """Creates the environment."""
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
        self.folder = folder
        self._env = {
            "PATH": f"{folder}/bin:/usr/bin:/bin",
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            # The machine configures the package index.
            **{
                name: value for name, value in os.environ.items() if re.match("PIP_|SSL_CERT|REQUESTS_", name)
            },
        }

    def run(self, *arguments: str, cwd: Path | None = None, env: Mapping[str, str] = NO_ENV) -> None:
        """Runs a program of the environment, with additional variables."""
        command = [str(self.folder / "bin" / arguments[0]), *arguments[1:]]
        subprocess.run(command, check=True, cwd=cwd or self.folder, env={**self._env, **env})

    def install(self, *arguments: str, env: Mapping[str, str] = NO_ENV) -> None:
        """Installs packages."""
        self.run("python", "-m", "pip", "install", "--quiet", *arguments, env=env)

    def play(self) -> None:
        """Runs `boardwire doctor` and the examples."""
        self.run("python", "-m", "boardwire", "doctor")
        for name in EXAMPLES:
            shutil.copy(CLIENT / "examples" / name, self.folder)
            self.run("python", "-W", "error", name)


def try_wheels(folder: Path, python: str, target: Path, pins: list[str]) -> None:
    """Installs the wheel, runs the examples and the tests of the client."""
    environment = Environment(target, python)
    limits = target / "constraints.txt"
    limits.write_text("".join(f"{pin}\n" for pin in pins))
    options = ("--find-links", str(folder), "--constraint", str(limits))
    environment.install(*options, "boardwire[gym]")
    environment.run("python", "-m", "pip", "check")
    environment.play()
    environment.install(*options, "--no-index", "--no-deps", "boardwire-opponents")
    environment.run("python", "-c", PLAY_STRONG)
    environment.install(*options, "boardwire[pettingzoo,render]", "pytest")
    # The tests read messages with a second implementation, which needs these.
    environment.install("googleapis-common-protos>=1.66")
    environment.run("python", "-m", "pip", "list")
    tests = [f"tests/test_{name}.py" for name in TESTS.split()]
    environment.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, cwd=CLIENT)


def try_sources(source: Path, python: str, target: Path) -> None:
    """Builds wheels of the sources and of examples/kuhn, with the fast development profile, and plays."""
    environment = Environment(target, python)
    with tarfile.open(source) as archive:
        if not any(name.endswith("/LICENSE") for name in archive.getnames()):
            raise SystemExit(f"{source.name} has no licence")
    cargo = Path(shutil.which("cargo") or "cargo").parent
    env = {name: value for name, value in os.environ.items() if re.match("CARGO_HOME|RUSTUP_|HOME$", name)}
    env |= {
        "PATH": f"{target}/bin:{cargo}:/usr/bin:/bin",
        "CARGO_TARGET_DIR": str(ROOT / "target"),
        "MATURIN_PEP517_ARGS": "--profile dev",
    }
    # The files in the archive date from 2006, and Cargo does not rebuild files older than its output. So `m`
    # sets the current time. pip caches wheels only by the path of the sources, so the cache is off.
    subprocess.run(["tar", "xmzf", str(source), "-C", str(target)], check=True)
    (sources,) = target.glob("boardwire-*")
    environment.install("--no-cache-dir", f"boardwire[gym] @ {sources.as_uri()}", env=env)
    environment.play()
    log("examples/kuhn: build a wheel")
    environment.install(str(ROOT / "examples" / "kuhn"), env=env)
    environment.run("python", "-c", PLAY_OWN_GAME)


def main(folder: Path) -> None:
    """Tests the wheel and the sources."""
    (wheel,), (source,) = folder.glob("boardwire-*.whl"), folder.glob("boardwire-*.tar.gz")
    log(f"{wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB")
    check_licences(wheel)
    message = metadata(wheel)
    classifiers = map(CLASSIFIER.fullmatch, message.get_all("Classifier", []))
    installed = pythons(sorted(int(match[1]) for match in classifiers if match))
    if not installed:
        raise SystemExit("try_wheels: found no Python of a version in the classifiers of the package")
    (minor, oldest), (_, newest) = installed[0], installed[-1]
    oldest_versions = [line.replace(">=", "==") for line in required(message, minor)]
    with tempfile.TemporaryDirectory() as scratch:
        for name, python, pins in (("oldest", oldest, oldest_versions), ("newest", newest, [])):
            log(f"the {name} versions, with {python}")
            try_wheels(folder, python, Path(scratch, name), pins)
        log(f"{source.name}: build a wheel")
        try_sources(source, newest, Path(scratch, "sources"))
    log("all packages work")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
