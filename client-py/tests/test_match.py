"""Matches on the real server: settings, lists, information, players and invitations."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from raw import fields_of

import boardwire
from boardwire import _core, errors
from boardwire._connection import MESSAGE_BYTES
from boardwire_v1 import match_pb2


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
        response = seat.act(int((~obs.mask).nonzero()[0][0]))
        assert response.substituted is True
        assert response.decision == 1


def test_a_forfeit_ends_the_episode(client: boardwire.Client) -> None:
    match = client.create_match("faraway", players=["agent", "random"], illegal_actions="forfeit")
    with match:
        seat = match.join(0)
        obs = seat.observe()
        end = seat.act(int((~obs.mask).nonzero()[0][0]))
        assert end.terminated
        assert end.reward == -1
        assert end.ranks == (2, 1)
        assert end.scores == ()
        assert end.outcome is not None
        assert end.outcome.forfeits == ("illegal_action", None)


def test_the_client_rejects_unknown_settings_and_seats(client: boardwire.Client) -> None:
    with pytest.raises(ValueError, match="`reward` must be one of rank, win, margin, score; got"):
        client.create_match("faraway", players=["random"], reward="glory")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"`illegal_actions` must be one of reject, .*; got"):
        client.create_match("faraway", players=["random"], illegal_actions="shrug")  # type: ignore[arg-type]
    match = client.create_match("faraway", players=["random", "agent"])
    with (
        match,
        pytest.raises(ValueError, match=rf"`seat` must be an agent's seat of {match.id} \(1\); got 0"),
    ):
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


def test_a_private_match_needs_a_token(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "random"], private=True) as match:
        assert match.id not in [listed.id for listed in client.matches()]
        assert match.info().private
        assert match.join(0).info().id == match.id
        with pytest.raises(boardwire.errors.AccessDenied) as caught:
            client.seat(match.id, "guessed")
        assert caught.value.reason == "TOKEN_WRONG"


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


def test_matches_are_listed_by_game_state_and_label(client: boardwire.Client) -> None:
    labels = {"run": "a7", "round": "1"}
    with (
        client.create_match("faraway", players=["random", "agent"], labels=labels) as faraway,
        client.create_match("rauha", players=["random", "agent"], labels={"run": "a7"}) as rauha,
    ):
        assert faraway.info().labels == labels

        def listed(*args: str, **kwargs: Any) -> set[str]:
            return {info.id for info in client.matches(*args, **kwargs)}

        assert {faraway.id, rauha.id} <= listed()
        assert listed(labels={"run": "a7"}) == {faraway.id, rauha.id}
        assert listed(labels=labels) == {faraway.id}
        assert listed("rauha", labels={"run": "a7"}) == {rauha.id}
        rauha.close()
        assert listed(states=["closed"], labels={"run": "a7"}) == {rauha.id}
        assert listed(states=["playing", "over"], labels={"run": "a7"}) == {faraway.id}
    with pytest.raises(ValueError, match="`states` may have playing, over, closed, gathering; got 'lost'"):
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
        seat.act(int(obs.mask.argmax()))
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
    assert [bot.name for bot in server.bots] == ["random", "greedy", "mc", "search"]
    (worlds,) = server.bots[1].parameters
    assert (worlds.name, worlds.default, worlds.min, worlds.max) == ("worlds", 8, 1, 1024)
    assert server.policies == ()
    with boardwire.connect(server_args=["--max-matches=3", "--match-idle-timeout=90"]) as small:
        limits = small.server().limits
        assert (limits.matches, limits.match_idle_timeout) == (3, 90)


def test_an_invitation_or_its_code_joins_a_match(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "agent"]) as match:
        assert client.join(match.invitations[0]).index == 0
        assert client.join(match.invitations[1].code).index == 1


def test_a_join_can_be_repeated_after_the_spec_was_refused(
    client: boardwire.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server has given the seat to the first request, so the second one must have the same request id."""
    refusals, create = [errors.ServerFull("the rate is exceeded")], client._create_seat

    def refused(*arguments: Any) -> boardwire.Seat:
        for refusal in refusals:
            refusals.clear()
            raise refusal
        return create(*arguments)

    monkeypatch.setattr(client, "_create_seat", refused)
    with client.create_match("faraway", players=["agent", "random"]) as match:
        with pytest.raises(errors.ServerFull):
            client.join(match.invitations[0])
        assert client.join(match.invitations[0]).index == 0


@pytest.mark.parametrize(
    "name",
    [
        "agent",
        "random",
        "greedy:16",
        "mc:160",
        "policy:lion",
        "policy:lion:argmax",
        "search:lion",
        "search:lion:40",
    ],
)
def test_players_are_messages_in_requests_and_names_in_responses(name: str) -> None:
    sent = match_pb2.MatchConfig.FromString(_core.encode("MatchConfig", {"players": [name]}))
    (message,) = sent.players
    assert message.WhichOneof("kind") == {"agent": "agent", "policy": "policy"}.get(name.split(":")[0], "bot")
    assert fields_of(sent)["players"] == (name,)


def test_an_error_names_the_invalid_player(client: boardwire.Client) -> None:
    for name in [
        "clever",
        "mc:many",
        "mc:0",
        "greedy:16:3",
        "policy:",
        "random:3",
        "mc:99999999999",
        "search:3",
        "search:",
    ]:
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
