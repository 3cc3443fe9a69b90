"""Carry heads over to a target that was grown from theirs, as a start for their training.

    python heads_grow.py FOLDER SMALL-TARGET.gguf LARGE-TARGET.gguf OUT [--ffn N]

As `grow.py` does with the target: the heads' function stays as long as the large target's states are the small one's and zeros; they read the layers
that theirs have become.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import torch
from export import read
from grow import places
from heads import KINDS, Head, fresh
from heads_export import stored_head
from heads_train import target_from
from network import Network, Shape, save
from torch import Tensor

WRITES = ("out.weight", "down.weight", "fc.weight", "project.weight")
"""Matrices whose new rows and columns begin as zeros."""


def grown(head: Head, small: Shape, target: Network, ffn: int) -> Head:
    """The head at the target's width; what is new in it reads at random and writes nothing."""
    shape, at = target.shape, places(small.layers, target.shape.layers)
    read_from = tuple(at.index(layer) for layer in head.shape.target_layers)
    large = fresh(
        replace(
            head.shape, width=shape.width, heads=shape.heads, ffn=ffn, epsilon=shape.epsilon, target_layers=read_from
        ),
        target,
    )
    before, share = _narrowed(head, ffn), small.width / shape.width
    with torch.no_grad():
        for name, weight in large.named_parameters():
            old = before[name]
            if weight.ndim == 1 and len(weight) != len(old):
                weight[: len(old)] = old * share**0.5
            elif weight.ndim == 1:
                weight.copy_(old)
            else:
                _put(weight, old, name, head, shape.width)
    return large


def _narrowed(head: Head, ffn: int) -> dict[str, Tensor]:
    """The weights, with the feed-forward's strongest units where it has more than ``ffn``."""
    state = dict(head.state_dict())
    for number in range(len(head.blocks)):
        gate_up, down = (f"blocks.{number}.{name}.weight" for name in ("gate_up", "down"))
        apart = state[gate_up].unflatten(0, (2, -1))
        strength = apart.norm(dim=-1).prod(0) * state[down].norm(dim=0)
        kept = strength.topk(min(ffn, len(strength))).indices
        state[gate_up], state[down] = apart[:, kept].flatten(0, 1), state[down][:, kept]
    return state


def _put(large: Tensor, old: Tensor, name: str, head: Head, width: int) -> None:
    """The old matrix in the corner of each of the parts that a fused one consists of."""
    if name.endswith(WRITES):
        large.zero_()
    rows = 3 if name.endswith("qkv.weight") else 2 if name.endswith("gate_up.weight") else 1
    columns = large.shape[1] // width if large.shape[1] % width == 0 and not name.endswith("down.weight") else 1
    into = large.view(rows, large.shape[0] // rows, columns, -1)
    part = old.view(rows, old.shape[0] // rows, columns, -1)
    kept = min(into.shape[1], part.shape[1]), min(into.shape[3], part.shape[3])
    into[:, : kept[0]] = 0
    into[:, : kept[0], :, : kept[1]] = part[:, : kept[0], :, : kept[1]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("folder", "small", "target", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--ffn", type=int, default=0, help="as wide as the target's where it is not given")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    options = parser.parse_args()
    small, target = read(options.small), target_from(options.target)
    options.out.mkdir(parents=True, exist_ok=True)
    for kind in options.kinds:
        head = stored_head(options.folder, kind)
        save(grown(head, small.shape, target, options.ffn or target.shape.ffn), str(options.out / f"{kind}.pt"))


if __name__ == "__main__":
    main()
