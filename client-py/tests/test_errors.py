"""Every status becomes an exception of the tree, whole."""

from __future__ import annotations

import csv
import pickle
import re
from pathlib import Path

import grpc
import pytest
from fakes import FakeChannel, FakeStatus
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2

import boardwire
from boardwire import _status, errors
from boardwire._channel import Connection
from boardwire._twins import run
from boardwire._ways import BLOCKING
from boardwire.v1 import catalog_pb2

TABLE = Path(__file__).resolve().parents[2] / "tests" / "errors.tsv"


def rows() -> list[dict[str, str]]:
    """The errors of the service."""
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["reason"])
def test_every_reason_has_a_class_below_its_code(row: dict[str, str]) -> None:
    failure = _status.error(row["code"], row["reason"], "words", {"a": "b"})
    assert row["reason"] == type(failure).REASON
    assert row["code"] in type(failure).CODES
    assert (failure.code, failure.reason, failure.metadata) == (row["code"], row["reason"], {"a": "b"})


def test_no_class_names_a_reason_the_service_does_not_have() -> None:
    reasons = {kind.REASON for kind in _status.tree() if kind.REASON}
    assert reasons == {row["reason"] for row in rows()}


@pytest.mark.parametrize("code", grpc.StatusCode, ids=lambda code: code.name)
def test_every_status_is_mapped_and_no_grpc_error_escapes(code: grpc.StatusCode) -> None:
    def answer(request: object) -> object:
        raise FakeStatus(code, "words")

    connection = Connection("fake:1", BLOCKING, channel=FakeChannel({"ListGames": answer}))
    with pytest.raises(boardwire.BoardwireError) as caught:
        run(connection.call(lambda on: on.catalog.ListGames, catalog_pb2.ListGamesRequest(), timeout=1))
    assert caught.value.code == code.name
    assert "words" in caught.value.message


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["reason"])
def test_a_stream_refuses_with_the_exception_of_a_single_call(row: dict[str, str]) -> None:
    info, status = any_pb2.Any(), status_pb2.Status
    info.Pack(error_details_pb2.ErrorInfo(reason=row["reason"], metadata={"a": "b"}))
    code = grpc.StatusCode[row["code"]].value[0]
    failure = _status.refused(status(code=code, message="words", details=[any_pb2.Any(), info]))
    assert type(failure) is type(_status.error(row["code"], row["reason"], "words"))
    assert (failure.code, failure.message, failure.metadata) == (row["code"], "words", {"a": "b"})


def test_a_refusal_without_details_or_with_an_unknown_code_is_still_an_error_of_the_tree() -> None:
    failure = _status.refused(status_pb2.Status(code=5, message="words"))
    assert (type(failure), failure.code, failure.reason) == (errors.NotFound, "NOT_FOUND", "")
    failure = _status.refused(status_pb2.Status(code=99, message="words"))
    assert (type(failure), failure.code) == (errors.ServerFault, "UNKNOWN")


def test_a_deadline_is_one_whichever_side_notices_it_first() -> None:
    connection = Connection("fake:1", BLOCKING)
    for words, reason in (("Deadline Exceeded", ""), ("the time is over", "TIMED_OUT")):
        failure = run(connection.failure(FakeStatus(grpc.StatusCode.DEADLINE_EXCEEDED, words, reason)))
        assert type(failure) is errors.CallTimeout
        assert (failure.code, failure.reason) == ("DEADLINE_EXCEEDED", "TIMED_OUT")


def test_details_become_reason_and_metadata() -> None:
    def answer(request: object) -> object:
        raise FakeStatus(grpc.StatusCode.NOT_FOUND, "no chess", "GAME_UNKNOWN", {"game": "chess"})

    client = boardwire.Client(channel=FakeChannel({"GetGame": answer}))
    with pytest.raises(errors.UnknownGame, match="no chess") as caught:
        client.game("chess")
    assert caught.value.metadata == {"game": "chess"}
    assert isinstance(caught.value, errors.NotFound)


def test_errors_cross_process_borders_whole() -> None:
    failure = _status.error("NOT_FOUND", "GAME_UNKNOWN", "no chess", {"game": "chess"})
    copy = pickle.loads(pickle.dumps(failure))
    assert type(copy) is errors.UnknownGame
    assert (copy.message, copy.code, copy.metadata) == ("no chess", "NOT_FOUND", {"game": "chess"})


def test_the_tree_is_drawn_as_it_is() -> None:
    drawn = re.findall(r"^[│├└─ ]*([A-Z]\w+)", errors.__doc__ or "", re.M)
    assert [name for name in drawn if not name.isupper()][1:] == [kind.__name__ for kind in _status.tree()]


def test_a_creation_is_repeated_once_when_the_connection_is_lost() -> None:
    asked: list[object] = []

    def answer(request: object) -> object:
        asked.append(request)
        raise FakeStatus(grpc.StatusCode.UNAVAILABLE, "gone")

    client = boardwire.Client(channel=FakeChannel({"CreateMatch": answer}))
    with pytest.raises(errors.ConnectionLost, match="gone"):
        client.create_match("faraway", players=["agent"])
    assert len(asked) == 2
    assert asked[0] == asked[1], "the same request id"
