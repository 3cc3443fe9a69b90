"""The encoded corpus on disk, and the batches drawn from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from tokenizer import Encoded

Batch = tuple[Tensor, Tensor]


class Corpus:
    """All chats end to end in two arrays, with the offset of each."""

    def __init__(self, tokens: np.ndarray, spoken: np.ndarray, offsets: np.ndarray) -> None:
        self.tokens, self.spoken, self.offsets = tokens, spoken, offsets
        self.lengths = np.diff(offsets)

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

    def batches(self, budget: int, longest: int, seed: int) -> Iterator[Batch]:
        """Endless batches of chats of like length, so that next to nothing is padding and no chat sees another."""
        rng = np.random.default_rng(seed)
        usable = np.flatnonzero(self.lengths <= longest)
        while True:
            jitter = self.lengths[usable] * rng.uniform(0.93, 1.07, len(usable))
            groups = _groups(usable[np.argsort(jitter)], self.lengths, budget)
            for index in rng.permutation(len(groups)):
                yield self._padded(groups[index])

    def _padded(self, group: np.ndarray) -> Batch:
        tokens = torch.zeros(len(group), int(self.lengths[group].max()), dtype=torch.long)
        spoken = torch.zeros(tokens.shape, dtype=torch.bool)
        for row, chat in enumerate(group):
            span = slice(self.offsets[chat], self.offsets[chat + 1])
            length = self.lengths[chat]
            tokens[row, :length] = torch.from_numpy(self.tokens[span].astype(np.int64))
            spoken[row, :length] = torch.from_numpy(self.spoken[span])
        return tokens, spoken


def _groups(ordered: np.ndarray, lengths: np.ndarray, budget: int) -> list[np.ndarray]:
    """Cut the chats, ordered by length, where a padded batch would exceed the budget of tokens."""
    groups, start, longest = [], 0, 0
    for position, chat in enumerate(ordered):
        longest = max(longest, int(lengths[chat]))
        if longest * (position + 1 - start) > budget and position > start:
            groups.append(ordered[start:position])
            start, longest = position, int(lengths[chat])
    groups.append(ordered[start:])
    return groups
