"""The groupings of replies: by pair, drafter, temperature, context, day and subject."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import tzinfo

from localspec.insight.stats.subjects import subject_of
from localspec.runtime.figures import drafters_used
from localspec.store import ReplyRecord

Group = tuple[float | str, str]
"""A sort key, and the name of the group."""

NO_PAIR = "own files"
"""The group of replies whose model files were given on the command line."""
_CONTEXT_BORDERS = (256, 1024, 4096, 16384)


def pair_of(run: ReplyRecord) -> str:
    """The id of the pair, or ``NO_PAIR``."""
    return run.about.pair_id or NO_PAIR


BY: Mapping[str, Callable[[ReplyRecord, tzinfo | None], Group]] = {
    "pair": lambda run, zone: _named(pair_of(run)),
    "drafter": lambda run, zone: _named("+".join(sorted(drafters_used(run.rounds))) or "none"),
    "temperature": lambda run, zone: _temperature(run),
    "context": lambda run, zone: _context(run),
    "day": lambda run, zone: _named(f"{run.at.astimezone(zone):%Y-%m-%d}"),
    "subject": lambda run, zone: _named(subject_of(run.text)),
}
"""The functions that return the group of a reply; days begin at midnight in the zone, None is the system's."""

NEED_ROUNDS = ("drafter",)
NEED_TEXTS = ("subject",)


def _named(name: str) -> Group:
    return name, name


def _temperature(run: ReplyRecord) -> Group:
    rounded = round(run.about.options.sampling.temperature, 1)
    return rounded, "0.0 (greedy)" if run.about.options.sampling.greedy else f"{rounded:.1f}"


def _context(run: ReplyRecord) -> Group:
    """The group by tokens of the prompt, in steps of a factor of four."""
    if run.prompt_n is None:
        return -1, "unknown"
    below = 0
    for border in _CONTEXT_BORDERS:
        if run.prompt_n < border:
            return below, f"{below} to {border - 1}"
        below = border
    return below, f"{below} and more"
