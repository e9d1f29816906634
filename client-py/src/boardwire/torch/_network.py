"""The network for any game, and the choice of its actions."""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .._features import described
from .._rollouts import Decisions
from .._spec import GameSpec
from ._encoder import Encoder

#: The logit of an illegal action.
_ILLEGAL_LOGIT = -1e9
#: The least log-probability. Far smaller ones make `exp` fifty times as slow.
_LEAST_LOG_PROBABILITY = -80.0


class Components(nn.Module):
    """An embedding of the components of all tables: a projection of the printed data plus a learned vector.

    Its weights are `float32[rows, width]`, in the order of `GameSpec.row_offsets`. Row 0 of each table stands
    for no component, and its weights are 0.
    """

    def __init__(self, spec: GameSpec, width: int) -> None:
        """Initializes the learned vectors to 0, so that only the printed data counts at first."""
        super().__init__()
        tables = spec.tables
        # The tables have no common columns.
        printed = torch.block_diag(*(torch.tensor(described(table, tables)[1]) for table in tables.values()))
        is_component = torch.ones(len(printed), 1)
        is_component[list(spec.row_offsets.values())] = 0
        self.register_buffer("printed", printed, persistent=False)
        self.register_buffer("is_component", is_component, persistent=False)
        self.shared = nn.Linear(printed.shape[1], width, bias=False)
        self.own = nn.Parameter(torch.zeros(len(printed), width))

    def forward(self) -> Tensor:
        """Returns the weights, `float32[rows, width]`."""
        return (self.shared(self.printed) + self.own) * self.is_component


class Network(nn.Module):
    """A small policy and value network for any game.

    The encoder maps a view to the first hidden layer and to a part of the query. The other part is a
    projection of the last hidden layer. The key of an action sums a learned vector and a projection of its
    component's embedding. The action's verb selects this projection. A logit is the dot product of query and
    key, plus a bias. So the query can sum how components in play affect the named component.

    Attributes:
        spec: The spec of the table that the network plays.
        facts: The keyword arguments of the constructor, to build a network of the same shape.
    """

    def __init__(
        self, spec: GameSpec, *, width: int = 32, hidden: int = 128, layers: int = 2, scale: float = 1.0
    ) -> None:
        """Initializes a policy that is nearly uniform, and values of nearly 0.

        Args:
            spec: The spec of the table.
            width: The length of a component's embedding.
            hidden: The units of a hidden layer.
            layers: The number of hidden layers, at least 1.
            scale: A factor of the logits. With a larger one, the policy can become certain sooner.
        """
        super().__init__()
        self.spec = spec
        self._frozen: tuple[Tensor, Tensor] | None = None
        self.facts: dict[str, Any] = {"width": width, "hidden": hidden, "layers": layers, "scale": scale}
        self.components = Components(spec, width)
        self.encoder = Encoder(spec, width, hidden + hidden // 2)
        body: list[nn.Module] = [nn.LayerNorm(hidden), nn.ReLU()]
        for before, after in pairwise([hidden] * layers):
            body += [nn.Linear(before, after), nn.LayerNorm(after), nn.ReLU()]
        self.body = nn.Sequential(*body)
        verbs = sorted({action.verb for action in spec.actions})
        verb = np.array([verbs.index(action.verb) for action in spec.actions])
        row = np.maximum(spec.action_rows, 0).astype(np.int64)
        self.register_buffer("row", torch.from_numpy(row), persistent=False)
        has_verb = torch.from_numpy(verb) == torch.arange(len(verbs)).unsqueeze(1)
        self.register_buffer("has_verb", has_verb.float().unsqueeze(2), persistent=False)
        # The same component scores differently for different verbs.
        self.keys = nn.Parameter(torch.randn(len(verbs), width, hidden // 2) * width**-0.5)
        self.own = nn.Parameter(torch.zeros(len(spec.actions), hidden // 2))
        self.bias = nn.Parameter(torch.zeros(len(spec.actions)))
        self.query = nn.Linear(hidden, hidden // 2)
        self.value = nn.Linear(hidden, 1)
        with torch.no_grad():
            self.query.weight *= 0.1
            self.value.weight *= 0.1
            for weights in self.encoder.parameters():
                weights[..., hidden:] *= 0.1

    def forward(self, view: Tensor) -> tuple[Tensor, Tensor]:
        """Computes the logits and values of positions.

        Args:
            view: `uint8[n, bytes]`, views of the deciding seats as the server sends them.

        Returns:
            The unmasked logits `float32[n, actions]`, and the values `float32[n]`.
        """
        table, keys = self._frozen or self._tables()
        encoded, direct = self.encoder(view, table).split(self.facts["hidden"], 1)
        hidden = self.body(encoded)
        logits = self.facts["scale"] * ((self.query(hidden) + direct) @ keys.T + self.bias)
        return logits, self.value(hidden).squeeze(1)

    def _tables(self) -> tuple[Tensor, Tensor]:
        """Returns the table of the encoder and the keys of the actions."""
        components = self.components()
        # An action that names no component uses row 0 of the first table, whose weights are 0.
        named = (components[self.row] @ self.keys * self.has_verb).sum(0)
        return self.encoder.table(components), named + self.own

    @torch.no_grad()
    def frozen(self) -> Network:
        """Returns a copy that only acts: it computes the tables once, not for each batch."""
        frozen = copy.deepcopy(self)
        frozen._frozen = frozen._tables()
        return frozen


def log_probabilities(logits: Tensor, mask: Tensor) -> Tensor:
    """Returns the log-probabilities of actions, at least -80: the value of illegal ones.

    Args:
        logits: `float32[n, actions]`.
        mask: `bool[n, actions]`, the legal actions.
    """
    legal = logits.masked_fill(~mask, _ILLEGAL_LOGIT)
    return legal.log_softmax(1).clamp_min(_LEAST_LOG_PROBABILITY)


@torch.no_grad()
def sample(
    network: nn.Module,
    decisions: Decisions,
    *,
    best: bool = False,
    explore: float = 0.0,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Chooses legal actions, as a `Learner` does.

    Args:
        network: A module on the CPU that returns logits and values, as `Network` does.
        decisions: The decisions.
        best: Whether to take the likeliest action instead of sampling one.
        explore: The share of decisions that take a uniformly random legal action instead.
        generator: The source of random numbers; PyTorch's default one without it.

    Returns:
        The actions `int64[n]`, their log-probabilities `float32[n]`, and the values `float32[n]`.
    """
    # Copies, because the arrays of a step are read-only and a tensor that shares their memory cannot be.
    logits, value = network(torch.tensor(decisions.view))
    mask = torch.tensor(decisions.mask)
    chances = log_probabilities(logits, mask)
    weights = chances.exp()
    if explore:
        is_random = torch.rand(len(mask), 1, generator=generator) < explore
        weights = torch.where(is_random, mask.float(), weights)
    action = chances.argmax(1) if best else weights.multinomial(1, generator=generator).squeeze(1)
    return action, chances.gather(1, action[:, None]).squeeze(1), value
