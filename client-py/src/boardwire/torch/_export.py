"""The export of networks as files for the server."""

from __future__ import annotations

import contextlib
import logging
import os
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from ._network import Network

#: The number of weights from which a compact file stores a tensor as integers.
_LARGE = 4096


def export(
    network: Network,
    file: str | os.PathLike[str],
    *,
    value_points: float | None = None,
    compact: bool = False,
) -> None:
    """Writes a network to an ONNX file, for the server to play as `policy:NAME`.

    Args:
        network: The network. It is switched to evaluation mode.
        file: The path of the file, which ends in `.onnx`.
        value_points: The points of margin in one unit of the network's values. Without it, the server does
            not use the values.
        compact: Whether to store large weights as 8-bit integers with a scale for each column. The file is
            a third as large, and its logits differ a little.
    """
    facts = {
        "boardwire.spec": network.spec.digest,
        "boardwire.encoding": "bytes",
        "boardwire.outputs": "logits",
    }
    if value_points is not None:
        facts["boardwire.value"] = str(value_points)
    views = torch.zeros(2, network.spec.view_bytes, dtype=torch.uint8)
    with _quiet():
        program = torch.onnx.export(
            network.eval(),
            (views,),
            input_names=["view"],
            output_names=["logits", "value"],
            dynamic_shapes=({0: torch.export.Dim("rows", min=1)},),
            dynamo=True,
            verbose=False,
        )
    program.model.metadata_props.update(facts)
    if compact:
        _compress(program.model.graph)
    program.save(file)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Hides what PyTorch's exporter says about its own code and about packages that it does not need."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _compress(graph: Any) -> None:
    """Replaces large initializers by 8-bit integers, which the reader of the file multiplies by a scale."""
    import onnx_ir as ir

    for name, value in list(graph.initializers.items()):
        weights = value.const_value.numpy()
        if weights.dtype != np.float32 or weights.size < _LARGE:
            continue
        largest = np.abs(weights).max(axis=tuple(range(weights.ndim - 1)))
        scale = np.maximum(largest, 1e-12).astype(np.float32) / 127
        inputs = []
        for kind, array in (("integers", np.rint(weights / scale).astype(np.int8)), ("scale", scale)):
            inputs.append(ir.Value(name=f"{name}.{kind}", const_value=ir.tensor(array)))
            graph.initializers.add(inputs[-1])
        cast = ir.Node("", "Cast", inputs[:1], attributes=[ir.AttrInt64("to", ir.DataType.FLOAT)])
        node = ir.Node("", "Mul", [cast.outputs[0], inputs[1]])
        cast.outputs[0].name, node.outputs[0].name = f"{name}.floats", f"{name}.weights"
        graph.insert_before(graph[0], [cast, node])
        ir.convenience.replace_all_uses_with(value, node.outputs[0])
        del graph.initializers[name]
