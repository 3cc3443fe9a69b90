"""Images in a context. A context is a list of numbers: tokens, and for each row of an image a *place*, below zero.

The places of an image are made from the digest of what it is and what reads it. So contexts with the same image compare
equal and contexts with another do not, and whatever compares or keeps contexts needs to know nothing of images. A model
that reads no images goes by the text alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import shake_256

import numpy as np


def image_places(identity: bytes, n: int) -> tuple[int, ...]:
    """``n`` numbers from -2**31 to -1 that belong to ``identity`` alone."""
    numbers = np.frombuffer(shake_256(identity).digest(4 * n), np.uint32) >> 1
    return tuple((-1 - numbers.astype(np.int64)).tolist())


def has_places(context: Sequence[int]) -> bool:
    """True if an image is in ``context``."""
    return min(context, default=0) < 0


def begins_image(context: Sequence[int], at: int) -> bool:
    """True if an image, or a part of one that is encoded by itself, begins at this place behind text."""
    return context[at] < 0 and (at == 0 or context[at - 1] >= 0)


def text_alone(context: Sequence[int]) -> list[int]:
    """``context`` without its images."""
    return [token for token in context if token >= 0]


class TextAlone:
    """``text_alone`` of a context that grows, without looking at all of it again."""

    def __init__(self) -> None:
        self._seen: list[int] = []
        """A context with an image."""
        self._text: list[int] = []
        """Its text."""

    def of(self, context: Sequence[int]) -> Sequence[int]:
        """The text of ``context``, which is ``context`` itself where there is no image."""
        seen_n = len(self._seen)
        if self._seen and list(context[:seen_n]) == self._seen:
            rest = context[seen_n:]
            if not has_places(rest):
                return [*self._text, *rest]
        if not has_places(context):
            return context
        self._seen, self._text = list(context), text_alone(context)
        return self._text

    def length(self, context: Sequence[int], text_n: int) -> int:
        """The length of the beginning of ``context`` whose text has ``text_n`` tokens, images behind them included."""
        if self.of(context) is context:
            return text_n
        text_so_far = np.cumsum(np.asarray(context) >= 0)
        return int(np.searchsorted(text_so_far, text_n, side="right"))
