"""Accounts: where the client sends their tokens, and the limits of each account."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from accounts import account
from servers import tcp_server

import boardwire
from boardwire import errors, pettingzoo
from boardwire._access import checked
from boardwire._process import find_binary
from boardwire.envs import BoardwireVectorEnv

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Creates two accounts; returns their tokens and their file."""
    file = tmp_path_factory.mktemp("accounts") / "accounts.toml"
    return {"file": str(file), "ada": account(file, "ada", "matches = 1"), "bob": account(file, "bob")}


@pytest.fixture(scope="module")
def address_with_accounts(tokens: dict[str, str]) -> Iterator[str]:
    """The address of a server that requires these tokens."""
    with tcp_server("--auth-token-file", tokens["file"]) as address:
        yield address


def test_every_kind_of_call_sends_the_token(tokens: dict[str, str], address_with_accounts: str) -> None:
    with boardwire.connect(address_with_accounts, token=tokens["ada"]) as client:
        with client.create_match("faraway", players=["agent", "random"], seed=1) as match:
            seat = match.join(0)
            assert seat.observe().mask.any()
            with seat:
                assert seat.act(seat.observe().mask.argmax()).mask.any()
            assert seat.search(2).rollout([0, 1]).shape
            assert next(match.watch()).sequence > 0
            assert client.replay(match.id).frames
        with client.open_batch("faraway", environments=2, opponents={1: "random"}) as batch:
            step = batch.reset()
            assert batch.step(step.mask.argmax(axis=1)).mask.any()
        assert client.server().limits.matches_per_caller == 1


def test_the_async_client_sends_the_token(tokens: dict[str, str], address_with_accounts: str) -> None:
    async def play() -> None:
        async with (
            boardwire.aio.connect(address_with_accounts, token=tokens["bob"]) as client,
            await client.create_match("faraway", players=["agent", "random"]) as match,
            await match.join(0) as seat,
        ):
            assert (await seat.observe()).mask.any()

    asyncio.run(play())


def test_accounts_on_one_machine_have_separate_limits(
    tokens: dict[str, str], address_with_accounts: str
) -> None:
    with (
        boardwire.connect(address_with_accounts, token=tokens["ada"]) as ada,
        boardwire.connect(address_with_accounts, token=tokens["bob"]) as bob,
    ):
        settings: dict[str, Any] = {"game": "faraway", "players": ["agent", "random"]}
        with ada.create_match(**settings), pytest.raises(errors.ServerFull, match="you have 1 matches"):
            ada.create_match(**settings)
        with bob.create_match(**settings), bob.create_match(**settings):
            pass


def test_environments_send_the_token(tokens: dict[str, str], address_with_accounts: str) -> None:
    server = boardwire.Address(address_with_accounts, token=tokens["bob"])
    assert tokens["bob"] not in repr(server)
    for env in (
        gymnasium.make("boardwire/Faraway-v0", address=server),
        BoardwireVectorEnv("faraway", 2, address=server),
        pettingzoo.parallel_env("faraway", address=server),
    ):
        env.reset(seed=1)
        env.close()
    with pytest.raises(errors.AccessDenied) as caught:
        BoardwireVectorEnv("faraway", address=address_with_accounts)
    assert caught.value.reason == "CALLER_TOKEN_MISSING"


def test_a_private_server_can_require_a_token(tokens: dict[str, str]) -> None:
    arguments = ["--auth-token-file", tokens["file"]]
    with boardwire.connect(server_args=arguments, token=tokens["ada"]) as client:
        assert client.games()


def test_a_token_needs_a_local_or_encrypted_connection() -> None:
    local = ["unix:/tmp/b", "127.0.0.1:1", "127.8.0.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1", "localhost:1"]
    for target in local:
        assert checked("word", target, insecure=False) == "word"
    for target in ["192.0.2.1:1", "[2001:db8::1]:1", "0.0.0.0:1", "example.org:1", "localhost.example.org:1"]:
        with pytest.raises(
            ValueError, match=r"the token can be eavesdropped on, on its way to .*: connect with tls=True"
        ) as caught:
            boardwire.connect(target, token="secret-word")
        assert "secret-word" not in str(caught.value)
        for option in ({"tls": True}, {"insecure": True}):
            boardwire.connect(target, token="secret-word", **option).close()  # type: ignore[arg-type]


@pytest.mark.parametrize("token", ["", " ", "a\nb", "ä"])
def test_an_invalid_token_is_refused(token: str) -> None:
    with pytest.raises(ValueError, match="a token must be one word of printable ASCII"):
        boardwire.connect("127.0.0.1:1", token=token)


def call_repeatedly(client: boardwire.Client, seconds: float) -> None:
    """Calls the server for some seconds; ends early when a call raises."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        client.games()


def test_the_server_rereads_the_accounts_on_sighup(tmp_path: Path) -> None:
    file = tmp_path / "accounts.toml"
    old = account(file, "ada")
    command = [str(find_binary()), "serve", "--listen=127.0.0.1:0", "--exit-with-stdin"]
    # Leaving the block closes the server's input, which ends the server.
    with subprocess.Popen(
        [*command, f"--auth-token-file={file}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        address = server.stdout.readline().removeprefix("listening on ").strip()
        with boardwire.connect(address, token=old) as client:
            assert client.games()
            file.unlink()
            new = account(file, "ada")
            os.kill(server.pid, signal.SIGHUP)
            with pytest.raises(errors.AccessDenied) as caught:
                call_repeatedly(client, 60)
            assert caught.value.reason == "CALLER_TOKEN_WRONG"
        with boardwire.connect(address, token=new) as client:
            assert client.games()
            file.write_text("nonsense")
            os.kill(server.pid, signal.SIGHUP)
            log = [next(server.stderr)]
            while "stay in use" not in log[-1]:
                log.append(next(server.stderr))
            assert "accounts.toml: line 1" in log[-1]
            assert client.games()
        assert not {old, new} & set("".join(log).split())
