"""Grow a trained network: the same function in a larger shape, with the new weights ready to learn.

    python assets/recipe/grow.py SMALL-TARGET.gguf OUT.pt

What is new reads at random and writes nothing, so the logits stay as they were and every new weight has a gradient
from the first step on (Chen et al. 2015, Net2Net, arXiv 1511.05641; Gesmundo and Maile 2023, arXiv 2308.06103). RMSNorm divides by the mean of
squares of more dimensions, which its weight and epsilon make up for. Heads keep their size, so rotary positions keep
their meaning.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import torch
from export import read
from network import Block, Network, Norm, Shape, save
from torch import Tensor, nn
from train import TARGET


def grown(small: Network, shape: Shape, seed: int = 4) -> Network:
    """``small`` in ``shape``: at least as wide, deep and many-headed, with heads of the same size."""
    torch.manual_seed(seed)
    before = small.shape
    if shape.head_dim != before.head_dim or shape.vocab != before.vocab:
        raise SystemExit("heads and vocabulary must keep their size")
    share = before.width / shape.width
    large = Network(replace(shape, epsilon=before.epsilon * share))
    with torch.no_grad():
        _put(large.embed.weight, small.embed.weight, fresh=0.0)
        _grow_norm(large.norm, small.norm, share)
        for old, block in zip(places(before.layers, shape.layers), large.blocks, strict=True):
            _grow_block(block, small.blocks[old] if old is not None else None, share)
    return large


def places(before: int, after: int) -> list[int | None]:
    """For each layer of the large network the small one's that it begins as, spread evenly; None for a new layer."""
    at = {round((number + 1) * after / before) - 1: number for number in range(before)}
    return [at.get(number) for number in range(after)]


def _grow_block(block: Block, old: Block | None, share: float) -> None:
    if old is None:
        for norm in (block.attn_norm, block.ffn_norm):
            norm.weight.fill_(share**0.5)
        block.out.weight.zero_()
        block.down.weight.zero_()
        return
    _grow_norm(block.attn_norm, old.attn_norm, share)
    _grow_norm(block.ffn_norm, old.ffn_norm, share)
    for fused, part, parts in ((block.qkv, old.qkv, 3), (block.gate_up, old.gate_up, 2)):
        for large, small in zip(fused.weight.chunk(parts), part.weight.chunk(parts), strict=True):
            _put(large, small)
    _put(block.out.weight, old.out.weight, fresh=0.0)
    _put(block.down.weight, old.down.weight, fresh=0.0)


def _grow_norm(norm: Norm, old: Norm, share: float) -> None:
    norm.weight.fill_(float(old.weight.mean()) * share**0.5)
    norm.weight[: len(old.weight)] = old.weight * share**0.5


def _put(large: nn.Parameter | Tensor, small: Tensor, fresh: float | None = None) -> None:
    """``small`` in the corner of ``large``; the rest stays random, or becomes ``fresh``."""
    if fresh is not None:
        large.fill_(fresh)
    rows, columns = small.shape
    large[:rows, :columns] = small


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("small", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    small = read(arguments.small)
    large = grown(small, TARGET)
    tokens = torch.randint(small.shape.vocab, (2, 64))
    apart = (large(tokens) - small(tokens)).abs().max()
    print(f"{sum(p.numel() for p in large.parameters()):,} parameters; logits differ by {apart:.2e} at most")
    save(large, str(arguments.out))


if __name__ == "__main__":
    main()
