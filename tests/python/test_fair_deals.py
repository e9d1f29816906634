"""Fair deals: all agents contribute to the key, and verify it with and without the server binary."""

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
    """Returns the hash that the protocol of fair deals uses."""
    return hashlib.sha256(data).digest()


def check(replay: boardwire.Replay, seat: int, secret: bytes) -> bytes:
    """Verifies a fair deal as a seat, as `docs/protocol.md` describes, and returns the key.

    Uses no code of Boardwire.
    """
    deal, opening = replay.fair, replay.seed_opening
    assert deal is not None
    assert opening is not None
    assert deal.seat_secrets[seat] == secret, "the replay lacks the secret of this seat"
    agents = [index for index, player in enumerate(replay.players) if player == "agent"]
    for index in agents:
        assert sha256(deal.seat_secrets[index]) == deal.seat_commitments[index], (
            f"seat {index} changed its secret"
        )
    digest = opening.server_secret
    for _ in range(replay.episode + 1):
        digest = sha256(digest)
    assert digest == deal.server_commitment, "the server changed its secret"
    parts = [bytes([index]) + deal.seat_secrets[index] for index in agents]
    episode = replay.episode.to_bytes(4, "little")
    start = b"boardwire fair deal" + replay.match_id.encode() + episode + opening.server_secret
    key = sha256(start + b"".join(parts))
    assert key == opening.key, "the key does not follow from the secrets"
    return key


def play(seat: boardwire.Seat) -> None:
    """Plays lowest legal actions to the end of the episode."""
    obs = seat.observe()
    while not obs.over:
        obs = seat.act(int(obs.mask.nonzero()[0][0]))


def test_agents_verify_their_deals(client: boardwire.Client, tmp_path: Path) -> None:
    """Each agent runs in its own thread and has only an invitation."""
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
            process = subprocess.run(command, capture_output=True, text=True, timeout=60)
            assert process.returncode == 0, process
            assert "server and seats 0, 2 drew the key" in process.stdout
            checked.append(key)
            if episode == 0:
                seat.reset()

    with client.create_match("faraway", players=players, fair_deals=True) as match:
        info = match.info()
        assert (info.state, info.waiting_for, info.seed_commitment) == ("gathering", (0, 2), b"")
        assert info.fair is not None
        assert info.fair.seat_commitments == (b"", b"", b"")
        agents = [threading.Thread(target=agent, args=(invitation.code,)) for invitation in match.invitations]
        for thread in agents:
            thread.start()
        for thread in agents:
            thread.join(60)
    assert len(checked) == 4
    assert len(set(checked)) == 2


def test_the_deal_waits_for_all_secrets(client: boardwire.Client) -> None:
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


def test_a_seat_sends_its_secret_after_all_commitments_and_checks_them_later(
    client: boardwire.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    methods: list[str] = []
    call = Connection.call

    def record(self: Connection, method: Any, request: Any, **kwargs: Any) -> Any:
        methods.append(method)
        return call(self, method, request, **kwargs)

    monkeypatch.setattr(Connection, "call", record)
    with client.create_match("faraway", players=["agent", "agent"], fair_deals=True) as match:
        seat = match.join(0)
        with pytest.raises(boardwire.errors.CallTimeout, match=r"not all agents joined within 0\.2 seconds"):
            seat.reveal(timeout=0.2)
        assert "MatchService/OpenDeal" not in methods
        other = match.join(1)
        seat.reveal()
        assert methods.count("MatchService/OpenDeal") == 1
        other.reveal()
        assert seat.bound is not None
        assert seat.replay().fair is not None
        seat.bound = replace(seat.bound, seat_commitments=(seat.bound.seat_commitments[0], bytes(32)))
        with pytest.raises(boardwire.errors.ServerFault, match="commitments in the replay differ"):
            seat.replay()


def test_an_episode_with_a_fair_deal_cannot_be_reset(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "random"], fair_deals=True) as match:
        seat = match.join(0)
        seat.reveal()
        for reset in (match.reset, seat.reset):
            with pytest.raises(boardwire.errors.NotPossibleNow, match="unless deals are fair"):
                reset()
        while not seat.observe().over:
            seat.act(int(seat.observe(wait=False).mask.nonzero()[0][0]))
        assert seat.reset().episode == 1


def test_reveal_needs_a_match_with_fair_deals(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "random"]) as match:
        seat = match.join(0)
        with pytest.raises(boardwire.errors.InvalidRequest, match="since the match has no fair deals"):
            seat.reveal()
    with pytest.raises(boardwire.errors.InvalidRequest, match="fair_deals"):
        client.create_match("faraway", players=["agent", "random"], fair_deals=True, seed=1)


def test_the_host_can_give_a_seat_to_another_agent(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "random"]) as match:
        replaced, first = match.join(0), match.invitations[0]
        assert first.seat == 0
        obs = replaced.observe()
        second = match.invite(0)
        with pytest.raises(boardwire.errors.AccessDenied) as caught:
            replaced.observe(wait=False)
        assert caught.value.reason == "TOKEN_WRONG"
        with pytest.raises(boardwire.errors.NotFound) as unknown:
            client.join(first)
        assert unknown.value.reason == "INVITATION_UNKNOWN"
        seat = client.join(second)
        assert (seat.observe(wait=False).decision, match.invitations) == (obs.decision, (second,))
        with pytest.raises(boardwire.errors.InvalidRequest, match="seat"):
            match.invite(1)
