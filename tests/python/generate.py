"""Generates the messages and stubs of the protocol for tests that call a server by plain gRPC.

Run by `make proto`. Generated code refuses runtimes older than itself, so the tools are not the newest; they
live in a virtual environment of their own, made on demand.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import venv
from pathlib import Path

TOOLS = ("grpcio-tools==1.71.2", "mypy-protobuf==3.6.0")
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROTO = ROOT / "proto"
#: The package of tests. The protocol's own name is that of the client's package.
NAME = "boardwire_v1"
HEAD = '"""Generated from proto/boardwire/v1 by tests/python/generate.py."""\n'


def tools() -> Path:
    """Makes the virtual environment of the tools unless it is there; gives the folder of its scripts."""
    folder = ROOT / ".venv-proto"
    scripts = folder / "bin"
    mark = folder / "boardwire-tools.txt"
    wanted = "\n".join(TOOLS)
    if not mark.exists() or mark.read_text() != wanted:
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([scripts / "python", "-m", "pip", "install", "--quiet", *TOOLS], check=True)
        mark.write_text(wanted)
    return scripts


def generate(out: Path) -> None:
    """Writes the package into a folder."""
    scripts, target = tools(), out / NAME
    with tempfile.TemporaryDirectory() as folder:
        command: list[str | Path] = [
            scripts / "python",
            "-m",
            "grpc_tools.protoc",
            f"--proto_path={PROTO}",
            f"--plugin=protoc-gen-mypy={scripts / 'protoc-gen-mypy'}",
            f"--plugin=protoc-gen-mypy_grpc={scripts / 'protoc-gen-mypy_grpc'}",
            f"--python_out={folder}",
            f"--grpc_python_out={folder}",
            f"--mypy_out=quiet:{folder}",
            f"--mypy_grpc_out=quiet:{folder}",
            *sorted(PROTO.glob("boardwire/v1/*.proto")),
        ]
        subprocess.run(command, check=True)
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        for made in Path(folder, "boardwire", "v1").iterdir():
            text = made.read_text()
            # A file without services gets an empty stub from the gRPC plugins.
            if "_pb2_grpc" in made.name and "class " not in made.with_suffix(".py").read_text():
                continue
            text = re.sub(r"^from boardwire\.v1 import", f"from {NAME} import", text, flags=re.M)
            text = re.sub(r"^import boardwire\.v1\.", f"import {NAME}.", text, flags=re.M)
            text = re.sub(r"\bboardwire\.v1\.([a-z_]+_pb2)", rf"{NAME}.\1", text)
            (target / made.name).write_text(text)
    (target / "__init__.py").write_text(HEAD)


if __name__ == "__main__":
    generate(HERE)
