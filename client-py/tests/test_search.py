"""Searches: observations of determinizations, advances and playouts, and ownership."""

from __future__ import annotations

import time
import uuid
from typing import Any

import numpy as np
import pytest
from tables import TABLES, lowest
from transports import local

import boardwire
from boardwire import errors

__all__ = ["local"]


def seat_to_choose(client: boardwire.Client, game: str, seats: int = 2, *, seed: int = 3) -> boardwire.Seat:
    """Returns seat 0 of a match against random bots, with a pending decision."""
    players = ["agent"] + ["random"] * (seats - 1)
    seat = client.create_match(game, players=players, seed=seed).join(0)
    seat.observe()
    return seat


@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_determinizations_start_at_the_view_of_the_seat_and_are_played_to_the_end(
    client: boardwire.Client, game: str, seats: int
) -> None:
    seat = seat_to_choose(client, game, seats)
    assert seat.last is not None
    with seat.search(12, reward="margin", skip_forced=True) as search:
        assert (search.worlds, search.places, search.spec) == (12, 12, seat.spec)
        assert (search.shown.seat == 0).all()
        assert (search.shown.view == seat.last.view).all()
        assert (search.shown.mask == seat.last.mask).all()
        assert search.shown.mask.dtype == np.bool_
        assert search.shown.reward.shape == (12, seats)
        masks, places = search.shown.mask, np.arange(12)
        while len(places):
            step = search.advance(places, lowest(masks))
            assert not step.mask[step.over].any()
            assert (step.seat[step.over] == boardwire.NOBODY).all()
            assert (step.over == step.terminated).all()
            masks, places = step.mask[~step.over], places[~step.over]
        ends = search.rollout(np.arange(12), playouts=3)
        assert ends.shape == (12, seats)
        assert ends.dtype == np.float32


def test_the_seed_determines_determinizations_chance_and_playouts(client: boardwire.Client) -> None:
    seat = seat_to_choose(client, "rauha")
    results = []
    for seed in (5, 5, 6):
        with seat.search(4, seed=seed) as search:
            step = search.advance([0, 1, 2, 3], lowest(search.shown.mask))
            ends = search.rollout([0, 1, 2, 3], playouts=4, policy="random", seed=seed)
            results.append((step.view.tobytes(), ends.tobytes(), search.seed))
    assert results[0] == results[1]
    assert results[1] != results[2]


def test_a_search_does_not_change_its_match(client: boardwire.Client) -> None:
    views = []
    for searches in (False, True):
        seat = seat_to_choose(client, "faraway")
        obs = seat.observe(wait=False)
        while not obs.over:
            if searches:
                with seat.search(2) as search:
                    search.advance([0, 1], lowest(search.shown.mask))
            obs = seat.act(lowest(obs.mask[None])[0])
        views.append(obs.view.tobytes())
    assert views[0] == views[1]


def test_an_advance_into_other_places_changes_no_source(client: boardwire.Client) -> None:
    with seat_to_choose(client, "faraway").search(2, places=6) as search:
        actions = lowest(search.shown.mask)
        copies = search.advance([0, 1, 0, 1], np.tile(actions, 2), into=[2, 3, 4, 5])
        np.testing.assert_array_equal(copies.view[:2], copies.view[2:])
        again = search.advance([0, 1], actions)
        np.testing.assert_array_equal(copies.view[:2], again.view)
        assert copies.ply.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("places", [9, 13, 400])
def test_values_equal_rollouts_after_each_action(client: boardwire.Client, places: int) -> None:
    with client.open_batch("rauha", environments=4, seats=3, seed=1) as batch:
        batch.step(lowest(batch.reset().mask))
        kinds: dict[str, Any] = {"reward": "margin", "seed": 5}
        with batch.search(2, places=places, **kinds) as search:
            values = search.values(playouts=3, seed=7)
            np.testing.assert_array_equal(search.values(playouts=3, seed=7), values)
            assert (values.shape, values.dtype.name) == (search.shown.mask.shape, "float32")
            np.testing.assert_array_equal(~np.isnan(values), search.shown.mask)
            for action in range(values.shape[1]):
                worlds = np.flatnonzero(search.shown.mask[:, action])
                if not len(worlds):
                    continue
                # `values` changes no determinization, so a search with the same seed has the same ones.
                with batch.search(2, **kinds) as other:
                    other.advance(worlds, np.full(len(worlds), action))
                    ends = other.rollout(worlds, playouts=3, seed=7)
                own = ends[np.arange(len(worlds)), search.shown.seat[worlds]]
                np.testing.assert_array_equal(values[worlds, action], own)
        with batch.search(2) as search, pytest.raises(ValueError, match="more than 8 places"):
            search.values()


