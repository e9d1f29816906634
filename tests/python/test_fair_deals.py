"""Deals in which everybody has a hand, checked by the agents: with the server's program, and without it."""

from __future__ import annotations

import hashlib
import subprocess
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import boardwire
from boardwire._connection import Connection
from boardwire._process import find_binary
from chance import faraway_deal


def sha256(data: bytes) -> bytes:
    """What all hashes here are."""
    return hashlib.sha256(data).digest()


def check(replay: boardwire.Replay, seat: int, secret: bytes) -> bytes:
    """Checks what a seat knows of a deal against its replay, with nothing of Boardwire's; gives the key.

    It is all that `docs/protocol.md` says of them.
    """
    deal, opening = replay.fair, replay.seed_opening
    assert deal is not None
    assert opening is not None
    assert deal.seat_secrets[seat] == secret, "what I have contributed is not among it"
    agents = [index for index, player in enumerate(replay.players) if player == "agent"]
    for index in agents:
        assert sha256(deal.seat_secrets[index]) == deal.seat_commitments[index], f"seat {index} was not bound"
    bound = opening.server_secret
    for _ in range(replay.episode + 1):
        bound = sha256(bound)
    assert bound == deal.server_commitment, "the server was not bound"
    parts = [bytes([index]) + deal.seat_secrets[index] for index in agents]
    episode = replay.episode.to_bytes(4, "little")
    start = b"boardwire fair deal" + replay.match_id.encode() + episode + opening.server_secret
    key = sha256(start + b"".join(parts))
    assert key == opening.key, "the key does not follow"
    return key


def play(seat: boardwire.Seat) -> None:
    """Plays an episode by the lowest legal action."""
    seen = seat.observe()
    while not seen.over:
        seen = seat.act(int(seen.mask.nonzero()[0][0]))


def test_agents_that_distrust_everybody_check_their_deals(client: boardwire.Client, tmp_path: Path) -> None:
    """Each agent in a thread of its own, with nothing but an invitation."""
    players = ["agent", "greedy", "agent"]
    checked: list[bytes] = []

    def agent(code: str) -> None:
        seat = client.join(code)
        seat.reveal()
        before = seat.bound
        assert before is not None
        assert seat.index is not None
        assert before.seat_commitments[seat.index] == sha256(seat.secret)
        for episode in range(2):
            play(seat)
            replay = seat.replay()
            key = check(replay, seat.index, seat.secret)
            assert replay.fair is not None
            assert replay.fair.server_commitment == before.server_commitment
            assert replay.fair.seat_commitments == before.seat_commitments
            hands, _ = faraway_deal(key, len(players))
            first = seat.spec.decode(replay.frames[0].view)
            assert [card for card in first["hand"].tolist() if card] == hands[seat.index]
            replay.save(path := tmp_path / f"{seat.index}-{episode}.json")
            command = [str(find_binary()), "verify", str(path)]
            told = subprocess.run(command, capture_output=True, text=True, timeout=60)
            assert (told.returncode, "server and seats 0, 2 drew the key" in told.stdout) == (0, True), told
            checked.append(key)
            if episode == 0:
                seat.reset()

    with client.create_match("faraway", players=players, fair_deals=True) as match:
        info = match.info()
        assert (info.state, info.waiting_for, info.seed_commitment) == ("gathering", (0, 2), b"")
        assert info.fair is not None
        assert info.fair.seat_commitments == (b"", b"", b"")
        agents = [threading.Thread(target=agent, args=(given.code,)) for given in match.invitations]
        for thread in agents:
            thread.start()
        for thread in agents:
            thread.join(60)
    assert len(checked) == 4
    assert len(set(checked)) == 2


def test_nothing_is_dealt_before_all_have_opened(client: boardwire.Client) -> None:
    with client.create_match("rauha", players=["agent", "agent"], fair_deals=True) as match:
        first = match.join(0)
        with pytest.raises(boardwire.errors.NotPossibleNow, match="seats 1 must call JoinMatch"):
            first.observe(wait=False)
        with pytest.raises(boardwire.errors.CallTimeout):
            first.reveal(timeout=0.2)
        second = match.join(1)
        first.reveal()
        with pytest.raises(boardwire.errors.NotPossibleNow, match="seats 1 must call OpenDeal"):
            first.observe(wait=False)
        again = client.seat(match.id, second.token, secret=bytes(32))
        with pytest.raises(boardwire.errors.InvalidRequest, match="secret"):
            again.reveal()
        client.seat(match.id, second.token, secret=second.secret).reveal()
        assert first.observe(wait=False).episode == 0
        assert match.info().state == "playing"


def test_a_secret_is_not_sent_before_all_are_bound_nor_forgotten_by_what_they_were(
    client: boardwire.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    call = Connection.call

    def noted(self: Connection, method: Any, request: Any, **more: Any) -> Any:
        asked.append(method)
        return call(self, method, request, **more)

    monkeypatch.setattr(Connection, "call", noted)
    with client.create_match("faraway", players=["agent", "agent"], fair_deals=True) as match:
        seat = match.join(0)
        with pytest.raises(boardwire.errors.CallTimeout, match=r"not all agents joined within 0\.2 seconds"):
            seat.reveal(timeout=0.2)
        assert "MatchService/OpenDeal" not in asked
        other = match.join(1)
        seat.reveal()
        assert asked.count("MatchService/OpenDeal") == 1
        other.reveal()
        assert seat.bound is not None
        assert seat.replay().fair is not None
        seat.bound = replace(seat.bound, seat_commitments=(seat.bound.seat_commitments[0], bytes(32)))
        with pytest.raises(boardwire.errors.ServerFault, match="commitments in the replay differ"):
            seat.replay()


def test_a_deal_that_is_fair_cannot_be_left(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "random"], fair_deals=True) as match:
        seat = match.join(0)
        seat.reveal()
        for reset in (match.reset, seat.reset):
            with pytest.raises(boardwire.errors.NotPossibleNow, match="unless deals are fair"):
                reset()
        while not seat.observe().over:
            seat.act(int(seat.observe(wait=False).mask.nonzero()[0][0]))
        assert seat.reset().episode == 1


def test_a_deal_of_the_server_is_not_opened(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "random"]) as match:
        seat = match.join(0)
        with pytest.raises(boardwire.errors.InvalidRequest, match="since the server deals alone"):
            seat.reveal()
    with pytest.raises(boardwire.errors.InvalidRequest, match="fair_deals"):
        client.create_match("faraway", players=["agent", "random"], fair_deals=True, seed=1)


def test_a_seat_is_given_to_another_agent(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "random"]) as match:
        lost, first = match.join(0), match.invitations[0]
        assert first.seat == 0
        seen = lost.observe()
        given = match.invite(0)
        with pytest.raises(boardwire.errors.AccessDenied) as told:
            lost.observe(wait=False)
        assert told.value.reason == "TOKEN_WRONG"
        with pytest.raises(boardwire.errors.NotFound) as unknown:
            client.join(first)
        assert unknown.value.reason == "INVITATION_UNKNOWN"
        found = client.join(given)
        assert (found.observe(wait=False).decision, match.invitations) == (seen.decision, (given,))
        with pytest.raises(boardwire.errors.InvalidRequest, match="seat"):
            match.invite(1)
