"""Spectators follow a match and do not delay it."""

from __future__ import annotations

import asyncio
import threading
from itertools import islice

import numpy as np
import pytest

import boardwire
from boardwire import Frame


def play(seat: boardwire.Seat) -> None:
    """Plays lowest legal actions to the end of the episode."""
    obs = seat.observe()
    while not obs.over:
        obs = seat.act(int(obs.mask.nonzero()[0][0]))


@pytest.mark.parametrize("game", ["faraway", "rauha", "golden_compass"])
def test_a_spectator_gets_the_frames_of_the_public_replay(client: boardwire.Client, game: str) -> None:
    with client.create_match(game, players=["agent", "greedy"]) as match:
        seat, frames = match.join(0), list[Frame]()

        def watch() -> None:
            frames.extend(client.watch(match.id, after=0, timeout=60))

        spectator = threading.Thread(target=watch)
        spectator.start()
        play(seat)
        replay = client.replay(match.id)
        match.close()
        spectator.join(60)
    assert not spectator.is_alive()
    assert [frame.sequence for frame in frames] == list(range(1, len(replay.frames) + 1))
    for watched, frame in zip(frames, replay.frames, strict=True):
        assert np.array_equal(watched.view, frame.view)
        assert len(watched.view) == match.spec.public_view_bytes
        assert (watched.ply, watched.seat, watched.head, watched.played) == (
            frame.ply,
            frame.seat,
            frame.head,
            None,
        )
    assert frames[-1].outcome is not None


def test_a_stream_starts_after_the_given_frame(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "random"]) as match:
        play(match.join(0))
        first = list(islice(match.watch(after=0), 5))
        then = list(islice(match.watch(after=first[-1].sequence), 3))
        assert [frame.sequence for frame in first + then] == [1, 2, 3, 4, 5, 6, 7, 8]
        latest = next(match.watch())
        assert latest.outcome is not None
        with pytest.raises(boardwire.errors.InvalidRequest, match="after"):
            next(match.watch(after=latest.sequence + 1))
        with pytest.raises(boardwire.errors.CallTimeout):
            next(match.watch(after=latest.sequence, timeout=0.2))


def test_an_error_names_the_oldest_stored_frame(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "random"]) as match:
        for _ in range(6):
            match.resign(0)
            match.reset()
        with pytest.raises(boardwire.errors.NotFound) as caught:
            next(match.watch(after=0))
        assert caught.value.reason == "FRAMES_GONE"
        oldest = int(caught.value.metadata["oldest"])
        assert next(match.watch(after=oldest - 1)).sequence == oldest


def test_watching_a_private_match_needs_a_token(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "random"], private=True) as match:
        with pytest.raises(boardwire.errors.AccessDenied) as caught:
            next(client.watch(match.id))
        assert caught.value.reason == "TOKEN_MISSING"
        frame = next(client.watch(match.id, spectator_token=match.spectator_token))
        assert frame.episode == 0
        with pytest.raises(boardwire.errors.AccessDenied) as caught:
            next(client.watch(match.id, spectator_token="guessed"))
        assert caught.value.reason == "TOKEN_WRONG"


def test_a_watch_delay_delays_all_frames(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "random"], watch_delay=3600) as match:
        seat = match.join(0)
        play(seat)
        assert match.info().watch_delay == 3600
        assert len(client.replay(match.id).frames) == 1
        assert len(match.replay().frames) > 1
        # The delay applies to spectators, the host and seats.
        for token in ("", match.host_token, seat.token):
            with pytest.raises(boardwire.errors.CallTimeout):
                next(client.watch(match.id, spectator_token=token, timeout=0.2))
    with pytest.raises(boardwire.errors.InvalidRequest, match="watch_delay"):
        client.create_match("faraway", players=["agent", "random"], watch_delay=100_000)


def test_the_asyncio_client_watches() -> None:
    async def watch() -> list[int]:
        async with (
            await boardwire.aio.connect() as client,
            await client.create_match("rauha", players=["random", "random"]) as match,
        ):
            frames: list[int] = []
            async for frame in match.watch(after=0):
                frames.append(frame.sequence)
                if len(frames) == 4:
                    break
            return frames

    assert asyncio.run(watch()) == [1, 2, 3, 4]
