"""What is known about each token of a reply, and the ways of marking it.

Plain objects: no colours, no widgets, nothing about lines. Every way of marking sorts all tokens into
kinds, so that its counts add up to the tokens of the reply whatever is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import isnan
from typing import TYPE_CHECKING

from localspec.engine.events import Origin, Proposal, Round, Token

if TYPE_CHECKING:
    from localspec.engine.inspection import Inspection
    from localspec.runtime.options import LoadOptions
    from localspec.runtime.worker.messages import Generate


class MarkMode(StrEnum):
    """A way of marking tokens, in the order in which one key goes through them."""

    OFF = "off"
    SUBTLE = "subtle"
    ORIGIN = "origin"
    DRAFTER = "drafter"
    HEAT = "heat"
    ROUNDS = "rounds"

    @property
    def next(self) -> MarkMode:
        modes = list(MarkMode)
        return modes[(modes.index(self) + 1) % len(modes)]


MODES: Mapping[MarkMode, str] = {
    MarkMode.OFF: "no marks",
    MarkMode.SUBTLE: "origins without colour",
    MarkMode.ORIGIN: "who a token comes from",
    MarkMode.DRAFTER: "which drafter guessed it",
    MarkMode.HEAT: "how likely the target thought it",
    MarkMode.ROUNDS: "every other round a stroke, its last token bold",
}
"""What each mode shows, in a few words."""


@dataclass(frozen=True, slots=True)
class ReplyFormat:
    """How replies are shown: one being written always as tokens, a finished one as Markdown if that is asked for."""

    mode: MarkMode = MarkMode.ORIGIN
    markdown: bool = True
    marked: bool = False
    """Whether Markdown has marks, too; tokens have them in any case."""

    @property
    def marks(self) -> MarkMode:
        """How a finished reply is marked."""
        return self.mode if self.marked or not self.markdown else MarkMode.OFF

    def next(self, *, hidden: bool) -> ReplyFormat:
        """The next mode; but where clean Markdown has ``hidden`` the marks, they are brought out in it first.

        What shows them, Markdown or tokens, stays as it is.
        """
        out = hidden and self.markdown and not self.marked and self.mode is not MarkMode.OFF
        return replace(self, mode=self.mode if out else self.mode.next, marked=True)


class GhostMode(StrEnum):
    """What becomes of rejected proposals on screen."""

    OFF = "off"
    BRIEF = "brief"
    """At the end of the text, for a moment."""
    KEEP = "keep"
    """Where they were proposed, for as long as tokens are shown."""

    @property
    def next(self) -> GhostMode:
        kinds = list(GhostMode)
        return kinds[(kinds.index(self) + 1) % len(kinds)]


GHOSTS: Mapping[GhostMode, str] = {
    GhostMode.OFF: "Rejected guesses are not shown.",
    GhostMode.BRIEF: "Rejected guesses show for a moment.",
    GhostMode.KEEP: "Rejected guesses stay where they were made; they are never copied.",
}

TARGET = "target"
"""The kind of tokens that no drafter guessed."""
OTHER = "other"
"""The kind of tokens by a drafter that this version does not know."""
DRAFTER_KINDS = ("draft", "suffix", OTHER, TARGET)
"""The drafters there are, by name: their own modules would bring numpy with them."""

UNKNOWN = "?"
"""The kind of tokens whose probability is not known yet."""
HEAT_KINDS = ("≥90%", "≥50%", "≥10%", "≥1%", "<1%", UNKNOWN)
_LEAST = (0.9, 0.5, 0.1, 0.01)

ROUND_KINDS = ("odd", "odd, own", "even", "even, own")
"""Accepted proposals of odd rounds, the target's own tokens in them, and the same of even rounds."""

KINDS: Mapping[MarkMode, tuple[str, ...]] = {
    MarkMode.OFF: tuple(Origin),
    MarkMode.SUBTLE: tuple(Origin),
    MarkMode.ORIGIN: tuple(Origin),
    MarkMode.DRAFTER: DRAFTER_KINDS,
    MarkMode.HEAT: HEAT_KINDS,
    MarkMode.ROUNDS: ROUND_KINDS,
}
"""The kinds of each mode, in the order of its legend."""


def heat_kind(prob: float) -> str:
    """The kind of a token that the target gave this probability.

    >>> heat_kind(0.9), heat_kind(0.4), heat_kind(0.0)
    ('≥90%', '≥10%', '<1%')
    """
    if isnan(prob):
        return UNKNOWN
    return next((kind for kind, least in zip(HEAT_KINDS, _LEAST, strict=False) if prob >= least), "<1%")


