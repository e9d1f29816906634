"""Python games for OpenSpiel. Needs `boardwire[open_spiel]`.

`register()` lets `pyspiel.load_game("boardwire_faraway(players=3,rng_seed=7)")` load a game. Turns are
sequential: if several seats decide at the same time, the lowest goes first, and the others do not see its
choice. The only chance node is the deal. Its single outcome draws the seed that determines all later
randomness. A search from a state of the match itself therefore sees the true state, hidden cards and future
randomness included. `state.resample_from_infostate`, which `ISMCTSBot` calls, samples determinizations
from what a seat knows.

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

from . import NOBODY, GameSpec, shared_client
from ._positions import Dealt, Key, World, table

__all__ = ["BoardwireGame", "BoardwireObserver", "BoardwireState", "RolloutEvaluator", "register"]


def register(address: str | None = None) -> tuple[str, ...]:
    """Registers the games of a server with OpenSpiel; returns the names of all, registered earlier or now.

    The parameters of a game are `players`, `rng_seed`, `address` and the game's options. `rng_seed`
    determines deals and searches; -1 makes them random. `address` is the server; the default is the argument
    of the first `register`. An empty one means the private server of this process's environments.
    """
    kinds = [_kind(game, address or "") for game in shared_client(address).games()]
    for kind in kinds:
        if kind.short_name not in pyspiel.registered_names():
            # OpenSpiel releases it after the interpreter has ended. A function would be freed then, and end
            # the process with an error. A class is not freed, because it refers to itself.
            pyspiel.register_game(kind, type("BoardwireGame", (BoardwireGame,), {"_kind": kind}))
    return tuple(kind.short_name for kind in kinds)


def _kind(game: GameSpec, address: str) -> pyspiel.GameType:
    # In the type that OpenSpiel gives such a value in a game string.
    options = {one.name: one.default if one.min is None else int(one.default) for one in game.option_specs}
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
        parameter_specification={"players": game.min_seats, "rng_seed": -1, "address": address, **options},
    )


def _draw(random: np.random.Generator) -> int:
    return int(random.integers(1 << 64, dtype=np.uint64))


class BoardwireGame(pyspiel.Game):
    """A table of a game, which `spec` describes; `register` makes a subclass for each game."""

    _kind: ClassVar[pyspiel.GameType]

    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        """Is called by `pyspiel.load_game`."""
        parameters = {**self._kind.parameter_specification, **(params or {})}
        game = self._kind.short_name.removeprefix("boardwire_")
        own = ("players", "rng_seed", "address")
        options = tuple((name, str(value)) for name, value in parameters.items() if name not in own)
        self.key: Key = (game, parameters["players"], options, parameters["address"])
        self.spec = table(self.key).spec
        seed = parameters["rng_seed"]
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

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> BoardwireObserver | None:
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
        self._at: Dealt | World | None = None
        # For each seat, a digest of all its observations and actions so far.
        self._history_digests: tuple[str, ...] = ("",) * game.spec.seats

    def current_player(self) -> int:
        """Returns the seat that decides, or the id of chance or of the terminal state."""
        if self._at is None:
            return int(pyspiel.PlayerId.CHANCE)
        return int(pyspiel.PlayerId.TERMINAL) if self._at.seat == NOBODY else self._at.seat

    def _legal_actions(self, player: int) -> list[int]:
        return [] if self._at is None else list(map(int, self._at.mask.nonzero()[0]))

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Returns the single outcome of the deal, which draws a seed."""
        return [(0, 1.0)]

    def _apply_action(self, action: int) -> None:
        at = self._at
        if at is None:
            self._at = table(self.get_game().key).deal(_draw(self.get_game()._deals))
            return
        text = f"{self._history_digests[at.seat]}|{at.views[at.seat].tobytes().hex()}|{action}"
        digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
        before, after = self._history_digests[: at.seat], self._history_digests[at.seat + 1 :]
        self._history_digests = (*before, digest, *after)
        self._at = at.after(action)

    def _action_to_string(self, player: int, action: int) -> str:
        if player == pyspiel.PlayerId.CHANCE:
            return "deal"
        return str(self.get_game().spec.actions[action].label)

    def is_terminal(self) -> bool:
        """Returns whether the episode is over."""
        return self._at is not None and self._at.seat == NOBODY

    def returns(self) -> list[float]:
        """Returns 1 for the first place to -1 for the last, evenly spaced; 0 for all before the end."""
        if self._at is None:
            return [0.0] * len(self._history_digests)
        # Recovers exact fractions from float32, so that the returns add up to 0.
        return [float(Fraction(float(each)).limit_denominator(1000)) for each in self._at.reward]

    def resample_from_infostate(self, player: int, sampler: object = None) -> BoardwireState:
        """Returns a determinization: it resamples all that a seat cannot know, future randomness included.

        The state shows only the view of the seat that decides. It cannot be serialized. `sampler` is ignored,
        because `ISMCTSBot` makes an unseeded one for each call: the game's `rng_seed` determines the worlds.

        Raises:
            ValueError: Another seat decides, or this state is itself a determinization.
        """
        if not isinstance(self._at, Dealt) or self._at.seat != player:
            raise ValueError(f"`player` must be the seat that decides in a match; got {player}")
        state: BoardwireState = self.clone()
        state._at = self._at.resampled(_draw(self.get_game()._searches))
        # A determinization does not include the past observations of other seats.
        digests = enumerate(self._history_digests)
        state._history_digests = tuple(digest if seat == player else "" for seat, digest in digests)
        return state

    def observed(self, player: int) -> NDArray[np.uint8] | None:
        """Returns the view of a seat; None before the deal. A determinization shows the deciding seat."""
        if self._at is None:
            return None
        if player not in self._at.views:
            raise ValueError(f"a resampled state has no view of seat {player}, which does not decide")
        return self._at.views[player]

    def __str__(self) -> str:
        """Returns the seed and the actions; they reveal every hidden card."""
        if self._at is None:
            return "before the deal"
        origin = f"seed {self._at.seed}:" if isinstance(self._at, Dealt) else "a world:"
        return " ".join([origin, *map(str, self.history()[1:])])


