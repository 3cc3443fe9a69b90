"""The part of a text that a model goes by where reading all of it is too costly: its first tokens and its latest.

The first few stay, since attention leans on them whatever they say (StreamingLLM, Xiao et al. 2023, arXiv 2309.17453).
No position is missing: the latest tokens follow the first as if nothing had been between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeGuard

from localspec.engine.model import Model

_FIRST_N = 4
_MARK_N = 16
"""Tokens by which the text that a window belongs to is known."""


class SkippingModel(Model, Protocol):
    """A model that may go on with the latest part of a text."""

    def skip(self, context: Sequence[int], latest_n: int) -> None:
        """From now on leave out of ``context``, and of what it grows to, all but its beginning and its latest tokens.

        Another text is read whole.
        """
        ...


def can_skip(model: Model) -> TypeGuard[SkippingModel]:
    """True if ``model`` is a ``SkippingModel``. ``isinstance`` takes some 20 µs, which every round would pay."""
    return hasattr(model, "skip")


@dataclass(slots=True)
class TextWindow:
    """A beginning and an end of one text, or the whole of any other."""

    _start: int = 0
    """The position of the first token after those left out; 0 if none are."""
    _mark: tuple[int, ...] = ()
    """The tokens from there on."""

    def skip(self, context: Sequence[int], latest_n: int) -> None:
        """As ``SkippingModel.skip``."""
        start = len(context) - latest_n
        self._start = start if start > _FIRST_N else 0
        self._mark = tuple(context[self._start : self._start + _MARK_N])

    def left_out_n(self, context: Sequence[int]) -> int:
        """The number of tokens of ``context`` that are left out."""
        mark = self._mark
        same = self._start and tuple(context[self._start : self._start + len(mark)]) == mark
        return self._start - _FIRST_N if same else 0

    def of(self, context: Sequence[int]) -> Sequence[int]:
        """``context`` without what is left out."""
        left_out_n = self.left_out_n(context)
        return [*context[:_FIRST_N], *context[_FIRST_N + left_out_n :]] if left_out_n else context
