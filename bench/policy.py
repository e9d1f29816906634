"""The policy of all measurements: uniformly random legal actions. Every figure includes its time."""

from itertools import pairwise

import numpy as np

_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
#: SET_BIT_INDEX[byte, k] is the k-th set bit of a byte.
SET_BIT_INDEX = np.argsort(1 - _BITS, axis=1, kind="stable").astype(np.uint8)


def packed(masks):
    """Packs rows of booleans into the bit masks that the policy reads."""
    return np.packbits(np.asarray(masks, np.bool_), axis=1, bitorder="little")


class RandomLegal:
    """Chooses at random. `checksum` sums a value of every observation, so that the policy reads each one."""

    def __init__(self, seed=7):
        """Creates the random generator."""
        self.dice = np.random.default_rng(seed)
        self.drawn = iter(())
        self.checksum = 0.0

    def draw(self):
        """Returns a random number from 0 to below 1. Draws thousands together: single draws are slow."""
        for number in self.drawn:
            return number
        self.drawn = iter(self.dice.random(4096).tolist())
        return next(self.drawn)

    def choose_one(self, observation, legal):
        """Chooses one action from a list, or from the nonzero indices of an array."""
        self.checksum += float(observation[0])
        if isinstance(legal, np.ndarray):
            legal = np.flatnonzero(legal)
        return legal[int(self.draw() * len(legal))]

    def choose_many(self, observations, masks):
        """Chooses an action per row of bit masks `uint8[n, bytes]`, low bit first; any for an empty row.

        It counts the bits of every byte, draws one bit of the row, and finds the byte with this bit. So it
        needs no array over all actions and no loop over environments.
        """
        self.checksum += float(observations[:, 0].sum())
        columns = masks.T.copy()
        sums = np.bitwise_count(columns)
        # numpy's own accumulation along the first axis takes five times as long as this loop.
        for before, here in pairwise(sums):
            np.add(before, here, out=here)
        drawn = (self.dice.random(len(masks)) * sums[-1]).astype(np.uint8)
        at = np.minimum((sums <= drawn).sum(axis=0, dtype=np.intp), len(sums) - 1)
        place = at * len(masks) + np.arange(len(masks))
        byte = columns.take(place)
        rest = drawn - (sums.take(place) - np.bitwise_count(byte))
        return SET_BIT_INDEX.take(byte * np.intp(8) + rest) + (at * 8).astype(np.uint8)
