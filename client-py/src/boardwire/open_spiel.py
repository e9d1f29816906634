"""The games as Python games of OpenSpiel. Needs `boardwire[open_spiel]`.

`register()` makes them known as `boardwire_<game>`; then OpenSpiel loads them by name:

```python
import boardwire.open_spiel
import pyspiel

boardwire.open_spiel.register()
game = pyspiel.load_game("boardwire_faraway(players=3,rng_seed=7)")
```

Turns are sequential: of the seats that owe a decision the lowest comes first, and the others see nothing of
its choice. All chance is one node, the deal, whose single outcome draws the seed from which all luck
follows. So whoever searches a state of the match itself searches what is true, hidden cards and luck to come
included. `state.resample_from_infostate`, as `ISMCTSBot` uses it, gives worlds drawn from what a seat knows.

With an `rng_seed` the same calls in the same order see the same deals, worlds and playouts; the deals are the
same whatever is searched between them. What a bot draws by itself follows from its own seed.
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

#: Names of a game's parameters that are no options.
_OWN = ("players", "rng_seed", "address")


def register(address: str | None = None) -> tuple[str, ...]:
    """Makes the games of a server known to OpenSpiel.

    Parameters of a game are `players`; `rng_seed`, from which deals and searches follow, or -1 for fresh
    luck; `address`, the server, where it is not the private one that the environments of this process share;
    and the game's options.

    Args:
        address: The server whose games they are; the private one when left out.

    Returns:
        Their names; those registered before stay as they are.
    """
    names = []
    for game in shared_client(address).games():
        kind = _kind(game, address or "")
        names.append(kind.short_name)
        if kind.short_name not in pyspiel.registered_names():
            # OpenSpiel lets go of it after the interpreter has ended. A class, which refers to itself, is not
            # freed then; a function would be, and end the process with an error.
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
    """Of the type that OpenSpiel reads a value in a game's string as."""
    return option.default if option.min is None else int(option.default)


