"""Ways of marking the tokens of a reply, and the kinds of tokens that each of them tells apart.

No colours, no widgets, no lines. Each mode sorts every token into one kind, so its counts add up to the tokens of the
reply.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from math import isnan
from typing import Self

from localspec.engine.drafters import drafter_names
from localspec.engine.events import Origin


class _Turning(StrEnum):
    """Ways that one key goes through in order."""

    @property
    def next(self) -> Self:
        ways = list(type(self))
        return ways[(ways.index(self) + 1) % len(ways)]


class MarkMode(_Turning):
    """A way of marking tokens."""

    OFF = "off"
    SUBTLE = "subtle"
    ORIGIN = "origin"
    DRAFTER = "drafter"
    HEAT = "heat"
    ROUNDS = "rounds"


MODES: Mapping[MarkMode, str] = {
    MarkMode.OFF: "no marks",
    MarkMode.SUBTLE: "origins without colour",
    MarkMode.ORIGIN: "who a token comes from",
    MarkMode.DRAFTER: "which drafter guessed it",
    MarkMode.HEAT: "how likely the target thought it",
    MarkMode.ROUNDS: "a stroke under every other round, its last token bold",
}
"""A few words for each mode."""


@dataclass(frozen=True, slots=True)
class ReplyFormat:
    """The format of replies. One that is being written is always tokens; a finished one is Markdown if ``markdown``."""

    mode: MarkMode = MarkMode.ORIGIN
    markdown: bool = True
    marked: bool = False
    """True for marks in Markdown too; tokens have them in any case."""

    @property
    def marks(self) -> MarkMode:
        """The mode in which a finished reply is marked."""
        return self.mode if self.marked or not self.markdown else MarkMode.OFF

    def next(self, *, hidden: bool) -> ReplyFormat:
        """The format with the next mode; or this one made visible, if clean Markdown has ``hidden`` the marks.

        Markdown stays Markdown, and tokens stay tokens.
        """
        out = hidden and self.markdown and not self.marked and self.mode is not MarkMode.OFF
        return replace(self, mode=self.mode if out else self.mode.next, marked=True)


class GhostMode(_Turning):
    """A way of showing rejected proposals."""

    OFF = "off"
    BRIEF = "brief"
    """Shown at the end of the text, for a moment."""
    KEEP = "keep"
    """Shown at the place where they were proposed, as long as tokens are shown."""


GHOSTS: Mapping[GhostMode, str] = {
    GhostMode.OFF: "Rejected guesses are not shown.",
    GhostMode.BRIEF: "Rejected guesses show for a moment.",
    GhostMode.KEEP: "Rejected guesses stay where they were made; they are never copied.",
}

TARGET = "target"
"""The kind of tokens that no drafter guessed."""
OTHER = "other"
"""The kind of tokens by a drafter that this version does not know."""
UNKNOWN = "?"
"""The kind of tokens whose probability is not known yet."""
HEAT_KINDS = ("≥90%", "≥50%", "≥10%", "≥1%", "<1%", UNKNOWN)
_LEAST = (0.9, 0.5, 0.1, 0.01)

ROUND_KINDS = ("odd", "odd, own", "even", "even, own")
"""Accepted proposals of odd rounds, the target's own tokens in them, and the same of even rounds."""


def kinds_of(mode: MarkMode) -> tuple[str, ...]:
    """The kinds of a mode, in the order of its legend."""
    match mode:
        case MarkMode.DRAFTER:
            return (*drafter_names(), OTHER, TARGET)
        case MarkMode.HEAT:
            return HEAT_KINDS
        case MarkMode.ROUNDS:
            return ROUND_KINDS
        case _:
            return tuple(Origin)


def heat_kind(prob: float) -> str:
    """The kind of a token that the target gave this probability.

    >>> heat_kind(0.9), heat_kind(0.4), heat_kind(0.0)
    ('≥90%', '≥10%', '<1%')
    """
    if isnan(prob):
        return UNKNOWN
    return next((kind for kind, least in zip(HEAT_KINDS, _LEAST, strict=False) if prob >= least), "<1%")
