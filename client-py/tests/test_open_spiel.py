"""The games in OpenSpiel: its own tests of games, and that its states are the positions of matches."""

from __future__ import annotations

import unittest
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from outages import kill_private
from processes import in_child
from tables import GAMES, TABLES

import boardwire
from boardwire._shared import shared_client

pyspiel = pytest.importorskip("pyspiel")
import boardwire.open_spiel  # noqa: E402

NAMES = boardwire.open_spiel.register()
#: The smallest and the largest table of each game.
SOME = [(game.id, seats) for game in GAMES for seats in sorted({game.min_seats, game.max_seats})]


def load(game: str, seats: int = 2, seed: int = 5) -> Any:
    return pyspiel.load_game(f"boardwire_{game}", {"players": seats, "rng_seed": seed})


def dealt(game: Any) -> Any:
    state = game.new_initial_state()
    assert state.is_chance_node()
    assert state.chance_outcomes() == [(0, 1.0)]
    state.apply_action(0)
    return state


def choices(state: Any, random: np.random.Generator) -> Iterator[int]:
    """Random legal actions up to the end; the caller applies each."""
    while not state.is_terminal():
        yield int(random.choice(state.legal_actions()))


def shown(state: Any) -> list[Any]:
    """All that a state of a match tells."""
    seats = range(state.num_players())
    told = [(state.information_state_string(seat), state.observation_tensor(seat)) for seat in seats]
    return [str(state), state.current_player(), state.legal_actions(), state.returns(), told]


def test_all_games_are_registered_once() -> None:
    assert {f"boardwire_{game.id}" for game in GAMES} == set(NAMES)
    assert boardwire.open_spiel.register() == NAMES
    assert set(NAMES) <= set(pyspiel.registered_names())


@pytest.mark.parametrize(("game", "seats"), SOME)
def test_the_trial_of_openspiel_passes(game: str, seats: int) -> None:
    # A Python game has no way to serialize what draws its chance; its states can be.
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
def test_states_are_what_seats_of_a_match_are_shown(client: boardwire.Client, game: str, seats: int) -> None:
    state = dealt(load(game, seats))
    spec = client.game(game, seats=seats)
    seed = int(str(state).split()[1].rstrip(":"))
    with client.create_match(game, players=["agent"] * seats, seed=seed) as match:
        held = [match.join(seat) for seat in range(seats)]
        for number, action in enumerate(choices(state, np.random.default_rng(seats))):
            seen = held[state.current_player()].observe(wait=False)
            assert state.current_player() == min(seen.pending)
            assert state.legal_actions() == seen.mask.nonzero()[0].tolist()
            assert state.action_to_string(action) == spec.actions[action].label
            for seat in range(seats) if number % 8 == 0 else [state.current_player()]:
                view = held[seat].observe(wait=False).view
                assert state.observation_string(seat) == view.tobytes().hex()
                np.testing.assert_array_equal(state.observation_tensor(seat), spec.features(view))
                assert state.information_state_tensor(seat) == state.observation_tensor(seat)
            held[state.current_player()].act(action, wait=False)
            state.apply_action(action)
        for seat in range(seats):
            end = held[seat].observe(wait=False)
            assert end.over
            assert state.observation_string(seat) == end.view.tobytes().hex()
            assert state.returns()[seat] == pytest.approx(end.reward)
        assert abs(sum(state.returns())) < 1e-9


def test_states_are_kept_and_played_on_each_by_its_own() -> None:
    random, game = np.random.default_rng(1), load("rauha", 3)
    state = dealt(game)
    kept: list[tuple[Any, list[Any]]] = []
    for number, action in enumerate(choices(state, random)):
        if number % 3 == 0 and len(kept) < 25:
            kept.append((state.clone(), shown(state)))
        state.apply_action(action)
    for number in random.permutation(2 * len(kept)) % len(kept):
        held, known = kept[number]
        assert shown(held) == known
        child, twin = held.child(held.legal_actions()[-1]), held.clone()
        twin.apply_action(held.legal_actions()[-1])
        assert shown(child) == shown(twin) != known
        for one, other in zip(range(4), choices(child, random), strict=False):
            assert one < 4
            child.apply_action(other)
            twin.apply_action(other)
        assert shown(child) == shown(twin)


def advanced(state: Any, steps: int) -> list[Any]:
    """What a state tells after so many lowest actions."""
    for _ in range(steps):
        state.apply_action(state.legal_actions()[0])
    return shown(state)


def test_states_go_on_in_each_process_by_itself_and_after_their_server() -> None:
    def begun() -> Any:
        return dealt(load("faraway", seed=9))

    expected = [advanced(begun(), steps) for steps in (3, 9)]
    state, kept = begun(), begun()
    assert advanced(state, 3) == expected[0]
    kept.clone()
    assert in_child(lambda: advanced(state, 6)) == repr(expected[1]).encode()
    assert advanced(state, 6) == expected[1], "the child has stepped an environment of its own"
    kill_private(shared_client(None))
    assert advanced(kept, 3) == expected[0]
    assert advanced(begun(), 9) == expected[1]


