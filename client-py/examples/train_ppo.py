"""Trains an agent for any game within minutes on a laptop: first from playouts, then by self-play with PPO.

One network plays all seats of several hundred matches. In the first stage, the warm-up, it learns the values
of actions. For each decision, the server samples a determinization. It tries every legal action there and
plays each to the end with the game's estimate. One result is mostly luck, but the network sees millions.

In the second stage the network learns from its own matches by masked PPO. In some matches a bot or a frozen
snapshot of the network plays the other seats. So the network does not forget how to win against these. A
batch of training data is a rollout: the decisions of a few steps.

    python train_ppo.py faraway --minutes 10
    python train_ppo.py faraway --minutes 20 --resume        # ten minutes more
    boardwire arena faraway --seats policy:mine:argmax,greedy --policy mine=runs/faraway/policy.onnx

The folder `runs/GAME` contains the network as `policy.onnx`, the learning curve as `curve.png`, and all
metrics as `log.jsonl` and for TensorBoard. Each measurement writes `checkpoint.pt`. Ctrl-C ends the training
early and saves the agent. `--resume` continues from the checkpoint; `--minutes` is then the time of all
training, from which the schedule of the learning rate follows. If self-play has begun, the warm-up does not
return. The checkpoint lacks the running matches and the memory of the warm-up.

To try: more seats; `--warm-up 0`, which is only PPO, and `--warm-up 1`; `--bots greedy mc:10`; your own
network in place of `boardwire.torch.Network`, which takes views as the server sends them.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import json
import os
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Generator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from torch.nn.functional import huber_loss
from torch.utils.tensorboard import SummaryWriter
from tqdm import tqdm

import boardwire
from boardwire.torch import Network, export, log_probabilities, sample

#: The metrics of an update.
Metrics = dict[str, float]
#: The network predicts margins in points divided by this, so that they are about as large as 1.
POINTS = 30.0
#: An action whose margin is better by so many points becomes *e* times as likely.
TEMPERATURE = 6.0
#: The number of decisions that the replay memory of the warm-up holds.
MEMORY = 1_000_000
#: The number of updates between two snapshots for the league.
SNAPSHOT = 25


class Trainee:
    """The network with its training state: all that a checkpoint contains."""

    def __init__(self, network: Network) -> None:
        """Starts the training of a network."""
        self.network = network
        self.optimizer = torch.optim.Adam(network.parameters(), eps=1e-5)
        self.seconds, self.samples, self.updates = 0.0, 0, 0
        self.warm: float | None = None  # The duration of the warm-up in seconds; None until it ends.
        self.league: tuple[Any, ...] = ()
        self.curve: list[dict[str, Any]] = []

    def decide(self, decisions: boardwire.Decisions) -> tuple[Any, Any, Any]:
        """Samples actions. This is the learner of `Rollouts.collect`."""
        action, log_prob, value = sample(self.network, decisions)
        return action.numpy(), log_prob.numpy(), value.numpy() * POINTS

    def snapshot(self) -> Any:
        """Returns a frozen policy for the league. It samples actions from a copy of the network."""
        return partial(play, copy.deepcopy(self.network))

    def optimize(self, loss: Any, rate: float) -> None:
        """Takes one step of the optimizer."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 0.5)
        self.optimizer.step()

    def save(self, file: Path) -> None:
        """Writes a checkpoint. The old file stays until the new one is complete."""
        states = {
            "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "league": [member.args[0].state_dict() for member in self.league],
            "random": torch.get_rng_state(),
        }
        fields = {name: value for name, value in vars(self).items() if name not in states}
        temporary = file.with_suffix(".new")
        torch.save({"made_for": self.made_for(), "kept": fields, **states}, temporary)
        temporary.replace(file)

    def made_for(self) -> dict[str, Any]:
        """Returns the table and the network sizes. A checkpoint loads only where they are equal."""
        spec = self.network.spec
        return {"game": spec.id, "seats": spec.seats, "spec": spec.digest, **self.network.facts}

    def load(self, file: Path) -> None:
        """Loads a checkpoint of the same table and sizes, with the state of PyTorch's random generator."""
        state = torch.load(file, weights_only=True)
        if state["made_for"] != self.made_for():
            raise SystemExit(f"{file} was made for {state['made_for']}; these options need {self.made_for()}")
        vars(self).update(state["kept"])
        for member in state["league"]:
            self.network.load_state_dict(member)
            self.league += (self.snapshot(),)
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"])


