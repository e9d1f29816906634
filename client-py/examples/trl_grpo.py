"""Trains a language model on a game by GRPO, with TRL: trl_grpo.py MODEL. Needs `boardwire[trl]`.

The methods of `tools(game)` are the model's tools. Each row of the data set is a deal; the replies of a group
play the same deal, so their rewards compare.
"""

import argparse
from typing import Any

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from boardwire.openenv import tools

TASK = "Play this game and win. Make each decision by calling a tool, until the episode is over.\n\n"


def trainer_of(
    model: Any, game: str, *, deals: int, trainer: type[Any] = GRPOTrainer, **settings: Any
) -> Any:
    """Returns a trainer.

    Args:
        model: A name or path, or a model.
        game: The game's id.
        deals: The number of deals.
        trainer: The class of the trainer.
        **settings: `processing_class` for a model that has no tokenizer, or settings of `GRPOConfig`.
    """
    rows = [{"prompt": [{"role": "user", "content": TASK}], "seed": seed} for seed in range(deals)]
    tokenizer = settings.pop("processing_class", None)
    return trainer(
        model=model,
        environment_factory=tools(game, opponents="greedy"),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        args=GRPOConfig(**settings),
    )


def main() -> None:
    """Trains and saves the model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("model", help="name or path of a model that calls tools")
    parser.add_argument("--game", default="faraway")
    parser.add_argument("--deals", type=int, default=1000)
    parser.add_argument("--out", default="runs/trl")
    args = parser.parse_args()
    trainer = trainer_of(
        args.model, args.game, deals=args.deals, output_dir=args.out, max_completion_length=16384
    )
    trainer.train()
    trainer.save_model()


if __name__ == "__main__":
    main()
