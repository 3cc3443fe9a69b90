"""Muon for the matrices, AdamW for the rest.

The rates suit batches of eight thousand tokens: at three times these, the customary ones for large batches, nothing but noise is learned.
"""

from __future__ import annotations

from collections import defaultdict

import torch
from network import Network
from torch import Tensor, nn


def orthogonalised(update: Tensor) -> Tensor:
    """Newton-Schulz: the nearest orthogonal matrices to a stack of updates."""
    x = update.bfloat16()
    tall = x.shape[-2] > x.shape[-1]
    x = x.mT if tall else x
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(5):
        square = x @ x.mT
        x = 3.4445 * x + (-4.7750 * square + 2.0315 * square @ square) @ x
    return (x.mT if tall else x).float()


class Muon(torch.optim.Optimizer):
    """Momentum whose step is orthogonalised; fused projections are treated as the separate matrices they are."""

    def __init__(self, parts: list[tuple[nn.Parameter, int]], lr: float, momentum: float = 0.95) -> None:
        super().__init__([{"params": [p], "parts": n} for p, n in parts], {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        """One step; matrices of one shape are orthogonalised together, which is much faster than one by one."""
        alike: dict[torch.Size, list[tuple[dict, nn.Parameter, Tensor]]] = defaultdict(list)
        for group in self.param_groups:
            for parameter in group["params"]:
                buffer = self.state[parameter].setdefault("momentum", torch.zeros_like(parameter))
                buffer.lerp_(parameter.grad, 1 - group["momentum"])
                update = parameter.grad.lerp(buffer, group["momentum"]).unflatten(0, (group["parts"], -1))
                alike[update.shape[1:]].append((group, parameter, update))
        for shape, updates in alike.items():
            scale = max(1.0, shape[0] / shape[1]) ** 0.5
            whole = orthogonalised(torch.cat([update for _, _, update in updates]))
            for (group, parameter, _), part in zip(
                updates, whole.split([len(update) for _, _, update in updates]), strict=True
            ):
                parameter.mul_(1 - group["lr"] * 0.01)
                parameter.add_(part.flatten(0, 1), alpha=-group["lr"] * scale)


class Optimiser:
    """Both optimisers behind one `step`, with the learning rate as a fraction of its peak; what needs no gradient stays."""

    def __init__(self, network: Network, matrix_rate: float = 0.006, other_rate: float = 0.0012) -> None:
        matrices = [
            (layer.weight, parts)
            for block in network.blocks
            for layer, parts in ((block.qkv, 3), (block.out, 1), (block.gate_up, 2), (block.down, 1))
            if layer.weight.requires_grad
        ]
        chosen = {id(parameter) for parameter, _ in matrices}
        rest = [p for p in network.parameters() if id(p) not in chosen and p.requires_grad]
        self.both = [
            Muon(matrices, matrix_rate),
            torch.optim.AdamW(rest, other_rate, betas=(0.9, 0.97), weight_decay=0.0),
        ]
        self.peaks = [matrix_rate, other_rate]

    def step(self, fraction: float) -> None:
        for optimiser, peak in zip(self.both, self.peaks, strict=True):
            for group in optimiser.param_groups:
                group["lr"] = peak * fraction
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