def test_each_row_of_a_batch_has_its_own_determinizations(client: boardwire.Client) -> None:
    with client.open_batch("faraway", environments=6, opponents={1: "greedy"}, seed=1) as batch:
        step = batch.reset()
        mask = np.array([True, False, True, True, False, False])
        with batch.search(3, where=mask) as search:
            assert (search.worlds, search.places) == (9, 9)
            np.testing.assert_array_equal(search.shown.view, step.view[mask].repeat(3, axis=0))
        before = batch.save()
        with batch.search() as search:
            search.advance(np.arange(6), lowest(search.shown.mask))
        assert batch.save() == before


def test_a_world_sampled_again_keeps_what_its_deciding_seat_knows(client: boardwire.Client) -> None:
    with seat_to_choose(client, "faraway").search(2, places=8, seed=1) as search:
        before = search.advance([0, 1], lowest(search.shown.mask))
        steps = [search.redeterminize([0, 0, 1], into=[2, 3, 4], seed=5) for _ in range(2)]
        for step in steps:
            np.testing.assert_array_equal(step.view, before.view[[0, 0, 1]])
            np.testing.assert_array_equal(step.mask, before.mask[[0, 0, 1]])
            assert step.seat.tolist() == before.seat[[0, 0, 1]].tolist()
            assert not step.ply.any()
        # The seat that decides now does not know the hand of the other seat, which decides next.
        nexts = [search.advance([2, 3, 4], lowest(step.mask)) for step in steps[:1]]
        assert nexts[0].view[0].tobytes() != nexts[0].view[1].tobytes()
        search.redeterminize([0], seed=3)
        with pytest.raises(errors.InvalidRequest, match="`worlds` must be different places; got `1 twice`"):
            search.redeterminize([1, 1])
        with pytest.raises(errors.InvalidRequest, match="`into` must be 2 rows"):
            search.redeterminize([0, 1], into=[2])


def test_rollouts_name_an_invalid_policy_or_limit(client: boardwire.Client) -> None:
    with seat_to_choose(client, "faraway").search(reward="margin") as search:
        with pytest.raises(errors.InvalidRequest, match="`policy` must be estimate, random, policy:NAME"):
            search.rollout([0], policy="mc")
        with pytest.raises(errors.InvalidRequest, match="no policy is registered"):
            search.rollout([0], policy="policy:owl")
        with pytest.raises(errors.InvalidRequest, match="`plies` must be absent, or a policy that values"):
            search.rollout([0], plies=2)


def test_errors_name_the_invalid_argument(client: boardwire.Client) -> None:
    seat = seat_to_choose(client, "faraway")
    with seat.search(2, places=3) as search:
        actions = lowest(search.shown.mask)
        illegal = int(np.flatnonzero(search.shown.mask[1] == 0)[0])
        with pytest.raises(errors.IllegalAction, match="row 1, world 0: seat 0 may not choose") as caught:
            search.advance([1, 0], [actions[1], illegal])
        assert caught.value.metadata["row"] == "1"
        with pytest.raises(errors.IllegalAction, match="there is no action 200"):
            search.advance([0], [200])
        with pytest.raises(errors.InvalidRequest, match="`worlds` must be below 3; got `3`"):
            search.advance([3], [0])
        with pytest.raises(
            errors.InvalidRequest, match="`worlds` must be a place that holds a world; got `2`"
        ):
            search.rollout([2])
        with pytest.raises(errors.InvalidRequest, match="must be 1 to 65536 for all worlds together"):
            search.rollout([0, 1], playouts=40_000)
        with pytest.raises(errors.InvalidRequest, match="must be 1 to 65536 for all worlds together"):
            search.values(playouts=70_000)
        for worlds, message in (
            ([0.5], "one-dimensional array of integers"),
            ([[0]], "one-dimensional array of integers"),
            ([-1], "must be from 0 to 4294967295; got -1"),
        ):
            with pytest.raises(ValueError, match=message):
                search.advance(worlds, [0])
        assert search.advance([0, 1], actions).ply.tolist() == [1, 1], (
            "a rejected advance must change nothing"
        )
    with pytest.raises(errors.Gone) as gone:
        search.rollout([0])
    assert gone.value.reason == "SEARCH_UNKNOWN"
    with pytest.raises(errors.InvalidRequest, match="`places` must be at least 9"):
        seat.search(9, places=4)
    with pytest.raises(errors.InvalidRequest, match="fit a message"):
        seat.search(10_000_000)
    with pytest.raises(ValueError, match="`worlds` must be at least 1"):
        seat.search(0)


