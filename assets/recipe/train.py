"""Train the target on the corpus: plain next-token prediction of what the assistant says."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

import torch
import torch.nn.functional as F
from corpus import Batch, Corpus
from export import stored
from network import Network, Shape, half_precision, quantise, save
from optimiser import Optimiser
from tokenizer import VOCABULARY
from torch import Tensor, nn

Loss = Callable[[Network, Batch], Tensor]
TARGET = Shape(vocab=VOCABULARY, width=384, layers=20, heads=6, ffn=1056)
WARM_UP = 60
CHECKPOINT_S = 120


def fraction(step: int, progress: float, cool_down: float) -> float:
    """The learning rate's shape: a short warm-up, a plateau, a straight descent over the last part of the way."""
    return min(1.0, (step + 1) / WARM_UP, (1 - progress) / cool_down if cool_down else 1.0)


def loss_of(network: Network, batch: Batch) -> Tensor:
    """Weighted cross-entropy of every token, given those of its chat before it."""
    logits = F.linear(network.hidden(batch.tokens[:, :-1], batch.chat[:, :-1]), network.embed.weight)
    each = F.cross_entropy(logits.float().flatten(0, 1), batch.tokens[:, 1:].flatten(), reduction="none")
    weight = batch.weight[:, 1:].flatten()
    return (each * weight).sum() / weight.sum()


@dataclass(frozen=True)
class Schedule:
    """The length and the rates of training: by steps, or by minutes where the machine is shared and its speed unknown."""

    steps: int = 3000
    minutes: float = 1e9
    budget: int = 8192
    seed: int = 1
    peak: float = 1.0
    cool_down: float = 0.45

    def progress(self, step: int, start: float) -> float:
        return max(step / self.steps, (time.time() - start) / 60 / self.minutes)


def train(corpus: Corpus, network: Network, schedule: Schedule, out: Path, loss_of: Loss = loss_of) -> None:
    """Run the schedule, with a checkpoint now and then so that an interruption costs little."""
    optimiser, batches = Optimiser(network), corpus.batches(schedule.budget, schedule.seed)
    on_processor = torch.get_default_device().type == "cpu"
    # Twice as fast there, after half a minute a shape; a GPU is done before that pays.
    of_batch = torch.compile(loss_of, dynamic=False) if on_processor else loss_of
    step, seen, mean, start = 0, 0, torch.zeros(()), time.time()
    saved = start
    while (progress := schedule.progress(step, start)) < 1:
        batch = next(batches)
        with half_precision():
            loss = of_batch(network, batch)
        loss.backward()
        optimiser.step(schedule.peak * fraction(step, progress, schedule.cool_down))
        seen += batch.tokens.numel()
        mean = loss.detach() if step == 0 else mean.lerp(loss.detach(), 0.02)
        step += 1
        if step % 50 == 0:
            print(
                f"step {step} ({progress:.0%}) loss {mean.item():.4f} tokens {seen} per second {seen / (time.time() - start):.0f}",
                flush=True,
            )
            if time.time() > saved + CHECKPOINT_S:
                save(network, str(out))
                saved = time.time()
    save(network, str(out))


def arguments(description: str | None) -> argparse.ArgumentParser:
    """The options that both trainings share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    for field in fields(Schedule):
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=type(field.default), default=field.default)
    return parser


def use(device: str) -> None:
    """Make new tensors on this device. Naming the processor, where they are made anyway, would cut what is compiled into pieces."""
    if device != "cpu":
        torch.set_default_device(device)


def prepare(options: argparse.Namespace) -> Schedule:
    """Set threads, device and seed for the whole process; return the schedule."""
    torch.set_num_threads(options.threads)
    use(options.device)
    torch.manual_seed(options.seed)
    return Schedule(**{field.name: getattr(options, field.name) for field in fields(Schedule)})


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--resume", type=Path)
    parser.add_argument("--quantised", action="store_true", help="train the matrices as Q4_0 will round them")
    parser.add_argument(
        "--layers", type=int, nargs="+", metavar="N", help="train these alone: those that `grow.py` has added"
    )
    options = parser.parse_args()
    schedule = prepare(options)
    network = stored(options.resume) if options.resume else Network(TARGET)
    learning = network.requires_grad_(not options.layers)
    if options.layers:
        learning = nn.ModuleList(network.blocks[number] for number in options.layers).requires_grad_()
    if options.quantised:
        quantise(learning)
    train(Corpus.load(options.corpus), network, schedule, options.out)


if __name__ == "__main__":
    main()
