"""No answer to a seat depends on what that seat must not know."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from single_calls import by_single_calls

import boardwire
from agents import play_seat

Answers = list[bytes]


@pytest.mark.parametrize("seed", range(3))
def test_two_processes_play_one_match_and_never_see_each_others_hand(
    client: boardwire.Client, seed: int
) -> None:
    match = client.create_match("faraway", players=["agent", "agent"], seed=seed)
    codes = [invitation.code for invitation in match.invitations]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        told = list(pool.map(play_seat, [client.address] * 2, codes, range(2)))
    assert told[0]["scores"] == told[1]["scores"]
    assert told[0]["reward"] == -told[1]["reward"]
    spec = match.spec
    shows_regions = [field for field in spec.fields.values() if field.table == "regions"]
    for mine, theirs in ((told[0], told[1]), (told[1], told[0])):
        dealt = set(spec.decode(theirs["views"][0])["hand"].tolist()) - {0}
        assert len(dealt) == 3
        for view, text in zip(mine["views"], mine["texts"], strict=True):
            played = set(spec.decode(view)["lines"][1].tolist())
            shown = {card for field in shows_regions for card in np.ravel(field.decode(view)).tolist()}
            assert not (dealt - played) & shown
            assert text
    match.close()


def answers(
    client: boardwire.Client,
    game: str,
    seats: int,
    seed: int,
    plies: list[tuple[int, int]],
    illegal: int,
) -> Answers:
    """All that seat 0 can be answered after some plies of everybody: views, text, refusals."""
    with client.create_match(game, players=["agent"] * seats, seed=seed) as match:
        table = [match.join(index) for index in range(seats)]
        told: Answers = []
        for index, action in plies:
            table[index].observe(wait=False)
            table[index].act(action, wait=False)
        for seat in (table[0], by_single_calls(client.seat(match.id, table[0].token))):
            seen = seat.observe(wait=False, text=True, explain=True)
            told += [seen.view.tobytes(), seen.mask.tobytes(), seen.text.encode()]
            told.append(repr((seen.ply, seen.decision, seen.pending, seen.reward, seen.outcome)).encode())
            for action in (illegal, len(match.spec.actions)):
                with pytest.raises(boardwire.BoardwireError) as refused:
                    seat.act(action, wait=False)
                told.append(repr((refused.value.message, sorted(refused.value.metadata.items()))).encode())
            seat.close()
        info = match.info()
        told.append(repr((info.state, info.ply, info.episode, info.seed_opening)).encode())
        return told


def hidden_choices(
    client: boardwire.Client, game: str, seats: int, seed: int
) -> list[tuple[list[tuple[int, int]], int, list[int]]]:
    """The plies of a random match up to each hidden choice, with the seat and what it may choose.

    A choice is hidden while seat 0 owes one, too: seat 0's comes last.
    """
    random = np.random.default_rng(seed)
    found = []
    with client.create_match(game, players=["agent"] * seats, seed=seed) as match:
        table = [match.join(index) for index in range(seats)]
        plies: list[tuple[int, int]] = []
        while not (seen := table[0].observe(wait=False)).over:
            index = max(seen.pending)
            legal = table[index].observe(wait=False).mask.nonzero()[0].tolist()
            if index and 0 in seen.pending and len(legal) > 1:
                found.append((list(plies), index, legal))
            action = int(random.choice(legal))
            table[index].act(action, wait=False)
            plies.append((index, action))
    return found


@pytest.mark.parametrize("seats", [2, 3])
def test_hidden_choices_change_no_byte_for_another_seat(client: boardwire.Client, seats: int) -> None:
    compared = 0
    for game in client.games():
        if not game.min_seats <= seats <= game.max_seats:
            continue
        for plies, index, legal in hidden_choices(client, game.id, seats, seed=4)[::3]:
            with client.create_match(game.id, players=["agent"] * seats, seed=4) as match:
                own = [match.join(at) for at in range(seats)]
                for at, action in plies:
                    own[at].observe(wait=False)
                    own[at].act(action, wait=False)
                illegal = int((own[0].observe(wait=False).mask == 0).nonzero()[0][0])
            told = [
                answers(client, game.id, seats, 4, [*plies, (index, choice)], illegal) for choice in legal[:3]
            ]
            assert all(other == told[0] for other in told[1:])
            compared += 1
    assert compared >= 3
