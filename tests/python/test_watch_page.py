"""The watch page with clients other than browsers, and with requests of other sites."""

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
from boardwire_v1 import catalog_pb2
from boardwire_v1 import match_service_pb2 as pb

SERVICE = "/boardwire.v1.MatchService/"
WEB_HEADERS = {"content-type": "application/grpc-web+proto"}


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[str, str]]:
    """Starts a server with a watch page and returns its address and that of the page."""
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


def request_page(
    page: str, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(page, timeout=60)
    try:
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def framed(message: bytes) -> bytes:
    return struct.pack(">BI", 0, len(message)) + message


def test_only_the_page_and_its_methods_are_served() -> None:
    with serving() as (_, page):
        status, html = request_page(page, "GET", "/")
        assert status == 200
        assert html.startswith(b"<!DOCTYPE html>")
        assert request_page(page, "POST", "/")[0] == 405
        assert request_page(page, "GET", "/index.html")[0] == 404
        # Methods that the page does not need are missing.
        for method in ("CreateMatch", "Act", "CloseMatch", "JoinMatch", "GetReplay"):
            assert request_page(page, "POST", SERVICE + method, framed(b""), WEB_HEADERS)[0] == 404
        assert request_page(page, "POST", "/grpc.health.v1.Health/Check", framed(b""), WEB_HEADERS)[0] == 404
        # Other sites can send forms and plain text. The server rejects them.
        plain = {"content-type": "text/plain"}
        assert request_page(page, "POST", SERVICE + "ListMatches", framed(b""), plain)[0] == 400
        assert request_page(page, "GET", SERVICE + "ListMatches", headers=WEB_HEADERS)[0] == 405
        # Without a CORS header, other sites cannot read responses.
        connection = http.client.HTTPConnection(page, timeout=60)
        connection.request("OPTIONS", SERVICE + "ListMatches", headers={"origin": "https://example.org"})
        headers = connection.getresponse().headers
        assert "access-control-allow-origin" not in headers
        connection.close()


def test_the_page_gets_public_views_of_public_matches() -> None:
    with serving() as (address, page), boardwire.connect(address) as client:
        public = client.create_match("faraway", players=["agent", "greedy"], seed=7)
        private = client.create_match("faraway", players=["agent", "greedy"], private=True)
        status, response = request_page(page, "POST", SERVICE + "ListMatches", framed(b""), WEB_HEADERS)
        assert status == 200
        (length,) = struct.unpack(">I", response[1:5])
        listed = pb.ListMatchesResponse.FromString(response[5 : 5 + length])
        assert [match.id for match in listed.matches] == [public.id]
        request = pb.WatchRequest(match_id=private.id, depict=True).SerializeToString()
        assert b"<svg" not in request_page(page, "POST", SERVICE + "Watch", framed(request), WEB_HEADERS)[1]
        frames = client.watch(public.id)
        view = next(iter(frames)).view
        request = pb.WatchRequest(match_id=public.id, after=0, depict=True).SerializeToString()
        connection = http.client.HTTPConnection(page, timeout=60)
        connection.request("POST", SERVICE + "Watch", framed(request), WEB_HEADERS)
        stream = connection.getresponse()
        (length,) = struct.unpack(">I", stream.read(5)[1:])
        first = pb.WatchResponse.FromString(stream.read(length))
        connection.close()
        assert len(first.frame.view) == len(view)
        assert first.depiction.picture.startswith("<svg")
        assert "round 1 of 8" in first.depiction.text
        # The public view contains no hand.
        assert ">hand<" not in first.depiction.picture
        assert "(you)" not in first.depiction.text


def cross_origin(page: str, method: str, origin: str) -> tuple[int, str | None, bytes]:
    """Calls GetGame as a page of another origin; returns the status, the allowed origin and the body."""
    connection = http.client.HTTPConnection(page, timeout=60)
    body = framed(catalog_pb2.GetGameRequest(game="faraway").SerializeToString()) if method == "POST" else b""
    headers = {**WEB_HEADERS, "origin": origin, "access-control-request-method": "POST"}
    connection.request(method, "/boardwire.v1.CatalogService/GetGame", body, headers)
    response = connection.getresponse()
    allowed = response.headers["access-control-allow-origin"]
    if allowed is not None:
        assert "boardwire-token" in response.headers["access-control-allow-headers"]
        assert "grpc-status" in response.headers["access-control-expose-headers"]
    result = response.status, allowed, response.read()
    connection.close()
    return result


def test_only_allowed_origins_may_read_games() -> None:
    first, second, other = "https://one.example", "http://two.example:81", "https://other.example"
    with serving("--allow-origin", first, "--allow-origin", second) as (address, page):
        for origin in (first, second):
            assert cross_origin(page, "OPTIONS", origin) == (204, origin, b"")
            status, allowed, body = cross_origin(page, "POST", origin)
            assert (status, allowed) == (200, origin)
            (length,) = struct.unpack(">I", body[1:5])
            spec = catalog_pb2.GetGameResponse.FromString(body[5 : 5 + length]).spec
            with boardwire.connect(address) as client:
                assert spec.spec_digest == client.game("faraway").digest
        assert cross_origin(page, "OPTIONS", other)[:2] == (404, None)
        assert cross_origin(page, "POST", other)[1] is None
    with serving("--allow-origin", "*") as (_, page):
        assert cross_origin(page, "OPTIONS", other) == (204, "*", b"")
    with serving() as (_, page):
        assert cross_origin(page, "OPTIONS", first)[1] is None


def test_incomplete_requests_time_out() -> None:
    with serving("--handshake-timeout", "1") as (_, page):
        host, port = page.split(":")
        for data in (b"", b"GET / HTTP/1.1\r\nhost: x\r\n"):
            with socket.create_connection((host, int(port)), timeout=60) as silent:
                silent.sendall(data)
                while silent.recv(4096):
                    pass
        assert request_page(page, "GET", "/")[0] == 200


def test_the_page_rejects_other_host_names() -> None:
    """Prevents DNS rebinding: another site could point its name at this server."""
    with serving("--page-host", "boards.example") as (_, page):
        port = page.rsplit(":", 1)[1]
        for host in ("boards.example", "Boards.Example:80", f"localhost:{port}", page, "[::1]"):
            assert request_page(page, "GET", "/", headers={"host": host})[0] == 200, host
        for host in ("evil.example", f"evil.example:{port}", "boards.example.evil.example", ""):
            status, body = request_page(page, "GET", "/", headers={"host": host})
            assert (status, b"--page-host" in body) == (421, True), host
            status, _ = request_page(
                page, "POST", SERVICE + "ListMatches", framed(b""), {**WEB_HEADERS, "host": host}
            )
            assert status == 421, host


def test_the_page_needs_no_proxy_header() -> None:
    with serving("--trusted-proxy", "127.0.0.1") as (_, page):
        assert request_page(page, "GET", "/")[0] == 200


@pytest.mark.parametrize("address", ["0.0.0.0:0", "nowhere"])
def test_the_page_rejects_addresses_for_other_machines(address: str) -> None:
    command = [str(find_binary()), "serve", "--listen", "127.0.0.1:0", "--watch-page", address]
    process = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert process.returncode != 0
    assert address.split(":")[0] in process.stderr
