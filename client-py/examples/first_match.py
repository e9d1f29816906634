"""The first match: an agent that takes the first legal action, against a greedy bot in the server.

To try: `rauha`; `observe(text=True, actions=True)`, which shows the position in words; a choice of your own.
"""

import boardwire

with boardwire.connect() as client:  # a private server; connect("host:port") joins a shared one
    match = client.create_match("faraway", players=["agent", "greedy"], seed=7)
    with match.join(0) as seat:
        seen = seat.observe()
        while not seen.over:
            seen = seat.act(seen.mask.nonzero()[0][0])
    print(f"scores {seen.scores}, places {seen.ranks}")
