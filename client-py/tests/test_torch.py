"""Networks in PyTorch: the encoding of views, the choice of actions, and exported networks."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tables import TABLES, lowest

import boardwire
from boardwire import Decisions

torch = pytest.importorskip("torch")
from boardwire.torch import Components, Encoder, Network, export, log_probabilities, sample  # noqa: E402


def positions(client: boardwire.Client, game: str, seats: int) -> tuple[boardwire.GameSpec, Decisions]:
    """Returns the decisions of 60 steps of four environments."""
    with client.open_batch(game, seats=seats, environments=4, seed=5, autoreset="same_step") as batch:
        step, steps = batch.reset(), []
        for _ in range(60):
            steps.append(step)
            step = batch.step(lowest(step.mask))
        view, mask, seat = (
            np.concatenate([getattr(each, name) for each in steps]) for name in ("view", "mask", "seat")
        )
        return batch.spec, Decisions(view, mask, seat, np.arange(len(seat)))


def slowly(spec: boardwire.GameSpec, view: NDArray[np.uint8], rows: Any, encoder: Encoder) -> Any:
    """Encodes a view value by value, with the weights in the order of the fields."""
    weights = [each.detach().numpy() for each in encoder.projections]
    projections = dict(zip(spec.tables, (iter(each) for each in weights), strict=True))
    words, numbers = iter(encoder.words.detach().numpy()), iter(encoder.weights.detach().numpy())
    encoded = encoder.bias.detach().numpy().astype(np.float64)
    for field in spec.fields.values():
        values: Any = field.decode(view).reshape(field.shape)
        if field.kind == "id":
            found = rows[spec.row_offsets[field.table] + values.astype(np.intp)]
            is_place = [axis.order == "places" for axis in field.axes]
            in_turn = [axis.order == "sequence" for axis in field.axes]
            by_place = itertools.product(
                *(range(n) if own else [slice(None)] for n, own in zip(field.shape, is_place, strict=True))
            )
            bags = list(by_place)
            for bag in bags:
                encoded += found[bag].reshape(-1, found.shape[-1]).sum(0) @ next(projections[field.table])
            if any(in_turn):
                for line in itertools.product(
                    *(
                        range(n) if not turn else [slice(None)]
                        for n, turn in zip(field.shape, in_turn, strict=True)
                    )
                ):
                    latest = [row for row, value in zip(found[line], values[line], strict=True) if value][-1:]
                    weight = next(projections[field.table])
                    encoded += sum((row @ weight for row in latest), np.zeros_like(encoded))
            for other in spec.fields.values():
                if other.kind == "category" and other.axes == field.axes and not all(is_place):
                    category: Any = other.decode(view).reshape(other.shape)
                    for bag in bags:
                        for name in range(1, other.max + 1):
                            own = found[bag][category[bag] == name]
                            encoded += own.sum(0) @ next(projections[field.table])
        elif field.kind in ("seat", "category"):
            for value in values.ravel():
                each = [next(words) for _ in range(field.max)]
                encoded += each[value - 1] if value else 0
        else:
            for value in values.ravel():
                encoded += next(numbers) * float(value) / max(field.usual_max, 1)
    left = [*projections.values(), words, numbers]
    assert [len(list(each)) for each in left] == [0] * len(left), "a weight is not used"
    return encoded


@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_an_encoder_encodes_every_field_of_a_view(client: boardwire.Client, game: str, seats: int) -> None:
    spec, decisions = positions(client, game, seats)
    torch.manual_seed(1)
    components = Components(spec, 6)
    torch.nn.init.normal_(components.own)
    rows = components()
    assert (rows[list(spec.row_offsets.values())] == 0).all()
    encoder = Encoder(spec, 6, 10)
    # Gradients take another path.
    with torch.set_grad_enabled(seats == 2):
        encoded = encoder(torch.from_numpy(decisions.view), encoder.table(rows)).detach().numpy()
    for at in range(0, len(encoded), 23):
        expected = slowly(spec, decisions.view[at], rows.detach().numpy(), encoder)
        np.testing.assert_allclose(encoded[at], expected, atol=1e-4)


@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_a_network_chooses_legal_actions(client: boardwire.Client, game: str, seats: int) -> None:
    spec, decisions = positions(client, game, seats)
    torch.manual_seed(2)
    network = Network(spec)
    mask = torch.from_numpy(decisions.mask)
    logits, value = network(torch.from_numpy(decisions.view))
    assert logits.shape == decisions.mask.shape
    assert value.shape == decisions.seat.shape
    chances = log_probabilities(logits, mask).exp()
    assert torch.allclose(chances.sum(1), torch.ones(len(mask)))
    assert (chances[mask == 0] < 1e-30).all()
    # A new network is nearly uniform.
    even = mask / mask.sum(1, keepdim=True)
    assert (chances - even).abs().max() < 0.25
    action, log_prob, same = sample(network, decisions)
    assert (decisions.mask[np.arange(len(mask)), action] == 1).all()
    assert torch.allclose(log_prob.exp(), chances.gather(1, action[:, None]).squeeze(1), atol=1e-6)
    assert torch.allclose(same, value, atol=1e-6)
    best, _, _ = sample(network, decisions, best=True)
    assert torch.equal(best, chances.argmax(1))


def test_a_network_accepts_read_only_arrays_without_a_warning(client: boardwire.Client) -> None:
    with client.open_batch("faraway", environments=2, seed=5) as batch:
        step = batch.reset()
        assert not step.view.flags.writeable
        sample(Network(batch.spec), Decisions(step.view, step.mask, step.seat, np.arange(2)))


def test_every_parameter_of_a_network_learns(client: boardwire.Client) -> None:
    spec, decisions = positions(client, "golden_compass", 2)
    torch.manual_seed(3)
    network = Network(spec, hidden=64)
    view, mask = torch.from_numpy(decisions.view), torch.from_numpy(decisions.mask)
    # The targets are the highest legal action, and the number of legal actions as the value.
    wanted = torch.from_numpy(decisions.mask.shape[1] - 1 - decisions.mask[:, ::-1].argmax(axis=1))
    count = mask.sum(1) / 10
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    before = {name: values.detach().clone() for name, values in network.named_parameters()}
    for _ in range(150):
        logits, value = network(view)
        loss = -log_probabilities(logits, mask).gather(1, wanted[:, None]).mean()
        loss = loss + (value - count).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.2
    # Components that no view names teach nothing.
    seen = {f.table for f in spec.fields.values() if f.kind == "id" and f.decode(decisions.view).any()}
    unseen = {f"encoder.projections.{n}" for n, table in enumerate(spec.tables) if table not in seen}
    learned = dict(network.named_parameters())
    assert {name for name, values in learned.items() if torch.equal(values, before[name])} == unseen


@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_an_exported_network_plays_like_the_original(game: str, seats: int, tmp_path: Path) -> None:
    torch.manual_seed(4)
    with boardwire.connect() as client:
        spec = client.game(game, seats=seats)
    network = Network(spec, width=8, hidden=32)
    with torch.no_grad():
        # Logits must differ by more than rounding errors.
        network.query.weight *= 100
    export(network, tmp_path / "mine.onnx")
    kinds: dict[str, Any] = {"seats": seats, "environments": 4, "seed": 5, "autoreset": "same_step"}
    with (
        boardwire.connect(server_args=["--policy", f"mine={tmp_path / 'mine.onnx'}"]) as client,
        client.open_batch(game, advice="policy:mine:argmax", columns=["advice_shares"], **kinds) as batch,
    ):
        step = batch.reset()
        for _ in range(60):
            decisions = Decisions(step.view, step.mask, step.seat, np.arange(4))
            best, _, _ = sample(network, decisions, best=True)
            np.testing.assert_array_equal(step.advice, best)
            assert step.advice_shares is not None
            with torch.inference_mode():
                logits, _ = network(torch.tensor(step.view))
                chances = log_probabilities(logits, torch.tensor(step.mask)).exp()
            np.testing.assert_allclose(step.advice_shares, chances, atol=1e-3)
            step = batch.step(best.numpy())


def test_a_compact_file_is_small_and_plays_nearly_alike(tmp_path: Path) -> None:
    torch.manual_seed(4)
    with boardwire.connect() as client:
        network = Network(client.game("golden_compass", seats=4), scale=10)
    for name, compact in (("whole", False), ("small", True)):
        export(network, tmp_path / f"{name}.onnx", compact=compact)
    sizes = [(tmp_path / f"{name}.onnx").stat().st_size for name in ("whole", "small")]
    assert sizes[1] < min(1_000_000, sizes[0] / 3)
    policies = [f"--policy={name}={tmp_path / name}.onnx" for name in ("whole", "small")]
    kinds: dict[str, Any] = {"seats": 4, "environments": 16, "seed": 5, "columns": ["advice_shares"]}
    with boardwire.connect(server_args=policies) as client:
        shares: list[Any] = []
        for name in ("whole", "small"):
            with client.open_batch("golden_compass", advice=f"policy:{name}", **kinds) as batch:
                step = batch.reset()
                for _ in range(40):
                    step = batch.step(lowest(step.mask))
                shares.append(step.advice_shares)
    whole, small = shares
    assert not np.array_equal(whole, small)
    np.testing.assert_allclose(whole, small, atol=0.1)


def test_an_export_prints_nothing_and_warns_of_nothing(tmp_path: Path) -> None:
    program = """
