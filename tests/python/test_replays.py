"""Replays: each viewer can verify them with and without the server binary, and render them as pages."""

from __future__ import annotations

import json
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from blake3 import blake3

import boardwire
from boardwire import _core, _values
from boardwire._process import find_binary
from chance import faraway_deal

GAMES = ["faraway", "rauha", "golden_compass"]
#: The numbers of `ActionCause` and `Forfeit` in the protocol.
ACTION_CAUSES, FORFEITS = (
    {f"{name}_{value}": number for number, value in enumerate(values, 1)}
    for name, values in (
        ("ACTION_CAUSE", ("AGENT", "SUBSTITUTED", "BOT", "FORCED", "TIMED_OUT")),
        ("FORFEIT", ("ILLEGAL_ACTION", "TIME", "RESIGNED", "HOST")),
    )
)


def play(seats: list[boardwire.Seat]) -> dict[tuple[int, int], bytes]:
    """Plays an episode, the lowest pending seat first; returns the observed heads by seat and ply."""
    heads = {}
    while True:
        for index, seat in enumerate(seats):
            obs = seat.observe(wait=False, head=True)
            heads[index, obs.ply] = obs.head
        if obs.over:
            return heads
        seat = seats[obs.pending[0]]
        seat.act(int(seat.observe(wait=False).mask.nonzero()[0][0]), wait=False)


def verify(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(find_binary()), "verify", str(path)], capture_output=True, text=True, timeout=60
    )


def check(replay: Any) -> bytes:
    """Verifies commitment and hash chain of a replay, as `docs/protocol.md` describes; returns the last head.

    Uses no code of Boardwire.
    """
    opening = replay["seedOpening"]
    key, salt = b64decode(opening["key"]), b64decode(opening["salt"])
    episode = int(replay.get("episode", 0)).to_bytes(4, "little")
    parts = (replay["matchId"].encode(), episode, bytes.fromhex(replay["specDigest"]), key, salt)
    head = blake3(b"".join(parts)).digest()
    assert head == b64decode(replay["seedCommitment"]), "the key does not match the commitment"
    for number, frame in enumerate(replay["frames"]):
        if "played" in frame:
            played = frame["played"]
            cause = ACTION_CAUSES[played["cause"]]
            head = blake3(head + bytes([frame["seat"], played.get("action", 0), cause]), key=key).digest()
        for seat, forfeit in enumerate(frame.get("outcome", {}).get("forfeits", [])):
            if forfeit != "FORFEIT_UNSPECIFIED":
                head = blake3(head + bytes([seat, FORFEITS[forfeit]]), key=key).digest()
        assert head == b64decode(frame["head"]), f"frame {number} does not continue the chain"
    return head


@pytest.mark.parametrize("game", GAMES)
def test_a_replay_agrees_with_the_observations_of_seats(
    client: boardwire.Client, game: str, tmp_path: Path
) -> None:
    with client.create_match(game, players=["agent", "agent"]) as match:
        seats = [match.join(0), match.join(1)]
        unfinished = seats[0].replay()
        assert (unfinished.over, unfinished.seed_opening, len(unfinished.frames)) == (False, None, 1)
        heads = play(seats)
        for viewer, replay in enumerate([*(seat.replay() for seat in seats), match.replay()]):
            seat_of_viewer = None if viewer == 2 else viewer
            assert (replay.viewer, replay.over, replay.match_id) == (seat_of_viewer, True, match.id)
            for (seat, ply), head in heads.items():
                assert replay.frames[ply].head == head, (seat, ply)
            assert [frame.ply for frame in replay.frames] == list(range(len(replay.frames)))
            assert replay.frames[-1].outcome == seats[0].observe(wait=False).outcome
            path = tmp_path / f"{viewer}.json"
            replay.save(path)
            process = verify(path)
            assert process.returncode == 0, process.stderr
            assert "the server drew the key" in process.stdout
            assert replay.frames[-1].head.hex() in process.stdout
            assert check(json.loads(path.read_text())) == replay.frames[-1].head


def test_the_key_of_a_replay_determines_the_opening_hands(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "agent"]) as match:
        seats = [match.join(0), match.join(1)]
        play(seats)
        for seat in seats:
            replay = seat.replay()
            assert replay.seed_opening is not None
            hands, _ = faraway_deal(replay.seed_opening.key, 2, advanced=False)
            first = match.spec.decode(replay.frames[0].view)
            assert replay.viewer is not None
            assert [card for card in first["hand"].tolist() if card] == hands[replay.viewer]


