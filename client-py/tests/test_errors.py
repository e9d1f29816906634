"""Each gRPC status becomes an exception with its code, reason, message and metadata."""

from __future__ import annotations

import csv
import pickle
import re
from pathlib import Path

import pytest
from fakes import fake_client
from google.protobuf import any_pb2
from google.rpc import code_pb2, error_details_pb2, status_pb2
from raw import stream_error

from boardwire import errors

TABLE = Path(__file__).resolve().parents[2] / "tests" / "errors.tsv"


def rows() -> list[dict[str, str]]:
    """Reads the table of the errors of the service."""
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type)]


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["reason"])
def test_each_reason_has_the_class_of_its_reason_or_its_code(row: dict[str, str]) -> None:
    failure = errors.from_status(row["code"], row["reason"], "words", {"a": "b"})
    kind = type(failure)
    assert kind is not errors.BoardwireError
    assert row["reason"] in kind.REASONS or row["code"] in kind.CODES
    assert (failure.code, failure.reason, failure.metadata) == (row["code"], row["reason"], {"a": "b"})


def test_classes_name_only_reasons_of_the_service() -> None:
    reasons = [reason for kind in KINDS for reason in vars(kind).get("REASONS", ())]
    assert set(reasons) <= {row["reason"] for row in rows()}
    assert len(reasons) == len(set(reasons))


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["reason"])
def test_a_status_becomes_an_exception(row: dict[str, str]) -> None:
    info, code = any_pb2.Any(), code_pb2.Code.Value(row["code"])
    info.Pack(error_details_pb2.ErrorInfo(reason=row["reason"], metadata={"a": "b"}))
    failure = stream_error(status_pb2.Status(code=code, message="words", details=[any_pb2.Any(), info]))
    assert type(failure) is type(errors.from_status(row["code"], row["reason"], "words"))
    assert (failure.code, failure.message, failure.metadata) == (row["code"], "words", {"a": "b"})


@pytest.mark.parametrize("name", [name for name in code_pb2.Code.keys() if name != "OK"])  # noqa: SIM118
def test_each_code_has_its_grpc_name(name: str) -> None:
    failure = stream_error(status_pb2.Status(code=code_pb2.Code.Value(name), message="words"))
    assert (failure.code, failure.message) == (name, "words")


def test_a_status_without_details_or_with_an_unknown_code_becomes_an_exception() -> None:
    failure = stream_error(status_pb2.Status(code=5, message="words"))
    assert (type(failure), failure.code, failure.reason) == (errors.NotFound, "NOT_FOUND", "")
    failure = stream_error(status_pb2.Status(code=99, message="words"))
    assert (type(failure), failure.code) == (errors.ServerFault, "UNKNOWN")


def test_an_exceeded_deadline_has_a_reason_though_the_server_gives_none() -> None:
    failure = stream_error(status_pb2.Status(code=code_pb2.DEADLINE_EXCEEDED, message="words"))
    assert (type(failure), failure.reason) == (errors.CallTimeout, "TIMED_OUT")


def test_details_become_reason_and_metadata() -> None:
    def respond(request: object) -> bytes:
        raise errors.from_status("NOT_FOUND", "GAME_UNKNOWN", "no chess", {"game": "chess"})

    client = fake_client({"GetGame": respond})
    with pytest.raises(errors.NotFound, match="no chess") as caught:
        client.game("chess")
    assert caught.value.metadata == {"game": "chess"}
    assert isinstance(caught.value, errors.NotFound)


def test_pickled_errors_keep_all_attributes() -> None:
    failure = errors.from_status("NOT_FOUND", "GAME_UNKNOWN", "no chess", {"game": "chess"})
    copy = pickle.loads(pickle.dumps(failure))
    assert type(copy) is errors.NotFound
    assert (copy.message, copy.code, copy.metadata) == ("no chess", "NOT_FOUND", {"game": "chess"})


def test_the_drawn_tree_equals_the_class_hierarchy() -> None:
    drawn = re.findall(r"^[│├└─ ]*([A-Z]\w+)  ", errors.__doc__ or "", re.M)
    assert drawn == [kind.__name__ for kind in errors._all(errors.BoardwireError)]


def test_create_match_is_retried_once_after_a_lost_connection() -> None:
    requests: list[bytes] = []

    def respond(request: bytes) -> bytes:
        requests.append(request)
        raise errors.ConnectionLost("gone")

    client = fake_client({"CreateMatch": respond})
    with pytest.raises(errors.ConnectionLost, match="gone"):
        client.create_match("faraway", players=["agent"])
    assert len(requests) == 2
    assert requests[0] == requests[1], "the retry has the same request id"
