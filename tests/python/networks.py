"""Small ONNX networks for tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from boardwire import GameSpec

METADATA = {"boardwire.encoding": "bytes", "boardwire.outputs": "logits"}


def network(
    path: Path,
    spec: GameSpec,
    metadata: dict[str, str] | None = None,
    factor: float = 1,
    has_value: bool = False,
) -> Path:
    """Writes an ONNX network of two layers with fixed random weights. Its value is the sum of the logits."""
    rng, actions, hidden = np.random.default_rng(3), len(spec.actions), 32
    arrays = {
        "scale": np.array(1 / 64, np.float32),
        "first": rng.normal(0, 0.2, (spec.view_bytes, hidden)).astype(np.float32),
        "second": (factor * rng.normal(0, 1, (hidden, actions))).astype(np.float32),
    }
    nodes = [
        helper.make_node("Cast", ["view"], ["bytes"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["bytes", "scale"], ["floats"]),
        helper.make_node("MatMul", ["floats", "first"], ["sums"]),
        helper.make_node("Relu", ["sums"], ["active"]),
        helper.make_node("MatMul", ["active", "second"], ["logits"]),
    ]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["rows", actions])]
    if has_value:
        arrays["axis"] = np.array([1], np.int64)
        nodes.append(helper.make_node("ReduceSum", ["logits", "axis"], ["value"], keepdims=0))
        outputs.append(helper.make_tensor_value_info("value", TensorProto.FLOAT, ["rows"]))
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("view", TensorProto.UINT8, ["rows", spec.view_bytes])],
        outputs,
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    helper.set_model_props(
        model, {"boardwire.spec": spec.digest, **METADATA} if metadata is None else metadata
    )
    onnx.save(model, str(path))
    return path
