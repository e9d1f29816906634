"""The first match: an agent that takes the first legal action, against a greedy bot in the server.

To try: `rauha`; `observe(text=True, actions=True)`, which adds the position as text; your own choice.
"""

import boardwire

with boardwire.connect() as client:  # a private server; connect("host:port") joins a shared one
    match = client.create_match("faraway", players=["agent", "greedy"], episodes=1, seed=7)
    with match.join(0) as seat:
        obs = seat.observe()
        while not obs.over:
            obs = seat.act(obs.mask.nonzero()[0][0])
    print(f"scores {obs.scores}, places {obs.ranks}")
