"""Networks for any game, in PyTorch: the extra `boardwire[torch]`.

A network is built only from the spec of a table. One embedding covers all components. It sums a projection
of the data printed on a component and a learned vector. The encoder looks up the components of a view in it,
and the policy scores the actions that name components with it. A network takes views as the server sends
them, so the server can run an exported network.

```python
network = boardwire.torch.Network(spec)
logits, value = network(torch.from_numpy(step.view))
boardwire.torch.export(network, "lion.onnx")       # plays as policy:lion
```
"""

from ._encoder import Encoder
from ._export import export
from ._network import Components, Network, log_probabilities, sample

__all__ = ["Components", "Encoder", "Network", "export", "log_probabilities", "sample"]
