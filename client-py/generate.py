"""Generates the messages and stubs of `boardwire.v1` from the protocol.

Run by `make proto`. The tools are the oldest that the package supports at run time, because generated
code refuses runtimes older than itself; they live in a virtual environment of their own, made on demand.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import venv
from pathlib import Path

TOOLS = ("grpcio-tools==1.71.2", "mypy-protobuf==3.6.0")
PACKAGE = Path(__file__).resolve().parent
ROOT = PACKAGE.parent
PROTO = ROOT / "proto"
HERE = PACKAGE / "src"
HEAD = '"""Generated from proto/boardwire/v1 by client-py/generate.py."""\n'


def tools(folder: Path = ROOT / ".venv-proto") -> Path:
    """Makes the virtual environment of the tools unless it is there; gives the folder of its scripts."""
    scripts = folder / ("Scripts" if sys.platform == "win32" else "bin")
    mark = folder / "boardwire-tools.txt"
    wanted = "\n".join(TOOLS)
    if not mark.exists() or mark.read_text() != wanted:
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([scripts / "python", "-m", "pip", "install", "--quiet", *TOOLS], check=True)
        mark.write_text(wanted)
    return scripts


def generate(out: Path) -> None:
    """Writes the package `boardwire.v1` into the folder `out`."""
    scripts = tools()
    target = out / "boardwire" / "v1"
    target.mkdir(parents=True, exist_ok=True)
    for stale in target.glob("*.py*"):
        stale.unlink()
    command = [
        scripts / "python",
        "-m",
        "grpc_tools.protoc",
        f"--proto_path={PROTO}",
        f"--plugin=protoc-gen-mypy={scripts / 'protoc-gen-mypy'}",
        f"--plugin=protoc-gen-mypy_grpc={scripts / 'protoc-gen-mypy_grpc'}",
        f"--python_out={out}",
        f"--grpc_python_out={out}",
        f"--mypy_out=quiet:{out}",
        f"--mypy_grpc_out=quiet:{out}",
        *sorted(PROTO.glob("boardwire/v1/*.proto")),
    ]
    subprocess.run(command, check=True)
    # A file without services gets an empty stub module from the gRPC plugins.
    for stub in target.glob("*_pb2_grpc.py"):
        if "class " not in stub.read_text():
            stub.unlink()
            stub.with_suffix(".pyi").unlink(missing_ok=True)
    (target / "__init__.py").write_text(HEAD)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=HERE, help="the folder that holds the package `boardwire`"
    )
    generate(parser.parse_args().out)
