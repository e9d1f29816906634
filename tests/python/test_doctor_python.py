"""`boardwire doctor` beside Pythons and binaries that do not fit, or are none."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

import pytest

import boardwire
from boardwire import _doctor
from boardwire._server import find_binary
from doctors import Check, answering, doctor, plain, script


def test_a_named_binary_that_is_none_fails(tmp_path: Path) -> None:
    absent = doctor(variables={"BOARDWIRE_BINARY": str(tmp_path / "absent")})
    assert (absent["named_binary"].status, absent["client_binary"].status) == ("fail", "fail")
    assert "which is no file" in absent["named_binary"].found
    other = script(tmp_path, "other", "echo something else")
    found = doctor(variables={"BOARDWIRE_BINARY": str(other)})["named_binary"]
    assert found.status == "fail"
    assert '"something else"' in found.found
    same = doctor(variables={"BOARDWIRE_BINARY": str(find_binary())})
    assert (same["named_binary"].status, same["client_binary"].status) == ("ok", "ok")


def test_a_binary_of_another_version_is_told(tmp_path: Path) -> None:
    older = script(tmp_path, "older", "echo boardwire 0.0.1")
    found = doctor(variables={"BOARDWIRE_BINARY": str(older)})
    assert (found["named_binary"].status, found["client_binary"].status) == ("warn", "fail")
    assert "of version 0.0.1" in found["client_binary"].found


def test_a_python_without_the_package_is_warned_of(tmp_path: Path) -> None:
    bare = script(tmp_path, "python", f"exec '{sys.executable}' -I -S \"$@\"")
    found = doctor(python=bare)
    assert found["python"].status == "ok"
    assert found["package"].status == "warn"
    assert "pip install boardwire" in found["package"].advice
    assert "dependencies" not in found


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("echo 'not json'", 'did not say what it has, but "not json"'),
        ("exit 0", "did not say what it has, but nothing"),
        ("head -c 3000000 /dev/urandom; exit 0", "did not say what it has"),
        ("echo '{\"python\": 3}'", "did not say what it has"),
        ("echo 'no luck' >&2; exit 3", 'ended with exit status: 3, and said "no luck"'),
        ("exec sleep 60", "gave no answer in 2 seconds"),
        ("sleep 60", "gave no answer in 2 seconds"),
    ],
)
def test_a_python_may_answer_anything_or_nothing(tmp_path: Path, lines: str, told: str) -> None:
    found = doctor("--timeout", "2", python=script(tmp_path, "python", lines))
    assert found["python"].status == "warn"
    assert told in found["python"].found
    assert "package" not in found


def test_a_python_that_is_not_there_is_warned_of(tmp_path: Path) -> None:
    found = doctor(python=tmp_path / "absent")
    assert found["python"].status == "warn"
    assert list(found)[-1] == "python"


def test_the_python_is_the_one_beside_the_binary(tmp_path: Path) -> None:
    def asked(variables: Mapping[str, str]) -> Check:
        command = [str(binary), "doctor", "--json"]
        ended = subprocess.run(command, env=plain(variables), capture_output=True, text=True, timeout=60)
        checks = {check["check"]: check for check in json.loads(ended.stdout)["checks"]}
        return Check(checks["python"]["status"], checks["python"]["found"], checks["python"]["advice"] or "")

    folders = [tmp_path / name for name in ("beside", "environment/bin", "path")]
    for folder in folders:
        folder.mkdir(parents=True)
    beside, environment, path = folders
    binary = beside / "boardwire"
    shutil.copy(find_binary(), binary)
    variables = {"PATH": f"{path}:/usr/bin:/bin"}
    answering(path, executable="of the path").rename(path / "python3")
    assert "of the path" in asked(variables).found
    answering(environment, executable="of the environment")
    variables["VIRTUAL_ENV"] = str(environment.parent)
    assert "of the environment" in asked(variables).found
    answering(beside, executable="beside it").rename(beside / "python3")
    assert "beside it" in asked(variables).found
    (beside / "python3").unlink()
    assert asked({"PATH": str(beside)}).status == "warn", "there is none at all"


def test_another_version_of_the_package_fails(tmp_path: Path) -> None:
    package = doctor(python=answering(tmp_path, version="0.0.1"))["package"]
    assert package.status == "fail"
    assert "boardwire 0.0.1" in package.found
    assert f"-m pip install 'boardwire=={boardwire.__version__}'" in package.advice


def test_a_package_without_its_dependencies_says_which(tmp_path: Path) -> None:
    (tmp_path / "boardwire").symlink_to(Path(_doctor.__file__).parent)
    about = metadata.distribution("boardwire").read_text("METADATA")
    assert about is not None
    (tmp_path / "boardwire.dist-info").mkdir()
    (tmp_path / "boardwire.dist-info" / "METADATA").write_text(about)
    bare = script(tmp_path, "python", f"PYTHONPATH='{tmp_path}' exec '{sys.executable}' -S \"$@\"")
    found = doctor(python=bare)
    assert found["package"].status == "ok"
    assert found["dependencies"].status == "fail"
    assert re.search("pip install 'grpcio>=[0-9.]+' 'protobuf>=[0-9.]+' ", found["dependencies"].advice)
    assert "no numpy" in found["dependencies"].found
    assert found["import"].status == "fail"
    assert "ModuleNotFoundError" in found["import"].found
    assert found["extension"].status == "warn"
    assert "gym missing gymnasium:" in found["extras"].found
    assert "client_binary" not in found


def test_the_extension_must_be_of_the_same_version(tmp_path: Path) -> None:
    missing = answering(tmp_path, local={"version": None, "error": "ModuleNotFoundError"})
    found = doctor(python=missing)["extension"]
    assert found.status == "warn"
    assert "local:" in found.found
    assert found.advice.endswith("-m pip install 'boardwire[local]'")
    other = answering(tmp_path, local={"version": "0.0.1", "error": None})
    found = doctor(python=other)["extension"]
    assert found.status == "fail"
    assert f"'boardwire-local=={boardwire.__version__}'" in found.advice


def test_extras_that_are_not_there_are_no_fault(tmp_path: Path) -> None:
    extras = {"gym": [], "torch": ["torch", "onnxscript"]}
    found = doctor(python=answering(tmp_path, extras=extras))["extras"]
    assert found.status == "ok"
    assert found.found == "gym ok; torch missing torch onnxscript: pip install 'boardwire[torch]'"
