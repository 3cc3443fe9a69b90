"""The Llama architecture in PyTorch, small enough to train on a laptop.

It follows llama.cpp's reading of the architecture to the letter (RMSNorm before each block, rotary positions on *interleaved* pairs,
SwiGLU, output tied to the embedding), so exporting is a matter of renaming tensors and nothing is permuted.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class Shape:
    """Everything that decides a network's size; stored beside its weights."""

    vocab: int
    width: int
    layers: int
    heads: int
    ffn: int
    context: int = 1024
    epsilon: float = 1e-5
    rope_base: float = 10000.0

    @property
    def head_dim(self) -> int:
        return self.width // self.heads


class Norm(nn.Module):
    """RMSNorm, written out so that it says exactly what llama.cpp computes."""

    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.epsilon = epsilon

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.epsilon) * self.weight


def rounded(weight: Tensor) -> Tensor:
    """The weight as a Q4_0 block of 32 gives it back; its gradient is that of the weight itself (straight through)."""
    blocks = weight.unflatten(-1, (-1, 32))
    largest = blocks.gather(-1, blocks.abs().argmax(-1, keepdim=True))
    scale = largest / -8
    steps = torch.trunc(blocks * torch.where(scale == 0, 0, 1 / scale) + 8.5).clamp(0, 15) - 8
    return weight + (steps * scale.half().float() - blocks).flatten(-2).detach()


class Matrix(nn.Linear):
    """A projection without bias, which can be trained as it is after quantisation."""

    quantised = False

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, rounded(self.weight) if self.quantised else self.weight)


def rotation(shape: Shape, length: int) -> tuple[Tensor, Tensor]:
    """Cosines and sines for every position and every pair of dimensions."""
    half = torch.arange(0, shape.head_dim, 2).float() / shape.head_dim
    angles = torch.outer(torch.arange(length).float(), shape.rope_base**-half)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn neighbouring dimensions (0,1), (2,3), ... by their position's angle."""
    even, odd = x.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2)


def attended(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Attention spelled out: for short chats on a CPU it is learned through faster than PyTorch's fused one."""
    scores = (q @ k.mT).float() * q.shape[-1] ** -0.5
    return (scores + mask).softmax(-1).to(v.dtype) @ v


class Block(nn.Module):
    """One layer: attention, then the gated feed-forward, each on a normalised copy of the stream."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.attn_norm = Norm(shape.width, shape.epsilon)
        self.qkv = Matrix(shape.width, 3 * shape.width)
        self.out = Matrix(shape.width, shape.width)
        self.ffn_norm = Norm(shape.width, shape.epsilon)
        self.gate_up = Matrix(shape.width, 2 * shape.ffn)
        self.down = Matrix(shape.ffn, shape.width)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor) -> Tensor:
        heads = self.qkv(self.attn_norm(x)).unflatten(-1, (3, self.shape.heads, -1)).transpose(1, 3)
        q, k, v = heads.unbind(2)
        q, k = rotate(q, cos, sin).to(v.dtype), rotate(k, cos, sin).to(v.dtype)
        x = x + self.out(attended(q, k, v, mask).transpose(1, 2).flatten(2))
        gate, up = self.gate_up(self.ffn_norm(x)).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * up)


class Network(nn.Module):
    """Token numbers in, logits for the next token out."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embed = nn.Embedding(shape.vocab, shape.width)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = Norm(shape.width, shape.epsilon)
        cos, sin = rotation(shape, shape.context)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        self._initialise()

    def _initialise(self) -> None:
        nn.init.normal_(self.embed.weight, std=0.02)
        for block in self.blocks:
            for layer in (block.qkv, block.gate_up):
                nn.init.normal_(layer.weight, std=self.shape.width**-0.5)
            for layer in (block.out, block.down):
                nn.init.normal_(layer.weight, std=0.02 / (2 * self.shape.layers) ** 0.5)

    def stream(self, tokens: Tensor, chat: Tensor | None = None) -> list[Tensor]:
        """The residual stream as each layer finds it, and behind the last one. Where `chat` differs, tokens do not see each other."""
        length = tokens.shape[1]
        cos, sin = self.cos[:length], self.sin[:length]
        mask = torch.full((length, length), float("-inf")).triu(1)
        if chat is not None:
            mask = mask.where((chat[:, :, None] == chat[:, None, :]), float("-inf"))[:, None]
        states = [self.embed(tokens)]
        for block in self.blocks:
            states.append(block(states[-1], cos, sin, mask))
        return states

    def hidden(self, tokens: Tensor, chat: Tensor | None = None) -> Tensor:
        """The normalised stream, before the output layer."""
        return self.norm(self.stream(tokens, chat)[-1])

    def forward(self, tokens: Tensor) -> Tensor:
        return F.linear(self.hidden(tokens), self.embed.weight)


def half_precision() -> torch.autocast:
    """Matrix products in bfloat16, on the device that new tensors are made on."""
    return torch.autocast(torch.get_default_device().type, torch.bfloat16)


def quantise(network: nn.Module) -> None:
    """From now on train the matrices as Q4_0 will round them."""
    for module in network.modules():
        if isinstance(module, Matrix):
            module.quantised = True


def save(network: Network, path: str) -> None:
    """Keep the shape with the weights, so that loading needs no other file."""
    torch.save({"shape": asdict(network.shape), "state": network.state_dict()}, path)


def load(path: str) -> Network:
    """A network as `save` left it."""
    stored = torch.load(path, map_location="cpu", weights_only=True)
    network = Network(Shape(**stored["shape"]))
    network.load_state_dict(stored["state"])
    return network
