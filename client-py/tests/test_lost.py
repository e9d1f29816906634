"""What is left to close of a match, batch or server that is gone."""

from __future__ import annotations

import pytest
from outages import FixedPlace, create, kill_private

import boardwire


def crash(client: boardwire.Client, place: FixedPlace | None) -> None:
    """Kills the client's server, at its address or private."""
    if place:
        place.crash()
    else:
        kill_private(client)


@pytest.mark.parametrize("fixed", [False, True])
def test_the_end_of_a_block_closes_nothing_that_is_gone(fixed: bool) -> None:
    place = FixedPlace("127.0.0.1:0") if fixed else None
    with boardwire.connect(place.address if place else None) as client:
        match, batch = create(client), client.open_batch("faraway", environments=1)
        with batch, match, match.join(0).stream() as seat:
            batch.reset()
            seat.observe()
            crash(client, place)
        for closing in (batch, seat, client):
            closing.close()
        # It gives what is known of the match, which nobody knows.
        with pytest.raises(boardwire.ConnectionLost):
            match.close()


@pytest.mark.parametrize("fixed", [False, True])
def test_the_end_of_a_block_does_not_hide_its_failure(fixed: bool) -> None:
    place = FixedPlace("127.0.0.1:0") if fixed else None
    client = boardwire.connect(place.address if place else None)
    match, batch = create(client), client.open_batch("faraway", environments=1)
    batch.reset()

    def step() -> None:
        crash(client, place)
        batch.step([0])

    with pytest.raises(boardwire.ConnectionLost) as caught, client, match, batch:
        step()
    assert caught.traceback[-1].name == "receive", "it is the failure of the step"
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_a_close_that_is_refused_is_told_unless_the_block_has_failed(client: boardwire.Client) -> None:
    match, batch = create(client), client.open_batch("faraway", environments=1)
    host_token, match.host_token = match.host_token, ""
    token, batch.token = batch.token, ""
    for one in (match, batch):
        with pytest.raises(boardwire.MissingToken), one:
            pass
        batch._closed = False
        with pytest.raises(KeyError, match="the body's"), one:
            raise KeyError("the body's")
        batch._closed = False
    match.host_token, batch.token = host_token, token
    match.close()
    batch.close()