@dataclass(frozen=True, slots=True)
class TokenPlace:
    """A token and where it stands in its round."""

    index: int
    """In the reply, from 0."""
    token: Token
    round: Round
    position: int
    """In the round, from 0."""

    @property
    def refused(self) -> tuple[Proposal, ...]:
        """The proposals that were thrown away here, if this token stands in their place."""
        return self.round.rejected if self.position == len(self.round.tokens) - 1 else ()


@dataclass(frozen=True, slots=True)
class TokenSource:
    """What was asked for some tokens of a reply, one after the other."""

    start: int
    """The first of them."""
    asked: Generate
    pair: LoadOptions


class Trace:
    """All that is known about the tokens of one reply. Append-only; counts are kept as tokens come."""

    def __init__(self, rounds: Iterable[Round] = ()) -> None:
        self.rounds: list[Round] = []
        self.tokens: list[Token] = []
        self.probs: list[float] = []
        """The target's probability of each token, as far as it has been asked."""
        self.inspections: dict[int, Inspection] = {}
        """What the models think of tokens, by index, as far as they have been asked."""
        self.sources: list[TokenSource] = []
        """What the engine was asked for the tokens; nothing for replies of another time."""
        self._round_of: list[int] = []
        self._starts: list[int] = []
        self._counts: dict[MarkMode, Counter[str]] = {mode: Counter() for mode in MarkMode}
        self.extend(rounds)

    def extend(self, rounds: Iterable[Round]) -> None:
        """Further rounds of the reply."""
        for round_ in rounds:
            self._starts.append(len(self.tokens))
            self._round_of.extend([len(self.rounds)] * len(round_.tokens))
            self.rounds.append(round_)
            first = len(self.tokens)
            self.tokens.extend(round_.tokens)
            for mode, counts in self._counts.items():
                counts.update(self.kind(mode, index) for index in range(first, len(self.tokens)))

    def begin(self, asked: Generate, pair: LoadOptions) -> None:
        """The tokens that come now are asked for so."""
        self.sources.append(TokenSource(len(self.tokens), asked, pair))

    def source(self, index: int) -> TokenSource | None:
        """What was asked for a token."""
        return next((source for source in reversed(self.sources) if source.start <= index), None)

    def learn(self, start: int, probs: Sequence[float]) -> int:
        """The target's probabilities of the tokens from ``start`` on; returns how many were news."""
        news = list(probs[len(self.probs) - start :]) if start <= len(self.probs) else []
        news = news[: len(self.tokens) - len(self.probs)]
        self.probs.extend(news)
        counts = self._counts[MarkMode.HEAT]
        counts[UNKNOWN] -= len(news)
        counts.update(heat_kind(prob) for prob in news)
        return len(news)

    def kind(self, mode: MarkMode, index: int) -> str:
        """What a token counts as in this mode: one of ``KINDS``."""
        token = self.tokens[index]
        match mode:
            case MarkMode.DRAFTER:
                return self._drafter(index) if token.origin is Origin.ACCEPTED else TARGET
            case MarkMode.HEAT:
                return heat_kind(self.probs[index]) if index < len(self.probs) else UNKNOWN
            case MarkMode.ROUNDS:
                own = token.origin is not Origin.ACCEPTED
                return ROUND_KINDS[2 * (self._round_of[index] % 2) + own]
            case _:
                return token.origin

    def counts(self, mode: MarkMode) -> dict[str, int]:
        """How many tokens of each kind there are, all kinds named."""
        return {kind: self._counts[mode][kind] for kind in KINDS[mode]}

    def place(self, index: int) -> TokenPlace:
        """Where a token stands."""
        number = self._round_of[index]
        return TokenPlace(index, self.tokens[index], self.rounds[number], index - self._starts[number])

    def first_of_round(self, index: int, step: int = 0) -> int:
        """The first token of the round ``step`` rounds from the one that a token belongs to, or of the outermost."""
        number = self._round_of[index] + step
        return self._starts[max(0, min(number, len(self._starts) - 1))]

    def next_rejection(self, index: int) -> int | None:
        """The next token after this one that stands in the place of a rejected guess."""
        later = (at for at in range(index + 1, len(self.tokens)) if self.tokens[at].origin is Origin.CORRECTED)
        return next(later, None)

    def _drafter(self, index: int) -> str:
        name = self.tokens[index].drafter or self.rounds[self._round_of[index]].drafter or OTHER
        return name if name in DRAFTER_KINDS else OTHER
