"""Fewer threads while other programs want the processors.

The threads of an evaluation wait for each other after every step of it. While one of them is without a processor, the
others only use up theirs by waiting: on two processors, beside one other program, two threads take more than twice as
long as one (figures in docs/benchmarks.md). So a model is evaluated by as many threads as there are free processors.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from localspec.engine.model import TunableModel

_EVERY_S = 0.5
"""Processors are counted so often at most: the system tells their use in hundredths of a second."""
_SOON_S = 0.1
"""The wait before they are counted again after a pause between two replies, which tells little about now."""
_TAKEN, _FREE = 0.6, 0.35
"""The part of a processor that others have to use for it to count as taken, and may use for it to count as free again.

A program that wants one of two processors all the time gets two thirds of it beside two threads.
"""


class FreeProcessors(Protocol):
    """The figures of ``ProcessorWatch``."""

    @property
    def age_s(self) -> float: ...

    def free_n(self, *, after_pause: bool = False) -> float: ...


class ThreadGovernor:
    """Sets the number of threads of models that had the best for a quiet machine chosen."""

    def __init__(self, models: Iterable[TunableModel], processors: FreeProcessors) -> None:
        """``models`` have the number of threads that they take when nothing else wants the processors."""
        self._best_n = [(model, model.threads) for model in models if model.threads > 1]
        self._processors = processors
        self._wait_s = _EVERY_S
        """Seconds between the latest count and the next."""

    def adjust(self, *, begins: bool = False) -> None:
        """Choose the number of threads. To be called between evaluations; ``begins`` is True where a reply begins."""
        age_s = self._processors.age_s
        if not self._best_n or age_s < self._wait_s:
            return
        after_pause = begins and age_s >= _EVERY_S
        self._wait_s = _SOON_S if after_pause else _EVERY_S
        free_n = self._processors.free_n(after_pause=after_pause)
        for model, best_n in self._best_n:
            if free_n < model.threads - _TAKEN:
                model.set_threads(max(1, int(free_n + _TAKEN)))
            elif model.threads < best_n:
                model.set_threads(max(model.threads, int(min(best_n, free_n + _FREE))))
