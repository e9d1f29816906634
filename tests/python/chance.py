"""The random numbers of Boardwire in plain Python, written from their documentation. No server is used.

A seed is a `u64`. Its key is its 8 bytes in little-endian order and 24 zero bytes. The generator is ChaCha8
with a key, a 64-bit block counter from 0 and the number of the stream as 64-bit nonce. `below` is Lemire's
multiply-shift on one 32-bit word with rejection. `draw` removes the `below(len)`-th smallest member.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, MutableSequence

from blake3 import blake3

_WORD = 0xFFFFFFFF
_CONSTANT = struct.unpack("<4I", b"expand 32-byte k")
_QUARTERS = (
    (0, 4, 8, 12),
    (1, 5, 9, 13),
    (2, 6, 10, 14),
    (3, 7, 11, 15),
    (0, 5, 10, 15),
    (1, 6, 11, 12),
    (2, 7, 8, 13),
    (3, 4, 9, 14),
)


def _rotated(value: int, by: int) -> int:
    return (value << by | value >> (32 - by)) & _WORD


def block(key: bytes, counter: int, stream: int, rounds: int = 8) -> list[int]:
    """Returns one block of the ChaCha stream cipher: 16 words."""
    start = [
        *_CONSTANT,
        *struct.unpack("<8I", key),
        *struct.unpack("<4I", struct.pack("<QQ", counter, stream)),
    ]
    words = list(start)
    for _ in range(rounds // 2):
        for a, b, c, d in _QUARTERS:
            for x, y, z, by in (
                (a, b, d, 16),
                (c, d, b, 12),
                (a, b, d, 8),
                (c, d, b, 7),
            ):
                words[x] = (words[x] + words[y]) & _WORD
                words[z] = _rotated(words[z] ^ words[x], by)
    return [(word + first) & _WORD for word, first in zip(words, start, strict=True)]


class RandomStream:
    """One stream of a seed or of a key of 32 bytes.

    Attributes:
        words: The number of used words.
    """

    def __init__(self, seed: int | bytes, stream: int) -> None:
        """Starts at the first word of the stream."""
        key = seed if isinstance(seed, bytes) else struct.pack("<Q24x", seed)
        self._stream = self._blocks(key, stream)
        self.words = 0

    @staticmethod
    def _blocks(key: bytes, stream: int) -> Iterator[int]:
        counter = 0
        while True:
            yield from block(key, counter, stream)
            counter += 1

    def word(self) -> int:
        """Returns the next word."""
        self.words += 1
        return next(self._stream)

    def below(self, n: int) -> int:
        """Returns a number in `range(n)`."""
        product = self.word() * n
        if product & _WORD < n:
            threshold = (1 << 32) % n
            while product & _WORD < threshold:
                product = self.word() * n
        return product >> 32

    def draw(self, members: set[int]) -> int:
        """Removes a member from a set and returns it."""
        member = sorted(members)[self.below(len(members))]
        members.remove(member)
        return member

    def shuffle(self, items: MutableSequence[int]) -> None:
        """Shuffles a list in place."""
        for i in range(len(items) - 1, 0, -1):
            j = self.below(i + 1)
            items[i], items[j] = items[j], items[i]

    def seed(self) -> int:
        """Returns a 64-bit seed of two words, the low half first."""
        return self.word() | self.word() << 32


def commitment(match_id: str, episode: int, spec_digest: str, key: bytes, salt: bytes) -> bytes:
    """Returns the commitment to the key of an episode, which a match publishes at its start."""
    committed = match_id.encode() + episode.to_bytes(4, "little") + bytes.fromhex(spec_digest) + key + salt
    digest: bytes = blake3(committed).digest()
    return digest


def faraway_deal(
    seed: int | bytes, seats: int, *, advanced: bool = False
) -> tuple[list[list[int]], list[int]]:
    """Returns the sorted opening hands of all seats and the sorted display.

    In the advanced variant the display is empty: it is dealt after the seats set regions aside.
    """
    regions, rng = set(range(1, 69)), RandomStream(seed, 0)
    hands = [sorted(rng.draw(regions) for _ in range(5 if advanced else 3)) for _ in range(seats)]
    display = [] if advanced else sorted(rng.draw(regions) for _ in range(seats + 1))
    return hands, display
