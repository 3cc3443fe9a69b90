"""A head's context in llama.cpp, by whatever protocol the head is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import isfinite
from typing import Any, TypeVar

from localspec.engine.backends.llama.batch import Batch
from localspec.engine.backends.llama.candidates import not_numbers
from localspec.engine.backends.llama.context import LlamaContext
from localspec.engine.backends.llama.device_ranking import DeviceRanking
from localspec.engine.backends.llama.hidden import hidden_functions
from localspec.engine.backends.llama.load import LoadedModel
from localspec.engine.model import Likeliest

_SEQUENCE = 0
Q = TypeVar("Q")
"""A question to a head."""


class HeadContext(LlamaContext):
    """The members that all heads share. It must be closed before its target is."""

    def __init__(self, loaded: LoadedModel) -> None:
        super().__init__(loaded)
        self.path = loaded.path
        """Its file; that of the target for MTP layers."""
        self._functions = hidden_functions()
        self._memory = self._c.llama_get_memory(loaded.context)
        self._ranking: DeviceRanking | None = None

    @property
    def target_layers(self) -> list[int]:
        """The layers of the target that the file says it reads; the one past the last stands for the final states."""
        layers: Any = self._functions.target_layers(self.loaded.model)
        return [int(number) for number in layers[: self._functions.target_layers_n(self.loaded.model)]]

    def forget(self, sequence: int = _SEQUENCE) -> None:
        """Hold nothing of a sequence."""
        self._cut(0, sequence)

    def rank(self, *, on: bool) -> bool:
        """As ``RankingHead.rank``."""
        if self._ranking is None:
            return False
        if on:
            self._ranking.attach()
        else:
            self._ranking.detach()
        return True

    def close(self) -> None:
        """Free the native memory."""
        if self._ranking:
            self._ranking.detach()
        self.loaded.free()

    @property
    def _ranks(self) -> bool:
        """True if evaluations leave the likeliest tokens, and no other scores."""
        return self._ranking is not None and self._ranking.attached

    def _likeliest(self, place: int) -> Likeliest | None:
        """The likeliest tokens after that at this place of the batch; None, and from now on all scores, if its device
        turns out to be unable to rank.
        """
        few = self._ranking.read(place) if self._ranking else None
        if few is None:
            self.rank(on=False)
            self._ranking = None
        elif not isfinite(few.scores.max()):
            raise not_numbers()
        return few

    def _cut(self, position: int, sequence: int = _SEQUENCE) -> None:
        """Forget what a sequence has read at ``position`` and behind."""
        self._c.llama_memory_seq_rm(self._memory, sequence, position, -1)

    def _evaluate_all(self, batch: Batch, parts: Iterable[tuple[Q, int]], add: Callable[[Q, int, int], object]) -> None:
        """Evaluate the first so many rows of each question, for no scores, in as few batches as they fit into.

        ``add`` puts a question's rows from one number up to another into the batch.
        """
        batch.clear()
        for question, n in parts:
            first = 0
            while first < n:
                end = min(n, first + batch.capacity - batch.used)
                add(question, first, end)
                first = end
                if batch.used == batch.capacity:
                    self._decode(batch)
                    batch.clear()
        if batch.used:
            self._decode(batch)

    def _decode(self, batch: Batch) -> None:
        self._check(self._c.llama_decode(self._context, batch.native))

    def _check(self, code: int) -> None:
        """Raise for a failure."""
        if code:
            raise self._failure(code)
