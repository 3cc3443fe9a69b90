"""The text of a reply without its calls, for front ends that write the one and name the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from localspec.engine.events import Finished, Round, Token


class SaidTokens:
    """Holds the tokens of one reply back while they may be a call. All others come out, in order."""

    def __init__(self) -> None:
        self._held: list[Token] = []
        self._received_n = 0
        self._released_n = 0

    def take(self, event: Round | Finished) -> list[Token]:
        """Take in an event; returns the tokens that are text for sure by it."""
        if isinstance(event, Finished):
            end = self._received_n if event.said_n is None else event.said_n
            whole = list(self._released(end))
            cut = (replace(token, text=token.text[: end - self._released_n]) for token in self.rest()[:1])
            return [*whole, *cut]
        self._held += event.tokens
        self._received_n += sum(len(token.text) for token in event.tokens)
        return list(self._released(self._received_n - event.held_n))

    def rest(self) -> list[Token]:
        """All that is held: the reply has broken off."""
        held, self._held = self._held, []
        return held

    def _released(self, end: int) -> Iterator[Token]:
        """Release whole tokens of the first ``end`` characters."""
        while self._held and self._released_n + len(self._held[0].text) <= end:
            token = self._held.pop(0)
            self._released_n += len(token.text)
            yield token
