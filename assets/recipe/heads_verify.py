"""Hold a head in llama.cpp against the one in PyTorch, and count how many of its guesses the target takes.

    python heads_verify.py TARGET.gguf HEAD.gguf [--weights HEAD.pt] [--questions N] [--depth N]

An MTP layer is put into a file with its target first. The guesses are counted at temperature 0 over the target's own answers to held-out questions.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import gguf
import numpy as np
from evaluator import prompt
from heads_evaluator import HeadEvaluator
from heldout import items
from mtp_target import ARCHITECTURE, combine

TOLERANCE = 0.1
LONGEST = 120


def opened(target: Path, head: Path, folder: Path) -> HeadEvaluator:
    """The pair; for an MTP layer in a file that is made in ``folder``."""
    if gguf.GGUFReader(str(head)).fields["general.architecture"].contents() != ARCHITECTURE:
        return HeadEvaluator(target, head, threads=1)
    combine(target, head, folder / "mtp.gguf")
    return HeadEvaluator(folder / "mtp.gguf", None, threads=1)


def farthest(evaluator: HeadEvaluator, weights: Path, target: Path, tokens: Sequence[int], depth: int) -> float:
    """The largest difference between a logit of PyTorch (float32) and of llama.cpp behind a text, over some places."""
    import torch
    from export import read
    from heads import DFlash, load

    head, network = load(str(weights)), read(target)
    evaluator.read(tokens)
    theirs = evaluator.logits(len(tokens), depth)
    with torch.no_grad():
        row = torch.tensor([tokens])
        stream = network.stream(row)
        states = head.read(stream, network.norm(stream[-1]))[:, :-1]
        n = len(tokens)
        if isinstance(head, DFlash):
            block = torch.full((1, 1, head.shape.block), head.shape.mask)
            block[0, 0, 0] = tokens[-1]
            none = torch.zeros(())
            last = head(states, network.embed(block), torch.tensor([[n - 1]]), none, none)[0, 0, 1:]
        else:
            guessed = [int(scores.argmax()) for scores in theirs]
            drop = 1 if head.shape.target_layers else 0
            hidden = torch.nn.functional.pad(head.encode(states), (0, 0, 1, 0))[:, drop:]
            embedded = [
                network.embed(row[:, drop:]),
                *(network.embed(torch.tensor([[token]])) for token in guessed[:-1]),
            ]
            mask = torch.full((1, n - drop, n - drop), float("-inf")).triu(1)
            last = torch.cat([step[0, -1:] for step in head(hidden, embedded, mask, torch.tensor([[n - drop - 1]]))])
        ours = (last @ network.embed.weight.T).numpy()
    return max(float(np.abs(a - b).max()) for a, b in zip(ours, theirs, strict=False))


def accepted(evaluator: HeadEvaluator, start: Sequence[int], reply: Sequence[int], depth: int) -> tuple[list[int], int]:
    """(rounds in which the guess at each place was taken, rounds) of greedy speculation replayed on the target's reply."""
    evaluator.read([*start, *reply])
    taken, rounds, at = [0] * depth, 0, 1
    while at < len(reply):
        guesses = evaluator.guesses(len(start) + at, depth)[: len(reply) - at]
        right = next((n for n, guess in enumerate(guesses) if guess != reply[at + n]), len(guesses))
        for place in range(right):
            taken[place] += 1
        rounds += 1
        at += right + 1
    return taken, rounds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", type=Path)
    parser.add_argument("head", type=Path)
    parser.add_argument(
        "--weights", type=Path, help="the head in PyTorch, to compare with; the GGUF file should be f16"
    )
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--depth", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        evaluator = opened(options.target, options.head, Path(folder))
        chats = [
            [{"role": "user", "content": item.turns[0]}] for item in items() if len(item.turns) == 1 and not item.system
        ]
        chats = chats[:: max(1, len(chats) // options.questions)] if options.questions else []
        starts = [evaluator.target.tokens(prompt(chat)) for chat in chats]
        if options.weights:
            far = max(farthest(evaluator, options.weights, options.target, start, 3) for start in starts[:5])
            print(f"logits at most {far:.4f} apart", flush=True)
            if far > TOLERANCE:
                raise SystemExit("llama.cpp does not agree with the training")
        total, rounds = np.zeros(options.depth, int), 0
        for start in starts:
            evaluator.target.held = []
            taken, some = accepted(evaluator, start, evaluator.target.greedy(start, LONGEST), options.depth)
            total, rounds = total + taken, rounds + some
        print(f"{rounds} rounds; taken at each place: {' '.join(f'{n / rounds:.2f}' for n in total)}")
        print(f"tokens a round: {1 + total.sum() / rounds:.2f} at depth {options.depth}")


if __name__ == "__main__":
    main()
