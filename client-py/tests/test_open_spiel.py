"""The games in OpenSpiel: they pass its own tests, and its states equal positions of matches."""

from __future__ import annotations

import unittest
from collections.abc import Iterator
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from outages import kill_private
from processes import in_child
from tables import GAMES, TABLES

import boardwire
from boardwire import _positions
from boardwire._shared import shared_client

pyspiel = pytest.importorskip("pyspiel")
import boardwire.open_spiel  # noqa: E402

NAMES = boardwire.open_spiel.register()
#: The smallest and the largest table of each game.
SOME = [(game.id, seats) for game in GAMES for seats in sorted({game.min_seats, game.max_seats})]


def load(game: str, seats: int = 2, seed: int = 5) -> Any:
    return pyspiel.load_game(f"boardwire_{game}", {"players": seats, "rng_seed": seed})


def after_deal(game: Any) -> Any:
    state = game.new_initial_state()
    assert state.is_chance_node()
    assert state.chance_outcomes() == [(0, 1.0)]
    state.apply_action(0)
    return state


def random_actions(state: Any, random: np.random.Generator) -> Iterator[int]:
    """Yields random legal actions until the end; the caller applies each."""
    while not state.is_terminal():
        yield int(random.choice(state.legal_actions()))


def revealed(state: Any) -> list[Any]:
    """Returns everything that a state of a match reveals."""
    seats = range(state.num_players())
    per_seat = [(state.information_state_string(seat), state.observation_tensor(seat)) for seat in seats]
    return [str(state), state.current_player(), state.legal_actions(), state.returns(), per_seat]


def test_all_games_are_registered_once() -> None:
    assert {f"boardwire_{game.id}" for game in GAMES} == set(NAMES)
    assert boardwire.open_spiel.register() == NAMES
    assert set(NAMES) <= set(pyspiel.registered_names())


@pytest.mark.parametrize(("game", "seats"), SOME)
def test_random_sim_test_of_openspiel_passes(game: str, seats: int) -> None:
    # A Python game cannot serialize its random generator; its states can be serialized.
    pyspiel.random_sim_test(load(game, seats), num_sims=2, serialize=False, verbose=False)


def test_the_api_test_of_openspiel_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    from absl import flags
    from open_spiel.integration_tests import api_test

    flags.FLAGS(["test"])
    monkeypatch.setattr(api_test, "_GAMES_TO_TEST", set(NAMES))
    monkeypatch.setattr(api_test, "_GAMES_FULL_TREE_TRAVERSAL_TESTS", [])
    result = unittest.TestResult()
    api_test.load_tests(unittest.TestLoader(), None, None).run(result)
    assert result.testsRun >= 5 * len(NAMES)
    assert result.wasSuccessful(), [*result.failures, *result.errors]


@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_states_equal_the_observations_of_a_match(client: boardwire.Client, game: str, seats: int) -> None:
    state = after_deal(load(game, seats))
    spec = client.game(game, seats=seats)
    seed = int(str(state).split()[1].rstrip(":"))
    with client.create_match(game, players=["agent"] * seats, seed=seed) as match:
        seats_of_match = [match.join(seat) for seat in range(seats)]
        for number, action in enumerate(random_actions(state, np.random.default_rng(seats))):
            obs = seats_of_match[state.current_player()].observe(wait=False)
            assert state.current_player() == min(obs.pending)
            assert state.legal_actions() == obs.mask.nonzero()[0].tolist()
            assert state.action_to_string(action) == spec.actions[action].label
            for seat in range(seats) if number % 8 == 0 else [state.current_player()]:
                view = seats_of_match[seat].observe(wait=False).view
                assert state.observation_string(seat) == view.tobytes().hex()
                np.testing.assert_array_equal(state.observation_tensor(seat), spec.features(view))
                assert state.information_state_tensor(seat) == state.observation_tensor(seat)
            seats_of_match[state.current_player()].act(action, wait=False)
            state.apply_action(action)
        for seat in range(seats):
            end = seats_of_match[seat].observe(wait=False)
            assert end.over
            assert state.observation_string(seat) == end.view.tobytes().hex()
            assert state.returns()[seat] == pytest.approx(end.reward)
        assert abs(sum(state.returns())) < 1e-9