def test_a_search_in_this_process_has_the_limit_of_a_server(local: boardwire.Client) -> None:
    with local.open_batch("faraway", environments=1) as batch:
        batch.reset()
        with batch.search(places=262_144) as search:
            assert search.places == 262_144
        message = "`places` must be at most 262144, those of the worlds included; got `262145`"
        with pytest.raises(errors.InvalidRequest, match=message):
            batch.search(places=262_145)


def test_a_seat_without_a_pending_decision_cannot_search(client: boardwire.Client) -> None:
    match = client.create_match("golden_compass", players=["agent", "agent"], seed=1)
    seats = [match.join(index) for index in (0, 1)]
    obs = seats[0].observe(wait=False)
    while len(obs.pending) > 1:
        seat = seats[min(obs.pending)]
        seat.act(lowest(seat.observe(wait=False).mask[None])[0], wait=False)
        obs = seats[0].observe(wait=False)
    idle = next(seat for seat in seats if seat.index not in obs.pending)
    with pytest.raises(errors.NotYourTurn):
        idle.search(1)
    seats[0].resign()
    with pytest.raises(errors.EpisodeOver):
        idle.search(1)


def exists(search: boardwire.Search) -> bool:
    """Returns whether the server still has the search."""
    try:
        search.rollout([0])
    except errors.Gone:
        return False
    return True


def test_a_search_belongs_to_its_seat_and_ends_with_its_connection(client: boardwire.Client) -> None:
    match = client.create_match("faraway", players=["agent", "agent"], seed=1)
    first, second = (match.join(index) for index in (0, 1))
    with boardwire.connect(client.address) as other:
        search = other.seat(first.match_id, first.token).search(1)
        foreign = second.search(1)
        foreign.id = search.id
        with pytest.raises(errors.AccessDenied) as caught:
            foreign.rollout([0])
        assert caught.value.reason == "SEARCH_OWNER_ONLY"
        own = first.search(1)
        own.id = search.id
        own.rollout([0])
    # The server notices the end of the connection after a delay.
    deadline = time.monotonic() + 60
    while exists(own):
        assert time.monotonic() < deadline
    with pytest.raises(errors.Gone) as gone:
        own.rollout([0])
    assert gone.value.reason == "SEARCH_UNKNOWN"
    search.close()


def test_a_request_id_repeats_a_search_for_its_seat_only(client: boardwire.Client) -> None:
    match = client.create_match("faraway", players=["agent", "agent"], seed=5)
    seats = [match.join(0), match.join(1)]
    request = {"match_id": match.id, "worlds": 3, "seed": 7, "request_id": str(uuid.uuid4())}

    def create(seat: boardwire.Seat) -> dict[str, Any]:
        return client._connection.call("SearchService/CreateSearch", request, timeout=60, token=seat.token)

    first, again = create(seats[0]), create(seats[0])
    assert first == again, "a retry must get the same response"
    # Determinizations of a seat would reveal its information to the other seat.
    with pytest.raises(errors.InvalidRequest) as caught:
        create(seats[1])
    assert caught.value.reason == "REQUEST_ID_REUSED"
    request["worlds"] = 2
    with pytest.raises(errors.InvalidRequest) as caught:
        create(seats[0])
    assert caught.value.reason == "REQUEST_ID_REUSED"
