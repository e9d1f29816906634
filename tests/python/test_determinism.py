"""An independent implementation predicts the deals of the server."""

from __future__ import annotations

import pytest

import boardwire
from chance import RandomStream, block, commitment, faraway_deal


def test_chacha_agrees_with_the_published_vector() -> None:
    # RFC 7539 states 20 rounds; test vector 1 of its appendix A.1.
    words = block(bytes(32), 0, 0, rounds=20)
    assert words[:4] == [0xADE0B876, 0x903DF1A0, 0xE56A5D40, 0x28BD8653]


def test_chacha8_agrees_with_the_published_vector() -> None:
    # draft-strombergson-chacha-test-vectors, TC1, 256-bit key, 8 rounds: 3e00ef2f895f40d6...
    words = block(bytes(32), 0, 0)
    assert b"".join(word.to_bytes(4, "little") for word in words[:2]) == bytes.fromhex("3e00ef2f895f40d6")


def test_draws_remove_members_without_repetition() -> None:
    rng, members = RandomStream(7, 0), set(range(1, 11))
    drawn = [rng.draw(members) for _ in range(10)]
    assert sorted(drawn) == list(range(1, 11))
    assert not members


@pytest.mark.parametrize("seats", range(2, 7))
@pytest.mark.parametrize("seed", [0, 1, 7, 2**63 + 5, 2**64 - 1])
@pytest.mark.parametrize("variant", ["basic", "advanced"])
def test_the_deal_of_faraway_is_predicted(
    client: boardwire.Client, seed: int, seats: int, variant: str
) -> None:
    hands, display = faraway_deal(seed, seats, advanced=variant == "advanced")
    options = {"variant": variant}
    with client.create_match("faraway", players=["agent"] * seats, options=options, seed=seed) as match:
        for index, hand in enumerate(hands):
            fields = match.spec.decode(match.join(index).observe(wait=False).view)
            assert [card for card in fields["hand"].tolist() if card] == hand
            assert [card for card in fields["display"].tolist() if card] == display


def test_the_same_seed_and_actions_give_the_same_bytes(client: boardwire.Client) -> None:
    def play() -> list[bytes]:
        with client.create_match("faraway", players=["agent", "greedy", "random"], seed=11) as match:
            seat = match.join(0)
            obs = seat.observe()
            views = [obs.view.tobytes()]
            while not obs.over:
                obs = seat.act(int(obs.mask.nonzero()[0][-1]))
                views.append(obs.view.tobytes())
            return views

    assert play() == play()


def test_a_drawn_seed_has_a_commitment_and_is_revealed_at_the_end(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "random"]) as match:
        before = match.info()
        assert (before.seed_opening, before.seed_source) == (None, "drawn")
        assert len(before.seed_commitment) == 32
        seat = match.join(0)
        obs = seat.observe()
        first = obs.view
        while not obs.over:
            obs = seat.act(int(obs.mask.nonzero()[0][0]))
        after = match.info()
    assert after.state == "over"
    assert after.seed_commitment == before.seed_commitment
    assert after.seed_opening is not None
    # The revealed key determines the deal.
    assert after.seed_opening.seed is None
    assert len(after.seed_opening.key) == 32
    assert any(after.seed_opening.key[8:])
    hands, _ = faraway_deal(after.seed_opening.key, 2)
    assert [card for card in match.spec.decode(first)["hand"].tolist() if card] == hands[0]


def test_a_commitment_is_a_hash_of_public_values(client: boardwire.Client) -> None:
    match = client.create_match("faraway", players=["agent", "random"], seed=7)
    before, after = match.info(), match.close()
    assert after.seed_opening is not None
    assert after.seed_opening.key == (7).to_bytes(8, "little") + bytes(24)
    opening = after.seed_opening
    committed = commitment(after.id, after.episode, after.spec_digest, opening.key, opening.salt)
    assert before.seed_commitment == after.seed_commitment == committed
