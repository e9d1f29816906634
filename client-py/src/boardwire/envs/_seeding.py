"""Seeds as Gymnasium means them: an environment's seed fixes its generator, and that draws each episode's."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import SupportsIndex

import numpy as np
from gymnasium.utils import seeding
from numpy.typing import NDArray

#: One seed for a vector environment, one for each of its environments, or none.
Seeds = SupportsIndex | Sequence[int | None] | NDArray[np.integer] | None


def draw(random: np.random.Generator) -> int:
    """The seed of an environment's next episode."""
    return int(random.integers(2**64, dtype=np.uint64))


def is_one(seed: Seeds) -> bool:
    """Whether it is one number. Arrays would pass for one by their type."""
    return seed is not None and np.ndim(np.asarray(seed, dtype=object)) == 0


def for_each(seed: Seeds, environments: int) -> list[int | None] | None:
    """The seed of each environment: one number seeds environment i with it plus i.

    Raises:
        ValueError: There are more or fewer seeds than environments.
    """
    if seed is None:
        return None
    given = np.asarray(seed, dtype=object)
    if not given.ndim:
        return [operator.index(given.item()) + i for i in range(environments)]
    if given.shape != (environments,):
        raise ValueError(f"{len(given)} seeds for {environments} environments")
    return [None if one is None else operator.index(one) for one in given]


def first_episodes(seeds: Iterable[int]) -> NDArray[np.uint64]:
    """The seeds of the first episodes that single environments with these seeds play.

    Raises:
        gymnasium.error.Error: A seed is negative.
    """
    return np.array([draw(seeding.np_random(seed)[0]) for seed in seeds], dtype=np.uint64)


def later_episodes(seeds: Mapping[int, int]) -> int:
    """The seed that the episodes after the first come from, by the seeds of environments.

    Where they count up from one number with the environments, it depends on that number alone, not on how
    many environments there are.
    """
    origins = sorted({(seed - environment) % 2**64 for environment, seed in seeds.items()})
    return int(np.random.SeedSequence(origins).generate_state(1, np.uint64)[0])
