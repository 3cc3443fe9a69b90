"""Triggers, which begin a grammar in the middle of a reply.

llama.cpp has such grammars too. It ends the process over a pattern it cannot read, and over a text that sets
off the grammar without fitting it; so it gets an ordinary grammar, and the tokens from the right one on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from localspec.engine.backends.llama.vocab import LlamaVocab

_SEARCHED_N = 64


@dataclass(slots=True)
class Trigger:
    """Watches a reply for the first text that matches one of the patterns."""

    patterns: tuple[re.Pattern[bytes], ...]
    vocab: LlamaVocab
    text: bytes = b""
    tokens: tuple[tuple[int, int], ...] = ()
    """Each token with its end in ``text``."""
    searched: dict[bytes, int | None] = field(default_factory=dict)
    """The place where the grammar begins, by text, for the latest texts. Forks search the same ones."""

    @staticmethod
    def of(patterns: Sequence[str], vocab: LlamaVocab) -> Trigger:
        return Trigger(tuple(re.compile(pattern.encode()) for pattern in patterns), vocab)

    def accept(self, token: int) -> tuple[list[int], str] | None:
        """The tokens that the grammar begins with, and their text, if it does so at this token; None before."""
        self.text += self.vocab.source(token)
        self.tokens += ((token, len(self.text)),)
        begin = self._begin()
        return None if begin is None else self._from(begin)

    def fork(self) -> Trigger:
        return replace(self)

    def _begin(self) -> int | None:
        if self.text not in self.searched:
            if len(self.searched) >= _SEARCHED_N:
                self.searched.clear()
            matches = (pattern.search(self.text) for pattern in self.patterns)
            self.searched[self.text] = next((_beginning(match) for match in matches if match), None)
        return self.searched[self.text]

    def _from(self, start: int) -> tuple[list[int], str]:
        tokens: list[int] = []
        before = 0
        for token, end in self.tokens:
            if before < start < end:
                tokens += self.vocab.spell(self.text[start:end])
            elif start <= before < end:
                tokens.append(token)
            before = end
        return tokens, self.text[start:].decode(errors="replace")


def _beginning(match: re.Match[bytes]) -> int:
    """The begin of the first group that is not empty, or else of the match: llama.cpp's rule."""
    groups = range(1, match.re.groups + 1)
    return next((match.start(group) for group in groups if match.group(group)), match.start())
