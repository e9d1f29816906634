"""The same client for event loops of asyncio: what blocks in `boardwire` is awaited here.

```python
async with boardwire.aio.connect() as client:
    match = await client.create_match("faraway", players=["agent", "greedy"])
    async with await match.join(0) as seat:
        seen = await seat.observe(wait=True)
        while not seen.over:
            seen = await seat.act(seen.mask.argmax())
```

Names, arguments, results and exceptions are those of the classes of the same names in `boardwire`. A client
may be used by several tasks, and in one event loop after another, but not by several threads; a seat or batch
by one task. A task that is cancelled while it waits on a stream ends the stream, and the next call opens
another. Close a client when its calls have ended: those under way are cancelled.
"""

from ._batch import Batch, BatchPart
from ._client import Client
from ._connecting import Connecting, connect
from ._match import Match
from ._search import Search
from ._seat import Seat

__all__ = ["Batch", "BatchPart", "Client", "Connecting", "Match", "Search", "Seat", "connect"]
