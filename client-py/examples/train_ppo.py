"""Trains an agent for any game in minutes on a laptop: from playouts, then by self-play with PPO.

In the first stage, the optional warm-up, the network learns the values of actions. The server samples a
determinization and plays every legal action in it to the end, by the game's estimate. One result is mostly
luck, but the network sees many. The second stage is masked PPO with the network at all seats. An average of
its latest weights is exported. A thread collects the next data while the network learns from the last.

    python train_ppo.py faraway
    python train_ppo.py faraway --decisions 20000000 --resume           # continue, with a new schedule
    boardwire arena faraway --seats policy:mine:argmax,greedy --policy mine=runs/faraway/policy.onnx

Equal seeds give equal networks on machines of one kind. `--minutes` and Ctrl-C end a training early.
"""

from __future__ import annotations

import contextlib
import os
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Generator
from functools import partial
from pathlib import Path
from typing import Any

# Waiting threads of PyTorch must leave cores to the server.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch
from torch.nn.functional import huber_loss
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from tqdm import tqdm

import boardwire
from boardwire.torch import Network, export, log_probabilities, sample
from boardwire.training import Memory, Run

#: The network predicts margins in points divided by this, so that they are about as large as 1.
POINTS = 30.0
#: In the warm-up, a logit means so many points, divided by `--scale`.
LOGIT = 6.0
#: The decay of the average of the weights, for each step of the optimizer.
AVERAGE = 0.999

#: Defaults for games in which playouts teach faster than self-play.
PRESETS: dict[str, dict[str, float]] = {
    "faraway": {"warm_up": 3_000_000, "decisions": 9_000_000, "scale": 10, "rate": 1e-4, "entropy": 0},
    "rauha": {"warm_up": 250_000, "replay": 6, "rate": 5e-4},
}

#: The metrics of an update, and the number of new decisions that it learned from.
Update = tuple[dict[str, float], int]