def play(network: Network, decisions: boardwire.Decisions, *, best: bool = False) -> Any:
    """Samples actions, or takes the most likely ones with `best`."""
    return sample(network, decisions, best=best)[0].numpy()


def decay(trainee: Trainee, begin: float, end: float) -> float:
    """Returns the factor of the learning rate: the remaining share of a stage, at least 0.05."""
    return max((end - trainee.seconds) / (end - begin), 0.05)


def warm_up(trainee: Trainee, client: boardwire.Client, args: Namespace, end: float) -> Generator[Metrics]:
    """Learns the values of actions from playouts; yields the metrics of each update until it is closed."""
    network, memory = trainee.network, Memory(trainee.network.spec)
    with open_batch(client, trainee, args, [["agent"] * network.spec.seats]) as batch:
        step = batch.reset()
        while True:
            for _ in range(args.steps // 2):
                places = batch.environments + int(step.mask.sum())
                with batch.search(places=places, reward="margin", skip_forced=True) as search:
                    margin = search.values()
                memory.add(step.view, step.mask, margin)
                step = batch.step(explore(network, step))
            trainee.samples += args.steps // 2 * batch.environments
            losses = []
            for rows in memory.sample_rows(args.steps // 2 * batch.environments, args.replay).split(1024):
                mask, margin = memory.mask[rows], memory.margin[rows].float()
                logits, value = network(memory.view[rows])
                count = mask.sum(1, keepdim=True)
                mean = margin.sum(1, keepdim=True) / count
                centred = logits - (logits * mask).sum(1, keepdim=True) / count
                target = (margin - mean) / TEMPERATURE
                # Results of early decisions depend most on luck. The Huber loss limits large errors.
                worth_loss = 2 * huber_loss(centred * mask, target * mask, reduction="sum") / mask.sum()
                value_loss = (value - mean.squeeze(1) / POINTS).square().mean()
                trainee.optimize(worth_loss + 0.3 * value_loss, args.warm_up_rate * decay(trainee, 0, end))
                losses.append(torch.stack([worth_loss, value_loss]).detach())
            yield average(("worth_loss", "value_loss"), losses)


class Memory:
    """The latest decisions, with the margins of their actions in playouts."""

    def __init__(self, spec: boardwire.GameSpec) -> None:
        """Allocates an empty memory."""
        self.view = torch.zeros(MEMORY, spec.view_bytes, dtype=torch.uint8)
        self.mask = torch.zeros(MEMORY, len(spec.actions), dtype=torch.uint8)
        self.margin = torch.zeros(MEMORY, len(spec.actions), dtype=torch.float16)
        self.added = 0

    def add(self, view: Any, mask: Any, margin: Any) -> None:
        """Replaces the oldest decisions; `margin` is NaN for illegal actions."""
        margin = np.nan_to_num(margin.clip(-60, 60))
        at = torch.arange(self.added, self.added + len(view)) % MEMORY
        self.view[at], self.mask[at] = torch.from_numpy(view.copy()), torch.from_numpy(mask).byte()
        self.margin[at] = torch.from_numpy(margin).half()
        self.added += len(view)

    def sample_rows(self, last: int, replay: int) -> Any:
        """Returns the last rows, and `replay` times as many random ones, in random order."""
        latest = torch.arange(self.added - last, self.added) % MEMORY
        rows = torch.cat([latest, torch.randint(min(self.added, MEMORY), (replay * last,))])
        return rows[torch.randperm(len(rows))]


def explore(network: Network, step: boardwire.BatchStep) -> Any:
    """Samples actions from the policy; one in ten is uniformly random instead."""
    n = len(step.seat)
    sampled, _, _ = sample(network, boardwire.Decisions(step.view, step.mask, step.seat, np.arange(n)))
    uniform = torch.from_numpy(step.mask).float().multinomial(1).squeeze(1)
    return torch.where(torch.rand(n) < 0.1, uniform, sampled).numpy()


def self_play(trainee: Trainee, client: boardwire.Client, args: Namespace, end: float) -> Generator[Metrics]:
    """Learns from rollouts by PPO; yields the metrics of each update until it is closed."""
    if trainee.warm is None:
        trainee.warm = trainee.seconds
    league = boardwire.League(args.league, seed=args.seed + trainee.updates)
    for member in trainee.league:
        league.add(member)
    with open_batch(client, trainee, args, line_ups(args, trainee.network.spec.seats)) as batch:
        rollouts = boardwire.Rollouts(batch, args.steps, lam=args.trace)
        while True:
            rollouts.play_against(league.members, league.players(batch, args.league_share))
            rollout = rollouts.collect(trainee.decide)
            metrics = learn(trainee, rollout, args, args.rate * decay(trainee, trainee.warm, end))
            trainee.samples += len(rollout.action)
            if trainee.updates % SNAPSHOT == 0:
                league.add(trainee.snapshot())
                trainee.league = league.members
            yield metrics


def learn(trainee: Trainee, rollout: boardwire.Rollout, args: Namespace, rate: float) -> Metrics:
    """Updates the network from a rollout; returns the metrics."""
    view, mask, action = map(torch.from_numpy, (rollout.view, rollout.mask, rollout.action))
    before, advantage = torch.from_numpy(rollout.log_prob), torch.from_numpy(rollout.advantage)
    returns = torch.from_numpy(rollout.returns) / POINTS
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
    losses = []
    for _ in range(args.epochs):
        for rows in torch.randperm(len(action)).split(args.minibatch):
            logits, value = trainee.network(view[rows])
            log_probs = log_probabilities(logits, mask[rows])
            log_ratio = log_probs.gather(1, action[rows, None]).squeeze(1) - before[rows]
            ratio = log_ratio.exp()
            bounded = ratio.clamp(1 - args.clip, 1 + args.clip)
            policy_loss = -torch.minimum(ratio * advantage[rows], bounded * advantage[rows]).mean()
            value_loss = (value - returns[rows]).square().mean()
            entropy = -(log_probs.exp() * log_probs).sum(1).mean()
            trainee.optimize(policy_loss + 0.5 * value_loss - args.entropy * entropy, rate)
            losses.append(torch.stack([policy_loss, value_loss, entropy, -log_ratio.mean()]).detach())
    return average(("policy_loss", "value_loss", "entropy", "kl"), losses)


def average(names: tuple[str, ...], losses: list[Any]) -> Metrics:
    """Returns the mean of each loss."""
    return dict(zip(names, torch.stack(losses).mean(0).tolist(), strict=True))


def open_batch(
    client: boardwire.Client, trainee: Trainee, args: Namespace, line_ups: list[list[str]]
) -> boardwire.Batch:
    """Opens a batch with margins as rewards."""
    spec = trainee.network.spec
    return client.open_batch(
        spec.id,
        environments=args.environments,
        line_ups=line_ups,
        options=spec.options,
        reward="margin",
        autoreset="same_step",
        skip_forced=True,
        seed=args.seed + trainee.updates,
    )


def line_ups(args: Namespace, seats: int) -> list[list[str]]:
    """Returns the line-ups: the learner at one seat and a bot at all others, or the learner at all seats."""
    pairs = [(seat, bot) for bot in args.bots for seat in range(seats)]
    against = [["agent" if seat == at else bot for seat in range(seats)] for at, bot in pairs]
    count = round(args.bot_share * args.environments) if against else 0
    self_matches = [["agent"] * seats] * (args.environments - count)
    return [*itertools.islice(itertools.cycle(against), count), *self_matches]


def train(trainee: Trainee, client: boardwire.Client, args: Namespace, folder: Path) -> None:
    """Trains until the time is over, and measures the agent at intervals."""
    total, measured = 60 * args.minutes, trainee.seconds
    warm_end = total * args.warm_up if trainee.warm is None else trainee.warm
    with (
        SummaryWriter(str(folder)) as writer,
        (folder / "log.jsonl").open("a") as log,
        tqdm(total=round(total), initial=round(trainee.seconds), unit="s", desc="training") as bar,
    ):
        for stage, end in ((warm_up, warm_end), (self_play, total)):
            with contextlib.closing(stage(trainee, client, args, end)) as updates:
                while trainee.seconds < end:
                    start = time.perf_counter()
                    metrics = next(updates)
                    trainee.updates += 1
                    trainee.seconds += time.perf_counter() - start
                    is_done = trainee.seconds >= total
                    if is_done or trainee.seconds - measured >= args.measure:
                        measured = trainee.seconds
                        report(trainee, client, args, folder, args.deals * (4 if is_done else 1))
                        metrics |= {f"wins_{bot}": share for bot, share in trainee.curve[-1]["wins"].items()}
                    metrics |= {"seconds": trainee.seconds, "samples": trainee.samples}
                    metrics["rate"] = trainee.optimizer.param_groups[0]["lr"]
                    log.write(json.dumps(metrics) + "\n")
                    for name, figure in metrics.items():
                        writer.add_scalar(name, figure, trainee.samples)
                    wins = trainee.curve[-1]["wins"] if trainee.curve else {}
                    bar.update(min(round(trainee.seconds), round(total)) - bar.n)
                    shares = {name: f"{share:.1%}" for name, share in wins.items()}
                    bar.set_postfix({"decisions": f"{trainee.samples:,}", **shares})


def report(trainee: Trainee, client: boardwire.Client, args: Namespace, folder: Path, deals: int) -> None:
    """Saves the agent, measures it, and draws its learning curve."""
    trainee.save(folder / "checkpoint.pt")
    trainee.curve.append(measure(trainee, client, args, deals))
    trainee.save(folder / "checkpoint.pt")
    draw(trainee, folder / "curve.png")


def measure(trainee: Trainee, client: boardwire.Client, args: Namespace, deals: int) -> dict[str, Any]:
    """Plays the most likely actions against bots, over the same deals each time."""
    spec = trainee.network.spec
    best = partial(play, trainee.network, best=True)
    of: Any = {"deals": deals, "seats": spec.seats, "options": spec.options, "seed": args.seed + 1}
    wins, intervals = {}, {}
    for bot in args.against:
        result = boardwire.evaluate(best, spec.id, opponents=bot, reward="win", client=client, **of)
        wins[bot], intervals[bot] = result.mean, result.interval
    reached = {"seconds": trainee.seconds, "samples": trainee.samples}
    return {**reached, "matches": deals * spec.seats, "wins": wins, "intervals": intervals}


def draw(trainee: Trainee, file: Path) -> None:
    """Draws the learning curve: the share of matches won against each bot, by minutes of training."""
    spec, figure = trainee.network.spec, Figure(figsize=(7, 4))
    axes = figure.subplots()
    for bot in trainee.curve[-1]["wins"]:
        # A resumed training may measure against other bots than before.
        points = [at for at in trainee.curve if bot in at["wins"]]
        minutes = [at["seconds"] / 60 for at in points]
        low, high = zip(*(at["intervals"][bot] for at in points), strict=True)
        line = axes.plot(minutes, [at["wins"][bot] for at in points], label=f"against {bot}")
        axes.fill_between(minutes, low, high, alpha=0.2, color=line[0].get_color())
    axes.axhline(1 / spec.seats, color="grey", linestyle=":", label="equal strength")
    if trainee.warm is not None:
        axes.axvline(trainee.warm / 60, color="grey", linewidth=0.5)
    axes.set(xlabel="minutes of training", ylabel="matches won", ylim=(0, 1))
    axes.set_title(f"{spec.name}, {spec.seats} seats: {trainee.samples / 1e6:.1f} million decisions")
    axes.legend(loc="lower right")
    figure.savefig(file, dpi=120, bbox_inches="tight")


def arguments() -> Namespace:
    """Parses the command line."""
    parser = ArgumentParser(description="Trains an agent from playouts and by self-play.")
    add = parser.add_argument
    add("game", nargs="?", default="faraway")
    add("--seats", type=int, help="number of seats; default: the minimum of the game")
    add("--minutes", type=float, default=10, help="minutes of training, without measurements")
    add("--out", type=Path, help="folder of the results; default: runs/GAME")
    add("--resume", action="store_true", help="continue the training in the folder")
    add("--seed", type=int, default=1)
    add("--address", help="address of a running server; default: a private server")
    add("--threads", type=int, default=min(os.cpu_count() or 1, 4), help="threads of PyTorch")
    add("--warm-up", type=float, default=0.8, help="share of the time for the warm-up")
    add("--warm-up-rate", type=float, default=4e-3, help="initial learning rate of the warm-up")
    add("--replay", type=int, default=3, help="how often the warm-up reuses a decision, on average")
    add("--bots", nargs="*", default=["greedy"], help="opponents in self-play")
    add("--bot-share", type=float, default=0.5, help="share of matches against bots")
    add("--league", type=int, default=4, help="number of snapshots in the league")
    add("--league-share", type=float, default=0.2, help="share of the other matches against snapshots")
    add("--against", nargs="*", default=["random", "greedy"], help="opponents in measurements")
    add("--measure", type=float, default=60, help="seconds of training between two measurements")
    add("--deals", type=int, default=250, help="deals per measurement; four times as many at the end")
    add("--environments", type=int, default=512)
    add("--steps", type=int, default=64, help="steps per rollout")
    add("--epochs", type=int, default=2, help="passes over a rollout")
    add("--minibatch", type=int, default=4096)
    add("--rate", type=float, default=1e-3, help="initial learning rate of self-play")
    add("--clip", type=float, default=0.2)
    add("--entropy", type=float, default=0.01)
    add("--trace", type=float, default=0.95, help="lambda of GAE")
    add("--width", type=int, default=32, help="length of an embedding")
    add("--hidden", type=int, default=128, help="units per hidden layer")
    return parser.parse_args()


def main() -> None:
    """Trains, measures and exports."""
    args = arguments()
    folder = args.out or Path("runs") / args.game
    folder.mkdir(parents=True, exist_ok=True)
    checkpoint = folder / "checkpoint.pt"
    if checkpoint.exists() and not args.resume:
        raise SystemExit(f"{checkpoint} exists: continue it with --resume, or choose a folder with --out")
    if args.resume and not checkpoint.exists():
        raise SystemExit(f"--resume: there is no {checkpoint}")
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    with boardwire.connect(args.address) as client:
        spec = client.game(args.game, seats=args.seats)
        trainee = Trainee(Network(spec, width=args.width, hidden=args.hidden))
        if args.resume:
            trainee.load(checkpoint)
        try:
            train(trainee, client, args, folder)
        except KeyboardInterrupt:
            print("ended early")
        export(trainee.network, folder / "policy.onnx")
        if not trainee.curve or trainee.curve[-1]["seconds"] < trainee.seconds:
            report(trainee, client, args, folder, 4 * args.deals)
    print(f"{trainee.samples:,} decisions in {trainee.seconds / 60:.1f} minutes")
    last = trainee.curve[-1]
    for bot, share in last["wins"].items():
        low, high = last["intervals"][bot]
        print(f"against {bot}: {share:.1%} of {last['matches']} matches won ({low:.1%} to {high:.1%})")
    print(f"{folder}/policy.onnx plays as policy:NAME")


if __name__ == "__main__":
    main()
