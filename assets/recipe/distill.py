"""Train the draft to give the target's own probabilities, which is exactly what speculative decoding rewards."""

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
from train import fraction

DRAFT = Shape(vocab=VOCABULARY, width=128, layers=2, heads=2, ffn=352)


def loss_of(draft: Network, target: Network, batch: Batch) -> Tensor:
    """The divergence of the draft's distribution from the target's, over the assistant's tokens."""
    tokens, spoken = batch
    wanted = spoken[:, 1:]
    with torch.autocast("cpu", torch.bfloat16):
        with torch.no_grad():
            truth = F.linear(target.hidden(tokens[:, :-1])[wanted], target.embed.weight)
        guess = F.linear(draft.hidden(tokens[:, :-1])[wanted], draft.embed.weight)
    return F.kl_div(
        F.log_softmax(guess.float(), -1), F.log_softmax(truth.float(), -1), reduction="batchmean", log_target=True
    )


def distill(corpus: Corpus, target: Network, draft: Network, steps: int, out: Path, budget: int, longest: int, seed: int) -> None:
    """Run the schedule; the target is only read."""
    optimiser, batches, mean, start = Optimiser(draft), corpus.batches(budget, longest, seed), 0.0, time.time()
    for step in range(steps):
        loss = loss_of(draft, target, next(batches))
        loss.backward()
        optimiser.step(fraction(step, steps))
        mean = loss.item() if step == 0 else 0.98 * mean + 0.02 * loss.item()
        if step % 50 == 49 or step == steps - 1:
            print(f"step {step + 1} divergence {mean:.4f} seconds {time.time() - start:.0f}", flush=True)
        if step % 250 == 249 or step == steps - 1:
            save(draft, str(out))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--budget", type=int, default=8192)
    parser.add_argument("--longest", type=int, default=512)
    parser.add_argument("--seed", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(2)
    torch.manual_seed(arguments.seed)
    target = load(str(arguments.target)).eval().requires_grad_(False)
    distill(Corpus.load(arguments.corpus), target, Network(DRAFT), arguments.steps, arguments.out, arguments.budget,
            arguments.longest, arguments.seed)


if __name__ == "__main__":
    main()