class Trainee:
    """The network with its optimizer and the average of its weights, which plays."""

    def __init__(self, network: Network, args: Namespace) -> None:
        """Starts the training of a network."""
        self.network, self.args = network, args
        self.optimizer = torch.optim.Adam(network.parameters(), eps=1e-5, fused=True)
        self.average = AveragedModel(network, multi_avg_fn=get_ema_multi_avg_fn(AVERAGE))
        self.random = torch.Generator().manual_seed(args.seed)

    def optimize(self, loss: Any, rate: float) -> None:
        """Takes one step of the optimizer."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 0.5)
        self.optimizer.step()
        self.average.update_parameters(self.network)

    def open_batch(self, client: boardwire.Client, seed: int) -> boardwire.Batch:
        """Opens a batch in which the network plays all seats, with margins as rewards."""
        spec = self.network.spec
        return client.open_batch(
            spec.id,
            environments=self.args.environments,
            seats=spec.seats,
            options=spec.options,
            reward="margin",
            autoreset="same_step",
            skip_forced=True,
            seed=seed,
        )


def warm_up(trainee: Trainee, client: boardwire.Client, run: Run) -> Generator[Update]:
    """Learns the values of actions from playouts."""
    network, args = trainee.network, trainee.args
    memory, seed = Memory(network.spec, 500_000), args.seed + run.updates
    random = torch.Generator().manual_seed(seed)

    def act(network: Network, decisions: boardwire.Decisions) -> Any:
        return sample(network, decisions, explore=0.1, generator=random)[0].numpy()

    with trainee.open_batch(client, seed) as batch:
        collector = boardwire.ActionValueCollector(batch, seed=seed)
        for data in boardwire.collect_ahead(
            lambda policy: collector.collect(policy, args.steps // 2), lambda: partial(act, network.frozen())
        ):
            memory.add(data)
            rate, losses = args.warm_up_rate * decay(run.decisions, 0, args.warm_up), []
            for rows in memory.rows(len(data.view), args.replay, trainee.random).split(1024):
                mask, margin = memory.mask[rows], memory.value[rows].float().clamp(-60, 60)
                logits, value = network(memory.view[rows])
                count = mask.sum(1, keepdim=True)
                mean = margin.sum(1, keepdim=True) / count
                centred = logits - (logits * mask).sum(1, keepdim=True) / count
                # Results of early decisions depend most on luck. The Huber loss limits large errors.
                predicted, target = centred / args.scale, (margin - mean) / LOGIT
                action_loss = 2 * huber_loss(predicted * mask, target * mask, reduction="sum") / count.sum()
                value_loss = (value - mean.squeeze(1) / POINTS).square().mean()
                trainee.optimize(action_loss + 0.3 * value_loss, rate)
                losses.append(torch.stack([action_loss, value_loss]).detach())
            yield {**average(("action_loss", "value_loss"), losses), "rate": rate}, len(data.view)


def self_play(trainee: Trainee, client: boardwire.Client, run: Run) -> Generator[Update]:
    """Learns from its own matches by PPO."""
    args, seed = trainee.args, trainee.args.seed + run.updates
    random = torch.Generator().manual_seed(seed)

    def learner(network: Network, decisions: boardwire.Decisions) -> tuple[Any, Any, Any]:
        action, log_prob, value = sample(network, decisions, generator=random)
        return action.numpy(), log_prob.numpy(), value.numpy() * POINTS

    with trainee.open_batch(client, seed) as batch:
        rollouts = boardwire.Rollouts(batch, args.steps, lam=args.trace)
        for rollout in boardwire.collect_ahead(
            rollouts.collect, lambda: partial(learner, trainee.network.frozen())
        ):
            rate = args.rate * decay(run.decisions, args.warm_up, args.decisions)
            yield {**learn(trainee, rollout, rate), "rate": rate}, len(rollout.action)


def learn(trainee: Trainee, rollout: boardwire.Rollout, rate: float) -> dict[str, float]:
    """Updates the network from a rollout; returns the metrics."""
    args, losses = trainee.args, []
    view, mask, action = map(torch.from_numpy, (rollout.view, rollout.mask, rollout.action))
    before, advantage = torch.from_numpy(rollout.log_prob), torch.from_numpy(rollout.advantage)
    returns = torch.from_numpy(rollout.returns) / POINTS
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
    for _ in range(args.epochs):
        for rows in torch.randperm(len(action), generator=trainee.random).split(args.minibatch):
            logits, value = trainee.network(view[rows])
            log_probs = log_probabilities(logits, mask[rows])
            log_ratio = log_probs.gather(1, action[rows, None]).squeeze(1) - before[rows]
            ratio = log_ratio.exp()
            bounded = ratio.clamp(0.8, 1.2)
            policy_loss = -torch.minimum(ratio * advantage[rows], bounded * advantage[rows]).mean()
            value_loss = (value - returns[rows]).square().mean()
            entropy = -(log_probs.exp() * log_probs).sum(1).mean()
            trainee.optimize(policy_loss + 0.5 * value_loss - args.entropy * entropy, rate)
            losses.append(torch.stack([policy_loss, value_loss, entropy, -log_ratio.mean()]).detach())
    return average(("policy_loss", "value_loss", "entropy", "kl"), losses)


def average(names: tuple[str, ...], losses: list[Any]) -> dict[str, float]:
    """Returns the mean of each loss."""
    return dict(zip(names, torch.stack(losses).mean(0).tolist(), strict=True))


def decay(decisions: int, begin: int, end: int) -> float:
    """Returns the factor of the learning rate: the remaining share of a stage, at least 0.05."""
    return max((end - decisions) / max(end - begin, 1), 0.05)


def train(trainee: Trainee, client: boardwire.Client, run: Run) -> None:
    """Trains until all decisions are made or the time is over, and measures at intervals."""
    args, measured = trainee.args, run.decisions
    with tqdm(total=args.decisions, initial=run.decisions, unit="decision", unit_scale=True) as bar:
        for stage, end in ((warm_up, args.warm_up), (self_play, args.decisions)):
            with contextlib.closing(stage(trainee, client, run)) as updates:
                while run.decisions < end and run.seconds < 60 * args.minutes:
                    start = time.perf_counter()
                    metrics, decisions = next(updates)
                    run.record(metrics, decisions=decisions, seconds=time.perf_counter() - start)
                    bar.update(decisions)
                    if run.decisions - measured >= args.measure:
                        measured = run.decisions
                        bar.write(run.measure(client, args.against, deals=args.deals, seed=args.seed + 1))


def arguments() -> Namespace:
    """Parses the command line."""
    parser = ArgumentParser(description="Trains an agent from playouts and by self-play.")
    add = parser.add_argument
    add("game", nargs="?", default="faraway")
    add("--seats", type=int, help="number of seats; default: the minimum of the game")
    add("--option", action="append", default=[], metavar="NAME=VALUE", help="an option of the game")
    add("--decisions", type=int, default=20_000_000, help="decisions in total; the rates follow from it")
    add("--warm-up", type=int, default=0, help="decisions of the first stage")
    add("--minutes", type=float, default=float("inf"), help="end after so many minutes of training")
    add("--out", type=Path, help="folder of the results; default: runs/GAME")
    add("--resume", action="store_true", help="continue the training in the folder")
    add("--seed", type=int, default=1)
    add("--address", help="address of a running server; default: a private server")
    add("--threads", type=int, default=1, help="threads of PyTorch, for each of learner and collector")
    add("--against", nargs="*", default=["greedy"], help="opponents in measurements")
    add("--measure", type=int, default=1_000_000, help="decisions between two measurements")
    add("--deals", type=int, default=250, help="deals of a measurement; four times as many at the end")
    add("--environments", type=int, default=512)
    add("--steps", type=int, default=64, help="steps per rollout; half as many in the warm-up")
    add("--warm-up-rate", type=float, default=4e-3, help="initial learning rate of the warm-up")
    add("--replay", type=int, default=1, help="how often the warm-up reuses a decision, on average")
    add("--rate", type=float, default=1e-3, help="initial learning rate of self-play")
    add("--epochs", type=int, default=1, help="passes over a rollout")
    add("--minibatch", type=int, default=2048)
    add("--entropy", type=float, default=0.01, help="weight of the entropy")
    add("--trace", type=float, default=0.95, help="lambda of GAE")
    add("--hidden", type=int, default=128, help="units per hidden layer")
    add("--layers", type=int, default=2, help="hidden layers")
    add("--scale", type=float, default=1, help="factor of the logits: how certain the policy is at first")
    parser.set_defaults(**PRESETS.get(parser.parse_known_args()[0].game, {}))
    args = parser.parse_args()
    args.warm_up = min(args.warm_up, args.decisions)
    return args


def main() -> None:
    """Trains, measures and exports."""
    args = arguments()
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    with boardwire.connect(args.address) as client:
        options = dict(each.split("=", 1) for each in args.option)
        spec = client.game(args.game, seats=args.seats, options=options)
        network = Network(spec, hidden=args.hidden, layers=args.layers, scale=args.scale)
        trainee = Trainee(network, args)
        playing, folder = trainee.average.module, args.out or Path("runs") / args.game
        parts = {"learner": network, "optimizer": trainee.optimizer}
        try:
            run = Run(folder, playing, parts, resume=args.resume)
        except (OSError, ValueError) as problem:
            raise SystemExit(f"{problem}; use --resume, or name another folder by --out") from None
        try:
            train(trainee, client, run)
        except KeyboardInterrupt:
            print("ended early")
        export(playing, folder / "policy.onnx", value_points=POINTS, compact=True)
        print(f"{run.decisions:,} decisions in {run.seconds / 60:.1f} minutes")
        print(run.measure(client, args.against, deals=4 * args.deals, seed=args.seed + 1))
    print(f"{folder}/policy.onnx plays as policy:NAME:argmax, and best as search:NAME:PLAYOUTS")


if __name__ == "__main__":
    main()
