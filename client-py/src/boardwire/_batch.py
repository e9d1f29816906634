"""A batch: many environments of one table, stepped together over one stream."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _rows
from ._batch_stream import BatchStream
from ._closing import Closing
from ._connection import Connection
from ._line_ups import AGENT
from ._local import LocalCarrier, LocalConnection
from ._search import SEARCH_SECONDS, Search, begin
from ._seat import WAIT_SECONDS
from ._spec import GameSpec
from ._types import Autoreset, BatchStep, Reward
from ._waiting import result_of
from .errors import IllegalAction


def _seed(given: SupportsIndex) -> int:
    """A seed as the wire has it.

    Raises:
        ValueError: It is out of range.
    """
    seed = operator.index(given)
    if not 0 <= seed < 1 << 64:
        raise ValueError(f"a seed is from 0 to 2**64 - 1, not {seed}")
    return seed


class Batch(Closing):
    """Many environments of one table, stepped together; for one thread or task.

    Every environment shows one decision at a time: that of the lowest agent's seat which owes one.
    Bots decide in the server. Requests go over one stream that opens with the first. A batch ends with its
    connection unless it was opened with `keep`: then requests are numbered, and when the stream breaks those
    without an answer are sent again on another one, where the server answers each and makes no step twice.
    If that fails, too, `recv` may be called again when a server answers there.

    Attributes:
        id: The batch's id.
        spec: The table's description.
        environments: How many environments there are.
        first_environment: The number of the first one, as seeds and line-ups count them.
        line_ups: Who plays where, `agent` or the name of a bot. Row i of a step has line-up
            (first_environment + i) % len(line_ups).
        agents: `bool[environments, seats]`, which seats are agents', which the owner plays; read-only.
        duplicate_deals: Whether environments that differ in their line-ups alone are dealt the same.
        autoreset: What becomes of an environment whose episode has ended.
        seed: The seed from which the seeds of all episodes follow.
        token: What proves the owner.
    """

    def __init__(self, carrier: BatchStream | LocalCarrier, connection: Connection, token: str) -> None:
        """Is called by `Client.open_batch`; searches go over the connection."""
        self.id: str = carrier.about["id"]
        self.spec = carrier.spec
        config = carrier.about["config"]
        self.environments: int = config["environments"]
        self.first_environment: int = config["first_environment"]
        self.line_ups: tuple[tuple[str, ...], ...] = tuple(each["players"] for each in config["line_ups"])
        self.agents = _agents(self.line_ups, self.first_environment, self.environments)
        self.duplicate_deals: bool = config["duplicate_deals"]
        self.autoreset: Autoreset = config["autoreset"]
        self.seed: int = config["seed"]
        self.token = token
        self._connection = connection
        self._carrier = carrier
        self._at_once = carrier.at_once
        self._whole = BatchPart(carrier, 0, self.environments)
        self._closed = False

    def reset(
        self,
        *,
        where: NDArray[np.bool_] | None = None,
        seed: SupportsIndex | None = None,
        seeds: Sequence[int] | NDArray[np.uint64] | None = None,
        timeout: float = WAIT_SECONDS,
    ) -> BatchStep:
        """Begins episodes: without seeds the next of each environment, the very first time its first.

        What was sent before for environments that are all begun anew is not to be received any more.

        Args:
            where: `bool[environments]`, which ones; all when left out.
            seed: A new seed for the batch, for these environments: they begin as if opened with it.
            seeds: The seed of this one episode, for each of these environments; later ones follow from the
                batch's seed.
            timeout: Seconds.

        Returns:
            The rows of all environments; those not reset are as they were, without rewards.

        Raises:
            ValueError: `where` or the seed cannot be.
            InvalidRequest: There are not as many seeds as environments.
        """
        key = None if seed is None else _seed(seed)
        sent: Any = result_of(
            self._carrier.reset(
                _rows.packed(where, self.environments),
                key,
                () if seeds is None else [_seed(one) for one in seeds],
            )
        )
        return result_of(self._carrier.receive(sent, timeout))

    def step(
        self,
        actions: ArrayLike,
        *,
        where: NDArray[np.bool_] | None = None,
        timeout: float = WAIT_SECONDS,
    ) -> BatchStep:
        """Makes a decision in every environment and waits for the next ones.

        Args:
            actions: `int[environments]`, the index of each action. Where an episode is
                over, it is ignored.
            where: `bool[environments]`, which of them make a decision; all when left out. The actions of
                the others are ignored, and they stay as they are: their rows show what they showed, without
                reward.
            timeout: Seconds.

        Raises:
            IllegalAction: There is no such action, or it is not legal now and the batch refuses such; no
                environment was stepped.
            EpisodeOver: An episode is over, and the batch resets none by itself; none was stepped.
        """
        at_once = self._at_once
        if at_once is not None and where is None and not self._whole._sent:
            step = at_once(actions)
            if step is not None:
                return step
        return result_of(self._whole.step(actions, where=where, timeout=timeout))

    def send(self, actions: ArrayLike, *, where: NDArray[np.bool_] | None = None) -> None:
        """Sends an action for all environments, or those of `where`, and does not wait for what follows."""
        result_of(self._whole.send(actions, where=where))

    def recv(self, *, timeout: float = WAIT_SECONDS) -> BatchStep:
        """Waits for the decisions that follow the earliest actions sent and not received."""
        return result_of(self._whole.recv(timeout=timeout))

    def parts(self, count: int) -> tuple[BatchPart, ...]:
        """Divides the environments into runs of neighbours, as equal as can be.

        Raises:
            ValueError: There are not so many environments.
        """
        if not 1 <= count <= self.environments:
            raise ValueError(f"{self.environments} environments make no {count} parts")
        bounds = [self.environments * part // count for part in range(count + 1)]
        return tuple(BatchPart(self._carrier, first, end - first) for first, end in pairwise(bounds))

    def halves(self) -> tuple[BatchPart, BatchPart]:
        """Two parts, of which one is decided here while the other is being stepped by the server.

        In an event loop each reset, send and receive is awaited.

        ```python
        parts, shown = batch.halves(), batch.reset()
        for part in parts:
            part.send(policy(shown.view[part.rows], shown.mask[part.rows]))
        while training:
            for part in parts:
                shown = part.recv()
                part.send(policy(shown.view, shown.mask))
        ```
        """
        first, second = self.parts(2)
        return first, second

    def save(self, where: NDArray[np.bool_] | None = None) -> bytes:
        """Saves environments as bytes that tell everything; for a server with the same snapshot key.

        Args:
            where: `bool[environments]`, which ones; all when left out.
        """
        return result_of(self._carrier.save(_rows.packed(where, self.environments)))

    def text(self, environment: int, *, seat: int) -> str:
        """The position of an environment as text for people and language models, as a seat may know it.

        Args:
            environment: The environment, counted from 0.
            seat: The seat.

        Raises:
            InvalidRequest: There is no such environment or seat.
        """
        return result_of(self._carrier.text(environment, seat))

    def load(self, snapshot: bytes, where: NDArray[np.bool_] | None = None) -> BatchStep:
        """Puts saved environments in the places of as many; they go on exactly as those saved would have.

        Args:
            snapshot: What `save` gave, of a batch of the same table and `skip_forced`.
            where: `bool[environments]`, whose places they take, ascending: as many as were saved, each of the
                same line-up as the one saved; all when left out.

        Returns:
            The rows of all environments, without rewards.

        Raises:
            InvalidRequest: It was altered, or is of another table, line-up or number of environments.
        """
        return result_of(self._carrier.load(snapshot, _rows.packed(where, self.environments)))

    def search(
        self,
        worlds: int = 1,
        *,
        where: NDArray[np.bool_] | None = None,
        places: int | None = None,
        seed: SupportsIndex | None = None,
        reward: Reward = "rank",
        skip_forced: bool = False,
        timeout: float = SEARCH_SECONDS,
    ) -> Search:
        """Draws worlds that the seats can believe in whose decisions are shown; use it in a `with` statement.

        Args:
            worlds: How many for each environment; they lie beside each other.
            where: `bool[environments]`, for which ones; all when left out.
            places: How many places the search has, for copies; as many as there are worlds when left out.
            seed: The seed from which the worlds follow, and the luck to come in each; the server draws one
                when it is left out.
            reward: What seats are rewarded for there.
            skip_forced: Whether decisions with a single legal action are played at once.
            timeout: Seconds.

        Raises:
            EpisodeOver: An episode is over.
            InvalidRequest: The rows of so many worlds do not fit a message, or there are fewer places.
            ServerFull: The server holds as much as it may: places count as environments do.
        """
        result_of(self._carrier.make_way())
        return result_of(
            begin(
                self._connection,
                self.token,
                self.spec,
                {"batch_id": self.id, "mask": _rows.packed(where, self.environments)},
                worlds=worlds,
                places=places,
                seed=seed,
                reward=reward,
                skip_forced=skip_forced,
                timeout=timeout,
            )
        )

    def close(self) -> None:
        """Closes the batch. Does nothing when the server has it no longer, or is gone itself."""
        if not self._closed:
            result_of(self._carrier.close())
            self._closed = True

    def __repr__(self) -> str:
        """Names game and batch, never the token."""
        return f"<Batch {self.id} of {self.environments} times {self.spec.game.id}>"


def carrier(
    connection: Connection,
    token: str,
    about: dict[str, Any],
    spec: GameSpec,
    *,
    keep: bool,
    timeout: float,
) -> BatchStream | LocalCarrier:
    """What takes to its engine what a batch is asked for that was opened over a connection."""
    if isinstance(connection, LocalConnection):
        return LocalCarrier(connection, about, spec)
    return BatchStream(connection, token, about, spec, keep=keep, timeout=timeout)


class BatchPart:
    """A run of environments of a batch, which is sent actions while others are being decided.

    Attributes:
        first: Its first environment.
        environments: How many it has.
    """

    def __init__(self, carrier: BatchStream | LocalCarrier, first: int, environments: int) -> None:
        """Is called by `Batch.parts`.

        It refers to the carrier, not to the batch: the two would make a cycle, which keeps the stream of a
        forgotten batch until garbage is collected.
        """
        self.first = first
        self.environments = environments
        self._carrier = carrier
        self._sent: deque[Any] = deque()

    @property
    def rows(self) -> slice:
        """Where its rows stand among those of the whole batch."""
        return slice(self.first, self.first + self.environments)

    def send(self, actions: ArrayLike, *, where: NDArray[np.bool_] | None = None) -> None:
        """Sends an action for every environment, and does not wait for what follows.

        A batch opened with `keep` first waits for what was sent before for any of the same environments.

        Args:
            actions: `int[n]`, the index of each action. Where an episode is over, it is ignored.
            where: `bool[n]`, which environments make a decision; all when left out. The actions of others are
                ignored, and they stay as they are: their rows show what they showed, without reward.
        """
        chosen = _rows.packed(where, self.environments)
        given = self._bytes(actions, where)
        self._sent.append(result_of(self._carrier.step(self.rows, given, chosen)))

    def recv(self, *, timeout: float = WAIT_SECONDS) -> BatchStep:
        """Waits for the decisions that follow the earliest actions sent and not received.

        Args:
            timeout: Seconds.

        Raises:
            IllegalAction: An action is not legal now, and the batch refuses such; none was stepped.
            EpisodeOver: An episode is over, and the batch resets none by itself; none was stepped.
            ConnectionLost: The answer was lost. With `keep` it may be received again; else the batch is gone.
            RuntimeError: No actions have been sent.
        """
        if not self._is_waiting():
            raise RuntimeError("nothing has been sent whose answer could be received")
        sent = self._sent[0]
        try:
            return result_of(self._carrier.receive(sent, timeout))
        finally:
            if not self._carrier.may_answer(sent):
                self._sent.popleft()

    def step(
        self,
        actions: ArrayLike,
        *,
        where: NDArray[np.bool_] | None = None,
        timeout: float = WAIT_SECONDS,
    ) -> BatchStep:
        """Makes a decision in every environment and waits for the next ones: `send`, then `recv`."""
        if self._is_waiting():
            raise RuntimeError("receive what has been sent before another step")
        result_of(self.send(actions, where=where))
        return result_of(self.recv(timeout=timeout))

    def _is_waiting(self) -> bool:
        """Whether something has been sent and is still to be received."""
        while self._sent and self._carrier.is_dropped(self._sent[0]):
            self._sent.popleft()
        return bool(self._sent)

    def _bytes(self, actions: ArrayLike, where: NDArray[np.bool_] | None) -> bytes:
        given = np.asarray(actions)
        if given.shape != (self.environments,):
            raise ValueError(f"actions have shape {given.shape}, not ({self.environments},)")
        if given.dtype.kind not in "iu":
            raise TypeError(f"actions are whole numbers, not {given.dtype}")
        if where is not None:
            given = np.where(where, given, 0)
        if given.dtype == np.uint8:
            return given.tobytes()
        most = np.iinfo(np.uint8).max
        if given.min() < 0 or given.max() > most:
            at = int(np.flatnonzero((given < 0) | (given > most))[0])
            environment, action, known = self.first + at, int(given[at]), len(self._carrier.spec.actions)
            raise IllegalAction(
                f"environment {environment}: there is no action {action}, only 0 to {known - 1}",
                reason="BATCH_ACTION_OUT_OF_RANGE",
                metadata={
                    "environment": str(environment),
                    "action": str(action),
                    "actions": str(known),
                },
            )
        return given.astype(np.uint8).tobytes()

    def __repr__(self) -> str:
        """Names its environments."""
        last = self.first + self.environments - 1
        return f"<environments {self.first} to {last} of batch {self._carrier.about['id']}>"


def _agents(line_ups: Sequence[Sequence[str]], first: int, environments: int) -> NDArray[np.bool_]:
    """Which seats of each environment are agents'."""
    by_line_up = np.array([[player == AGENT for player in players] for players in line_ups])
    numbers = first + np.arange(environments, dtype=np.uint64)
    agents: NDArray[np.bool_] = by_line_up[numbers % np.uint64(len(by_line_up))]
    agents.flags.writeable = False
    return agents
