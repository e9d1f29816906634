"""Python games for OpenSpiel. Needs `boardwire[open_spiel]`.

`register()` registers each game as `boardwire_<game>`; then OpenSpiel loads it by name:

```python
import boardwire.open_spiel
import pyspiel

boardwire.open_spiel.register()
game = pyspiel.load_game("boardwire_faraway(players=3,rng_seed=7)")
```

Turns are sequential: if several seats decide at the same time, the lowest goes first, and the others do not
see its choice. The only chance node is the deal. Its single outcome draws the seed that determines all later
randomness. A search from a state of the match itself therefore sees the true state, hidden cards and future
randomness included. `state.resample_from_infostate`, which `ISMCTSBot` calls, samples determinizations
(worlds) from what a seat knows.

With an `rng_seed`, the same calls in the same order produce the same deals, worlds and playouts. Searches
between deals do not change the deals. A bot's own random choices follow from the bot's own seed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pyspiel
from numpy.typing import NDArray
from open_spiel.python.algorithms import mcts

from ._positions import Dealt, Key, Position, World, table
from ._shared import shared_client
from ._spec import Game, GameOption
from ._types import NOBODY, RolloutPolicy

__all__ = ["BoardwireGame", "BoardwireObserver", "BoardwireState", "RolloutEvaluator", "register"]

#: The parameters of a game that are not options of the game.
_OWN = ("players", "rng_seed", "address")


def register(address: str | None = None) -> tuple[str, ...]:
    """Registers the games of a server with OpenSpiel.

    The parameters of a game are `players`, `rng_seed`, `address` and the game's options. `rng_seed`
    determines deals and searches; -1 makes them random. `address` is the server; if empty, it is the private
    server that the environments of this process share.

    Args:
        address: The server whose games to register; by default the private server.

    Returns:
        The names of all games of the server. Games that are already registered do not change.
    """
    names = []
    for game in shared_client(address).games():
        kind = _kind(game, address or "")
        names.append(kind.short_name)
        if kind.short_name not in pyspiel.registered_names():
            # OpenSpiel releases it after the interpreter has ended. A function would be freed then, and end
            # the process with an error. A class is not freed, because it refers to itself.
            made = type("BoardwireGame", (BoardwireGame,), {"_kind": kind, "_game": game.id})
            pyspiel.register_game(kind, made)
    return tuple(names)


def _kind(game: Game, address: str) -> pyspiel.GameType:
    return pyspiel.GameType(
        short_name=f"boardwire_{game.id}",
        long_name=game.name,
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.ZERO_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=game.max_seats,
        min_num_players=game.min_seats,
        provides_information_state_string=True,
        provides_information_state_tensor=True,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification={
            "players": game.min_seats,
            "rng_seed": -1,
            "address": address,
            **{option.name: _default(option) for option in game.options},
        },
    )


def _default(option: GameOption) -> str | int:
    """Returns the default, in the type that OpenSpiel gives such a value in a game string."""
    return option.default if option.min is None else int(option.default)


class BoardwireGame(pyspiel.Game):
    """A table of a game; `register` makes a subclass for each game.

    Attributes:
        key: The key of the table.
        spec: The spec of the table.
    """

    _kind: ClassVar[pyspiel.GameType]
    _game: ClassVar[str]

    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        """Is called by `pyspiel.load_game`.

        Raises:
            BoardwireError: The server does not offer the game at such a table.
        """
        given = {**self._kind.parameter_specification, **(params or {})}
        options = tuple((name, str(value)) for name, value in given.items() if name not in _OWN)
        self.key: Key = (self._game, given["players"], options, given["address"])
        self.spec = table(self.key).spec
        seed = given["rng_seed"]
        self._deals = np.random.default_rng(None if seed < 0 else seed)
        (self._searches,) = self._deals.spawn(1)
        info = pyspiel.GameInfo(
            num_distinct_actions=len(self.spec.actions),
            max_chance_outcomes=1,
            num_players=self.spec.seats,
            min_utility=-1.0,
            max_utility=1.0,
            utility_sum=0.0,
            max_game_length=self.spec.max_plies,
        )
        super().__init__(self._kind, info, dict(params or {}))

    def new_initial_state(self, _from: object = None) -> BoardwireState:
        """Returns the state before the deal."""
        return BoardwireState(self)

    def max_chance_nodes_in_history(self) -> int:
        """Returns 1, for the deal."""
        return 1

    def draw_seed(self) -> int:
        """Draws the seed of the next deal."""
        return int(self._deals.integers(1 << 64, dtype=np.uint64))

    def draw_search_seed(self) -> int:
        """Draws the seed of the next worlds or playouts."""
        return int(self._searches.integers(1 << 64, dtype=np.uint64))

    def make_py_observer(
        self, iig_obs_type: pyspiel.IIGObservationType | None = None, params: Any = None
    ) -> BoardwireObserver | None:
        """Returns an observer of a seat's view; None unless both public and private info are asked for."""
        kind = iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False)
        if not kind.public_info or kind.private_info != pyspiel.PrivateInfoType.SINGLE_PLAYER:
            return None
        return BoardwireObserver(self, kind.perfect_recall)


