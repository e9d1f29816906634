"""Trains an agent for any game within minutes on a laptop: from playouts first, then by self-play with PPO.

A network has all seats of some hundred matches. In most of the time it learns what actions are
worth: wherever it decides, the server draws a world that its seat can believe in, tries every legal action
there, and plays on to the end by the game's own estimate. Each result is mostly luck; millions are not.

Then it learns from its own matches. In some a bot, or a frozen snapshot of the network, has the
other seats, so that it goes on winning against those as well. What it decided in a few steps is a batch of
data: an action that led to more than was expected becomes likelier, but not by much at a time (masked PPO).

    python train_ppo.py faraway --minutes 10
    python train_ppo.py faraway --minutes 20 --resume        # ten minutes more
    boardwire arena faraway --seats policy:mine:argmax,greedy --policy mine=runs/faraway/policy.onnx

The folder `runs/GAME` has the network as `policy.onnx`, its curve as `curve.png`, all figures as `log.jsonl`
and for TensorBoard, and `checkpoint.pt`, which is written whenever the agent is measured. Ctrl-C ends the
training early and keeps what was done. `--resume` goes on from there, with rates as in a training of so many
minutes in all; where self-play has begun, the warm-up stays over. Not kept are the matches under way and the
decisions that the warm-up had in memory.

To try: more seats; `--warm-up 0`, which leaves PPO alone, and `--warm-up 1`; `--bots greedy mc:10`; a network
of your own in the place of `boardwire.torch.Network`, which takes views as they are sent.
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

#: What is told of an update.
Told = dict[str, float]
#: What a lead in points is divided by, so that what is expected is about as large as 1.
POINTS = 30.0
#: The lead in points that makes an action 2.7 times as likely, as far as its worth is known.
TEMPERATURE = 6.0
#: Decisions that are kept with the worth of their actions, to be learned from again.
MEMORY = 1_000_000
#: Updates between two snapshots for the league.
SNAPSHOT = 25


class Trainee:
    """What learns, and all that a checkpoint keeps."""

    def __init__(self, network: Network) -> None:
        """Begins with a network."""
        self.network = network
        self.optimizer = torch.optim.Adam(network.parameters(), eps=1e-5)
        self.seconds, self.samples, self.updates = 0.0, 0, 0
        self.warm: float | None = None  # The seconds of the warm-up, once it is over.
        self.league: tuple[Any, ...] = ()
        self.curve: list[dict[str, Any]] = []

    def decide(self, asked: boardwire.Decisions) -> tuple[Any, Any, Any]:
        """Draws actions, as the learner of a rollout."""
        action, log_prob, value = sample(self.network, asked)
        return action.numpy(), log_prob.numpy(), value.numpy() * POINTS

    def snapshot(self) -> Any:
        """A frozen copy that draws its actions, for the league."""
        return partial(play, copy.deepcopy(self.network))

    def descend(self, loss: Any, rate: float) -> None:
        """Takes a step that lessens the loss."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 0.5)
        self.optimizer.step()

    def save(self, file: Path) -> None:
        """Writes a checkpoint; the old one stays until the new one is whole."""
        states = {
            "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "league": [member.args[0].state_dict() for member in self.league],
            "random": torch.get_rng_state(),
        }
        kept = {name: value for name, value in vars(self).items() if name not in states}
        aside = file.with_suffix(".new")
        torch.save({"made_for": self.made_for(), "kept": kept, **states}, aside)
        aside.replace(file)

    def made_for(self) -> dict[str, Any]:
        """What a checkpoint fits."""
        spec = self.network.spec
        return {"game": spec.id, "seats": spec.seats, "spec": spec.digest, **self.network.facts}

    def load(self, file: Path) -> None:
        """Takes over a checkpoint of the same table and sizes, and the state of PyTorch's randomness."""
        state = torch.load(file, weights_only=True)
        if state["made_for"] != self.made_for():
            raise SystemExit(f"{file} is of {state['made_for']}, not of {self.made_for()}")
        vars(self).update(state["kept"])
        for member in state["league"]:
            self.network.load_state_dict(member)
            self.league += (self.snapshot(),)
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"])


