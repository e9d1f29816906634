"""A minimal dm_env_rpc server of the game Catch. Prints its address, and serves until stdin closes.

A ball falls through ten rows of five columns; the paddle in the last row moves left, stays, or moves right.
"""

import random
import sys
from concurrent.futures import ThreadPoolExecutor

import grpc
import numpy as np
from dm_env_rpc.v1 import dm_env_rpc_pb2 as pb
from dm_env_rpc.v1 import dm_env_rpc_pb2_grpc as services
from dm_env_rpc.v1.tensor_utils import pack_tensor, unpack_tensor

ROWS, COLUMNS, BOARD, REWARD, PADDLE = 10, 5, 1, 2, 1
SPECS = pb.ActionObservationSpecs(
    actions={PADDLE: pb.TensorSpec(name="paddle", dtype=pb.INT32)},
    observations={
        BOARD: pb.TensorSpec(name="board", shape=[ROWS, COLUMNS], dtype=pb.FLOAT),
        REWARD: pb.TensorSpec(name="reward", dtype=pb.FLOAT),
    },
)


class Servicer(services.EnvironmentServicer):
    """A game for each stream."""

    def Process(self, requests, context):
        """Responds to one request after another."""
        dice, row, ball, paddle = random.Random(7), ROWS - 1, 0, 0
        for request in requests:
            response = pb.EnvironmentResponse()
            match request.WhichOneof("payload"):
                case "join_world":
                    response.join_world.specs.CopyFrom(SPECS)
                case "step":
                    if row == ROWS - 1:
                        row, ball, paddle = 0, dice.randrange(COLUMNS), COLUMNS // 2
                    else:
                        move = int(unpack_tensor(request.step.actions[PADDLE])) - 1
                        row, paddle = row + 1, min(max(paddle + move, 0), COLUMNS - 1)
                    over = row == ROWS - 1
                    board = np.zeros((ROWS, COLUMNS), np.float32)
                    board[row, ball] = board[ROWS - 1, paddle] = 1
                    reward = np.float32((1 if paddle == ball else -1) if over else 0)
                    for uid in request.step.requested_observations:
                        value = board if uid == BOARD else reward
                        response.step.observations[uid].CopyFrom(pack_tensor(value))
                    response.step.state = pb.TERMINATED if over else pb.RUNNING
            yield response


if __name__ == "__main__":
    server = grpc.server(ThreadPoolExecutor(2))
    services.add_EnvironmentServicer_to_server(Servicer(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(f"127.0.0.1:{port}", flush=True)
    sys.stdin.read()
    server.stop(0)