class BoardwireObserver:
    """An observer of a seat's view, as features (`GameSpec.features`) or as a string.

    The string of an information state covers all that the seat has seen and chosen (perfect recall). The
    string of an observation covers the current view only, and so does `tensor`, `float32[features]`, of both.
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
        self.tensor[:] = 0 if view is None else self._spec.features(view)

    def string_from(self, state: BoardwireState, player: int) -> str:
        """Returns the view as hexadecimal digits; with perfect recall, after the seat and its digest."""
        view = state.observed(player)
        digits = "" if view is None else view.tobytes().hex()
        return f"seat {player} {state._history_digests[player]} {digits}" if self._perfect_recall else digits


class RolloutEvaluator(mcts.Evaluator):
    """An evaluator of determinizations by playouts in the server, with a uniform prior."""

    def __init__(self, playouts: int = 1, policy: str = "estimate") -> None:
        """Sets the number of playouts for each state, and the policy of all seats, as in `Search.rollout`."""
        self._playouts = playouts
        self._policy = policy

    def evaluate(self, state: BoardwireState) -> NDArray[np.float32]:
        """Returns the mean reward of each seat over the playouts: `float32[seats]`.

        Raises:
            ValueError: The state is not a determinization: playouts would reveal the true state.
        """
        if not isinstance(state._at, World):
            raise ValueError(
                "call `resample_from_infostate` first: playouts of the match itself would reveal hidden cards"
            )
        return state._at.rollout(self._playouts, self._policy, _draw(state.get_game()._searches))

    def prior(self, state: BoardwireState) -> list[tuple[int, float]]:
        """Returns the legal actions with equal probabilities."""
        legal = state.legal_actions()
        return [(action, 1 / len(legal)) for action in legal]
