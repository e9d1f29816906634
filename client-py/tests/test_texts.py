"""Texts for people and language models: rules, phrases, history, and neutral names."""

from __future__ import annotations

from typing import Any

import pytest
from transports import local, served

import boardwire

__all__ = ["local", "served"]

GAMES = ["faraway", "rauha", "golden_compass"]


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("label_seed", [None, 3])
def test_texts_of_batches_and_rules_equal_those_of_a_server(
    served: boardwire.Client, local: boardwire.Client, game: str, label_seed: int | None
) -> None:
    rules, text, actions = [], [], []
    for client in (served, local):
        rules.append(client.rules(game, seats=2, label_seed=label_seed))
        with client.open_batch(game, environments=2, seats=2, seed=3) as batch:
            step = batch.reset()
            seat = int(step.seat[1])
            text.append(batch.text(1, seat=seat, label_seed=label_seed))
            actions.append(batch.actions(1, seat=seat, label_seed=label_seed))
            assert [action.index for action in actions[-1]] == step.legal(1)
            assert len({action.phrase for action in actions[-1]}) == len(actions[-1])
            if label_seed is None:
                assert all(action.label == batch.spec.actions[action.index].label for action in actions[-1])
    assert rules[0] == rules[1]
    assert rules[0].how_to_play in rules[0].text
    assert rules[0].text.startswith("# ")
    assert (text[0], actions[0]) == (text[1], actions[1])


@pytest.mark.parametrize("game", GAMES)
def test_the_history_is_what_happened_since_the_last_decision(client: boardwire.Client, game: str) -> None:
    wanted: dict[str, Any] = {"history": True, "actions": True}
    with client.create_match(game, players=["agent", "agent"], seed=5) as match:
        seats = [match.join(0), match.join(1)]
        assert seats[0].observe(wait=False).history == ""
        histories = []
        for _ in range(20):
            now = seats[0].observe(wait=False, **wanted)
            seat = seats[now.pending[0]]
            now = seat.observe(**wanted)
            again = seat.observe(wait=False, **wanted)
            assert (again.history, again.actions) == (now.history, now.actions)
            after = seat.act(now.actions[0].index, wait=False, **wanted)
            histories.append(after.history)
        assert any(histories)
        assert seats[0].resign(history=True).history.endswith("seat 0 (you) forfeited: it resigned\n")
        assert "seat 0 forfeited: it resigned\n" in seats[1].observe(history=True).history


@pytest.mark.parametrize("seed", [-1, 1 << 64])
def test_a_label_seed_is_a_number_of_64_bits(client: boardwire.Client, seed: int) -> None:
    with client.open_batch("faraway", environments=1) as batch:
        batch.reset()
        with pytest.raises(ValueError, match="seed"):
            batch.text(0, seat=0, label_seed=seed)
    with pytest.raises(ValueError, match="label_seed"):
        client.rules("faraway", label_seed=seed)
