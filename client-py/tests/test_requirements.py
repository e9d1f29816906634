"""How `boardwire._doctor` reads what distributions require, beside `packaging`, which it does without."""

from __future__ import annotations

from importlib import metadata

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from boardwire import _doctor

VERSIONS = ["1", "1.0.0", "1.2", "1.10", "1.26.4", "2.0", "2.6.1", "5.29.0", "10.0", "2025.7.19"]
WANTED = [
    "",
    ">=1.2",
    ">=1.26,<2",
    ">1.2",
    "<=1.10",
    "==1.0",
    "==1.*",
    "!=2.0",
    "!=1.2.*",
    "~=1.2",
    "~=1.26.1",
    "<10,>=2",
]


@pytest.mark.parametrize("wanted", WANTED)
@pytest.mark.parametrize("version", VERSIONS)
def test_versions_do_as_packaging_says(version: str, wanted: str) -> None:
    assert _doctor.satisfies(version, wanted) == SpecifierSet(wanted).contains(version)


def test_versions_that_are_no_numbers_are_compared() -> None:
    assert _doctor.satisfies("0.1.0rc1", "==0.1.0rc1")
    assert not _doctor.satisfies("0.1.0rc2", "==0.1.0rc1")
    assert _doctor.satisfies("2.6.0+cu121", ">=2.6")
    assert not _doctor.satisfies("unknown", ">=1")


def test_requirements_are_read_as_packaging_reads_them() -> None:
    lines = {line for found in metadata.distributions() for line in found.requires or ()}
    lines = {line for line in lines if " or " not in line and "@" not in line}
    assert len(lines) > 50
    understood = {"extra", "python_version", "python_full_version", "sys_platform", "platform_system"}
    for line in lines:
        ours, theirs = _doctor.read(line), Requirement(line)
        assert ours.name == theirs.name
        assert set(ours.extras) == {canonicalize_name(extra) for extra in theirs.extras}
        assert SpecifierSet(ours.wanted) == theirs.specifier
        clauses = (
            [] if theirs.marker is None else [part.split()[0] for part in str(theirs.marker).split(" and ")]
        )
        if understood.issuperset(clauses):
            extra = {"extra": ours.extra}
            applies = theirs.marker is None or theirs.marker.evaluate(extra)
            assert ours.applies == applies, line
            assert bool(ours.extra) == ("extra" in clauses), line


def test_what_the_package_requires_is_there() -> None:
    report = _doctor.report()
    assert report["version"] == metadata.version("boardwire")
    assert (report["error"], report.get("binary_error")) == (None, None)
    required = report["requires"]
    assert isinstance(required, list)
    assert {"grpcio", "numpy", "protobuf"} < {one["name"] for one in required}
    assert all(one["satisfied"] for one in required)
    told = report["extras"]
    assert isinstance(told, dict)
    assert told["gym"] == []


def test_an_extra_that_names_others_misses_what_they_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    requires = {
        "ours": [
            "there>=1",
            "absent ; extra == 'a'",
            "there>=3 ; extra == 'a'",
            "elsewhere ; sys_platform == 'nowhere' and extra == 'a'",
            "ours[a] ; extra == 'b'",
            "there[fast]>=2 ; extra == 'B_c'",
            "ours[e] ; extra == 'd'",
            "ours[d] ; extra == 'e'",
        ],
        "there": ["quick ; extra == 'fast'", "slow ; extra == 'other'"],
    }
    versions = {"ours": "1", "there": "2"}

    def version(name: str) -> str:
        if name not in versions:
            raise metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(metadata, "requires", requires.get)
    monkeypatch.setattr(metadata, "version", version)
    assert _doctor.missing("ours", "a") == ["absent", "there>=3"]
    assert _doctor.missing("ours", "b") == ["absent", "there>=3"]
    assert _doctor.missing("ours", "b-c") == ["quick"]
    assert _doctor.missing("ours", "d") == []
