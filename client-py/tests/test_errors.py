"""Every status becomes an exception of the tree, whole."""

from __future__ import annotations

import csv
import pickle
import re
from pathlib import Path

import pytest
from fakes import fake_client
from google.protobuf import any_pb2
from google.rpc import code_pb2, error_details_pb2, status_pb2
from raw import refusal

from boardwire import errors

TABLE = Path(__file__).resolve().parents[2] / "tests" / "errors.tsv"


def rows() -> list[dict[str, str]]:
    """The errors of the service."""
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type)]


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["reason"])
def test_every_reason_has_a_class_of_its_own_or_that_of_its_code(row: dict[str, str]) -> None:
    failure = errors.from_status(row["code"], row["reason"], "words", {"a": "b"})
    kind = type(failure)
    assert kind is not errors.BoardwireError
    assert row["reason"] in kind.REASONS or row["code"] in kind.CODES
    assert (failure.code, failure.reason, failure.metadata) == (row["code"], row["reason"], {"a": "b"})


def test_no_class_names_a_reason_the_service_does_not_have() -> None:
    reasons = [reason for kind in KINDS for reason in vars(kind).get("REASONS", ())]
    assert set(reasons) <= {row["reason"] for row in rows()}
    assert len(reasons) == len(set(reasons))


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["reason"])
def test_a_status_as_it_is_sent_becomes_an_exception(row: dict[str, str]) -> None:
    info, code = any_pb2.Any(), code_pb2.Code.Value(row["code"])
    info.Pack(error_details_pb2.ErrorInfo(reason=row["reason"], metadata={"a": "b"}))
    failure = refusal(status_pb2.Status(code=code, message="words", details=[any_pb2.Any(), info]))
    assert type(failure) is type(errors.from_status(row["code"], row["reason"], "words"))
    assert (failure.code, failure.message, failure.metadata) == (row["code"], "words", {"a": "b"})


@pytest.mark.parametrize("name", [name for name in code_pb2.Code.keys() if name != "OK"])  # noqa: SIM118
def test_every_code_is_named_as_grpc_names_it(name: str) -> None:
    failure = refusal(status_pb2.Status(code=code_pb2.Code.Value(name), message="words"))
    assert (failure.code, failure.message) == (name, "words")


def test_a_refusal_without_details_or_with_an_unknown_code_is_still_an_error_of_the_tree() -> None:
    failure = refusal(status_pb2.Status(code=5, message="words"))
    assert (type(failure), failure.code, failure.reason) == (errors.NotFound, "NOT_FOUND", "")
    failure = refusal(status_pb2.Status(code=99, message="words"))
    assert (type(failure), failure.code) == (errors.ServerFault, "UNKNOWN")


def test_a_deadline_has_its_reason_though_the_server_gives_none() -> None:
    failure = refusal(status_pb2.Status(code=code_pb2.DEADLINE_EXCEEDED, message="words"))
    assert (type(failure), failure.reason) == (errors.CallTimeout, "TIMED_OUT")


def test_details_become_reason_and_metadata() -> None:
    def answer(request: object) -> bytes:
        raise errors.from_status("NOT_FOUND", "GAME_UNKNOWN", "no chess", {"game": "chess"})

    client = fake_client({"GetGame": answer})
    with pytest.raises(errors.NotFound, match="no chess") as caught:
        client.game("chess")
    assert caught.value.metadata == {"game": "chess"}
    assert isinstance(caught.value, errors.NotFound)


def test_errors_cross_process_borders_whole() -> None:
    failure = errors.from_status("NOT_FOUND", "GAME_UNKNOWN", "no chess", {"game": "chess"})
    copy = pickle.loads(pickle.dumps(failure))
    assert type(copy) is errors.NotFound
    assert (copy.message, copy.code, copy.metadata) == ("no chess", "NOT_FOUND", {"game": "chess"})


def test_the_tree_is_drawn_as_it_is() -> None:
    drawn = re.findall(r"^[│├└─ ]*([A-Z]\w+)  ", errors.__doc__ or "", re.M)
    assert drawn == [kind.__name__ for kind in errors._all(errors.BoardwireError)]


def test_a_creation_is_repeated_once_when_the_connection_is_lost() -> None:
    asked: list[bytes] = []

    def answer(request: bytes) -> bytes:
        asked.append(request)
        raise errors.ConnectionLost("gone")

    client = fake_client({"CreateMatch": answer})
    with pytest.raises(errors.ConnectionLost, match="gone"):
        client.create_match("faraway", players=["agent"])
    assert len(asked) == 2
    assert asked[0] == asked[1], "the same request id"
