"""Every viewer can check what was played: with the server's program, and without it."""

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
#: The numbers of `ActionCause` and `Forfeit`, as the protocol has them.
ACTION_CAUSES, FORFEITS = (
    {f"{name}_{word}": number for number, word in enumerate(words, 1)}
    for name, words in (
        ("ACTION_CAUSE", ("AGENT", "SUBSTITUTED", "BOT", "FORCED", "TIMED_OUT")),
        ("FORFEIT", ("ILLEGAL_ACTION", "TIME", "RESIGNED", "HOST")),
    )
)


def play(seats: list[boardwire.Seat]) -> dict[tuple[int, int], bytes]:
    """Plays an episode, the lowest pending seat first; gives the heads that seats saw, by seat and ply."""
    heads = {}
    while True:
        for index, seat in enumerate(seats):
            seen = seat.observe(wait=False, head=True)
            heads[index, seen.ply] = seen.head
        if seen.over:
            return heads
        seat = seats[seen.pending[0]]
        seat.act(int(seat.observe(wait=False).mask.nonzero()[0][0]), wait=False)


def verify(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(find_binary()), "verify", str(path)], capture_output=True, text=True, timeout=60
    )


def check(replay: Any) -> bytes:
    """Checks commitment and chain of a replay, with nothing of Boardwire's; gives what all chains up to.

    It is all that `docs/protocol.md` says of them.
    """
    opening = replay["seedOpening"]
    key, salt = b64decode(opening["key"]), b64decode(opening["salt"])
    episode = int(replay.get("episode", 0)).to_bytes(4, "little")
    parts = (replay["matchId"].encode(), episode, bytes.fromhex(replay["specDigest"]), key, salt)
    head = blake3(b"".join(parts)).digest()
    assert head == b64decode(replay["seedCommitment"]), "the key is not the one that was committed to"
    for number, frame in enumerate(replay["frames"]):
        if "played" in frame:
            played = frame["played"]
            cause = ACTION_CAUSES[played["cause"]]
            head = blake3(head + bytes([frame["seat"], played.get("action", 0), cause]), key=key).digest()
        for seat, why in enumerate(frame.get("outcome", {}).get("forfeits", [])):
            if why != "FORFEIT_UNSPECIFIED":
                head = blake3(head + bytes([seat, FORFEITS[why]]), key=key).digest()
        assert head == b64decode(frame["head"]), f"frame {number} does not follow"
    return head


@pytest.mark.parametrize("game", GAMES)
def test_a_replay_agrees_with_what_seats_wrote_down(
    client: boardwire.Client, game: str, tmp_path: Path
) -> None:
    with client.create_match(game, players=["agent", "agent"]) as match:
        seats = [match.join(0), match.join(1)]
        under_way = seats[0].replay()
        assert (under_way.over, under_way.seed_opening, len(under_way.frames)) == (False, None, 1)
        heads = play(seats)
        for viewer, replay in enumerate([*(seat.replay() for seat in seats), match.replay()]):
            shown = None if viewer == 2 else viewer
            assert (replay.viewer, replay.over, replay.match_id) == (shown, True, match.id)
            for (seat, ply), head in heads.items():
                assert replay.frames[ply].head == head, (seat, ply)
            assert [frame.ply for frame in replay.frames] == list(range(len(replay.frames)))
            assert replay.frames[-1].outcome == seats[0].observe(wait=False).outcome
            path = tmp_path / f"{viewer}.json"
            replay.save(path)
            told = verify(path)
            assert told.returncode == 0, told.stderr
            assert "the server drew the key" in told.stdout
            assert replay.frames[-1].head.hex() in told.stdout
            assert check(json.loads(path.read_text())) == replay.frames[-1].head


def test_the_key_of_a_replay_deals_what_was_seen(client: boardwire.Client) -> None:
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
    """As if a seat had resigned in the middle of the episode."""
    frames = replay["frames"]
    end = {name: frames[5][name] for name in ("sequence", "ply", "time", "view", "head")}
    end["sequence"] = str(int(end["sequence"]) + 1)
    end["outcome"] = {"ranks": [2, 1], "forfeits": ["FORFEIT_RESIGNED", "FORFEIT_UNSPECIFIED"]}
    frames[6:] = [end]


def _another_cause(replay: Any) -> None:
    """As if time had run out for an agent."""
    made = (frame["played"] for frame in replay["frames"] if "played" in frame)
    next(played for played in made if played["cause"] == "ACTION_CAUSE_AGENT")["cause"] = (
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
    "a forfeit that was none": (_cut_short, "frame 6: head"),
    "a decision less": (lambda replay: replay["frames"].pop(5), "5: "),
    "the key kept back": (lambda replay: replay.pop("seedOpening"), "its key is not shown"),
    "an unknown field": (lambda replay: replay.update(colour="red"), "colour"),
}


@pytest.mark.parametrize("name", ALTERED)
def test_an_altered_replay_is_refused(client: boardwire.Client, name: str, tmp_path: Path) -> None:
    with client.create_match("faraway", players=["agent", "random"]) as match:
        seat = match.join(0)
        seen = seat.observe()
        while not seen.over:
            seen = seat.act(int(seen.mask.nonzero()[0][0]))
        replay = json.loads(seat.replay().to_json())
    change, expected = ALTERED[name]
    change(replay)
    path = tmp_path / "altered.json"
    path.write_text(json.dumps(replay))
    told = verify(path)
    assert told.returncode == 1
    assert expected in told.stderr
    assert str(path) in told.stderr


