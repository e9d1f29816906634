"""A Gymnasium loop: a random policy that applies the mask plays ten episodes.

To try: `observation="ids"`, the view as named fields; `opponents="mc:40"`; `gymnasium.make_vec`.
"""

import gymnasium

import boardwire

gymnasium.register_envs(boardwire)  # the import already does; this call tells linters that it is used
env = gymnasium.make("boardwire/Faraway-v0", seats=2, opponents="greedy", reward="win")
env.action_space.seed(7)
observation, info = env.reset(seed=7)
wins, episodes = 0.0, 0
while episodes < 10:
    action = env.action_space.sample(info["action_mask"])
    observation, reward, terminated, truncated, info = env.step(action)
    if terminated or truncated:
        wins += float(reward)
        episodes += 1
        observation, info = env.reset()
env.close()
print(f"{wins:g} of {episodes} episodes won against greedy")
