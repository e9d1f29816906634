"""A batch: many environments of one table, stepped together over one stream."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _values
from ._batch_stream import BatchStream, packed
from ._connection import Closing, Connection
from ._local import LocalConnection, LocalTransport
from ._search import SEARCH_SECONDS, Search, create_search
from ._seat import WAIT_SECONDS
from ._spec import GameSpec
from ._types import AGENT, Autoreset, BatchStep, LegalAction, Reward
from ._waiting import result_of
from .errors import IllegalAction, InvalidRequest


def _seed(value: SupportsIndex) -> int:
    """Converts a seed to an integer.

    Raises:
        ValueError: The seed is not from 0 to 2**64 - 1.
    """
    seed = operator.index(value)
    if not 0 <= seed < 1 << 64:
        raise ValueError(f"a seed must be from 0 to 2**64 - 1; got {seed}")
    return seed


class Batch(Closing):
    """Many environments of one table, stepped together; for one thread or task.

    Each environment shows one decision at a time: that of its lowest agent seat with a pending decision.
    Bots decide in the server. All requests use one stream, which opens with the first request.

    A batch ends with its connection unless it was opened with `keep`. With `keep`, the client numbers its
    requests. When the stream breaks, the client opens another and resends the unanswered requests. The
    server answers each of them and repeats no step. If the retry fails too, call `recv` again when the
    server can be reached.

    Attributes:
        id: The batch's id.
        spec: The spec of the table.
        environments: The number of environments.
        first_environment: The number of the first environment, for seeds and line-ups.
        line_ups: The player of each seat, `agent` or the name of a bot. Row i of a step has line-up
            (first_environment + i) % len(line_ups).
        agents: `bool[environments, seats]`, which seats are agent seats, played by the owner; read-only.
        duplicate_deals: Whether environments that differ only in their line-ups play the same deals.
        autoreset: What happens to an environment whose episode has ended.
        seed: The seed that the batch was opened with. `reset(seed=...)` does not change this attribute.
        token: The secret token that authenticates the owner.
    """

    def __init__(self, transport: BatchStream | LocalTransport, connection: Connection, token: str) -> None:
        """Is called by `Client.open_batch`; searches use `connection`."""
        self.id: str = transport.about["id"]
        self.spec = transport.spec
        config = transport.about["config"]
        self.environments: int = config["environments"]
        self.first_environment: int = config["first_environment"]
        self.line_ups: tuple[tuple[str, ...], ...] = tuple(each["players"] for each in config["line_ups"])
        self.agents = _agents(self.line_ups, self.first_environment, self.environments)
        self.duplicate_deals: bool = config["duplicate_deals"]
        self.autoreset: Autoreset = config["autoreset"]
        self.seed: int = config["seed"]
        self.token = token
        self._connection = connection
        self._transport = transport
        self._step_without_waiting = transport.step_without_waiting
        self._whole = BatchPart(transport, 0, self.environments)
        self._closed = False

    def reset(
        self,
        *,
        where: NDArray[np.bool_] | None = None,
        seed: SupportsIndex | None = None,
        seeds: Sequence[int] | NDArray[np.uint64] | None = None,
        timeout: float | None = WAIT_SECONDS,
    ) -> BatchStep:
        """Begins an episode in each environment, or in those of `where`.

        Without seeds, each environment begins its next episode, or its first if it was neither reset nor
        stepped. A reset discards a pending response if it resets every environment that the response covers.

        Args:
            where: `bool[environments]`, which environments to reset; all by default.
            seed: A new batch seed for these environments: they begin as if opened with it.
            seeds: The seed of this episode only, for each of these environments. The seeds of later episodes
                follow from the batch seed.
            timeout: Seconds; None for no limit.

        Returns:
            The rows of all environments. Environments that are not reset repeat their rows, without rewards.

        Raises:
            ValueError: `where` has another shape or dtype or selects no environment, or a seed is not from 0
                to 2**64 - 1.
            InvalidRequest: The number of seeds is not the number of environments to reset.
        """
        key = None if seed is None else _seed(seed)
        sent: Any = result_of(
            self._transport.reset(
                packed(where, self.environments),
                key,
                () if seeds is None else [_seed(one) for one in seeds],
            )
        )
        return result_of(self._transport.receive(sent, timeout))

    def step(
        self,
        actions: ArrayLike,
        *,
        where: NDArray[np.bool_] | None = None,
        timeout: float | None = WAIT_SECONDS,
    ) -> BatchStep:
        """Makes a decision in every environment and waits for the next decisions.

        Args:
            actions: `int[environments]`, the index of each action. Where an episode is over, the action is
                ignored.
            where: `bool[environments]`, which environments make a decision; all by default. The others
                ignore their actions and do not change: they repeat their rows, without reward.
            timeout: Seconds; None for no limit.

        Raises:
            IllegalAction: An index is out of range, or an action is illegal and the batch rejects illegal
                actions; no environment was stepped.
            EpisodeOver: An episode is over and autoreset is disabled; no environment was stepped.
        """
        step_now = self._step_without_waiting
        if step_now is not None and where is None and not self._whole._sent:
            step = step_now(actions)
            if step is not None:
                return step
        return result_of(self._whole.step(actions, where=where, timeout=timeout))

    def send(self, actions: ArrayLike, *, where: NDArray[np.bool_] | None = None) -> None:
        """Sends an action for each environment, or for those of `where`, without waiting for the response."""
        result_of(self._whole.send(actions, where=where))

    def recv(self, *, timeout: float | None = WAIT_SECONDS) -> BatchStep:
        """Waits for the response to the earliest `send` whose response is pending, and returns its rows."""
        return result_of(self._whole.recv(timeout=timeout))

    def parts(self, count: int) -> tuple[BatchPart, ...]:
        """Divides the environments into contiguous ranges of sizes as equal as possible.

        Raises:
            ValueError: `count` is less than 1 or more than the number of environments.
        """
        if not 1 <= count <= self.environments:
            raise ValueError(f"`count` must be from 1 to {self.environments}; got {count}")
        bounds = [self.environments * part // count for part in range(count + 1)]
        return tuple(BatchPart(self._transport, first, end - first) for first, end in pairwise(bounds))

    def halves(self) -> tuple[BatchPart, BatchPart]:
        """Divides the batch into two parts: the caller decides one while the server steps the other.

        In an event loop, await each `reset`, `send` and `recv`.

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
        """Saves environments as a snapshot: bytes that hold everything.

        A server with the same snapshot key can load it.

        Args:
            where: `bool[environments]`, which environments to save; all by default.
        """
        return result_of(self._transport.save(packed(where, self.environments)))

    def text(self, environment: int, *, seat: int, label_seed: SupportsIndex | None = None) -> str:
        """Describes a position as text for people and language models, as a seat may know it.

        Args:
            environment: The environment, counted from 0 within the batch.
            seat: The seat whose knowledge the text is limited to.
            label_seed: Exchanges names for neutral ones, such as `city 3`; see `Client.rules`.

        Raises:
            InvalidRequest: There is no such environment or seat.
        """
        text: str = result_of(self._describe(environment, seat, label_seed))["text"]
        return text

    def actions(
        self, environment: int, *, seat: int, label_seed: SupportsIndex | None = None
    ) -> tuple[LegalAction, ...]:
        """Returns the legal actions of a seat with their labels and phrases; none if it owes no decision.

        Args:
            environment: The environment, counted from 0 within the batch.
            seat: The seat.
            label_seed: Exchanges names for neutral ones, such as `city 3`; see `Client.rules`.

        Raises:
            InvalidRequest: There is no such environment or seat.
        """
        described = result_of(self._describe(environment, seat, label_seed))
        return _values.legal_actions(described["actions"])

    def _describe(self, environment: int, seat: int, label_seed: SupportsIndex | None) -> dict[str, Any]:
        limits = {"environment": (environment, self.environments), "seat": (seat, self.spec.seats)}
        for name, (number, count) in limits.items():
            # A message cannot hold this number; the server refuses others that are out of range.
            if not 0 <= number < 1 << 32:
                allowed = f"from 0 to {count - 1}"
                raise InvalidRequest(
                    f"`{name}` must be {allowed}; got `{number}`",
                    reason="FIELD_INVALID",
                    metadata={"field": name, "value": str(number), "expected": allowed},
                )
        exchange = None if label_seed is None else _seed(label_seed)
        return result_of(self._transport.describe(environment, seat, exchange))

    def load(self, snapshot: bytes, where: NDArray[np.bool_] | None = None) -> BatchStep:
        """Replaces environments by saved ones, which continue exactly as the saved ones would have.

        Args:
            snapshot: A snapshot from `save`, of a batch with the same table and `skip_forced`.
            where: `bool[environments]`, which environments to replace, in ascending order; all by default.
                They are as many as were saved, and each has the line-up of the saved one.

        Returns:
            The rows of all environments, without rewards.

        Raises:
            InvalidRequest: The snapshot was altered, or has another table, line-up or number of
                environments.
        """
        return result_of(self._transport.load(snapshot, packed(where, self.environments)))

    def search(
        self,
        worlds: int = 1,
        *,
        where: NDArray[np.bool_] | None = None,
        places: int | None = None,
        seed: SupportsIndex | None = None,
        reward: Reward = "rank",
        skip_forced: bool = False,
        timeout: float | None = SEARCH_SECONDS,
    ) -> Search:
        """Samples determinizations, called worlds, for the seats whose decisions the environments show.

        Each world is consistent with what its seat knows. Use the search in a `with` statement.

        Args:
            worlds: The number of worlds for each environment. Worlds of one environment are adjacent.
            where: `bool[environments]`, which environments to sample worlds for; all by default.
            places: The number of places, which hold the worlds and copies of them; by default the number of
                worlds.
            seed: The seed from which the worlds and the chance events in each follow; the server draws one
                by default.
            reward: What the seats are rewarded for in the worlds.
            skip_forced: Whether the engine plays decisions with a single legal action.
            timeout: Seconds; None for no limit.

        Raises:
            EpisodeOver: An episode is over.
            InvalidRequest: The rows of the worlds do not fit one message, or there are fewer places than
                worlds.
            ServerFull: The server is at its limit. Each place counts as one environment.
        """
        result_of(self._transport.require_no_pending())
        return result_of(
            create_search(
                self._connection,
                self.token,
                self.spec,
                {"batch_id": self.id, "mask": packed(where, self.environments)},
                worlds=worlds,
                places=places,
                seed=seed,
                reward=reward,
                skip_forced=skip_forced,
                timeout=timeout,
            )
        )

    def close(self) -> None:
        """Closes the batch. Does nothing if the server no longer has the batch or cannot be reached."""
        if not self._closed:
            result_of(self._transport.close())
            self._closed = True

    def __repr__(self) -> str:
        """Returns a text with the batch and its game, without the token."""
        return f"<Batch {self.id} of {self.environments} times {self.spec.id}>"