import sys, boardwire
from boardwire.torch import Network, export
with boardwire.connect() as client:
    export(Network(client.game("faraway"), width=8, hidden=32), sys.argv[1])
"""
    command = [sys.executable, "-W", "error", "-c", program, str(tmp_path / "mine.onnx")]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == ("", "")


def test_a_scale_multiplies_logits_and_keeps_values(client: boardwire.Client) -> None:
    spec, decisions = positions(client, "rauha", 2)
    view, results = torch.from_numpy(decisions.view), []
    for scale in (1, 10):
        torch.manual_seed(5)
        results.append(Network(spec, width=8, hidden=32, scale=scale)(view))
    (logits, value), (scaled, same) = results
    assert torch.equal(value, same)
    assert torch.allclose(scaled, 10 * logits, atol=1e-4)


def test_sampling_is_repeated_by_a_generator_and_explores(client: boardwire.Client) -> None:
    spec, decisions = positions(client, "golden_compass", 2)
    # Without exploration, it takes one of the likeliest actions.
    network = Network(spec, width=8, hidden=32, scale=1e4)

    def draw(explore: float) -> Any:
        generator = torch.Generator().manual_seed(7)
        return sample(network, decisions, explore=explore, generator=generator)

    assert torch.equal(draw(0.5)[0], draw(0.5)[0])
    _, log_prob, _ = draw(0)
    assert (log_prob > -20).all()
    _, log_prob, _ = draw(0.5)
    has_choice = torch.from_numpy(decisions.mask).sum(1) > 1
    assert 0.05 < (log_prob < -20)[has_choice].float().mean() < 0.5


def test_a_frozen_copy_acts_alike_and_does_not_learn(client: boardwire.Client) -> None:
    spec, decisions = positions(client, "golden_compass", 2)
    network, view = Network(spec, width=8, hidden=32), torch.from_numpy(decisions.view)
    frozen = network.frozen()
    before = frozen(view)[0].detach()
    assert torch.allclose(before, network(view)[0], atol=1e-6)
    with torch.no_grad():
        for weights in network.parameters():
            weights += 1
    assert torch.equal(frozen(view)[0], before)
    assert not torch.allclose(network(view)[0], before)