def test_what_is_no_replay_is_refused(tmp_path: Path) -> None:
    for text, expected in (
        ("", "EOF"),
        ("[]", "expected"),
        ("{}", "cannot be verified"),
        ("{} {}", "trailing"),
    ):
        path = tmp_path / "nothing.json"
        path.write_text(text)
        told = verify(path)
        assert (told.returncode, expected in told.stderr) == (1, True), (text, told.stderr)
    assert verify(tmp_path / "missing.json").returncode == 1


def test_what_another_release_saved_is_refused_and_names_it(client: boardwire.Client, tmp_path: Path) -> None:
    with client.create_match("faraway", players=["agent", "random"]) as match:
        replay = json.loads(match.join(0).replay().to_json())
    for release, said in (("0.1", "Boardwire 0.1 saved"), ("", "Boardwire 0.2.0 or an earlier one saved")):
        path = tmp_path / "match.json"
        path.write_text(json.dumps(replay | {"release": release}))
        told = verify(path)
        assert (told.returncode, said in told.stderr) == (1, True), told.stderr


def test_a_private_match_is_replayed_to_its_own(client: boardwire.Client) -> None:
    with client.create_match("rauha", players=["agent", "random"], private=True, seed=5) as match:
        seat = match.join(0)
        assert len(seat.replay().frames) == len(match.replay().frames) == 2, (
            "the deal, and the bot has chosen"
        )
        with pytest.raises(boardwire.errors.AccessDenied) as told:
            client.replay(match.id)
        assert told.value.reason == "TOKEN_MISSING"
        assert len(client.replay(match.id, spectator_token=match.spectator_token).frames) == 2
        closed = match.close()
    assert closed.seed_opening is not None
    # Who is at the table may look for a while after the end.
    assert match.replay().seed_opening == closed.seed_opening


def test_an_open_match_shows_the_public_no_key(client: boardwire.Client) -> None:
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


def show(path: Path, page: Path) -> subprocess.CompletedProcess[str]:
    command = [str(find_binary()), "replay", str(path), "--html", str(page)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def data_of(page: str) -> Any:
    """What a page holds."""
    _, _, rest = page.partition('id="data">')
    return json.loads(rest.partition("</script>")[0])


@pytest.mark.parametrize("game", GAMES)
def test_an_episode_becomes_a_page(game: str, tmp_path: Path) -> None:
    with boardwire.connect() as client:
        match = client.create_match(game, players=["agent", "agent"])
        seats = [match.join(0), match.join(1)]
        seats[0].replay().save(tmp_path / "early.json")
        play(seats)
        seats[1].replay().save(tmp_path / "match.json")
    for name in ("early", "match"):
        shown = show(tmp_path / f"{name}.json", tmp_path / f"{name}.html")
        assert shown.returncode == 0, shown.stderr
    # While it is played nobody has its key: the page shows what seat 0 saw.
    early, late = (data_of((tmp_path / f"{name}.html").read_text()) for name in ("early", "match"))
    assert early["viewers"] == ["seat 0 (agent)"]
    assert late["viewers"] == ["seat 0 (agent)", "seat 1 (agent)", "public view"]
    replay = json.loads((tmp_path / "match.json").read_text())
    assert [len(page["frames"]) for page in (early, late)] == [1, len(replay["frames"])]
    scores = replay["frames"][-1]["outcome"]["scores"]
    assert [int(seat["points"]) for seat in late["scores"]] == scores
    # The points of each seat are explained to the last one.
    assert [sum(line["points"] for line in seat["lines"]) for seat in late["scores"]] == scores
    deal = early["frames"][0]["views"][0]["drawn"]
    assert [early["parts"][part] for part, _, _ in deal] == [
        late["parts"][part] for part, _, _ in late["frames"][0]["views"][0]["drawn"]
    ]


def test_a_replay_gives_the_same_page_as_the_program(client: boardwire.Client, tmp_path: Path) -> None:
    with client.create_match("faraway", players=["agent", "random"]) as match:
        replay = match.join(0).replay()
    replay.save(tmp_path / "match.json")
    assert show(tmp_path / "match.json", tmp_path / "match.html").returncode == 0
    page = (tmp_path / "match.html").read_text(encoding="utf-8")
    assert replay.to_html() == page
    # A notebook shows it, and a terminal does not print every position.
    (framed,) = ElementTree.fromstring(replay._repr_html_())
    assert framed.attrib["srcdoc"] == page.replace("\n", " ")
    assert len(repr(replay)) < 2_000


def test_a_replay_of_other_rules_gives_no_page(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "random"]) as match:
        replay = match.join(0).replay()
    other = json.loads(replay.to_json()) | {"specDigest": "0" * 64}
    replay = _values.replay(_core.from_json("Replay", json.dumps(other)))
    with pytest.raises(ValueError, match="other rules or components"):
        replay.to_html()


def test_what_is_no_episode_is_no_page(tmp_path: Path) -> None:
    with boardwire.connect() as client:
        match = client.create_match("faraway", players=["agent", "agent"])
        match.join(0).replay().save(tmp_path / "match.json")
    replay = json.loads((tmp_path / "match.json").read_text())
    spoilt = {
        "other rules": replay | {"specDigest": "0" * 64},
        "seat 9": replay | {"viewer": 9},
        "bytes": replay | {"frames": [replay["frames"][0] | {"view": "AAAA"}]},
    }
    for complaint, wrong in spoilt.items():
        (tmp_path / "wrong.json").write_text(json.dumps(wrong))
        shown = show(tmp_path / "wrong.json", tmp_path / "wrong.html")
        assert shown.returncode == 1
        assert complaint in shown.stderr
        assert not (tmp_path / "wrong.html").exists()
    bare = subprocess.run([str(find_binary()), "replay"], capture_output=True, text=True, timeout=60)
    assert bare.returncode == 2
    assert "--html" in bare.stderr
