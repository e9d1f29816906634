"""Seats on the real server, by single calls and on a stream."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from outages import create_match
from single_calls import by_single_calls

import boardwire
from boardwire import errors

#: Returns the same seat over one of the transports.
Transport = Callable[[boardwire.Seat], boardwire.Seat]
TRANSPORTS = pytest.mark.parametrize("over", [by_single_calls, lambda seat: seat], ids=["calls", "stream"])


def first(obs: boardwire.Observation) -> int:
    """Returns the first legal action."""
    return int(obs.mask.nonzero()[0][0])


@TRANSPORTS
def test_each_game_is_played_to_its_end(client: boardwire.Client, over: Transport) -> None:
    for game in client.games():
        for seats in range(game.min_seats, game.max_seats + 1):
            players = ["agent"] + ["random"] * (seats - 1)
            with client.create_match(game.id, players=players, seed=5) as match, over(match.join(0)) as seat:
                obs = seat.observe()
                while not obs.over:
                    assert obs.mask.any()
                    assert 0 in obs.pending
                    assert obs.reward == 0
                    fields = match.spec.decode(obs.view)
                    assert all(
                        (values <= match.spec.fields[name].max).all() for name, values in fields.items()
                    )
                    obs = seat.act(first(obs))
                assert obs.terminated is True
                assert obs.truncated is False
                assert not obs.mask.any()
                assert len(obs.scores) == len(obs.ranks) == seats
                assert seat.info().state == "over"


def test_act_and_resign_observe_first_with_their_timeout(
    client: boardwire.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    timeouts: list[float | None] = []
    match = client.create_match("faraway", players=["agent", "agent"], seed=1)
    with match, match.join(0) as seat, match.join(1) as other:
        for each in (seat, other):
            ask = each._stream.ask

            def noted(kind: str, request: Any, timeout: float | None, ask: Any = ask) -> Any:
                timeouts.append(timeout)
                return ask(kind, request, timeout)

            monkeypatch.setattr(each._stream, "ask", noted)
        action = first(seat.observe(wait=False, timeout=20))
        seat.last = None
        seat.act(action, wait=False, timeout=21)
        other.resign(timeout=22)
    assert timeouts == [20, 21, 21, 22, 22]


@TRANSPORTS
def test_the_caller_owns_the_arrays(client: boardwire.Client, over: Transport) -> None:
    match = client.create_match("faraway", players=["agent", "random"], seed=1)
    with match, over(match.join(0)) as seat:
        changed, other = seat.observe(wait=False), seat.observe(wait=False)
        changed.view[:] = 255
        changed.mask[:] = 1
        assert not np.array_equal(changed.view, other.view)
        np.testing.assert_array_equal(other.view, seat.observe(wait=False).view)


@TRANSPORTS
def test_a_repeated_act_counts_once(client: boardwire.Client, over: Transport) -> None:
    match = client.create_match("faraway", players=["agent", "random"], seed=1)
    with match, over(match.join(0)) as seat:
        obs = seat.observe()
        response = seat.act(first(obs))
        seat.last = obs
        again = seat.act(first(obs))
        assert (again.ply, again.decision) == (response.ply, response.decision)


@TRANSPORTS
def test_a_rejected_action_changes_nothing(client: boardwire.Client, over: Transport) -> None:
    match = client.create_match("faraway", players=["agent", "random"], seed=1)
    with match, over(match.join(0)) as seat:
        obs = seat.observe()
        illegal = int((~obs.mask).nonzero()[0][0])
        for wrong in (illegal, len(match.spec.actions), -1):
            with pytest.raises(boardwire.BoardwireError, match=str(wrong)):
                seat.act(wrong)
        np.testing.assert_array_equal(seat.observe(wait=False).view, obs.view)
        assert seat.act(first(obs)).decision == 1


@TRANSPORTS
def test_text_and_explanations_are_optional(client: boardwire.Client, over: Transport) -> None:
    match = client.create_match("faraway", players=["agent", "random"], seed=1)
    with match, over(match.join(0)) as seat:
        assert seat.observe(wait=False).text == ""
        obs = seat.observe(text=True)
        assert obs.text
        while not obs.over:
            obs = seat.act(first(obs), explain=True)
        assert obs.outcome is not None
        totals = [sum(line.points for line in lines) for lines in obs.outcome.explanations]
        assert totals == list(obs.scores)


@TRANSPORTS
def test_the_seed_determines_resets(client: boardwire.Client, over: Transport) -> None:
    def openings() -> list[bytes]:
        match = client.create_match("faraway", players=["agent", "random"], seed=1)
        with match, over(match.join(0)) as seat:
            views = [seat.observe(), seat.reset(), seat.reset(seed=1), seat.reset()]
            assert [obs.episode for obs in views] == [0, 1, 2, 3]
            return [obs.view.tobytes() for obs in views]

    once, again = openings(), openings()
    assert once == again
    assert once[0] == once[2]
    assert len(set(once)) == 2, "the seed must determine the later episodes"


@TRANSPORTS
def test_a_seat_is_usable_after_a_timeout(client: boardwire.Client, over: Transport) -> None:
    match = client.create_match("faraway", players=["agent", "agent"], seed=1)
    with match, over(match.join(0)) as seat, over(match.join(1)) as other:
        obs = seat.observe()
        with pytest.raises(boardwire.errors.CallTimeout):
            seat.act(first(obs), timeout=0.5)
        assert seat.observe(wait=False).decision == 1
        while 0 not in seat.observe(wait=False).pending:
            other.act(first(other.observe(wait=False)), wait=False)
        assert seat.observe().mask.any()


@TRANSPORTS
def test_closing_the_match_ends_a_wait(client: boardwire.Client, over: Transport) -> None:
    match = client.create_match("faraway", players=["agent", "agent"])
    with over(match.join(0)) as seat:
        seat.act(first(seat.observe()), wait=False)
        closing = threading.Thread(target=match.close)
        closing.start()
        with pytest.raises(boardwire.errors.Gone) as caught:
            seat.observe()
        assert caught.value.reason == "MATCH_CLOSED"
        closing.join()
    assert match.info().state == "closed"


def test_two_seats_reset_together_and_the_host_resets_alone(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "agent"], seed=3, reward="win") as match:
        seats = [match.join(0), match.join(1)]
        match.reset(seed=9)
        opening = [seat.observe() for seat in seats]
        assert [obs.episode for obs in opening] == [1, 1]
        while not seats[0].observe(wait=False).over:
            for seat in seats:
                if (obs := seat.observe(wait=False)).mask.any():
                    seat.act(first(obs), wait=False)
        ended = [seat.observe(wait=False) for seat in seats]
        assert sum(obs.reward for obs in ended) == pytest.approx(1)
        other = threading.Thread(target=seats[1].reset)
        other.start()
        assert seats[0].reset().episode == 2
        other.join()


def play_out(seat: boardwire.Seat) -> boardwire.Observation:
    """Plays first legal actions until the episode is over."""
    obs = seat.observe()
    while not obs.over:
        obs = seat.act(first(obs))
    return obs


@TRANSPORTS
def test_a_match_of_two_episodes_closes_itself(client: boardwire.Client, over: Transport) -> None:
    match = client.create_match("faraway", players=["agent", "random"], episodes=2)
    with over(match.join(0)) as seat:
        with pytest.raises(errors.NotPossibleNow) as caught:
            seat.reset()
        assert caught.value.reason == "EPISODE_NOT_OVER"
        play_out(seat)
        assert seat.reset().episode == 1
        assert play_out(seat).outcome == seat.observe().outcome
        info = match.info()
        assert (info.episodes, info.state, info.close_reason) == (2, "closed", "finished")
        with pytest.raises(errors.Gone) as closed:
            seat.reset()
        assert closed.value.reason == "MATCH_CLOSED"
        assert client.replay(match.id, episode=0).seed_opening is not None


@TRANSPORTS
def test_a_reset_waits_for_the_host_that_begins_episodes(client: boardwire.Client, over: Transport) -> None:
    with client.create_match("faraway", players=["agent", "random"], host_begins=True) as match:
        assert match.info().host_begins
        with over(match.join(0)) as seat:
            play_out(seat)
            resetting = threading.Thread(target=seat.reset)
            resetting.start()
            info = match.info()
            while info.waiting_for:
                info = match.info(changed_from=info)
            assert info.episode == 0
            match.reset(seed=9)
            resetting.join()
            assert match.info().seed_source == "given"


def test_a_reset_can_follow_an_interrupted_reset(
    client: boardwire.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    seat = client.create_match("faraway", players=["agent", "random"], seed=1).join(0)
    seat.reset(4)
    with monkeypatch.context() as patched:
        # The match was reset, and the interrupt comes before the seat observes it.
        patched.setattr(seat, "observe", interrupted)
        with pytest.raises(KeyboardInterrupt):
            seat.reset(5)
    opening = seat.reset(6)
    expected = client.create_match("faraway", players=["agent", "random"], seed=1).join(0).reset(6)
    np.testing.assert_array_equal(opening.view, expected.view)


def test_a_stream_opened_after_the_end_raises_match_closed(client: boardwire.Client) -> None:
    match = create_match(client)
    seat = match.join(0)
    match.close()
    with pytest.raises(errors.Gone) as caught:
        seat.observe(wait=False)
    assert caught.value.reason == "MATCH_CLOSED"
    with pytest.raises(errors.Gone) as caught:
        seat.observe()
    assert caught.value.reason == "MATCH_CLOSED"


def interrupted(**_: Any) -> None:
    raise KeyboardInterrupt


@TRANSPORTS
def test_a_seat_that_resigns_is_last_and_can_repeat_it(client: boardwire.Client, over: Transport) -> None:
    match = client.create_match("faraway", players=["random", "agent", "random"], seed=1, reward="rank")
    with match, over(match.join(1)) as seat:
        for _ in range(2):
            obs = seat.resign()
            assert (obs.terminated, obs.ranks, obs.scores) == (True, (1, 3, 1), ())
            assert obs.outcome is not None
            assert obs.outcome.forfeits == (None, "resigned", None)
        assert obs.reward == -1
        assert seat.reset().episode == 1


@TRANSPORTS
def test_a_finished_episode_cannot_be_resigned(client: boardwire.Client, over: Transport) -> None:
    match = client.create_match("faraway", players=["agent", "random"], seed=1)
    with match, over(match.join(0)) as seat:
        obs = seat.observe()
        while not obs.over:
            obs = seat.act(first(obs))
        with pytest.raises(boardwire.errors.EpisodeOver):
            seat.resign()


@TRANSPORTS
def test_legal_actions_with_labels_are_optional(client: boardwire.Client, over: Transport) -> None:
    match = client.create_match("faraway", players=["agent", "random"], seed=1)
    with match, over(match.join(0)) as seat:
        assert seat.observe().actions == ()
        for obs in (
            seat.observe(wait=False, actions=True),
            seat.act(first(seat.observe(wait=False)), actions=True),
        ):
            indices = [action.index for action in obs.actions]
            assert indices == obs.mask.nonzero()[0].tolist()
            assert [action.label for action in obs.actions] == [match.spec.actions[i].label for i in indices]
        assert seat.reset(actions=True).actions


def test_a_reset_by_the_host_has_the_given_timeout(
    client: boardwire.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with client.create_match("faraway", players=["agent", "random"]) as match:
        seat = match.join(0)
        timeouts: list[float] = []
        call = seat._connection.call

        def record(method: str, request: dict[str, Any], *, timeout: float, **kwargs: Any) -> Any:
            timeouts.append(timeout)
            return call(method, request, timeout=60, **kwargs)

        monkeypatch.setattr(seat._connection, "call", record)
        # The observation may arrive before its deadline.
        with contextlib.suppress(errors.CallTimeout):
            seat.reset(seed=1, timeout=0)
        assert timeouts == [0]


def test_a_stream_is_usable_after_a_request_that_cannot_be_encoded(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "random"], seed=1) as match, match.join(0) as seat:
        obs = seat.observe()
        for seed in (-1, 2**64):
            with pytest.raises(ValueError, match=r"`seed` is out of range; got (-1|18446744073709551616)"):
                seat.reset(seed=seed)
        for action in (-1, 2**32):
            with pytest.raises(errors.IllegalAction) as caught:
                seat.act(action)
            assert caught.value.reason == "ACTION_OUT_OF_RANGE"
            assert caught.value.metadata["action"] == str(action)
        with pytest.raises(ValueError, match="`decision` is out of range"):
            seat._stream.ask("act", {"match_id": match.id, "decision": -1}, 5.0)
        assert seat.act(first(obs)).decision == 1
