"""Conversion of recordings to Minari datasets. Only this module needs minari."""

from __future__ import annotations

import copy
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import gymnasium
import minari
import numpy as np
from gymnasium.envs.registration import EnvSpec
from minari.data_collector import EpisodeBuffer
from minari.storage.datasets_root_dir import get_dataset_path

from . import Client, Recording, RecordingFacts, shared_client
from ._registration import register_games
from .envs import ObservationEncoder, ObservationKind


def datasets(
    recording: Recording,
    name: str,
    observation: ObservationKind,
    player: str | None,
    progress: Callable[[int], object] | None,
    client: Client | None,
    about: Mapping[str, Any],
) -> tuple[minari.MinariDataset, ...]:
    """Creates a dataset for each seat; see `Recording.to_minari`."""
    facts = recording.facts
    spec = recording.spec(client or shared_client(None))
    (game_id,) = register_games([spec])
    encoder = ObservationEncoder(spec, observation, "observation")
    created = []
    with ExitStack() as unfinished:
        for seat in range(facts.seats):
            seat_players = {players[seat] for players in facts.line_ups}
            if player is not None and player not in seat_players:
                continue
            metadata = {
                "algorithm_name": player or ", ".join(sorted(seat_players)),
                "description": f"Seat {seat} of {facts.seats} in {spec.name}, rules version "
                f"{facts.rules_version}, rewarded for {facts.reward}.",
                **about,
            }
            folder = get_dataset_path(f"{name}-seat{seat}-v0")
            if not folder.exists():
                # On an error or interrupt, remove the new datasets: partial ones would block the next call.
                unfinished.callback(shutil.rmtree, folder, ignore_errors=True)
            with warnings.catch_warnings():
                # Minari warns about missing metadata that only the caller knows: author, link to the code.
                warnings.simplefilter("ignore", UserWarning)
                created.append(
                    minari.create_dataset_from_buffers(
                        f"{name}-seat{seat}-v0",
                        _buffers(recording, encoder, seat, player, progress),
                        eval_env=_environment(facts, game_id, seat, player, observation),
                        observation_space=encoder.observation_space,
                        action_space=encoder.action_space,
                        jpeg_encoding=False,
                        **metadata,
                    )
                )
        unfinished.pop_all()
    return tuple(created)


def _buffers(
    recording: Recording,
    encoder: ObservationEncoder,
    seat: int,
    player: str | None,
    progress: Callable[[int], object] | None,
) -> Iterator[EpisodeBuffer]:
    for part in recording.parts(seat=seat, player=player):
        for run in part.runs():
            decisions = run.decisions
            ends = np.zeros(len(decisions), np.bool_)
            ends[-1:] = True
            terminates = bool(run.is_terminal[-1])
            yield EpisodeBuffer(
                seed=int(run.seed[0]),
                observations=encoder(run.observation, run.mask),
                actions=decisions.action.astype(np.int64),
                rewards=decisions.reward,
                terminations=ends & terminates,
                truncations=ends & (not terminates),
            )
            if progress is not None:
                progress(1)


def _environment(
    facts: RecordingFacts, game_id: str, seat: int, player: str | None, observation: ObservationKind
) -> EnvSpec | None:
    """Returns the spec of a seat's evaluation environment; None unless it always met the same bots."""
    opponents, *others = {
        (*players[:seat], *players[seat + 1 :])
        for players in facts.line_ups
        if player in (None, players[seat])
    }
    if others or set(opponents) & set(facts.policies):
        return None
    spec = copy.deepcopy(gymnasium.spec(game_id))
    spec.kwargs.update(
        seats=facts.seats,
        agent_seat=seat,
        opponents=list(opponents),
        options=dict(facts.options),
        observation=observation,
        mask="observation",
        reward=facts.reward,
    )
    return spec