class BoardwireState(pyspiel.State):
    """A position of a match, or of a determinization of it."""

    def __init__(self, game: BoardwireGame) -> None:
        """Is called by the game."""
        super().__init__(game)
        self._key = game.key
        self._at: Position | None = None
        # For each seat, a digest of all its observations and actions so far.
        self._recalls: tuple[str, ...] = ("",) * game.spec.seats

    def current_player(self) -> int:
        """Returns the seat that decides, or the id of chance or of the terminal state."""
        if self._at is None:
            return int(pyspiel.PlayerId.CHANCE)
        return int(pyspiel.PlayerId.TERMINAL) if self._at.seat == NOBODY else self._at.seat

    def _legal_actions(self, player: int) -> list[int]:
        legal: list[int] = [] if self._at is None else self._at.mask.nonzero()[0].tolist()
        return legal

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Returns the single outcome of the deal, which draws a seed."""
        return [(0, 1.0)]

    def _apply_action(self, action: int) -> None:
        at = self._at
        if at is None:
            self._at = table(self._key).deal(self.get_game().draw_seed())
            return
        told = f"{self._recalls[at.seat]}|{at.views[at.seat].tobytes().hex()}|{action}"
        recalled = hashlib.blake2b(told.encode(), digest_size=16).hexdigest()
        self._recalls = (*self._recalls[: at.seat], recalled, *self._recalls[at.seat + 1 :])
        self._at = at.after(action)

    def _action_to_string(self, player: int, action: int) -> str:
        if player == pyspiel.PlayerId.CHANCE:
            return "deal"
        label: str = table(self._key).spec.actions[action].label
        return label

    def is_terminal(self) -> bool:
        """Returns whether the episode is over."""
        return self._at is not None and self._at.seat == NOBODY

    def returns(self) -> list[float]:
        """Returns 1 for the first place to -1 for the last, evenly spaced; 0 for all before the end."""
        if self._at is None:
            return [0.0] * len(self._recalls)
        # Recovers exact fractions from float32, so that the returns add up to 0.
        return [float(Fraction(float(each)).limit_denominator(1000)) for each in self._at.reward]

    def resample_from_infostate(self, player: int, sampler: object = None) -> BoardwireState:
        """Returns a determinization: it resamples all that a seat cannot know, future randomness included.

        The state shows only the view of the seat that decides. It cannot be serialized.

        Args:
            player: The seat that decides.
            sampler: Ignored, because `ISMCTSBot` makes an unseeded one for each call. The `rng_seed` of the
                game determines the worlds.

        Raises:
            ValueError: Another seat decides, or this state is itself a determinization.
        """
        if not isinstance(self._at, Dealt) or self._at.seat != player:
            raise ValueError(f"worlds are drawn for the seat that decides in a match, not for {player}")
        state: BoardwireState = self.clone()
        state._at = self._at.resampled(self.get_game().draw_search_seed())
        # A determinization does not include the past observations of other seats.
        state._recalls = tuple(held if seat == player else "" for seat, held in enumerate(self._recalls))
        return state

    def observed(self, player: int) -> NDArray[np.uint8] | None:
        """Returns the view of a seat: `uint8[bytes]`; None before the deal.

        Raises:
            ValueError: The state is a determinization, and another seat decides.
        """
        if self._at is None:
            return None
        if player not in self._at.views:
            raise ValueError(
                f"a resampled state shows no more than the seat that decides sees, not seat {player}"
            )
        return self._at.views[player]

    def recalled(self, player: int) -> str:
        """Returns a digest of a seat's views at its past decisions and of its actions."""
        return self._recalls[player]

    def rollout(self, playouts: int, policy: RolloutPolicy) -> NDArray[np.float32]:
        """Returns the mean reward of each seat over playouts in the server: `float32[seats]`.

        Raises:
            ValueError: The state is not a determinization: playouts would reveal the true state.
        """
        if not isinstance(self._at, World):
            raise ValueError(
                "resample_from_infostate first: playing on from the match itself tells what is true"
            )
        return self._at.rollout(playouts, policy, self.get_game().draw_search_seed())

    def __str__(self) -> str:
        """Returns the seed and the actions; they reveal every hidden card."""
        if self._at is None:
            return "before the deal"
        begun = f"seed {self._at.seed}:" if isinstance(self._at, Dealt) else "a world:"
        applied: list[int] = self.history()[1:]
        return " ".join([begun, *map(str, applied)])


