"""The page that follows matches, as those meet it who are no browsers, or bad ones."""

from __future__ import annotations

import http.client
import socket
import struct
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

import boardwire
from boardwire._process import find_binary
from boardwire_v1 import match_service_pb2 as pb

SERVICE = "/boardwire.v1.MatchService/"
WEB = {"content-type": "application/grpc-web+proto"}


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[str, str]]:
    """A server with a page: where it serves clients, and where browsers."""
    listen = ["--listen", "127.0.0.1:0", "--watch-page", "127.0.0.1:0", *arguments]
    command = [str(find_binary()), "serve", "--exit-with-stdin", "--log-level", "warn", *listen]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        address = server.stdout.readline().removeprefix("listening on ").strip()
        page = server.stdout.readline().removeprefix("matches can be watched at http://").strip()
        yield address, page
    finally:
        server.stdin.close()
        assert server.wait(20) == 0
        server.stdout.close()


def ask(
    page: str, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(page, timeout=60)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def framed(message: bytes) -> bytes:
    return struct.pack(">BI", 0, len(message)) + message


def test_the_page_and_what_it_calls_are_served_and_nothing_else() -> None:
    with serving() as (_, page):
        status, html = ask(page, "GET", "/")
        assert status == 200
        assert html.startswith(b"<!DOCTYPE html>")
        assert ask(page, "POST", "/")[0] == 405
        assert ask(page, "GET", "/index.html")[0] == 404
        # What a page may not call is not there, though the server has it.
        for method in ("CreateMatch", "Act", "CloseMatch", "JoinMatch", "GetReplay"):
            assert ask(page, "POST", SERVICE + method, framed(b""), WEB)[0] == 404
        assert ask(page, "POST", "/grpc.health.v1.Health/Check", framed(b""), WEB)[0] == 404
        # Other sites may send forms and plain texts anywhere; those are not answered.
        plain = {"content-type": "text/plain"}
        assert ask(page, "POST", SERVICE + "ListMatches", framed(b""), plain)[0] == 400
        assert ask(page, "GET", SERVICE + "ListMatches", headers=WEB)[0] == 405
        # Nothing tells a browser that another site may read the answers.
        connection = http.client.HTTPConnection(page, timeout=60)
        connection.request("OPTIONS", SERVICE + "ListMatches", headers={"origin": "https://example.org"})
        headers = connection.getresponse().headers
        assert "access-control-allow-origin" not in headers
        connection.close()


def test_matches_are_watched_as_everybody_may_see_them() -> None:
    with serving() as (address, page), boardwire.connect(address) as client:
        shown = client.create_match("faraway", players=["agent", "greedy"], seed=7)
        hidden = client.create_match("faraway", players=["agent", "greedy"], private=True)
        status, answer = ask(page, "POST", SERVICE + "ListMatches", framed(b""), WEB)
        assert status == 200
        (length,) = struct.unpack(">I", answer[1:5])
        listed = pb.ListMatchesResponse.FromString(answer[5 : 5 + length])
        assert [match.id for match in listed.matches] == [shown.id]
        asked = pb.WatchRequest(match_id=hidden.id, depict=True).SerializeToString()
        assert b"<svg" not in ask(page, "POST", SERVICE + "Watch", framed(asked), WEB)[1]
        frames = client.watch(shown.id)
        view = next(iter(frames)).view
        asked = pb.WatchRequest(match_id=shown.id, after=0, depict=True).SerializeToString()
        connection = http.client.HTTPConnection(page, timeout=60)
        connection.request("POST", SERVICE + "Watch", framed(asked), WEB)
        stream = connection.getresponse()
        (length,) = struct.unpack(">I", stream.read(5)[1:])
        first = pb.WatchResponse.FromString(stream.read(length))
        connection.close()
        assert len(first.frame.view) == len(view)
        assert first.depiction.picture.startswith("<svg")
        assert "public view" in first.depiction.text
        # Nobody's hand is in it.
        assert ">hand<" not in first.depiction.picture
        assert "your hand" not in first.depiction.text


def test_who_does_not_ask_is_let_go() -> None:
    with serving("--handshake-timeout", "1") as (_, page):
        host, port = page.split(":")
        for begun in (b"", b"GET / HTTP/1.1\r\nhost: x\r\n"):
            with socket.create_connection((host, int(port)), timeout=60) as silent:
                silent.sendall(begun)
                while silent.recv(4096):
                    pass
        assert ask(page, "GET", "/")[0] == 200


def test_a_page_is_served_under_the_names_of_the_server_alone() -> None:
    """Another site could let its name lead here, and would be answered as if it were the page."""
    with serving("--page-host", "boards.example") as (_, page):
        port = page.rsplit(":", 1)[1]
        for host in ("boards.example", "Boards.Example:80", f"localhost:{port}", page, "[::1]"):
            assert ask(page, "GET", "/", headers={"host": host})[0] == 200, host
        for host in ("evil.example", f"evil.example:{port}", "boards.example.evil.example", ""):
            status, said = ask(page, "GET", "/", headers={"host": host})
            assert (status, b"--page-host" in said) == (421, True), host
            asked = ask(page, "POST", SERVICE + "ListMatches", framed(b""), {**WEB, "host": host})
            assert asked[0] == 421, host


def test_the_page_asks_no_proxy_for_a_header() -> None:
    with serving("--trusted-proxy", "127.0.0.1") as (_, page):
        assert ask(page, "GET", "/")[0] == 200


@pytest.mark.parametrize("address", ["0.0.0.0:0", "nowhere"])
def test_a_page_is_not_shown_to_other_machines_unasked(address: str) -> None:
    command = [str(find_binary()), "serve", "--listen", "127.0.0.1:0", "--watch-page", address]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert refused.returncode != 0
    assert address.split(":")[0] in refused.stderr
