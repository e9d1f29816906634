"""A model behind an OpenAI-compatible endpoint plays episodes against a bot: tool_loop.py URL MODEL.

To try: `--labels permuted`; another `--opponent`; the key of the endpoint in OPENAI_API_KEY.
"""

import argparse
import os

from boardwire.openenv import Chat, GameSession, play_episode

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
parser.add_argument("url", help="such as http://127.0.0.1:8080/v1")
parser.add_argument("model")
parser.add_argument("--game", default="faraway")
parser.add_argument("--opponent", default="greedy")
parser.add_argument("--labels", choices=["names", "permuted"], default="names")
parser.add_argument("--episodes", type=int, default=1)
args = parser.parse_args()

chat = Chat(args.url, args.model, os.environ.get("OPENAI_API_KEY", ""))
with GameSession(args.game, opponents=args.opponent, labels=args.labels) as session:
    for _ in range(args.episodes):
        report = play_episode(session, chat)
        print(session.prompt, report, sep="\n")
