"""PettingZoo environments over a Boardwire server; they know no game. Needs `boardwire[pettingzoo]`.

`parallel_env("faraway", seats=3)` takes the decisions of all who owe one at once, `aec_env("faraway",
seats=3)` one after the other. Both play the same match: the order of hidden choices makes no difference.
"""

from .envs.aec import BoardwireAECEnv
from .envs.aec import BoardwireAECEnv as aec_env
from .envs.parallel import BoardwireParallelEnv
from .envs.parallel import BoardwireParallelEnv as parallel_env

__all__ = ["BoardwireAECEnv", "BoardwireParallelEnv", "aec_env", "parallel_env"]
