"""The encoded corpus on disk, and the batches drawn from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from tokenizer import Encoded
from torch import Tensor

ROWS = (128, 256, 512, 1024)
"""Lengths of the rows that chats are packed into; few shapes, since each is compiled."""
HEARD = 0.03
"""The weight of a token of the reader's in the loss: enough to learn the language of questions from, too little to cost much."""


@dataclass(frozen=True)
class Batch:
    """Chats packed into rows: their tokens, which chat of its row each belongs to, and how much it weighs in the loss."""

    tokens: Tensor
    chat: Tensor
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

    def batches(self, budget: int, seed: int) -> Iterator[Batch]:
        """Endless batches of so many tokens; every chat once an epoch, whole, and seeing no other."""
        rng = np.random.default_rng(seed)
        edges = (0, *ROWS)
        sized = [np.flatnonzero((self.lengths > low) & (self.lengths <= high)) for low, high in pairwise(edges)]
        while True:
            batches = [
                (length, rows[at : at + budget // length])
                for length, chats in zip(ROWS, sized, strict=True)
                for rows in [_packed(rng.permutation(chats), self.lengths, length)]
                for at in range(0, len(rows) - budget // length + 1, budget // length)
            ]
            for index in rng.permutation(len(batches)):
                yield self._batch(*batches[index])

    def _batch(self, length: int, rows: Sequence[Sequence[int]]) -> Batch:
        shape = (len(rows), length)
        tokens, chats = np.zeros(shape, np.int64), np.full(shape, -1)
        weight = np.zeros(shape, np.float32)
        for row, members in enumerate(rows):
            at = 0
            for number, chat in enumerate(members):
                span, here = slice(self.offsets[chat], self.offsets[chat + 1]), slice(at, at + self.lengths[chat])
                tokens[row, here] = self.tokens[span]
                weight[row, here] = self.weight[span]
                chats[row, here] = number
                weight[row, at] = 0.0
                at = here.stop
        return Batch(*(torch.from_numpy(part).to(torch.get_default_device()) for part in (tokens, chats, weight)))


def _packed(chats: np.ndarray, lengths: np.ndarray, room: int, open_rows: int = 24) -> list[list[int]]:
    """Chats into rows: each into the fullest of a few open rows that still has room for it."""
    done: list[list[int]] = []
    rows: list[tuple[int, list[int]]] = []
    for chat in chats:
        size = int(lengths[chat])
        fits = [index for index, (used, _) in enumerate(rows) if used + size <= room]
        if fits:
            best = max(fits, key=lambda index: rows[index][0])
            used, members = rows[best]
            rows[best] = (used + size, [*members, int(chat)])
        else:
            rows.append((size, [int(chat)]))
        if len(rows) > open_rows:
            fullest = max(range(len(rows)), key=lambda index: rows[index][0])
            done.append(rows.pop(fullest)[1])
    return done + [members for _, members in rows]


def _weights(spoken: np.ndarray) -> np.ndarray:
    """A token weighs one over the root of its reply's length: else a story would count a hundred times a copied word."""
    edges = np.flatnonzero(np.diff(spoken.astype(np.int8), prepend=0, append=0))
    starts, stops = edges[::2], edges[1::2]
    weight = np.full(len(spoken), HEARD, np.float32)
    weight[spoken] = np.repeat((stops - starts) ** -0.5, stops - starts)
    return weight
