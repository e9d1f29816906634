"""The client for asyncio. You await the calls that block in `boardwire`.

```python
async with boardwire.aio.connect() as client:
    match = await client.create_match("faraway", players=["agent", "greedy"])
    async with await match.join(0) as seat:
        obs = await seat.observe(wait=True)
        while not obs.over:
            obs = await seat.act(obs.mask.argmax())
```

The classes have the names, arguments, results and exceptions of those in `boardwire`. Tasks of one thread
may share a client, also in one event loop after another. Only one task may use a seat or a batch. If a task
is cancelled while it waits on a stream, the stream ends, and the next call opens another. `close` cancels
pending calls, so close a client after its calls.
"""

from ._batch import Batch, BatchPart
from ._client import Client
from ._connecting import Connecting, connect
from ._match import Match
from ._search import Search
from ._seat import Seat

__all__ = ["Batch", "BatchPart", "Client", "Connecting", "Match", "Search", "Seat", "connect"]