def _flip(text: str) -> str:
    raw = bytearray(b64decode(text))
    raw[0] ^= 1
    return b64encode(raw).decode()


def _cut_short(replay: Any) -> None:
    """Changes the replay as if a seat had resigned in the middle of the episode."""
    frames = replay["frames"]
    end = {name: frames[5][name] for name in ("sequence", "ply", "time", "view", "head")}
    end["sequence"] = str(int(end["sequence"]) + 1)
    end["outcome"] = {"ranks": [2, 1], "forfeits": ["FORFEIT_RESIGNED", "FORFEIT_UNSPECIFIED"]}
    frames[6:] = [end]


def _another_cause(replay: Any) -> None:
    """Changes the replay as if the time of an agent had run out."""
    actions = (frame["played"] for frame in replay["frames"] if "played" in frame)
    next(played for played in actions if played["cause"] == "ACTION_CAUSE_AGENT")["cause"] = (
        "ACTION_CAUSE_TIMED_OUT"
    )


ALTERED: dict[str, tuple[Callable[[Any], object], str]] = {
    "another key": (
        lambda replay: replay["seedOpening"].update(key=_flip(replay["seedOpening"]["key"])),
        "does not match seed_commitment",
    ),
    "another view": (
        lambda replay: replay["frames"][3].update(view=_flip(replay["frames"][3]["view"])),
        "frame 3: view",
    ),
    "another chain": (
        lambda replay: replay["frames"][3].update(head=_flip(replay["frames"][3]["head"])),
        "frame 3: head",
    ),
    "another cause": (_another_cause, ": head"),
    "an invented forfeit": (_cut_short, "frame 6: head"),
    "a missing decision": (lambda replay: replay["frames"].pop(5), "5: "),
    "a missing key": (lambda replay: replay.pop("seedOpening"), "its key is not shown"),
    "an unknown field": (lambda replay: replay.update(colour="red"), "colour"),
}


@pytest.mark.parametrize("name", ALTERED)
def test_an_altered_replay_is_rejected(client: boardwire.Client, name: str, tmp_path: Path) -> None:
    with client.create_match("faraway", players=["agent", "random"]) as match:
        seat = match.join(0)
        obs = seat.observe()
        while not obs.over:
            obs = seat.act(int(obs.mask.nonzero()[0][0]))
        replay = json.loads(seat.replay().to_json())
    change, expected = ALTERED[name]
    change(replay)
    path = tmp_path / "altered.json"
    path.write_text(json.dumps(replay))
    process = verify(path)
    assert process.returncode == 1
    assert expected in process.stderr
    assert str(path) in process.stderr


def test_other_files_are_rejected(tmp_path: Path) -> None:
    for text, expected in (
        ("", "EOF"),
        ("[]", "expected"),
        ("{}", "cannot be verified"),
        ("{} {}", "trailing"),
    ):
        path = tmp_path / "invalid.json"
        path.write_text(text)
        process = verify(path)
        assert (process.returncode, expected in process.stderr) == (1, True), (text, process.stderr)
    assert verify(tmp_path / "missing.json").returncode == 1


def test_an_error_names_another_release_that_saved_the_replay(
    client: boardwire.Client, tmp_path: Path
) -> None:
    with client.create_match("faraway", players=["agent", "random"]) as match:
        replay = json.loads(match.join(0).replay().to_json())
    for release, message in (("0.1", "Boardwire 0.1 saved"), ("", "Boardwire 0.2.0 or an earlier one saved")):
        path = tmp_path / "match.json"
        path.write_text(json.dumps(replay | {"release": release}))
        process = verify(path)
        assert (process.returncode, message in process.stderr) == (1, True), process.stderr


def test_the_replay_of_a_private_match_needs_a_token(client: boardwire.Client) -> None:
    with client.create_match("rauha", players=["agent", "random"], private=True, seed=5) as match:
        seat = match.join(0)
        assert len(seat.replay().frames) == len(match.replay().frames) == 2, (
            "the frames must be the deal and the action of the bot"
        )
        with pytest.raises(boardwire.errors.AccessDenied) as caught:
            client.replay(match.id)
        assert caught.value.reason == "TOKEN_MISSING"
        assert len(client.replay(match.id, spectator_token=match.spectator_token).frames) == 2
        closed = match.close()
    assert closed.seed_opening is not None
    # The host and the seats can read the replay after the end.
    assert match.replay().seed_opening == closed.seed_opening