class BoardwireObserver:
    """An observer of a seat's view, as features (`GameSpec.features`) or as a string.

    The string of an information state covers all that the seat has seen and chosen (perfect recall). The
    string of an observation covers the current view only, and so do the tensors of both.

    Attributes:
        tensor: `float32[features]`.
        dict: The same tensor under the name `view`.
    """

    def __init__(self, game: BoardwireGame, perfect_recall: bool) -> None:
        """Is called by the game."""
        self._spec = game.spec
        self._perfect_recall = perfect_recall
        self.tensor = np.zeros(len(game.spec.layout.names), np.float32)
        self.dict = {"view": self.tensor}

    def set_from(self, state: BoardwireState, player: int) -> None:
        """Fills the tensor with the features of a seat's view; with 0 before the deal."""
        view = state.observed(player)
        if view is None:
            self.tensor.fill(0)
        else:
            self._spec.features(view, out=self.tensor)

    def string_from(self, state: BoardwireState, player: int) -> str:
        """Returns the view as hexadecimal digits; with perfect recall, after the seat and its digest."""
        view = state.observed(player)
        shown = "" if view is None else view.tobytes().hex()
        return f"seat {player} {state.recalled(player)} {shown}" if self._perfect_recall else shown


class RolloutEvaluator(mcts.Evaluator):
    """An evaluator of determinizations by playouts in the server, with a uniform prior.

    ```python
    bot = ISMCTSBot(game, boardwire.open_spiel.RolloutEvaluator(), uct_c=1.0, max_simulations=200)
    ```
    """

    def __init__(self, playouts: int = 1, policy: RolloutPolicy = "estimate") -> None:
        """Configures the playouts.

        Args:
            playouts: The number of playouts for each state.
            policy: The policy of all seats: `estimate` or `random`.
        """
        self._playouts = playouts
        self._policy: RolloutPolicy = policy

    def evaluate(self, state: BoardwireState) -> NDArray[np.float32]:
        """Returns the mean reward of each seat over the playouts: `float32[seats]`."""
        return state.rollout(self._playouts, self._policy)

    def prior(self, state: BoardwireState) -> list[tuple[int, float]]:
        """Returns the legal actions with equal probabilities."""
        legal = state.legal_actions()
        return [(action, 1 / len(legal)) for action in legal]
