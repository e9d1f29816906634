"""No response to a seat depends on information that is hidden from it."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from single_calls import by_single_calls

import boardwire
from agents import play_seat


@pytest.mark.parametrize("seed", range(3))
def test_an_agent_never_observes_the_hand_of_another_agent(client: boardwire.Client, seed: int) -> None:
    match = client.create_match("faraway", players=["agent", "agent"], seed=seed)
    codes = [invitation.code for invitation in match.invitations]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        results = list(pool.map(play_seat, [client.address] * 2, codes, range(2)))
    assert results[0]["scores"] == results[1]["scores"]
    assert results[0]["reward"] == -results[1]["reward"]
    spec = match.spec
    region_fields = [field for field in spec.fields.values() if field.table == "regions"]
    for own, other in (results, results[::-1]):
        hand = set(spec.decode(other["views"][0])["hand"].tolist()) - {0}
        assert len(hand) == 3
        for view, text in zip(own["views"], own["texts"], strict=True):
            played = set(spec.decode(view)["lines"][1].tolist())
            visible = {card for field in region_fields for card in np.ravel(field.decode(view)).tolist()}
            assert not (hand - played) & visible
            assert text
    match.close()


def responses(
    client: boardwire.Client,
    game: str,
    seats: int,
    seed: int,
    plies: list[tuple[int, int]],
    illegal: int,
) -> list[bytes]:
    """Plays actions of all seats; returns all responses that seat 0 can get: views, text and errors."""
    with client.create_match(game, players=["agent"] * seats, seed=seed) as match:
        joined = [match.join(index) for index in range(seats)]
        found: list[bytes] = []
        for index, action in plies:
            joined[index].observe(wait=False)
            joined[index].act(action, wait=False)
        for seat in (joined[0], by_single_calls(client.seat(match.id, joined[0].token))):
            obs = seat.observe(wait=False, text=True, explain=True)
            found += [obs.view.tobytes(), obs.mask.tobytes(), obs.text.encode()]
            found.append(repr((obs.ply, obs.decision, obs.pending, obs.reward, obs.outcome)).encode())
            for action in (illegal, len(match.spec.actions)):
                with pytest.raises(boardwire.BoardwireError) as caught:
                    seat.act(action, wait=False)
                found.append(repr((caught.value.message, sorted(caught.value.metadata.items()))).encode())
            seat.close()
        info = match.info()
        found.append(repr((info.state, info.ply, info.episode, info.seed_opening)).encode())
        return found


def hidden_actions(
    client: boardwire.Client, game: str, seats: int, seed: int
) -> list[tuple[list[tuple[int, int]], int, list[int]]]:
    """Returns the plies of a random match before each hidden action, with its seat and legal actions.

    An action is hidden while seat 0 has a pending decision. So seat 0 acts last.
    """
    random = np.random.default_rng(seed)
    found = []
    with client.create_match(game, players=["agent"] * seats, seed=seed) as match:
        joined = [match.join(index) for index in range(seats)]
        plies: list[tuple[int, int]] = []
        while not (obs := joined[0].observe(wait=False)).over:
            index = max(obs.pending)
            legal = joined[index].observe(wait=False).mask.nonzero()[0].tolist()
            if index and 0 in obs.pending and len(legal) > 1:
                found.append((list(plies), index, legal))
            action = int(random.choice(legal))
            joined[index].act(action, wait=False)
            plies.append((index, action))
    return found


@pytest.mark.parametrize("seats", [2, 3])
def test_hidden_actions_change_no_response_to_another_seat(client: boardwire.Client, seats: int) -> None:
    compared = 0
    for game in client.games():
        if not game.min_seats <= seats <= game.max_seats:
            continue
        for plies, index, legal in hidden_actions(client, game.id, seats, seed=4)[::3]:
            with client.create_match(game.id, players=["agent"] * seats, seed=4) as match:
                joined = [match.join(seat) for seat in range(seats)]
                for seat, action in plies:
                    joined[seat].observe(wait=False)
                    joined[seat].act(action, wait=False)
                illegal = int((~joined[0].observe(wait=False).mask).nonzero()[0][0])
            found = [
                responses(client, game.id, seats, 4, [*plies, (index, action)], illegal)
                for action in legal[:3]
            ]
            assert all(other == found[0] for other in found[1:])
            compared += 1
    assert compared >= 3
