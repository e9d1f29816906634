"""The one policy of all measurements: uniformly random among the legal actions. Every figure includes it."""

from itertools import pairwise

import numpy as np

_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
#: SELECT[byte, k] is the k-th set bit of a byte.
SELECT = np.argsort(1 - _BITS, axis=1, kind="stable").astype(np.uint8)


def packed(masks):
    """Rows of booleans as the policy reads them."""
    return np.packbits(np.asarray(masks, np.bool_), axis=1, bitorder="little")


class RandomLegal:
    """Chooses at random; `seen` depends on every observation, so that none goes unread."""

    def __init__(self, seed=7):
        """Starts the dice."""
        self.dice = np.random.default_rng(seed)
        self.drawn = iter(())
        self.seen = 0.0

    def draw(self):
        """A number from 0 to below 1; they are drawn by the thousand, since one at a time is slow."""
        for number in self.drawn:
            return number
        self.drawn = iter(self.dice.random(4096).tolist())
        return next(self.drawn)

    def one(self, observation, legal):
        """One action of a list, or of the indices that are set in an array."""
        self.seen += float(observation[0])
        if isinstance(legal, np.ndarray):
            legal = np.flatnonzero(legal)
        return legal[int(self.draw() * len(legal))]

    def many(self, observations, masks):
        """An action for every row of bit masks `uint8[n, bytes]`, low bit first; any for a row without one.

        The bits of every byte are counted, one of them is drawn, and the byte that holds it is found: no
        row of numbers as long as the action space, and no loop over environments.
        """
        self.seen += float(observations[:, 0].sum())
        columns = masks.T.copy()
        sums = np.bitwise_count(columns)
        # By hand: to accumulate along the first axis takes numpy five times as long.
        for before, here in pairwise(sums):
            np.add(before, here, out=here)
        drawn = (self.dice.random(len(masks)) * sums[-1]).astype(np.uint8)
        at = np.minimum((sums <= drawn).sum(axis=0, dtype=np.intp), len(sums) - 1)
        place = at * len(masks) + np.arange(len(masks))
        byte = columns.take(place)
        rest = drawn - (sums.take(place) - np.bitwise_count(byte))
        return SELECT.take(byte * np.intp(8) + rest) + (at * 8).astype(np.uint8)
