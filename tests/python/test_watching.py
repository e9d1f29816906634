"""Spectators see a match as it goes on, and hold nobody up."""

from __future__ import annotations

import asyncio
import threading
from itertools import islice

import numpy as np
import pytest

import boardwire
from boardwire import Frame


def play(seat: boardwire.Seat) -> None:
    """Plays an episode by the lowest legal action."""
    seen = seat.observe()
    while not seen.over:
        seen = seat.act(int(seen.mask.nonzero()[0][0]))


@pytest.mark.parametrize("game", ["faraway", "rauha", "golden_compass"])
def test_a_spectator_sees_what_the_public_may(client: boardwire.Client, game: str) -> None:
    with client.create_match(game, players=["agent", "greedy"]) as match:
        seat, seen = match.join(0), list[Frame]()

        def watch() -> None:
            seen.extend(client.watch(match.id, after=0, timeout=60))

        spectator = threading.Thread(target=watch)
        spectator.start()
        play(seat)
        replay = client.replay(match.id)
        match.close()
        spectator.join(60)
    assert not spectator.is_alive()
    assert [frame.sequence for frame in seen] == list(range(1, len(replay.frames) + 1))
    for shown, frame in zip(seen, replay.frames, strict=True):
        assert np.array_equal(shown.view, frame.view)
        assert len(shown.view) == match.spec.public_view_bytes
        assert (shown.ply, shown.seat, shown.head, shown.played) == (frame.ply, frame.seat, frame.head, None)
    assert seen[-1].outcome is not None


def test_a_stream_goes_on_after_the_last_frame_known(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "random"]) as match:
        play(match.join(0))
        first = list(islice(match.watch(after=0), 5))
        then = list(islice(match.watch(after=first[-1].sequence), 3))
        assert [frame.sequence for frame in first + then] == [1, 2, 3, 4, 5, 6, 7, 8]
        present = next(match.watch())
        assert present.outcome is not None
        with pytest.raises(boardwire.errors.InvalidRequest, match="after"):
            next(match.watch(after=present.sequence + 1))
        with pytest.raises(boardwire.errors.CallTimeout):
            next(match.watch(after=present.sequence, timeout=0.2))


def test_frames_that_are_not_kept_are_named(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "random"]) as match:
        for _ in range(6):
            match.resign(0)
            match.reset()
        with pytest.raises(boardwire.errors.NotFound) as gone:
            next(match.watch(after=0))
        assert gone.value.reason == "FRAMES_GONE"
        oldest = int(gone.value.metadata["oldest"])
        assert next(match.watch(after=oldest - 1)).sequence == oldest


def test_a_private_match_takes_a_token_to_be_watched(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "random"], private=True) as match:
        with pytest.raises(boardwire.errors.AccessDenied) as told:
            next(client.watch(match.id))
        assert told.value.reason == "TOKEN_MISSING"
        shown = next(client.watch(match.id, spectator_token=match.spectator_token))
        assert shown.episode == 0
        with pytest.raises(boardwire.errors.AccessDenied) as told:
            next(client.watch(match.id, spectator_token="guessed"))
        assert told.value.reason == "TOKEN_WRONG"


def test_spectators_see_late_what_is_held_back(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "random"], watch_delay=3600) as match:
        seat = match.join(0)
        play(seat)
        assert match.info().watch_delay == 3600
        assert len(client.replay(match.id).frames) == 1
        assert len(match.replay().frames) > 1
        # Those who watch are a spectator, the host and a seat.
        for token in ("", match.host_token, seat.token):
            with pytest.raises(boardwire.errors.CallTimeout):
                next(client.watch(match.id, spectator_token=token, timeout=0.2))
    with pytest.raises(boardwire.errors.InvalidRequest, match="watch_delay"):
        client.create_match("faraway", players=["agent", "random"], watch_delay=100_000)


def test_a_task_watches_too() -> None:
    async def watch() -> list[int]:
        async with (
            await boardwire.aio.connect() as client,
            await client.create_match("rauha", players=["random", "random"]) as match,
        ):
            seen: list[int] = []
            async for frame in match.watch(after=0):
                seen.append(frame.sequence)
                if len(seen) == 4:
                    break
            return seen

    assert asyncio.run(watch()) == [1, 2, 3, 4]
