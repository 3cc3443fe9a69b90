"""The tokens a sampler chain is given to choose among, in llama.cpp's own form.

A chain that keeps the k most likely tokens never sees the others, so it need not be given them: finding
the few that matter costs a tenth of listing a whole vocabulary.
"""

from __future__ import annotations

import ctypes
from math import isfinite, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localspec.base.errors import ModelFileError, UsageError
from localspec.engine.model import Logits
from localspec.engine.settings import BANNED

Ids = NDArray[np.int64]
Kept = NDArray[np.void]
"""Records of ``CANDIDATE``."""

CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
"""llama_token_data."""

_GROUPS = 32


class Candidates:
    """Room for every token of a vocabulary, used again for every choice."""

    def __init__(self, c: Any, n_vocab: int) -> None:
        self.n_vocab = n_vocab
        self._ids = np.arange(n_vocab, dtype=np.int32)
        self._room = np.zeros(2 * n_vocab, dtype=CANDIDATE)
        self._start = self._room.ctypes.data
        self._pointer = self._room.ctypes.data_as(c.llama_token_data_p)
        self._array = c.llama_token_data_array(self._pointer, 0, -1, False)
        self._first = ctypes.c_void_p.from_buffer(self._array)

    def take(self, row: Logits, ids: Ids | None = None) -> Any:
        """Put in the tokens ``ids``, ascending, of a row of scores, or all of them; a llama_token_data_array."""
        # Samplers reorder the candidates, so the ids are written anew each time.
        room = self._room[: len(row) if ids is None else len(ids)]
        room["id"] = self._ids[: len(row)] if ids is None else ids
        room["logit"] = row if ids is None else row[ids]
        return self._view(len(room))

    def put(self, kept: Kept) -> Any:
        """Put in candidates as ``kept`` returned them; a llama_token_data_array."""
        self._room[: len(kept)] = kept
        return self._view(len(kept))

    def kept(self, view: Any) -> Kept:
        """The candidates that samplers left in ``view``; valid until the next ``take`` or ``put``."""
        # XTC drops the most likely tokens by moving the pointer past them.
        first = ((self._first.value or 0) - self._start) // CANDIDATE.itemsize
        return self._room[first : first + view.size]

    def _view(self, n: int) -> Any:
        """The one llama_token_data_array that there is, with the first ``n`` candidates of the room."""
        view = self._array
        view.data, view.size, view.selected, view.sorted = self._pointer, n, -1, False
        return view


class GroupedScores:
    """A row of scores in groups, with the highest score of each.

    All scores are looked at once, whatever is asked then: with 150,000 of them a look takes some 50 microseconds, half
    of what it takes to choose a token.
    """

    def __init__(self, row: Logits) -> None:
        """Raises ModelFileError if the scores are not numbers."""
        self._width = width = len(row) // _GROUPS
        self._grouped = row[: width * _GROUPS].reshape(_GROUPS, width)
        maxima, rest = self._grouped.max(axis=0), row[width * _GROUPS :]
        # What is left over at the end of the row are groups of one.
        self._maxima = np.concatenate((maxima, rest)) if len(rest) else maxima
        self._best = float(self._maxima[self._maxima.argmax()])
        if not isfinite(self._best):
            raise not_numbers()

    def most_likely(self, k: int) -> Ids | None:
        """At least the ``k`` tokens with the highest scores, ascending, and every token that ties with the last.

        None if k is too large for this to be worth while.
        """
        if 4 * k > self._width:
            return None
        # The k-th highest of the groups' maxima is a score that at least k tokens reach.
        at = len(self._maxima) - k
        return self._reaching(np.partition(self._maxima, at)[at])

    def within_share(self, share: float) -> Ids:
        """All tokens with at least this share of the best one's probability, ascending, and perhaps a few more."""
        return self._reaching(self._least(share))

    def lone(self, share: float) -> int | None:
        """The token with the highest score, if no other has this share of its probability; None if one may have."""
        least = self._least(share)
        if np.count_nonzero(self._maxima >= least) > 1:
            return None
        ids = self._reaching(least)
        return int(ids[0]) if len(ids) == 1 else None

    def _least(self, share: float) -> float:
        """The score of a token with this share of the best one's probability, or a little less."""
        return self._best + log(share) - 1e-5 * (1 + abs(self._best))

    def _reaching(self, least: float) -> Ids:
        """The tokens with at least this score, ascending."""
        (found,) = (self._maxima >= least).nonzero()
        columns = found[: found.searchsorted(self._width)]
        at, column = np.nonzero(self._grouped[:, columns] >= least)
        ids: Ids = at * self._width + columns[column]
        rest = found[len(columns) :]
        return np.concatenate((ids, rest + (_GROUPS - 1) * self._width)) if len(rest) else ids


def best_score(logits: NDArray[Any]) -> float:
    """The highest of the scores that samplers left of a row of numbers.

    Raises UsageError if every token is ruled out, or a score is more than 32 bits can hold.
    """
    best = float(logits[logits.argmax()])
    if best == BANNED:
        raise ruled_out()
    if not isfinite(best):
        raise UsageError(
            "The settings of the samplers make a score larger than can be computed.",
            "Choose a higher --temperature, or biases and penalties nearer to 0.",
        )
    return best


def ruled_out() -> UsageError:
    """The error where no token is left to choose."""
    return UsageError("Every token is ruled out.", "Relax --logit-bias.")


def not_numbers() -> ModelFileError:
    """The error for scores with NaN or infinity among them."""
    return ModelFileError("The model's scores are not numbers.", "Its file may be damaged; check or replace it.")