def test_clones_of_a_state_are_independent() -> None:
    random, game = np.random.default_rng(1), load("rauha", 3)
    state = after_deal(game)
    clones: list[tuple[Any, list[Any]]] = []
    for number, action in enumerate(random_actions(state, random)):
        if number % 3 == 0 and len(clones) < 25:
            clones.append((state.clone(), revealed(state)))
        state.apply_action(action)
    for number in random.permutation(2 * len(clones)) % len(clones):
        clone, known = clones[number]
        assert revealed(clone) == known
        child, twin = clone.child(clone.legal_actions()[-1]), clone.clone()
        twin.apply_action(clone.legal_actions()[-1])
        assert revealed(child) == revealed(twin) != known
        for one, other in zip(range(4), random_actions(child, random), strict=False):
            assert one < 4
            child.apply_action(other)
            twin.apply_action(other)
        assert revealed(child) == revealed(twin)


def advanced(state: Any, steps: int) -> list[Any]:
    """Plays lowest legal actions and returns what the state reveals."""
    for _ in range(steps):
        state.apply_action(state.legal_actions()[0])
    return revealed(state)


def test_states_survive_a_fork_and_a_killed_server() -> None:
    def new_state() -> Any:
        return after_deal(load("faraway", seed=9))

    expected = [advanced(new_state(), steps) for steps in (3, 9)]
    state, other = new_state(), new_state()
    assert advanced(state, 3) == expected[0]
    other.clone()
    assert in_child(lambda: advanced(state, 6)) == repr(expected[1]).encode()
    assert advanced(state, 6) == expected[1], "the child must step its own environment"
    kill_private(shared_client(None))
    assert advanced(other, 3) == expected[0]
    assert advanced(new_state(), 9) == expected[1]


def test_a_state_survives_serialization() -> None:
    game = load("golden_compass", 3)
    state = after_deal(game)
    for _, action in zip(range(60), random_actions(state, np.random.default_rng(2)), strict=False):
        state.apply_action(action)
    again = game.deserialize_state(state.serialize())
    assert revealed(again) == revealed(state)
    assert again.history() == state.history()
    for each in (state, again):
        each.apply_action(each.legal_actions()[0])
    assert revealed(again) == revealed(state)


def test_the_seed_determines_the_deals() -> None:
    first, second, other = (after_deal(load("faraway", seed=seed)) for seed in (5, 5, 6))
    assert revealed(first) == revealed(second) != revealed(other)
    game = load("faraway")
    assert revealed(after_deal(game)) == revealed(first) != revealed(after_deal(game))


def test_the_text_of_a_game_loads_the_same_game() -> None:
    for text in ("boardwire_golden_compass(stall_guard_turns=30)", "boardwire_faraway(variant=advanced)"):
        game = pyspiel.load_game(text)
        assert str(pyspiel.load_game(str(game))) == str(game)
    assert pyspiel.load_game("boardwire_golden_compass(stall_guard_turns=30)").spec.options == {
        "stall_guard_turns": "30"
    }


def test_an_information_state_records_own_actions_only() -> None:
    state = after_deal(load("faraway"))
    before = state.information_state_string(0)
    legal = state.legal_actions()
    children = [state.child(legal[0]), state.child(legal[1])]
    assert children[0].information_state_string(0) != children[1].information_state_string(0) != before
    # Seat 1 does not see the hidden action of seat 0.
    assert children[0].information_state_string(1) == children[1].information_state_string(1)


@pytest.mark.parametrize(("game", "seats"), SOME)
def test_a_determinization_is_consistent_with_the_information_state(game: str, seats: int) -> None:
    random = np.random.default_rng(3)
    state = after_deal(load(game, seats))
    for _, action in zip(range(5), random_actions(state, random), strict=False):
        state.apply_action(action)
    own, known = state.current_player(), revealed(state)
    ends = set()
    for number in range(40):
        sample = state.resample_from_infostate(own, None)
        assert sample.current_player() == own
        assert sample.legal_actions() == state.legal_actions()
        assert sample.information_state_string(own) == state.information_state_string(own)
        other = (own + 1) % seats
        with pytest.raises(ValueError, match=f"no view of seat {other}, which does not decide"):
            sample.observation_string(other)
        with pytest.raises(ValueError, match="in a match"):
            sample.resample_from_infostate(own, None)
        child = sample.clone()
        for _, action in zip(range(3), random_actions(sample, random), strict=False):
            child.apply_action(action)
            sample.apply_action(action)
            assert sample.returns() == child.returns()
            assert sample.observation_string(sample.current_player()) == child.observation_string(
                child.current_player()
            )
        if number < 3:
            while not sample.is_terminal():
                sample.apply_action(sample.legal_actions()[0])
            ends.add(sample.observation_string(own))
            assert abs(sum(sample.returns())) < 1e-9
    assert len(ends) == 3
    assert revealed(state) == known
    with pytest.raises(ValueError, match="in a match"):
        state.resample_from_infostate((own + 1) % seats, None)