def test_public_replays_have_no_key_while_the_match_is_open(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "random"]) as match:
        seat = match.join(0)
        seat.resign()
        resigned = json.loads(seat.replay().to_json())
        assert "seedOpening" in resigned
        assert check(resigned) == seat.observe(wait=False, head=True).head
        assert client.replay(match.id).seed_opening is None
        assert client.replay(match.id).frames[-1].outcome is not None
    assert client.replay(match.id).seed_opening is not None
    with pytest.raises(boardwire.errors.InvalidRequest, match="0 or less"):
        client.replay(match.id, episode=1)


def render(path: Path, page: Path) -> subprocess.CompletedProcess[str]:
    command = [str(find_binary()), "replay", str(path), "--html", str(page)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def data_of(page: str) -> Any:
    """Returns the data inside a page."""
    _, _, rest = page.partition('id="data">')
    return json.loads(rest.partition("</script>")[0])


@pytest.mark.parametrize("game", GAMES)
def test_a_replay_is_rendered_as_a_page(game: str, tmp_path: Path) -> None:
    with boardwire.connect() as client:
        match = client.create_match(game, players=["agent", "agent"])
        seats = [match.join(0), match.join(1)]
        seats[0].replay().save(tmp_path / "early.json")
        play(seats)
        seats[1].replay().save(tmp_path / "match.json")
    for name in ("early", "match"):
        process = render(tmp_path / f"{name}.json", tmp_path / f"{name}.html")
        assert process.returncode == 0, process.stderr
    # An unfinished replay has no key, so its page has only the views of seat 0.
    unfinished, finished = (data_of((tmp_path / f"{name}.html").read_text()) for name in ("early", "match"))
    assert unfinished["viewers"] == ["seat 0 (agent)"]
    assert finished["viewers"] == ["seat 0 (agent)", "seat 1 (agent)", "public view"]
    replay = json.loads((tmp_path / "match.json").read_text())
    assert [len(page["frames"]) for page in (unfinished, finished)] == [1, len(replay["frames"])]
    scores = replay["frames"][-1]["outcome"]["scores"]
    assert [int(seat["points"]) for seat in finished["scores"]] == scores
    # The explanation of each score adds up to the score.
    assert [sum(line["points"] for line in seat["lines"]) for seat in finished["scores"]] == scores
    deal = unfinished["frames"][0]["views"][0]["drawn"]
    assert [unfinished["parts"][part] for part, _, _ in deal] == [
        finished["parts"][part] for part, _, _ in finished["frames"][0]["views"][0]["drawn"]
    ]


def test_the_client_and_the_binary_render_the_same_page(client: boardwire.Client, tmp_path: Path) -> None:
    with client.create_match("faraway", players=["agent", "random"]) as match:
        replay = match.join(0).replay()
    replay.save(tmp_path / "match.json")
    assert render(tmp_path / "match.json", tmp_path / "match.html").returncode == 0
    page = (tmp_path / "match.html").read_text(encoding="utf-8")
    assert replay.to_html() == page
    # A notebook displays the page, and `repr` stays short.
    (iframe,) = ElementTree.fromstring(replay._repr_html_())
    assert iframe.attrib["srcdoc"] == page.replace("\n", " ")
    assert len(repr(replay)) < 2_000


def test_a_replay_of_other_rules_has_no_page(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "random"]) as match:
        replay = match.join(0).replay()
    other = json.loads(replay.to_json()) | {"specDigest": "0" * 64}
    replay = _values.replay(_core.from_json("Replay", json.dumps(other)))
    with pytest.raises(ValueError, match="other rules or components"):
        replay.to_html()


def test_an_invalid_replay_has_no_page(tmp_path: Path) -> None:
    with boardwire.connect() as client:
        match = client.create_match("faraway", players=["agent", "agent"])
        match.join(0).replay().save(tmp_path / "match.json")
    replay = json.loads((tmp_path / "match.json").read_text())
    invalid = {
        "other rules": replay | {"specDigest": "0" * 64},
        "seat 9": replay | {"viewer": 9},
        "bytes": replay | {"frames": [replay["frames"][0] | {"view": "AAAA"}]},
    }
    for message, wrong in invalid.items():
        (tmp_path / "wrong.json").write_text(json.dumps(wrong))
        process = render(tmp_path / "wrong.json", tmp_path / "wrong.html")
        assert process.returncode == 1
        assert message in process.stderr
        assert not (tmp_path / "wrong.html").exists()
    process = subprocess.run([str(find_binary()), "replay"], capture_output=True, text=True, timeout=60)
    assert process.returncode == 2
    assert "--html" in process.stderr
