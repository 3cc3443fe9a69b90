"""Train the target on the corpus: plain next-token prediction of what the assistant says."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from corpus import Batch, Corpus
from network import Network, Shape, load, save
from optimiser import Optimiser
from tokenizer import VOCABULARY

TARGET = Shape(vocab=VOCABULARY, width=256, layers=6, heads=4, ffn=704)
WARM_UP, COOL_DOWN = 60, 0.4


def fraction(step: int, steps: int) -> float:
    """The learning rate's shape: a short warm-up, a plateau, a long straight descent."""
    return min(1.0, (step + 1) / WARM_UP, (steps - step) / (COOL_DOWN * steps))


def loss_of(network: Network, batch: Batch) -> Tensor:
    """Cross-entropy over the assistant's tokens alone: predicting the reader's typing would waste the capacity."""
    tokens, spoken = batch
    with torch.autocast("cpu", torch.bfloat16):
        hidden = network.hidden(tokens[:, :-1])[spoken[:, 1:]]
        logits = F.linear(hidden, network.embed.weight)
    return F.cross_entropy(logits.float(), tokens[:, 1:][spoken[:, 1:]])


def train(corpus: Corpus, network: Network, steps: int, out: Path, budget: int, longest: int, seed: int, peak: float) -> None:
    """Run the schedule, with a checkpoint now and then so that an interruption costs little."""
    optimiser, batches, mean, seen, start = Optimiser(network), corpus.batches(budget, longest, seed), 0.0, 0, time.time()
    for step in range(steps):
        batch = next(batches)
        loss = loss_of(network, batch)
        loss.backward()
        optimiser.step(peak * fraction(step, steps))
        seen += batch[0].numel()
        mean = loss.item() if step == 0 else 0.98 * mean + 0.02 * loss.item()
        if step % 50 == 49 or step == steps - 1:
            print(f"step {step + 1} loss {mean:.4f} tokens {seen} per second {seen / (time.time() - start):.0f}", flush=True)
        if step % 250 == 249 or step == steps - 1:
            save(network, str(out))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--budget", type=int, default=8192, help="tokens in a batch")
    parser.add_argument("--longest", type=int, default=512)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--peak", type=float, default=1.0, help="scales the learning rate")
    parser.add_argument("--resume", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(2)
    torch.manual_seed(arguments.seed)
    network = load(str(arguments.resume)) if arguments.resume else Network(TARGET)
    train(Corpus.load(arguments.corpus), network, arguments.steps, arguments.out, arguments.budget, arguments.longest,
          arguments.seed, arguments.peak)


if __name__ == "__main__":
    main()
