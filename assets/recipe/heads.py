"""Networks that guess from the target's hidden states: an EAGLE-3 head, an MTP layer and a DFlash block, as llama.cpp computes them.

EAGLE-3 (Li et al. 2025, arXiv 2503.01840) and MTP (multi-token prediction, DeepSeek-V3, arXiv 2412.19437) read pairs of a token and the hidden
state before it and go on with their own hidden states. DFlash (arXiv 2602.06036) reads a block of masks and gives all its places at once.
Embedding and output matrix are the target's.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from network import Network, Norm, Shape, rotate, rotation
from torch import Tensor, nn


@dataclass(frozen=True)
class HeadShape:
    """Everything that decides a head's size; stored beside its weights."""

    kind: str
    vocab: int
    width: int
    heads: int
    ffn: int
    context: int
    epsilon: float
    rope_base: float
    layers: int
    target_layers: tuple[int, ...]
    """The target's layers whose inputs are read; empty for MTP, which reads the normalised last state."""
    block: int = 0
    """DFlash: the last token and the masks behind it."""
    mask: int = 0

    @property
    def head_dim(self) -> int:
        return self.width // self.heads


def shape_for(kind: str, target: Shape, mask: int, ffn: int = 0, layers: int = 0, block: int = 8) -> HeadShape:
    """The usual shape of a head for a target: states from low, middle and last layer; sizes of the target where none are given."""
    read = () if kind == "mtp" else (max(1, target.layers // 4), target.layers // 2, target.layers - 1)
    deep = kind == "dflash"
    return HeadShape(
        kind=kind,
        vocab=target.vocab,
        width=target.width,
        heads=target.heads,
        ffn=ffn or target.ffn,
        context=target.context,
        epsilon=target.epsilon,
        rope_base=target.rope_base,
        layers=(layers or 2) if deep else 1,
        target_layers=read,
        block=block if deep else 0,
        mask=mask if deep else 0,
    )


class Layer(nn.Module):
    """Attention and the gated feed-forward, without the norm before the attention, which differs between the kinds."""

    def __init__(self, shape: HeadShape, inputs: int) -> None:
        super().__init__()
        self.heads = shape.heads
        self.qkv = nn.Linear(inputs, 3 * shape.width, bias=False)
        self.out = nn.Linear(shape.width, shape.width, bias=False)
        self.ffn_norm = Norm(shape.width, shape.epsilon)
        self.gate_up = nn.Linear(shape.width, 2 * shape.ffn, bias=False)
        self.down = nn.Linear(shape.ffn, shape.width, bias=False)
        for layer in (self.out, self.down):
            nn.init.normal_(layer.weight, std=0.02)

    def split(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of rows (batch, n, inputs), each (batch, heads, n, head size)."""
        return self.qkv(x).unflatten(-1, (3, self.heads, -1)).transpose(1, 3).unbind(2)

    def finish(self, residual: Tensor, attended: Tensor) -> Tensor:
        x = residual + self.out(attended.transpose(1, 2).flatten(2))
        gate, up = self.gate_up(self.ffn_norm(x)).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * up)


class Head(nn.Module):
    """The parts that all kinds share."""

    def __init__(self, shape: HeadShape, inputs: int) -> None:
        super().__init__()
        self.shape = shape
        self.blocks = nn.ModuleList(Layer(shape, inputs) for _ in range(shape.layers))
        self.norm = Norm(shape.width, shape.epsilon)
        cos, sin = rotation(shape, shape.context)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def read(self, stream: list[Tensor], last: Tensor) -> Tensor:
        """The rows that the head is given of a target: inputs of layers side by side, or its normalised last state."""
        layers = self.shape.target_layers
        return torch.cat([stream[layer] for layer in layers], -1) if layers else last


class Chain(Head):
    """A head that goes on token by token. ``inputs`` and ``outputs`` are the kind's own."""

    def encode(self, states: Tensor) -> Tensor:
        """The hidden states that pairs are made of."""
        return states

    def inputs(self, embedded: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """The input of attention for a pair, and the residual that its output is added to."""
        raise NotImplementedError

    def outputs(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The hidden state that the next pair is made of, and the one that the output matrix reads."""
        raise NotImplementedError

    def forward(self, hidden: Tensor, embedded: list[Tensor], mask: Tensor, chosen: Tensor) -> list[Tensor]:
        """The states before the output matrix, of each step: first of all rows, then of the ``chosen`` ones (batch, rows).

        The first step reads true pairs of ``embedded`` and ``hidden``; a later one the tokens embedded for it and the hidden states of the step
        before (training-time test). It sees the true pairs up to its row and, behind them, its own steps. ``mask`` (batch, n, n) is of the true pairs.
        """
        index = chosen[:, :, None].expand(-1, -1, hidden.shape[-1])
        at, added = torch.arange(hidden.shape[1])[None], mask[:, None]
        keys, values, steps = [], [], []
        for step, row in enumerate(embedded):
            given, residual = self.inputs(row, hidden)
            q, k, v = self.blocks[0].split(given)
            turn = self.cos[at][:, None], self.sin[at][:, None]
            q, k = rotate(q, *turn).to(v.dtype), rotate(k, *turn).to(v.dtype)
            keys.append(k)
            values.append(v)
            hidden, last = self.outputs(self.blocks[0].finish(residual, _chained(q, keys, values, added)))
            steps.append(last)
            if step == 0:
                hidden, at = hidden.gather(1, index), chosen
                added = mask.gather(1, chosen[:, :, None].expand(-1, -1, mask.shape[-1]))[:, None]
            at = at + 1
        return steps


def _chained(q: Tensor, keys: list[Tensor], values: list[Tensor], mask: Tensor) -> Tensor:
    """Attention to all earlier rows of the first step, and to the same row of the later ones."""
    scores = [(q @ keys[0].mT).float() * q.shape[-1] ** -0.5 + mask]
    scores += [(q * k).sum(-1, keepdim=True).float() * q.shape[-1] ** -0.5 for k in keys[1:]]
    weights = torch.cat(scores, -1).softmax(-1).to(q.dtype)
    length = keys[0].shape[2]
    attended = weights[..., :length] @ values[0]
    for n, v in enumerate(values[1:]):
        attended = attended + weights[..., length + n, None] * v
    return attended


class Eagle3(Chain):
    """Three hidden states fused into one; attention reads token and state side by side."""

    def __init__(self, shape: HeadShape) -> None:
        super().__init__(shape, 2 * shape.width)
        self.fc = nn.Linear(len(shape.target_layers) * shape.width, shape.width, bias=False)
        self.token_norm = Norm(shape.width, shape.epsilon)
        self.hidden_norm = Norm(shape.width, shape.epsilon)
        with torch.no_grad():
            self.fc.weight[:, -shape.width :] += torch.eye(shape.width)

    def encode(self, states: Tensor) -> Tensor:
        return self.fc(states)

    def inputs(self, embedded: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        return torch.cat((self.token_norm(embedded), self.hidden_norm(hidden)), -1), hidden

    def outputs(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x, self.norm(x)


class Mtp(Chain):
    """One more layer of the target, on token and last hidden state."""

    def __init__(self, shape: HeadShape) -> None:
        super().__init__(shape, shape.width)
        self.token_norm = Norm(shape.width, shape.epsilon)
        self.hidden_norm = Norm(shape.width, shape.epsilon)
        self.project = nn.Linear(2 * shape.width, shape.width, bias=False)
        self.attn_norm = Norm(shape.width, shape.epsilon)
        with torch.no_grad():
            self.project.weight[:, -shape.width :] += torch.eye(shape.width)

    def inputs(self, embedded: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        x = self.project(torch.cat((self.token_norm(embedded), self.hidden_norm(hidden)), -1))
        return self.attn_norm(x), x

    def outputs(self, x: Tensor) -> tuple[Tensor, Tensor]:
        last = self.norm(x)
        return last, last


class DFlash(Head):
    """A block of the last token and masks; its places see each other and the target's states before the block."""

    def __init__(self, shape: HeadShape) -> None:
        super().__init__(shape, shape.width)
        self.fc = nn.Linear(len(shape.target_layers) * shape.width, shape.width, bias=False)
        self.states_norm = Norm(shape.width, shape.epsilon)
        self.attn_norms, self.q_norms, self.k_norms = (
            nn.ModuleList(Norm(width, shape.epsilon) for _ in range(shape.layers))
            for width in (shape.width, shape.head_dim, shape.head_dim)
        )

    def forward(self, states: Tensor, embedded: Tensor, starts: Tensor, sees: Tensor, inside: Tensor) -> Tensor:
        """The states before the output matrix (batch, blocks, places, width).

        ``embedded`` has the same form; ``starts`` (batch, blocks) is each block's first position; ``sees`` (batch, 1, blocks x places, n) is added to
        the scores of the states and ``inside`` (places) to those of the block's own places.
        """
        fused = self.states_norm(self.fc(states))
        _, blocks, places, _ = embedded.shape
        at = (starts[:, :, None] + torch.arange(places)).flatten(1)
        turn = self.cos[at][:, None], self.sin[at][:, None]
        length = states.shape[1]
        x = embedded.flatten(1, 2)
        for number, block in enumerate(self.blocks):
            _, k_old, v_old = block.split(fused)
            q, k, v = block.split(self.attn_norms[number](x))
            q = rotate(self.q_norms[number](q), *turn).to(v.dtype)
            k = rotate(self.k_norms[number](k), *turn).to(v.dtype)
            k_old = rotate(self.k_norms[number](k_old), self.cos[:length], self.sin[:length]).to(v.dtype)
            grouped = [part.unflatten(2, (blocks, places)) for part in (q, k, v)]
            old = (q @ k_old.mT).float() * q.shape[-1] ** -0.5 + sees
            own = (grouped[0] @ grouped[1].mT).float() * q.shape[-1] ** -0.5 + inside
            weights = torch.cat((old, own.flatten(2, 3)), -1).softmax(-1).to(v.dtype)
            attended = weights[..., :length] @ v_old
            attended = attended + (weights[..., length:].unflatten(2, (blocks, places)) @ grouped[2]).flatten(2, 3)
            x = block.finish(x, attended)
        return self.norm(x).unflatten(1, (blocks, places))


KINDS: dict[str, type[Head]] = {"eagle3": Eagle3, "mtp": Mtp, "dflash": DFlash}


def fresh(shape: HeadShape, target: Network) -> Head:
    """A head to be trained; its last norm begins as the target's."""
    head = KINDS[shape.kind](shape)
    with torch.no_grad():
        head.norm.weight.copy_(target.norm.weight)
    return head


def load(path: str) -> Head:
    """A head as `network.save` left it."""
    stored = torch.load(path, map_location="cpu", weights_only=True)
    shape = HeadShape(**stored["shape"])
    head = KINDS[shape.kind](shape)
    head.load_state_dict(stored["state"])
    return head
