"""Generates the messages and stubs of the protocol for tests that use plain gRPC.

`make proto` runs it. Generated code rejects runtimes older than itself, so the tools are not the newest. They
have their own virtual environment, created on demand.
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
#: The name of the generated package. The name of the protocol, `boardwire`, is that of the client.
NAME = "boardwire_v1"
HEAD = '"""Generated from proto/boardwire/v1 by tests/python/generate.py."""\n'


def tools() -> Path:
    """Creates the virtual environment of the tools if necessary, and returns the folder of its scripts."""
    folder = ROOT / ".venv-proto"
    scripts = folder / "bin"
    stamp = folder / "boardwire-tools.txt"
    versions = "\n".join(TOOLS)
    if not stamp.exists() or stamp.read_text() != versions:
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([scripts / "python", "-m", "pip", "install", "--quiet", *TOOLS], check=True)
        stamp.write_text(versions)
    return scripts


def generate(out: Path) -> None:
    """Writes the package to a folder."""
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
        for generated in Path(folder, "boardwire", "v1").iterdir():
            text = generated.read_text()
            # The gRPC plugins write an empty stub for a file without services.
            if "_pb2_grpc" in generated.name and "class " not in generated.with_suffix(".py").read_text():
                continue
            text = re.sub(r"^from boardwire\.v1 import", f"from {NAME} import", text, flags=re.M)
            text = re.sub(r"^import boardwire\.v1\.", f"import {NAME}.", text, flags=re.M)
            text = re.sub(r"\bboardwire\.v1\.([a-z_]+_pb2)", rf"{NAME}.\1", text)
            (target / generated.name).write_text(text)
    (target / "__init__.py").write_text(HEAD)


if __name__ == "__main__":
    generate(HERE)
