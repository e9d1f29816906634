"""Catch over dm_env_rpc, as small as a server of it can be.

Prints its address, serves until standard input ends. A ball falls through ten rows of five columns, the
paddle in the last row moves left, not, or right.
"""

import random
import sys
from concurrent.futures import ThreadPoolExecutor

import grpc
import numpy as np
from dm_env_rpc.v1 import dm_env_rpc_pb2 as pb
from dm_env_rpc.v1 import dm_env_rpc_pb2_grpc as services
from dm_env_rpc.v1 import tensor_utils

ROWS, COLUMNS, BOARD, REWARD, PADDLE = 10, 5, 1, 2, 1


class Catch:
    """One game."""

    def __init__(self):
        """Lets the first ball fall."""
        self.dice = random.Random(7)
        self.begin()

    def begin(self):
        """Lets a ball fall."""
        self.row, self.ball, self.paddle, self.over = 0, self.dice.randrange(COLUMNS), COLUMNS // 2, False

    def step(self, action):
        """Moves the paddle; gives the reward."""
        self.paddle = min(max(self.paddle + action - 1, 0), COLUMNS - 1)
        self.row += 1
        self.over = self.row == ROWS - 1
        return float(self.paddle == self.ball) * 2 - 1 if self.over else 0.0

    def board(self):
        """What is seen."""
        board = np.zeros((ROWS, COLUMNS), np.float32)
        board[self.row, self.ball] = board[ROWS - 1, self.paddle] = 1
        return board


def specs():
    """What joining tells."""
    made = pb.ActionObservationSpecs()
    made.actions[PADDLE].CopyFrom(pb.TensorSpec(name="paddle", dtype=pb.INT32))
    made.observations[BOARD].CopyFrom(pb.TensorSpec(name="board", shape=[ROWS, COLUMNS], dtype=pb.FLOAT))
    made.observations[REWARD].CopyFrom(pb.TensorSpec(name="reward", dtype=pb.FLOAT))
    return made


class Servicer(services.EnvironmentServicer):
    """A world a stream."""

    def Process(self, requests, context):
        """Answers one after another."""
        game, begun = Catch(), False
        for request in requests:
            answer = pb.EnvironmentResponse()
            match request.WhichOneof("payload"):
                case "create_world":
                    answer.create_world.world_name = "catch"
                case "join_world":
                    answer.join_world.specs.CopyFrom(specs())
                case "step":
                    reward = 0.0
                    if not begun or game.over:
                        game.begin()
                        begun = True
                    else:
                        reward = game.step(int(tensor_utils.unpack_tensor(request.step.actions[PADDLE])))
                    values = {BOARD: game.board(), REWARD: np.float32(reward)}
                    for uid in request.step.requested_observations:
                        answer.step.observations[uid].CopyFrom(tensor_utils.pack_tensor(values[uid]))
                    answer.step.state = pb.TERMINATED if game.over else pb.RUNNING
                case other:
                    answer.error.message = f"{other} is not served"
            yield answer


def main():
    """Serves."""
    server = grpc.server(ThreadPoolExecutor(2))
    services.add_EnvironmentServicer_to_server(Servicer(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(f"127.0.0.1:{port}", flush=True)
    sys.stdin.read()
    server.stop(0)


if __name__ == "__main__":
    main()
