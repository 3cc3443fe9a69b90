"""The encoded corpus on disk, and the batches drawn from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from tokenizer import Encoded
from torch import Tensor


@dataclass(frozen=True)
class Batch:
    """Padded chats: their tokens, which of them the assistant says, and how much each of those weighs in the loss."""

    tokens: Tensor
    spoken: Tensor
    weight: Tensor


class Corpus:
    """All chats end to end in two arrays, with the offset of each."""

    def __init__(self, tokens: np.ndarray, spoken: np.ndarray, offsets: np.ndarray) -> None:
        self.tokens, self.spoken, self.offsets = tokens, spoken, offsets
        self.lengths = np.diff(offsets)
        self.weight = _weights(spoken)

    @classmethod
    def of(cls, chats: Sequence[Encoded]) -> Corpus:
        offsets = np.cumsum([0] + [len(chat.tokens) for chat in chats])
        return cls(np.concatenate([c.tokens for c in chats]), np.concatenate([c.spoken for c in chats]), offsets)

    def save(self, path: Path) -> None:
        np.savez(path, tokens=self.tokens, spoken=self.spoken, offsets=self.offsets)

    @classmethod
    def load(cls, path: Path) -> Corpus:
        stored = np.load(path)
        return cls(stored["tokens"], stored["spoken"], stored["offsets"])

    def first(self, count: int) -> Corpus:
        end = int(self.offsets[count])
        return Corpus(self.tokens[:end], self.spoken[:end], self.offsets[: count + 1])

    def __add__(self, other: Corpus) -> Corpus:
        offsets = np.concatenate([self.offsets, other.offsets[1:] + self.offsets[-1]])
        return Corpus(np.concatenate([self.tokens, other.tokens]), np.concatenate([self.spoken, other.spoken]), offsets)

    def batches(self, budget: int, longest: int, seed: int) -> Iterator[Batch]:
        """Endless batches of chats of like length, so that little is padding and no chat sees another."""
        rng = np.random.default_rng(seed)
        usable = np.flatnonzero(self.lengths <= longest)
        widths = _widths(self.lengths)
        while True:
            shuffled = rng.permutation(usable)
            ordered = shuffled[np.argsort(widths[shuffled], kind="stable")]
            groups = [
                group
                for width in np.unique(widths[ordered])
                for group in _cut(ordered[widths[ordered] == width], budget // width)
            ]
            for index in rng.permutation(len(groups)):
                yield self._padded(groups[index], int(widths[groups[index][0]]))

    def _padded(self, group: np.ndarray, width: int) -> Batch:
        tokens = torch.zeros(len(group), width, dtype=torch.long)
        weight = torch.zeros(len(group), width)
        for row, chat in enumerate(group):
            span = slice(self.offsets[chat], self.offsets[chat + 1])
            tokens[row, : self.lengths[chat]] = torch.from_numpy(self.tokens[span].astype(np.int64))
            weight[row, : self.lengths[chat]] = torch.from_numpy(self.weight[span])
        return Batch(tokens, weight > 0, weight)


def _weights(spoken: np.ndarray) -> np.ndarray:
    """A token weighs one over the root of its reply's length: else a story would count a hundred times a copied word."""
    edges = np.flatnonzero(np.diff(spoken.astype(np.int8), prepend=0, append=0))
    starts, stops = edges[::2], edges[1::2]
    weight = np.zeros(len(spoken), np.float32)
    weight[spoken] = np.repeat((stops - starts) ** -0.5, stops - starts)
    return weight


def _widths(lengths: np.ndarray) -> np.ndarray:
    """Lengths rounded up to few values: the matrix library prepares itself anew for every shape it meets."""
    step = np.where(lengths <= 64, 16, np.where(lengths <= 256, 32, 128))
    return -(-(lengths - 1) // step) * step + 1


def _cut(chats: np.ndarray, size: int) -> list[np.ndarray]:
    """Groups of exactly one size; what is left over waits for the next time round, unless there is nothing else."""
    size = max(1, size)
    return [chats[start : start + size] for start in range(0, len(chats) - size + 1, size)] or [chats]
