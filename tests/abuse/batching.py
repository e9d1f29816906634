"""Too many batches, and callers that disconnect while the server opens or steps their batch."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import grpc

from attacks import attack
from boardwire_v1 import batch_pb2 as pb
from calls import CALL_TIMEOUT, OK, Stubs, batch_request, bearer, format_counts, outcome, reason
from target import Target, expect, wait_until

#: A program that opens an expensive batch and steps it until it is killed.
KILLED_CLIENT = """
import sys
from boardwire_v1 import batch_pb2 as pb
from calls import Stubs, batch_request, bearer, legal
stubs = Stubs(sys.argv[1])
print("opening", flush=True)
opened = stubs.batches.OpenBatch(batch_request(["agent", sys.argv[3]], int(sys.argv[2])))
call = pb.ResetBatchRequest(batch_id=opened.batch.id)
print("stepping", flush=True)
while True:
    step = stubs.batches.ResetBatch(call, metadata=bearer(opened.token)).step
    width = len(step.mask) // len(step.seat)
    masks = [step.mask[row * width : (row + 1) * width] for row in range(len(step.seat))]
    actions = bytes((legal(mask) or [0])[0] for mask in masks)
    stubs.batches.StepBatch(
        pb.StepBatchRequest(batch_id=opened.batch.id, actions=actions), metadata=bearer(opened.token)
    )
"""


def opening(environments: int, bot: str = "random") -> pb.OpenBatchRequest:
    """Returns a request for a batch against a bot."""
    return batch_request(["agent", bot], environments)


@attack(quick=64, full=512, flags=lambda size: ("--max-batches", size // 8))
def parallel_openings(target: Target, size: int) -> str:
    """One caller opens more batches than it may have open."""
    allowed = size // 8 * 3 // 4
    with Stubs(target.address) as stubs:
        for _ in range(2):
            futures = [stubs.batches.OpenBatch.future(opening(256)) for _ in range(size)]
            outcomes = Counter(outcome(each) for each in futures)
            expect(
                outcomes == {OK: allowed, "CALLER_FULL": size - allowed},
                f"openings ended as {format_counts(outcomes)}",
            )
            for each in futures:
                if each.code() is grpc.StatusCode.OK:
                    opened = each.result()
                    close = pb.CloseBatchRequest(batch_id=opened.batch.id)
                    stubs.batches.CloseBatch(close, metadata=bearer(opened.token))
    return format_counts(outcomes)


@attack(quick=20, full=200, flags=lambda size: ("--max-environments", 8_192), slack=64)
def abandoned_openings(target: Target, size: int) -> str:
    """Callers that disconnect during `OpenBatch` leave no environment behind."""

    def opens_full_batch() -> bool:
        with Stubs(target.address) as stubs:
            try:
                stubs.batches.OpenBatch(opening(8_192), timeout=CALL_TIMEOUT)
            except grpc.RpcError as error:
                expect(reason(error) == "ENVIRONMENTS_FULL", f"an opening failed with {reason(error)}")
                return False
            return True

    for turn in range(size):
        with Stubs(target.address) as stubs:
            future = stubs.batches.OpenBatch.future(opening(8_192, ("random", "greedy:1024")[turn % 2]))
            try:
                future.result(timeout=0.002 * (turn % 16))
            except grpc.FutureTimeoutError:
                if turn % 3:
                    future.cancel()
            except grpc.RpcError:
                pass
    took = wait_until(opens_full_batch, 30, "environments did not return")
    return f"all environments free after {took:.1f} s"


@attack(quick=2, full=10, slack=64)
def killed_clients(target: Target, size: int) -> str:
    """Clients are killed while expensive bots play in their batch. The work must end."""
    usual, longest = target.load(1), 0.0
    for turn in range(size):
        arguments = [target.address, "1024", "greedy:1024"]
        command = [sys.executable, "-c", KILLED_CLIENT, *arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=sys.path[0]) as client:
            assert client.stdout is not None
            expect(client.stdout.readline() == "opening\n", "a client did not start")
            wait_until(lambda: target.load(0.2) > usual + 0.5, 30, "the server does not work on the batch")
            if turn % 2:
                wait_until(
                    lambda: target.load(0.2) > usual + 0.5, 30, "the server does not work on the batch"
                )
            client.kill()
        took = wait_until(
            lambda: target.load(0.25) < usual + 0.3, 30, "the work for a killed client did not end"
        )
        longest = max(longest, took)
    return f"{usual:.2f} processors before, work ended within {longest:.1f} s"
