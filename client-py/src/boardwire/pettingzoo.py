"""PettingZoo environments for every game that a Boardwire server serves. Needs `boardwire[pettingzoo]`.

In `parallel_env("faraway", seats=3)`, all agents that owe a decision act at once; in `aec_env("faraway",
seats=3)`, they act one after the other. Both play the same match: the order of hidden choices has no effect.
"""

from .envs.aec import BoardwireAECEnv
from .envs.aec import BoardwireAECEnv as aec_env
from .envs.parallel import BoardwireParallelEnv
from .envs.parallel import BoardwireParallelEnv as parallel_env

__all__ = ["BoardwireAECEnv", "BoardwireParallelEnv", "aec_env", "parallel_env"]
