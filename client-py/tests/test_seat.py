"""Seats on the real server, by single calls and on a stream."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest
from outages import create_match
from raw import fields_of
from single_calls import by_single_calls

import boardwire
from boardwire import _core, errors
from boardwire._connection import MESSAGE_BYTES
from boardwire_v1 import match_pb2

#: Returns the same seat over one of the transports.
Transport = Callable[[boardwire.Seat], boardwire.Seat]
TRANSPORTS = pytest.mark.parametrize("over", [by_single_calls, lambda seat: seat], ids=["calls", "stream"])


def first(obs: boardwire.Observation) -> int:
    """Returns the first legal action."""
    return int(obs.mask.nonzero()[0][0])


def test_each_game_has_a_consistent_description(client: boardwire.Client) -> None:
    for game in client.games():
        for seats in range(game.min_seats, game.max_seats + 1):
            spec = client.game(game.id, seats=seats)
            assert (spec.id, spec.seats) == (game.id, seats)
            assert (spec == game) == (seats == game.min_seats)
            assert client.game(game.id, seats=seats) is spec
            assert set(spec.options) == {option.name for option in game.option_specs}
            assert len({action.label for action in spec.actions}) == len(spec.actions)
            for action in spec.actions:
                assert action.verb
                assert not action.table or action.row < len(spec.tables[action.table].values)
            public = list(spec.public_fields.values())[-1]
            assert public.offset + public.size * public.width == spec.public_view_bytes
            last = list(spec.fields.values())[-1]
            assert last.offset + last.size * last.width == spec.view_bytes
            for table in spec.tables.values():
                assert not table.values[0].any()
                assert not table.values.flags.writeable


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
        illegal = int((obs.mask == 0).nonzero()[0][0])
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
            while match.info().waiting_for:
                pass
            assert match.info().episode == 0
            match.reset(seed=9)
            resetting.join()
            assert match.info().seed_source == "given"


def test_a_match_has_the_options_and_the_reward_of_its_request(client: boardwire.Client) -> None:
    match = client.create_match(
        "faraway",
        players=["agent", "greedy"],
        options={"variant": "advanced"},
        reward="margin",
        skip_forced=True,
        illegal_actions="first_legal",
    )
    with match:
        info = match.info()
        assert info.options == match.spec.options
        assert info.options["variant"] == "advanced"
        assert (info.reward, info.skip_forced, info.illegal_actions) == ("margin", True, "first_legal")
        assert info.spec_digest == match.spec.digest
        assert info.joined == (1,)
        seat = match.join(0)
        assert seat.index == 0
        assert match.info().joined == (0, 1)
        assert seat.observe().mask.sum() > 1


def test_a_match_can_replace_illegal_actions(client: boardwire.Client) -> None:
    match = client.create_match(
        "faraway", players=["agent", "random"], seed=1, illegal_actions="seeded_legal"
    )
    with match, match.join(0) as seat:
        obs = seat.observe()
        response = seat.act(int((obs.mask == 0).nonzero()[0][0]))
        assert response.substituted is True
        assert response.decision == 1


def test_a_forfeit_ends_the_episode(client: boardwire.Client) -> None:
    match = client.create_match("faraway", players=["agent", "random"], illegal_actions="forfeit")
    with match:
        seat = match.join(0)
        obs = seat.observe()
        end = seat.act(int((obs.mask == 0).nonzero()[0][0]))
        assert end.terminated
        assert end.reward == -1
        assert end.ranks == (2, 1)
        assert end.scores == ()
        assert end.outcome is not None
        assert end.outcome.forfeits == ("illegal_action", None)


def test_the_client_rejects_unknown_settings_and_seats(client: boardwire.Client) -> None:
    with pytest.raises(ValueError, match="rank, win, margin, score"):
        client.create_match("faraway", players=["random"], reward="glory")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="reject"):
        client.create_match("faraway", players=["random"], illegal_actions="shrug")  # type: ignore[arg-type]
    match = client.create_match("faraway", players=["random", "agent"])
    with match, pytest.raises(ValueError, match="agents have the seats 1"):
        match.join(0)


def test_lists_of_matches_span_pages(client: boardwire.Client) -> None:
    matches = [client.create_match("faraway", players=["random", "random"]) for _ in range(150)]
    listed = {info.id for info in client.matches()}
    assert {match.id for match in matches} <= listed
    for match in matches:
        match.close()


def test_repr_contains_no_token(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "random"]) as match:
        seat = match.join(0)
        assert match.host_token not in repr(match)
        assert seat.token not in repr(seat)


def test_only_the_host_gives_seeds_unless_the_match_allows_seats(client: boardwire.Client) -> None:
    for seat_may_seed in (False, True):
        match = client.create_match("faraway", players=["agent", "random"], seat_may_seed=seat_may_seed)
        with match, client.join(match.invitations[0]) as guest:
            assert (match.info().seed_source, match.info().seat_may_seed) == ("drawn", seat_may_seed)
            if seat_may_seed:
                assert guest.reset(seed=3).episode == 1
                assert match.info().seed_source == "given"
            else:
                with pytest.raises(boardwire.errors.AccessDenied) as caught:
                    guest.reset(seed=3)
                assert caught.value.reason == "HOST_ONLY"
                assert guest.reset().episode == 1
                assert match.info().seed_source == "drawn"


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
    found = seat.reset(6)
    expected = client.create_match("faraway", players=["agent", "random"], seed=1).join(0).reset(6)
    np.testing.assert_array_equal(found.view, expected.view)


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


def test_a_private_match_needs_a_token(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "random"], private=True) as match:
        assert match.id not in [listed.id for listed in client.matches()]
        assert match.info().private
        assert match.join(0).info().id == match.id
        with pytest.raises(boardwire.errors.AccessDenied) as caught:
            client.seat(match.id, "guessed")
        assert caught.value.reason == "TOKEN_WRONG"


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


def test_the_host_ends_an_episode_against_a_seat(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "agent"], seed=1) as match:
        seats = [match.join(0), match.join(1)]
        match.resign(1)
        match.resign(1, episode=0)
        for seat, rank in zip(seats, (1, 2), strict=True):
            obs = seat.observe(wait=False)
            assert obs.outcome is not None
            assert obs.outcome.forfeits == (None, "host")
            assert obs.ranks[seat.index or 0] == rank
        assert match.info().state == "over"
        # A later resignation of a seat changes nothing.
        assert seats[1].resign().outcome == obs.outcome


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


def test_matches_are_listed_by_game_state_and_label(client: boardwire.Client) -> None:
    labels = {"run": "a7", "round": "1"}
    with (
        client.create_match("faraway", players=["random", "agent"], labels=labels) as one,
        client.create_match("rauha", players=["random", "agent"], labels={"run": "a7"}) as other,
    ):
        assert one.info().labels == labels

        def listed(*args: str, **kwargs: Any) -> set[str]:
            return {info.id for info in client.matches(*args, **kwargs)}

        assert {one.id, other.id} <= listed()
        assert listed(labels={"run": "a7"}) == {one.id, other.id}
        assert listed(labels=labels) == {one.id}
        assert listed("rauha", labels={"run": "a7"}) == {other.id}
        other.close()
        assert listed(states=["closed"], labels={"run": "a7"}) == {other.id}
        assert listed(states=["playing", "over"], labels={"run": "a7"}) == {one.id}
    with pytest.raises(ValueError, match="playing, over, closed"):
        client.matches(states=["lost"])  # type: ignore[list-item]
    with pytest.raises(boardwire.errors.InvalidRequest):
        client.create_match("faraway", players=["random", "agent"], labels={"Not A Name": ""})


def test_info_has_times_pending_seats_and_the_close_reason(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "random"], seed=1) as match:
        seat = match.join(0)
        obs = seat.observe()
        before = match.info()
        assert before.players == ("agent", "random")
        assert (before.waiting_for, before.close_reason) == ((0,), None)
        now = datetime.now(timezone.utc)
        assert now - timedelta(minutes=5) < before.create_time <= before.last_action_time < now
        seat.act(first(obs))
        after = match.info()
        assert after.create_time == before.create_time
        # Times have a resolution of one second.
        assert after.last_action_time >= before.last_action_time
    assert match.info().close_reason == "host"


def test_a_server_reports_its_version_and_limits(client: boardwire.Client) -> None:
    server = client.server()
    assert "boardwire.v1" in server.protocols
    assert server.version == boardwire.__version__
    assert server.limits.message_bytes == MESSAGE_BYTES
    assert server.limits.batch_idle_timeout > 0
    with boardwire.connect(server_args=["--max-matches=3", "--match-idle-timeout=90"]) as small:
        limits = small.server().limits
        assert (limits.matches, limits.match_idle_timeout) == (3, 90)


def test_an_invitation_or_its_code_joins_a_match(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "agent"]) as match:
        assert client.join(match.invitations[0]).index == 0
        assert client.join(match.invitations[1].code).index == 1


@pytest.mark.parametrize(
    "name", ["agent", "random", "greedy:16", "mc:160", "policy:lion", "policy:lion:argmax"]
)
def test_players_are_messages_in_requests_and_names_in_responses(name: str) -> None:
    sent = match_pb2.MatchConfig.FromString(_core.encode("MatchConfig", {"players": [name]}))
    (message,) = sent.players
    assert message.WhichOneof("kind") == {"agent": "agent", "policy": "policy"}.get(name.split(":")[0], "bot")
    assert fields_of(sent)["players"] == (name,)


def test_an_error_names_the_invalid_player(client: boardwire.Client) -> None:
    for name in ("clever", "mc:many", "mc:0", "greedy:16:3", "policy:", "random:3", "mc:99999999999"):
        with pytest.raises(errors.InvalidRequest, match=f"`{name}`"):
            client.create_match("faraway", players=["agent", name])


def test_codes_and_tokens_can_have_spaces_around_them(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "random"]) as match:
        seat = client.join(f" {match.invitations[0].code}\n")
        assert client.seat(match.id, f"\t{seat.token}\n").observe(wait=False).mask.any()


def test_enum_values_of_a_newer_server_are_unknown() -> None:
    newer = match_pb2.MatchConfig(reward=99, players=[match_pb2.Player()])  # type: ignore[arg-type]
    assert (fields_of(newer)["reward"], fields_of(newer)["players"]) == ("unknown", ("unknown",))
    newer.reward = match_pb2.REWARD_KIND_WIN
    assert fields_of(newer)["reward"] == "win"


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
            with pytest.raises(ValueError, match="seed is out of range"):
                seat.reset(seed=seed)
        for action in (-1, 2**32):
            with pytest.raises(errors.IllegalAction) as caught:
                seat.act(action)
            assert caught.value.reason == "ACTION_OUT_OF_RANGE"
            assert caught.value.metadata["action"] == str(action)
        with pytest.raises(ValueError, match="decision is out of range"):
            seat._stream.ask("act", {"match_id": match.id, "decision": -1}, 5.0)
        assert seat.act(first(obs)).decision == 1