class BoardwireGame(pyspiel.Game):
    """A table of a game; each game has a class of its own.

    Attributes:
        key: What it is, among tables.
        spec: The table's description.
    """

    _kind: ClassVar[pyspiel.GameType]
    _game: ClassVar[str]

    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        """Is called by `pyspiel.load_game`.

        Raises:
            BoardwireError: The game is not served at such a table.
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
        """The state before the deal."""
        return BoardwireState(self)

    def max_chance_nodes_in_history(self) -> int:
        """The deal alone."""
        return 1

    def draw_seed(self) -> int:
        """The seed of the next deal."""
        return int(self._deals.integers(1 << 64, dtype=np.uint64))

    def draw_search_seed(self) -> int:
        """The seed of the next worlds or playouts."""
        return int(self._searches.integers(1 << 64, dtype=np.uint64))

    def make_py_observer(
        self, iig_obs_type: pyspiel.IIGObservationType | None = None, params: Any = None
    ) -> BoardwireObserver | None:
        """An observer of what a seat may know; none for what is public, or private, alone."""
        kind = iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False)
        if not kind.public_info or kind.private_info != pyspiel.PrivateInfoType.SINGLE_PLAYER:
            return None
        return BoardwireObserver(self, kind.perfect_recall)


class BoardwireState(pyspiel.State):
    """A position of a match, or of a world that a seat can believe in."""

    def __init__(self, game: BoardwireGame) -> None:
        """Is called by the game."""
        super().__init__(game)
        self._key = game.key
        self._at: Position | None = None
        # What each seat has seen and chosen so far: a digest.
        self._recalls: tuple[str, ...] = ("",) * game.spec.seats

    def current_player(self) -> int:
        """The seat that decides."""
        if self._at is None:
            return int(pyspiel.PlayerId.CHANCE)
        return int(pyspiel.PlayerId.TERMINAL) if self._at.seat == NOBODY else self._at.seat

    def _legal_actions(self, player: int) -> list[int]:
        legal: list[int] = [] if self._at is None else self._at.mask.nonzero()[0].tolist()
        return legal

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """One, which draws a seed."""
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
        """Whether the episode is over."""
        return self._at is not None and self._at.seat == NOBODY

    def returns(self) -> list[float]:
        """1 for the first place, -1 for the last, evenly between; 0 for all while it goes on."""
        if self._at is None:
            return [0.0] * len(self._recalls)
        # As the fractions that they are, so that they add up to 0.
        return [float(Fraction(float(each)).limit_denominator(1000)) for each in self._at.reward]

    def resample_from_infostate(self, player: int, sampler: object = None) -> BoardwireState:
        """A state with all drawn anew that a seat cannot know, luck to come included.

        It shows what the seat may know that decides, and nothing of the others; it cannot be serialized.

        Args:
            player: The seat that decides.
            sampler: Ignored: `ISMCTSBot` makes one for each call, without a seed. Worlds follow from the
                `rng_seed` of the game.

        Raises:
            ValueError: Another seat decides, or this is such a state itself.
        """
        if not isinstance(self._at, Dealt) or self._at.seat != player:
            raise ValueError(f"worlds are drawn for the seat that decides in a match, not for {player}")
        state: BoardwireState = self.clone()
        state._at = self._at.resampled(self.get_game().draw_search_seed())
        # What others have seen in a world that was made up nobody knows.
        state._recalls = tuple(held if seat == player else "" for seat, held in enumerate(self._recalls))
        return state

    def observed(self, player: int) -> NDArray[np.uint8] | None:
        """What a seat may know: `uint8[bytes]`; None before the deal.

        Raises:
            ValueError: It is a world of a search, and another seat decides.
        """
        if self._at is None:
            return None
        if player not in self._at.views:
            raise ValueError(
                f"a resampled state shows no more than the seat that decides sees, not seat {player}"
            )
        return self._at.views[player]

    def recalled(self, player: int) -> str:
        """A digest of all that a seat has seen at its decisions, and of what it has chosen."""
        return self._recalls[player]

    def rollout(self, playouts: int, policy: RolloutPolicy) -> NDArray[np.float32]:
        """What the seats earn on average when the server plays on: `float32[seats]`.

        Raises:
            ValueError: It is no resampled state: playing it out would tell what is true.
        """
        if not isinstance(self._at, World):
            raise ValueError(
                "resample_from_infostate first: playing on from the match itself tells what is true"
            )
        return self._at.rollout(playouts, policy, self.get_game().draw_search_seed())

    def __str__(self) -> str:
        """The seed and the actions; whoever has them can compute every hidden card."""
        if self._at is None:
            return "before the deal"
        begun = f"seed {self._at.seed}:" if isinstance(self._at, Dealt) else "a world:"
        applied: list[int] = self.history()[1:]
        return " ".join([begun, *map(str, applied)])


class BoardwireObserver:
    """What a seat may know, as `GameSpec.features` makes numbers of it.

    The string of an information state holds all that the seat has seen and chosen (perfect recall), that of
    an observation what it may know now. The tensors of both are of what it may know now.

    Attributes:
        tensor: `float32[features]`.
        dict: The same by its name, `view`.
    """

    def __init__(self, game: BoardwireGame, perfect_recall: bool) -> None:
        """Is called by the game."""
        self._spec = game.spec
        self._perfect_recall = perfect_recall
        self.tensor = np.zeros(len(game.spec.layout.names), np.float32)
        self.dict = {"view": self.tensor}

    def set_from(self, state: BoardwireState, player: int) -> None:
        """Fills the tensor."""
        view = state.observed(player)
        if view is None:
            self.tensor.fill(0)
        else:
            self._spec.features(view, out=self.tensor)

    def string_from(self, state: BoardwireState, player: int) -> str:
        """The view as hexadecimal digits; before them, with perfect recall, a digest of those before."""
        view = state.observed(player)
        shown = "" if view is None else view.tobytes().hex()
        return f"seat {player} {state.recalled(player)} {shown}" if self._perfect_recall else shown


class RolloutEvaluator(mcts.Evaluator):
    """Judges resampled states by playouts in the server; all actions are as likely beforehand.

    ```python
    bot = ISMCTSBot(game, boardwire.open_spiel.RolloutEvaluator(), uct_c=1.0, max_simulations=200)
    ```
    """

    def __init__(self, playouts: int = 1, policy: RolloutPolicy = "estimate") -> None:
        """Says how.

        Args:
            playouts: How many for each state.
            policy: Who plays at all seats: `estimate`, or `random`.
        """
        self._playouts = playouts
        self._policy: RolloutPolicy = policy

    def evaluate(self, state: BoardwireState) -> NDArray[np.float32]:
        """What the seats earn on average: `float32[seats]`."""
        return state.rollout(self._playouts, self._policy)

    def prior(self, state: BoardwireState) -> list[tuple[int, float]]:
        """All legal actions, each as likely as the others."""
        legal = state.legal_actions()
        return [(action, 1 / len(legal)) for action in legal]
