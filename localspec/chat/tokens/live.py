"""The live line: speed, speed-up over plain decoding, and the figures that explain it.

Pure text of fixed widths: a figure changes in place and never moves its neighbours; what does not fit is
left out from the right. The numbers themselves are worded by ``localspec.runtime.figures``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from localspec.chat.tokens.marking import MarkMode
from localspec.engine.events import Origin, Round
from localspec.engine.timings import Timings
from localspec.gguf.draft_heads import DRAFTERS
from localspec.runtime import figures

GAP = "  "
PAUSED_AFTER_N = 4
"""Rounds in a row without proposals that count as a pause."""
_MOST_BARS, _FEWEST_BARS = 30, 5
_BARS = "▁▂▄▅▆▇█"
_NO_DRAFT = "·"
_SELDOM = frozenset({"grammar"})
"""Drafters that most replies have no use for."""


@dataclass(frozen=True, slots=True)
class Activity:
    """Something other than writing; ``fraction`` is None where the end is not known."""

    what: str
    fraction: float | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of a reply."""

    timings: Timings
    depth: int | None = None
    """Proposals asked for in the last round; None before the first."""
    drafter: str | None = None
    why_off: str | None = None
    """The reason why speculation is off, in a few words; None while it is on."""
    paused: bool = False
    """True if the depth policy has proposed nothing for a while."""
    mode: MarkMode = MarkMode.ORIGIN
    counts: Mapping[str, int] = field(default_factory=dict)
    """Tokens by kind, in the words of ``mode``."""
    latest: tuple[Round, ...] = ()
    """The latest rounds, at most as many as are shown."""
    text_alone: bool = False
    """True if a server makes the reply that tells text and no tokens."""


def latest_of(rounds: Sequence[Round]) -> tuple[Round, ...]:
    """The rounds that may have bars."""
    return tuple(rounds[-_MOST_BARS:])


def paused(rounds: Sequence[Round]) -> bool:
    latest = rounds[-PAUSED_AFTER_N:]
    return len(latest) == PAUSED_AFTER_N and not any(round_.depth for round_ in latest)


def figures_line(shown: Figures, width: int) -> str:
    """The figures in order of importance, as many as fit into ``width`` cells."""
    timings = shown.timings
    speed = [
        f"{figures.speed(timings.predicted_per_second, fixed=True)} tokens/s",
        figures.speedup(timings, fixed=True),
    ]
    if shown.text_alone:
        rate = timings.draft_acceptance_rate
        guessed = "the server tells no origins" if rate is None else f"{figures.percent(rate)} accepted there"
        return next((line for line in (GAP.join((speed[0], guessed)), speed[0]) if len(line) <= width), "")
    if shown.why_off:
        return _off_line(speed, shown.why_off, width)
    guesses = [
        f"{figures.percent(timings.draft_acceptance_rate, fixed=True)} accepted",
        f"{figures.length(timings.mean_acceptance_length, fixed=True)}/round",
        f"depth {figures.MISSING if shown.depth is None else shown.depth:>2}",
        f"{'paused' if shown.paused else shown.drafter or figures.MISSING:<7}",
    ]
    line = ""
    for text in [*speed, *guesses]:
        longer = f"{line}{GAP}{text}" if line else text
        if len(longer) > width:
            break
        line = longer
    return line


def _off_line(speed: Sequence[str], why: str, width: int) -> str:
    """The speed and, as far as it fits, why speculation is off."""
    lines = (
        (*speed, f"speculation off: {why}"),
        (*speed, f"off: {why}"),
        (speed[0], f"off: {why}"),
        (speed[0], "speculation off"),
    )
    return next((line for fields in lines if len(line := GAP.join(fields)) <= width), speed[0][:width])


def counted(counts: Mapping[str, int], mode: MarkMode, drafters: Collection[str]) -> Mapping[str, int]:
    """The kinds to be counted: no drafter that the pair has no model for, or a reply no use, unless it has tokens.

    ``drafters`` are those with a model of the pair.
    """
    if mode is not MarkMode.DRAFTER:
        return counts
    lacking = (DRAFTERS.keys() - set(drafters)) | _SELDOM
    return {kind: n for kind, n in counts.items() if n or kind not in lacking}


def count_fields(shown: Figures, width: int) -> list[tuple[str, str]]:
    """The counts as (kind, text); each text has a fixed width.

    Drafters without tokens are left out where there are more drafters than fit into ``width`` cells.
    """
    fields = [(kind, f"{figures.count(n, fixed=True)} {kind}") for kind, n in shown.counts.items()]
    if shown.mode is not MarkMode.DRAFTER or len(GAP.join(text for _, text in fields)) <= width:
        return fields
    return [field for field in fields if shown.counts[field[0]]]


def bars(shown: Figures, width: int) -> str:
    """The sparkline that fits beside the counts into ``width`` cells, always as wide; empty if none fits."""
    taken = len(GAP.join(text for _, text in count_fields(shown, width))) + len(GAP)
    room = min(width - taken, _MOST_BARS)
    return sparkline(shown.latest, room) if room >= _FEWEST_BARS else ""


def reply_summary(timings: Timings) -> str:
    """One quiet line under a finished reply; empty if there is nothing to count."""
    if not timings.predicted_n:
        return ""
    counts = [f"{n} {origin}" for origin in Origin if (n := timings.origins.get(origin, 0))]
    parts = [f"{figures.tokens(timings.predicted_n)}: {', '.join(counts)}"]
    if timings.draft_n_accepted > timings.origins.get(Origin.ACCEPTED, 0):  # told by a server that tells no origins
        parts.append(f"{timings.draft_n_accepted} of {timings.draft_n} guesses of the server accepted")
    if timings.busy:
        parts.append("speed-up unknown, the machine is busy")
    elif timings.speedup_vs_plain is not None:
        parts.append(figures.speedup(timings))
    return " · ".join(parts)


def sparkline(rounds: Sequence[Round], cells: int) -> str:
    """The last ``cells`` rounds, the newest on the right, always ``cells`` wide.

    A bar has a fixed height for each number of accepted proposals (the lowest is none, the highest six and
    more), so the row never rescales; a dot is a round without proposals.
    """
    return "".join(_bar(round_) for round_ in rounds[-cells:] if cells > 0).rjust(max(cells, 0))


def _bar(round_: Round) -> str:
    return _BARS[min(round_.accepted_n, len(_BARS) - 1)] if round_.proposed_n else _NO_DRAFT