def play(network: Network, asked: boardwire.Decisions, *, best: bool = False) -> Any:
    """Draws actions, or takes the likeliest ones."""
    return sample(network, asked, best=best)[0].numpy()


def left(trainee: Trainee, begin: float, end: float) -> float:
    """How much is left of a stage, 1 to 0.05: rates fall with it."""
    return max((end - trainee.seconds) / (end - begin), 0.05)


def warm_up(trainee: Trainee, client: boardwire.Client, given: Namespace, end: float) -> Generator[Told]:
    """Learns what actions are worth in playouts, update by update until it is closed; tells how that goes."""
    network, memory = trainee.network, Memory(trainee.network.spec)
    with open_batch(client, trainee, given, [["agent"] * network.spec.seats]) as batch:
        shown = batch.reset()
        while True:
            for _ in range(given.steps // 2):
                places = batch.environments + int(shown.mask.sum())
                with batch.search(places=places, reward="margin", skip_forced=True) as search:
                    lead = search.values()
                memory.add(shown.view, shown.mask, lead)
                shown = batch.step(explore(network, shown))
            trainee.samples += given.steps // 2 * batch.environments
            told = []
            for rows in memory.draw(given.steps // 2 * batch.environments, given.replay).split(1024):
                mask, worth = memory.mask[rows], memory.worth[rows].float()
                logits, value = network(memory.view[rows])
                count = mask.sum(1, keepdim=True)
                expected = worth.sum(1, keepdim=True) / count
                preferred = logits - (logits * mask).sum(1, keepdim=True) / count
                right = (worth - expected) / TEMPERATURE
                # More luck follows early decisions than late ones: no single result may weigh much.
                wrong = 2 * huber_loss(preferred * mask, right * mask, reduction="sum") / mask.sum()
                value_loss = (value - expected.squeeze(1) / POINTS).square().mean()
                trainee.descend(wrong + 0.3 * value_loss, given.warm_up_rate * left(trainee, 0, end))
                told.append(torch.stack([wrong, value_loss]).detach())
            yield average(("worth_loss", "value_loss"), told)


class Memory:
    """The decisions seen last, with what their actions were worth."""

    def __init__(self, spec: boardwire.GameSpec) -> None:
        """Begins with nothing."""
        self.view = torch.zeros(MEMORY, spec.view_bytes, dtype=torch.uint8)
        self.mask = torch.zeros(MEMORY, len(spec.actions), dtype=torch.uint8)
        self.worth = torch.zeros(MEMORY, len(spec.actions), dtype=torch.float16)
        self.seen = 0

    def add(self, view: Any, mask: Any, lead: Any) -> None:
        """Adds decisions in the places of the oldest; `lead` is NaN where an action is not legal."""
        worth = np.nan_to_num(lead.clip(-60, 60))
        at = torch.arange(self.seen, self.seen + len(view)) % MEMORY
        self.view[at], self.mask[at] = torch.from_numpy(view.copy()), torch.from_numpy(mask).byte()
        self.worth[at] = torch.from_numpy(worth).half()
        self.seen += len(view)

    def draw(self, last: int, replay: int) -> Any:
        """The places of the last decisions, and of `replay` times as many others, in disorder."""
        fresh = torch.arange(self.seen - last, self.seen) % MEMORY
        rows = torch.cat([fresh, torch.randint(min(self.seen, MEMORY), (replay * last,))])
        return rows[torch.randperm(len(rows))]


def explore(network: Network, shown: boardwire.BatchStep) -> Any:
    """Draws actions, one in ten as if the network knew nothing."""
    n = len(shown.seat)
    drawn, _, _ = sample(network, boardwire.Decisions(shown.view, shown.mask, shown.seat, np.arange(n)))
    stray = torch.from_numpy(shown.mask).float().multinomial(1).squeeze(1)
    return torch.where(torch.rand(n) < 0.1, stray, drawn).numpy()


def self_play(trainee: Trainee, client: boardwire.Client, given: Namespace, end: float) -> Generator[Told]:
    """Learns from rollouts, update by update until it is closed; tells how that goes."""
    if trainee.warm is None:
        trainee.warm = trainee.seconds
    league = boardwire.League(given.league, seed=given.seed + trainee.updates)
    for member in trainee.league:
        league.add(member)
    with open_batch(client, trainee, given, line_ups(given, trainee.network.spec.seats)) as batch:
        rollouts = boardwire.Rollouts(batch, given.steps, lam=given.trace)
        while True:
            rollouts.play_against(league.members, league.players(batch, given.league_share))
            played = rollouts.collect(trainee.decide)
            told = learn(trainee, played, given, given.rate * left(trainee, trainee.warm, end))
            trainee.samples += len(played.action)
            if trainee.updates % SNAPSHOT == 0:
                league.add(trainee.snapshot())
                trainee.league = league.members
            yield told


def learn(trainee: Trainee, played: boardwire.Rollout, given: Namespace, rate: float) -> Told:
    """Improves the network by what was played, and tells how that went."""
    view, mask, action = map(torch.from_numpy, (played.view, played.mask, played.action))
    before, advantage = torch.from_numpy(played.log_prob), torch.from_numpy(played.advantage)
    earned = torch.from_numpy(played.returns) / POINTS
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
    told = []
    for _ in range(given.epochs):
        for rows in torch.randperm(len(action)).split(given.minibatch):
            logits, value = trainee.network(view[rows])
            chances = log_probabilities(logits, mask[rows])
            change = chances.gather(1, action[rows, None]).squeeze(1) - before[rows]
            ratio = change.exp()
            bounded = ratio.clamp(1 - given.clip, 1 + given.clip)
            policy_loss = -torch.minimum(ratio * advantage[rows], bounded * advantage[rows]).mean()
            value_loss = (value - earned[rows]).square().mean()
            entropy = -(chances.exp() * chances).sum(1).mean()
            trainee.descend(policy_loss + 0.5 * value_loss - given.entropy * entropy, rate)
            told.append(torch.stack([policy_loss, value_loss, entropy, -change.mean()]).detach())
    return average(("policy_loss", "value_loss", "entropy", "kl"), told)


def average(names: tuple[str, ...], told: list[Any]) -> Told:
    """The means of some figures."""
    return dict(zip(names, torch.stack(told).mean(0).tolist(), strict=True))


def open_batch(
    client: boardwire.Client, trainee: Trainee, given: Namespace, line_ups: list[list[str]]
) -> boardwire.Batch:
    """Environments with margins as rewards."""
    spec = trainee.network.spec
    return client.open_batch(
        spec.id,
        environments=given.environments,
        line_ups=line_ups,
        options=spec.options,
        reward="margin",
        autoreset="same_step",
        skip_forced=True,
        seed=given.seed + trainee.updates,
    )


def line_ups(given: Namespace, seats: int) -> list[list[str]]:
    """Who plays in each match: the learner at one seat and a bot at all others, or the learner alone."""
    own = [(seat, bot) for bot in given.bots for seat in range(seats)]
    against = [["agent" if seat == at else bot for seat in range(seats)] for at, bot in own]
    met = round(given.bot_share * given.environments) if against else 0
    alone = [["agent"] * seats] * (given.environments - met)
    return [*itertools.islice(itertools.cycle(against), met), *alone]


def train(trainee: Trainee, client: boardwire.Client, given: Namespace, folder: Path) -> None:
    """Trains until the time is over, and measures the agent now and then."""
    whole, measured = 60 * given.minutes, trainee.seconds
    warm = whole * given.warm_up if trainee.warm is None else trainee.warm
    with (
        SummaryWriter(str(folder)) as board,
        (folder / "log.jsonl").open("a") as log,
        tqdm(total=round(whole), initial=round(trainee.seconds), unit="s", desc="training") as bar,
    ):
        for stage, end in ((warm_up, warm), (self_play, whole)):
            with contextlib.closing(stage(trainee, client, given, end)) as updates:
                while trainee.seconds < end:
                    began = time.perf_counter()
                    told = next(updates)
                    trainee.updates += 1
                    trainee.seconds += time.perf_counter() - began
                    is_done = trainee.seconds >= whole
                    if is_done or trainee.seconds - measured >= given.measure:
                        measured = trainee.seconds
                        report(trainee, client, given, folder, given.deals * (4 if is_done else 1))
                        told |= {f"wins_{bot}": share for bot, share in trainee.curve[-1]["wins"].items()}
                    told |= {"seconds": trainee.seconds, "samples": trainee.samples}
                    told["rate"] = trainee.optimizer.param_groups[0]["lr"]
                    log.write(json.dumps(told) + "\n")
                    for name, figure in told.items():
                        board.add_scalar(name, figure, trainee.samples)
                    won = trainee.curve[-1]["wins"] if trainee.curve else {}
                    bar.update(min(round(trainee.seconds), round(whole)) - bar.n)
                    shown = {name: f"{share:.1%}" for name, share in won.items()}
                    bar.set_postfix({"decisions": f"{trainee.samples:,}", **shown})


def report(trainee: Trainee, client: boardwire.Client, given: Namespace, folder: Path, deals: int) -> None:
    """Keeps the agent, measures it, and draws its curve."""
    trainee.save(folder / "checkpoint.pt")
    trainee.curve.append(measure(trainee, client, given, deals))
    trainee.save(folder / "checkpoint.pt")
    draw(trainee, folder / "curve.png")


def measure(trainee: Trainee, client: boardwire.Client, given: Namespace, deals: int) -> dict[str, Any]:
    """Lets the likeliest actions play against bots, always over the same deals."""
    spec = trainee.network.spec
    best = partial(play, trainee.network, best=True)
    of: Any = {"deals": deals, "seats": spec.seats, "options": spec.options, "seed": given.seed + 1}
    wins, intervals = {}, {}
    for bot in given.against:
        found = boardwire.evaluate(best, spec.id, opponents=bot, reward="win", client=client, **of)
        wins[bot], intervals[bot] = found.mean, found.interval
    reached = {"seconds": trainee.seconds, "samples": trainee.samples}
    return {**reached, "matches": deals * spec.seats, "wins": wins, "intervals": intervals}


def draw(trainee: Trainee, file: Path) -> None:
    """Draws the curve: matches won against each bot, by minutes of training."""
    spec, figure = trainee.network.spec, Figure(figsize=(7, 4))
    axes = figure.subplots()
    for bot in trainee.curve[-1]["wins"]:
        # Who resumes may measure against others than before.
        points = [at for at in trainee.curve if bot in at["wins"]]
        minutes = [at["seconds"] / 60 for at in points]
        low, high = zip(*(at["intervals"][bot] for at in points), strict=True)
        line = axes.plot(minutes, [at["wins"][bot] for at in points], label=f"against {bot}")
        axes.fill_between(minutes, low, high, alpha=0.2, color=line[0].get_color())
    axes.axhline(1 / spec.seats, color="grey", linestyle=":", label="a fair share")
    if trainee.warm is not None:
        axes.axvline(trainee.warm / 60, color="grey", linewidth=0.5)
    axes.set(xlabel="minutes of training", ylabel="matches won", ylim=(0, 1))
    axes.set_title(f"{spec.name}, {spec.seats} seats: {trainee.samples / 1e6:.1f} million decisions")
    axes.legend(loc="lower right")
    figure.savefig(file, dpi=120, bbox_inches="tight")


def arguments() -> Namespace:
    """What was asked for."""
    parser = ArgumentParser(description="Trains an agent from playouts and by self-play.")
    add = parser.add_argument
    add("game", nargs="?", default="faraway")
    add("--seats", type=int, help="how many seats; the fewest when left out")
    add("--minutes", type=float, default=10, help="of training, without those of measuring")
    add("--out", type=Path, help="the folder; runs/GAME when left out")
    add("--resume", action="store_true", help="go on with what is in the folder")
    add("--seed", type=int, default=1)
    add("--address", help="a running server; a private one when left out")
    add("--threads", type=int, default=min(os.cpu_count() or 1, 4), help="of the learner")
    add("--warm-up", type=float, default=0.8, help="the share of the time for learning from playouts")
    add("--warm-up-rate", type=float, default=4e-3, help="the learning rate of the warm-up at its beginning")
    add("--replay", type=int, default=3, help="how often the warm-up learns again from what it has seen")
    add("--bots", nargs="*", default=["greedy"], help="bots that are met in training")
    add("--bot-share", type=float, default=0.5, help="in how many matches")
    add("--league", type=int, default=4, help="how many snapshots are kept")
    add("--league-share", type=float, default=0.2, help="in how many of the other matches they are met")
    add("--against", nargs="*", default=["random", "greedy"], help="bots that measure the agent")
    add("--measure", type=float, default=60, help="seconds of training between two measurements")
    add("--deals", type=int, default=250, help="deals of a measurement; four times as many at the end")
    add("--environments", type=int, default=512)
    add("--steps", type=int, default=64, help="steps of a rollout")
    add("--epochs", type=int, default=2, help="how often a rollout is learned from")
    add("--minibatch", type=int, default=4096)
    add("--rate", type=float, default=1e-3, help="the learning rate of self-play at its beginning")
    add("--clip", type=float, default=0.2)
    add("--entropy", type=float, default=0.01)
    add("--trace", type=float, default=0.95, help="the lambda of advantages")
    add("--width", type=int, default=32, help="numbers of a component's embedding")
    add("--hidden", type=int, default=128, help="units of a layer")
    return parser.parse_args()


def main() -> None:
    """Trains, measures and exports."""
    given = arguments()
    folder = given.out or Path("runs") / given.game
    folder.mkdir(parents=True, exist_ok=True)
    checkpoint = folder / "checkpoint.pt"
    if checkpoint.exists() and not given.resume:
        raise SystemExit(f"{checkpoint} is there: --resume goes on with it, --out takes another folder")
    if given.resume and not checkpoint.exists():
        raise SystemExit(f"there is no {checkpoint} to go on with")
    torch.manual_seed(given.seed)
    torch.set_num_threads(given.threads)
    with boardwire.connect(given.address) as client:
        spec = client.game(given.game, seats=given.seats)
        trainee = Trainee(Network(spec, width=given.width, hidden=given.hidden))
        if given.resume:
            trainee.load(checkpoint)
        try:
            train(trainee, client, given, folder)
        except KeyboardInterrupt:
            print("ended early")
        export(trainee.network, folder / "policy.onnx")
        if not trainee.curve or trainee.curve[-1]["seconds"] < trainee.seconds:
            report(trainee, client, given, folder, 4 * given.deals)
    print(f"{trainee.samples:,} decisions in {trainee.seconds / 60:.1f} minutes")
    last = trainee.curve[-1]
    for bot, share in last["wins"].items():
        low, high = last["intervals"][bot]
        print(f"against {bot}: {share:.1%} of {last['matches']} matches won ({low:.1%} to {high:.1%})")
    print(f"{folder}/policy.onnx plays as policy:NAME")


if __name__ == "__main__":
    main()
