"""Messages that are too long, and strings that are."""

from __future__ import annotations

from attacks import attack
from calls import served
from target import Target, expect
from wire import Wire

STEP = "/boardwire.v1.BatchService/StepBatch"
PIECE = 8 << 20


@attack(quick=12, full=60)
def unfinished_messages(target: Target, size: int) -> str:
    """Messages of 60 MiB, by somebody without a token, whose last bytes never come."""
    before = target.resident()
    wires = [Wire(target) for _ in range(2)]
    sent = 0
    for turn in range(size):
        wire = wires[turn % 2]
        stream = wire.call(STEP, end=False)
        sent += wire.send(stream, b"\x00" + (60 << 20).to_bytes(4, "big"))
        while sent < (turn + 1) * (32 << 20):
            went = wire.send(stream, bytes(1 << 20))
            sent += went
            if not went:
                break
    held = target.peak() - before
    for wire in wires:
        wire.close()
    served(target)
    expect(held < 256, f"the server held {held:.0f} MiB of {sent >> 20} that were sent and never finished")
    return f"{sent >> 20} MiB sent, {held:.0f} held"
