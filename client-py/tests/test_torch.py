"""Networks in PyTorch: the encoding of views, the choice of actions, and exported networks."""

from __future__ import annotations

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


def slowly(spec: boardwire.GameSpec, view: NDArray[np.uint8], rows: NDArray[np.float32]) -> list[float]:
    """Encodes a view value by value, in any order."""
    found: list[float] = []
    for field in spec.fields.values():
        values = field.decode(view).reshape(field.shape)
        if field.kind == "id":
            ordered = [axis.order == "places" for axis in field.axes]
            in_turn = [axis.order == "sequence" for axis in field.axes]
            latest: dict[tuple[int, ...], int] = {}
            sets: dict[tuple[int, ...], NDArray[np.float32]] = {}
            for place, value in np.ndenumerate(values):
                key = tuple(at for at, alone in zip(place, ordered, strict=True) if alone)
                row = rows[spec.row_offsets[field.table] + int(value)]
                sets[key] = sets.get(key, np.zeros_like(row)) + row
                if any(in_turn):
                    line = tuple(at for at, stands in zip(place, in_turn, strict=True) if not stands)
                    latest[line] = int(value) or latest.get(line, 0)
            found += [number for total in sets.values() for number in total.tolist()]
            for other in spec.fields.values():
                if other.kind == "category" and other.axes == field.axes and not all(ordered):
                    stands = other.decode(view).reshape(other.shape)
                    split = np.zeros((len(sets), other.max + 1, rows.shape[1]), np.float32)
                    for place, value in np.ndenumerate(values):
                        key = tuple(at for at, alone in zip(place, ordered, strict=True) if alone)
                        row = rows[spec.row_offsets[field.table] + int(value)]
                        split[list(sets).index(key), stands[place]] += row
                    found += split[:, 1:].ravel().tolist()
            for value in latest.values():
                found += rows[spec.row_offsets[field.table] + value].tolist()
        elif field.kind in ("seat", "category"):
            found += [float(value == each) for value in values.ravel() for each in range(field.max + 1)]
        else:
            found += [float(value) / max(field.usual_max, 1) for value in values.ravel()]
    return found


@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_an_encoder_encodes_every_field_of_a_view(client: boardwire.Client, game: str, seats: int) -> None:
    spec, decisions = positions(client, game, seats)
    torch.manual_seed(1)
    components = Components(spec, 6)
    torch.nn.init.normal_(components.own)
    rows = components()
    assert (rows[list(spec.row_offsets.values())] == 0).all()
    encoder = Encoder(spec, 6)
    with torch.inference_mode():
        encoded = encoder(torch.from_numpy(decisions.view), rows).numpy()
    assert encoded.shape == (len(decisions.view), encoder.size)
    for at in range(0, len(encoded), 23):
        expected = slowly(spec, decisions.view[at], rows.detach().numpy())
        np.testing.assert_allclose(np.sort(encoded[at]), np.sort(expected), atol=1e-5)


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
    assert (chances[mask == 0] == 0).all()
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
    assert [name for name, values in network.named_parameters() if torch.equal(values, before[name])] == []


@pytest.mark.parametrize(("game", "seats"), TABLES)
@pytest.mark.filterwarnings("ignore")
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
                logits, _ = network(torch.from_numpy(step.view))
                chances = log_probabilities(logits, torch.from_numpy(step.mask)).exp()
            np.testing.assert_allclose(step.advice_shares, chances, atol=1e-3)
            step = batch.step(best.numpy())