def open_transport(
    connection: Connection,
    token: str,
    about: dict[str, Any],
    spec: GameSpec,
    *,
    keep: bool,
    timeout: float | None,
) -> BatchStream | LocalTransport:
    """Returns the transport of a batch: a `LocalTransport` on a local connection, else a `BatchStream`."""
    if isinstance(connection, LocalConnection):
        return LocalTransport(connection, about, spec)
    return BatchStream(connection, token, about, spec, keep=keep, timeout=timeout)


class BatchPart:
    """A contiguous range of a batch's environments, stepped while the caller decides for other parts.

    Attributes:
        first: The first environment.
        environments: The number of environments.
    """

    def __init__(self, transport: BatchStream | LocalTransport, first: int, environments: int) -> None:
        """Is called by `Batch.parts`.

        A part refers to the transport, not to the batch. A reference to the batch would be a cycle, which
        keeps the stream of an unreferenced batch open until garbage collection.
        """
        self.first = first
        self.environments = environments
        self._transport = transport
        self._sent: deque[Any] = deque()

    @property
    def rows(self) -> slice:
        """Returns the slice of the whole batch's rows that this part covers."""
        return slice(self.first, self.first + self.environments)

    def send(self, actions: ArrayLike, *, where: NDArray[np.bool_] | None = None) -> None:
        """Sends an action for every environment, without waiting for the response.

        A batch opened with `keep` first waits for pending responses that cover any of these environments.

        Args:
            actions: `int[n]`, the index of each action. Where an episode is over, the action is ignored.
            where: `bool[n]`, which environments make a decision; all by default. The others ignore their
                actions and do not change: they repeat their rows, without reward.
        """
        chosen = packed(where, self.environments)
        indices = self._bytes(actions, where)
        self._sent.append(result_of(self._transport.step(self.rows, indices, chosen)))

    def recv(self, *, timeout: float | None = WAIT_SECONDS) -> BatchStep:
        """Waits for the response to the earliest `send` whose response is pending, and returns its rows.

        Args:
            timeout: Seconds; None for no limit.

        Raises:
            IllegalAction: An action is illegal and the batch rejects illegal actions; no environment was
                stepped.
            EpisodeOver: An episode is over and autoreset is disabled; no environment was stepped.
            ConnectionLost: The response was lost. With `keep`, call `recv` again; else the batch has ended.
            RuntimeError: No response is pending.
        """
        if not self._is_waiting():
            raise RuntimeError("no response is pending: call `send` first")
        sent = self._sent[0]
        try:
            return result_of(self._transport.receive(sent, timeout))
        finally:
            if not self._transport.may_have_response(sent):
                self._sent.popleft()

    def step(
        self,
        actions: ArrayLike,
        *,
        where: NDArray[np.bool_] | None = None,
        timeout: float | None = WAIT_SECONDS,
    ) -> BatchStep:
        """Makes a decision in every environment and waits for the next decisions: `send`, then `recv`."""
        if self._is_waiting():
            raise RuntimeError("a response is pending: call `recv` before another step")
        result_of(self.send(actions, where=where))
        return result_of(self.recv(timeout=timeout))

    def _is_waiting(self) -> bool:
        """Forgets discarded requests, then returns whether a response is pending."""
        while self._sent and self._transport.is_discarded(self._sent[0]):
            self._sent.popleft()
        return bool(self._sent)

    def _bytes(self, actions: ArrayLike, where: NDArray[np.bool_] | None) -> bytes:
        array = np.asarray(actions)
        if array.shape != (self.environments,):
            raise ValueError(f"`actions` must have shape ({self.environments},); got {array.shape}")
        if array.dtype.kind not in "iu":
            raise TypeError(f"`actions` must be integers; got {array.dtype}")
        if where is not None:
            array = np.where(where, array, 0)
        if array.dtype == np.uint8:
            return array.tobytes()
        maximum = np.iinfo(np.uint8).max
        if array.min() < 0 or array.max() > maximum:
            at = int(np.flatnonzero((array < 0) | (array > maximum))[0])
            environment, action, known = self.first + at, int(array[at]), len(self._transport.spec.actions)
            raise IllegalAction(
                f"environment {environment}: there is no action {action}; action indices are below {known}",
                reason="BATCH_ACTION_OUT_OF_RANGE",
                metadata={
                    "environment": str(environment),
                    "action": str(action),
                    "actions": str(known),
                },
            )
        return array.astype(np.uint8).tobytes()

    def __repr__(self) -> str:
        """Returns a text with the range of environments and the batch."""
        last = self.first + self.environments - 1
        return f"<environments {self.first} to {last} of batch {self._transport.about['id']}>"


def _agents(line_ups: Sequence[Sequence[str]], first: int, environments: int) -> NDArray[np.bool_]:
    """Returns which seats are agent seats, as a read-only `bool[environments, seats]`."""
    by_line_up = np.array([[player == AGENT for player in players] for players in line_ups])
    numbers = first + np.arange(environments, dtype=np.uint64)
    agents: NDArray[np.bool_] = by_line_up[numbers % np.uint64(len(by_line_up))]
    agents.flags.writeable = False
    return agents