def test_a_state_is_read_back_from_its_text() -> None:
    game = load("golden_compass", 3)
    state = dealt(game)
    for _, action in zip(range(60), choices(state, np.random.default_rng(2)), strict=False):
        state.apply_action(action)
    again = game.deserialize_state(state.serialize())
    assert shown(again) == shown(state)
    assert again.history() == state.history()
    for each in (state, again):
        each.apply_action(each.legal_actions()[0])
    assert shown(again) == shown(state)


def test_deals_follow_from_the_seed() -> None:
    first, second, other = (dealt(load("faraway", seed=seed)) for seed in (5, 5, 6))
    assert shown(first) == shown(second) != shown(other)
    game = load("faraway")
    assert shown(dealt(game)) == shown(first) != shown(dealt(game))


def test_games_are_loaded_by_the_text_that_they_have() -> None:
    for text in ("boardwire_golden_compass(stall_guard_turns=30)", "boardwire_faraway(variant=advanced)"):
        game = pyspiel.load_game(text)
        assert str(pyspiel.load_game(str(game))) == str(game)
    assert pyspiel.load_game("boardwire_golden_compass(stall_guard_turns=30)").spec.options == {
        "stall_guard_turns": "30"
    }


def test_an_information_state_recalls_what_was_seen_and_chosen() -> None:
    state = dealt(load("faraway"))
    begun = state.information_state_string(0)
    legal = state.legal_actions()
    ways = [state.child(legal[0]), state.child(legal[1])]
    assert ways[0].information_state_string(0) != ways[1].information_state_string(0) != begun
    # What was chosen is hidden from the other.
    assert ways[0].information_state_string(1) == ways[1].information_state_string(1)


@pytest.mark.parametrize(("game", "seats"), SOME)
def test_a_resampled_state_is_one_its_seat_can_believe_in(game: str, seats: int) -> None:
    random = np.random.default_rng(3)
    state = dealt(load(game, seats))
    for _, action in zip(range(5), choices(state, random), strict=False):
        state.apply_action(action)
    own, known = state.current_player(), shown(state)
    ends = set()
    for number in range(40):
        world = state.resample_from_infostate(own, None)
        assert world.current_player() == own
        assert world.legal_actions() == state.legal_actions()
        assert world.information_state_string(own) == state.information_state_string(own)
        other = (own + 1) % seats
        with pytest.raises(ValueError, match=f"not of seat {other}"):
            world.observation_string(other)
        with pytest.raises(ValueError, match="in a match"):
            world.resample_from_infostate(own, None)
        child = world.clone()
        for _, action in zip(range(3), choices(world, random), strict=False):
            child.apply_action(action)
            world.apply_action(action)
            assert world.returns() == child.returns()
            assert world.observation_string(world.current_player()) == child.observation_string(
                child.current_player()
            )
        if number < 3:
            while not world.is_terminal():
                world.apply_action(world.legal_actions()[0])
            ends.add(world.observation_string(own))
            assert abs(sum(world.returns())) < 1e-9
    assert len(ends) == 3
    assert shown(state) == known
    with pytest.raises(ValueError, match="in a match"):
        state.resample_from_infostate((own + 1) % seats, None)


def test_worlds_are_judged_by_playouts_and_matches_are_not() -> None:
    evaluator = boardwire.open_spiel.RolloutEvaluator(playouts=4, policy="random")
    state = dealt(load("faraway", 3))
    with pytest.raises(ValueError, match="`resample_from_infostate` first"):
        evaluator.evaluate(state)
    world = state.resample_from_infostate(state.current_player(), None)
    worth = evaluator.evaluate(world)
    assert worth.shape == (3,)
    assert abs(worth.sum()) < 1e-5
    assert [action for action, _ in evaluator.prior(world)] == world.legal_actions()
    with pytest.raises((TypeError, RuntimeError), match="cannot be serialized"):
        world.serialize()


def searched(seed: int) -> list[Any]:
    """What a search finds at the first decisions of two matches, and what it was shown."""
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
    found: list[Any] = []
    for _ in range(2):
        state = dealt(game)
        for _ in range(3):
            found.append((shown(state), search.get_policy(state)))
            state.apply_action(state.legal_actions()[0])
    return found


def test_searches_follow_from_the_seed_and_leave_the_deals_as_they_are() -> None:
    first = searched(5)
    assert searched(5) == first
    assert searched(6) != first
    game = load("faraway", seed=5)
    assert [shown(dealt(game)) for _ in range(2)] == [first[0][0], first[3][0]]


def test_algorithms_of_openspiel_play() -> None:
    from open_spiel.python import rl_environment
    from open_spiel.python.algorithms.ismcts import ISMCTSBot
    from open_spiel.python.algorithms.random_agent import RandomAgent

    game = load("faraway")
    search = ISMCTSBot(game, boardwire.open_spiel.RolloutEvaluator(), uct_c=1.0, max_simulations=20)
    state = dealt(game)
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
