"""A head's context in llama.cpp, by whatever protocol the head is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from localspec.engine.backends.llama.batch import PairBatch, SequenceBatch
from localspec.engine.backends.llama.context import LlamaContext
from localspec.engine.backends.llama.hidden import hidden_functions
from localspec.engine.backends.llama.load import LoadedModel

_SEQUENCE = 0
Q = TypeVar("Q")
"""A question to a head."""


class HeadContext(LlamaContext):
    """The members that all heads share. It must be closed before its target is."""

    def __init__(self, loaded: LoadedModel) -> None:
        super().__init__(loaded)
        self._functions = hidden_functions()
        self._memory = self._c.llama_get_memory(loaded.context)

    @property
    def path(self) -> Path:
        """Its file; that of the target for MTP layers."""
        return self._loaded.path

    @property
    def target_layers(self) -> list[int]:
        """The layers of the target that the file says it reads; the one past the last stands for the final states."""
        layers: Any = self._functions.target_layers(self._loaded.model)
        return [int(number) for number in layers[: self._functions.target_layers_n(self._loaded.model)]]

    def forget(self, sequence: int = _SEQUENCE) -> None:
        """Hold nothing of a sequence."""
        self._cut(0, sequence)

    def close(self) -> None:
        """Free the native memory."""
        self._loaded.free()

    def _cut(self, position: int, sequence: int = _SEQUENCE) -> None:
        """Forget what a sequence has read at ``position`` and behind."""
        self._c.llama_memory_seq_rm(self._memory, sequence, position, -1)

    def _evaluate_all(
        self, batch: PairBatch, parts: Iterable[tuple[Q, int]], add: Callable[[Q, int, int], object]
    ) -> None:
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

    def _decode(self, batch: PairBatch | SequenceBatch) -> None:
        self._check(self._c.llama_decode(self._context, batch.native))

    def _check(self, code: int) -> None:
        """Raise for a failure."""
        if code:
            raise self._failure(code)