def sampled(state: Any) -> Any:
    """Returns a determinization for the seat that decides."""
    return state.resample_from_infostate(state.current_player(), None)


def test_a_failed_step_of_a_determinization_frees_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = sampled(after_deal(load("faraway")))
    position, clone = sample._at, sample.clone()
    free, action = list(position.worlds.free), sample.legal_actions()[0]
    with monkeypatch.context() as broken:
        broken.setattr(boardwire.Search, "advance", Mock(side_effect=boardwire.errors.CallTimeout("late")))
        with pytest.raises(boardwire.errors.CallTimeout):
            position.after(action)
    assert sorted(position.worlds.free) == free
    for state in (sample, clone):
        state.apply_action(action)


def test_the_least_recently_used_search_is_closed_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_positions, "_OPEN_SEARCHES", 2)
    game, evaluator = load("faraway"), boardwire.open_spiel.RolloutEvaluator()
    _positions.table(game.key)._restart()
    first, second, third = (after_deal(game) for _ in range(3))
    samples = [sampled(state) for state in (first, second, first, third)]
    for number in (0, 2, 3):
        assert len(evaluator.evaluate(samples[number])) == 2
    with pytest.raises(boardwire.errors.Gone):
        evaluator.evaluate(samples[1])


def test_playouts_evaluate_determinizations_and_reject_states_of_a_match() -> None:
    evaluator = boardwire.open_spiel.RolloutEvaluator(playouts=4, policy="random")
    state = after_deal(load("faraway", 3))
    with pytest.raises(ValueError, match="`resample_from_infostate` first"):
        evaluator.evaluate(state)
    sample = state.resample_from_infostate(state.current_player(), None)
    value = evaluator.evaluate(sample)
    assert value.shape == (3,)
    assert abs(value.sum()) < 1e-5
    assert [action for action, _ in evaluator.prior(sample)] == sample.legal_actions()
    with pytest.raises((TypeError, RuntimeError), match="cannot be serialized"):
        sample.serialize()


def searched(seed: int) -> list[Any]:
    """Returns the observations and search policies of the first three decisions of two matches."""
    from open_spiel.python.algorithms.ismcts import ISMCTSBot, ISMCTSFinalPolicyType

    game = load("faraway", seed=seed)
    search = ISMCTSBot(
        game,
        boardwire.open_spiel.RolloutEvaluator(policy="random"),
        uct_c=1.0,
        max_simulations=40,
        random_state=np.random.RandomState(3),
        final_policy_type=ISMCTSFinalPolicyType.NORMALIZED_VISITED_COUNT,
    )
    decisions: list[Any] = []
    for _ in range(2):
        state = after_deal(game)
        for _ in range(3):
            decisions.append((revealed(state), search.get_policy(state)))
            state.apply_action(state.legal_actions()[0])
    return decisions


def test_the_seed_determines_searches_and_a_search_changes_no_deal() -> None:
    first = searched(5)
    assert searched(5) == first
    assert searched(6) != first
    game = load("faraway", seed=5)
    assert [revealed(after_deal(game)) for _ in range(2)] == [first[0][0], first[3][0]]


def test_algorithms_of_openspiel_play() -> None:
    from open_spiel.python import rl_environment
    from open_spiel.python.algorithms.ismcts import ISMCTSBot
    from open_spiel.python.algorithms.random_agent import RandomAgent

    game = load("faraway")
    search = ISMCTSBot(game, boardwire.open_spiel.RolloutEvaluator(), uct_c=1.0, max_simulations=20)
    state = after_deal(game)
    for _ in range(3):
        action = search.step(state)
        assert action in state.legal_actions()
        state.apply_action(int(action))
    environment = rl_environment.Environment(game)
    agents = [RandomAgent(seat, game.num_distinct_actions()) for seat in range(2)]
    step = environment.reset()
    while not step.last():
        chosen = agents[step.observations["current_player"]].step(step)
        step = environment.step([chosen.action])
    assert sum(step.rewards) == 0
