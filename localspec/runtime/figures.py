"""The figures of a reply in words: one wording for the command line, the line mode and the chat screen.

Pure functions from numbers to text. A helper given ``fixed=True`` always returns the same number of
characters, so that a line that is redrawn while it changes never jumps; ``None`` (nothing was there to
measure) then shows as a dash of that width.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from localspec.base.amounts import number_of

if TYPE_CHECKING:
    from localspec.engine.events import Round, Started
    from localspec.engine.timings import Timings

MISSING = "-"
ENDED_EARLY: Mapping[str, str] = {"cancelled": "stopped", "length": "ended at max tokens or the end of the context"}
"""Words for a reply that the model did not end itself, by the reason of its end."""
_WIDTH, _LENGTH_WIDTH = 5, 4
"""Characters of a figure of fixed width, and of an acceptance length."""
_AS_FAST = 0.995
"""The speed-up from which 1.00x or more is written."""


def count(value: int, *, fixed: bool = False) -> str:
    """A number of tokens.

    >>> count(41), count(41, fixed=True)
    ('41', '   41')
    """
    return _padded(str(value), _WIDTH, fixed)


def speed(per_second: float | None, *, fixed: bool = False) -> str:
    """Tokens per second, three digits where that is possible; the unit is the caller's.

    >>> speed(8.314), speed(63.24), speed(1234.5), speed(None)
    ('8.31', '63.2', '1234', '-')
    """
    return _padded(_three_digits(per_second), _WIDTH, fixed)


def times(ratio: float | None, *, fixed: bool = False) -> str:
    """A speed-up.

    >>> times(1.407), times(12.34), times(None, fixed=True)
    ('1.41x', '12.3x', '    -')
    """
    text = MISSING if ratio is None else f"{_three_digits(ratio)}x"
    return _padded(text, _WIDTH, fixed)


def speedup(timings: Timings, *, fixed: bool = False) -> str:
    """The speed-up of a reply with its unit, or that the machine was too busy to tell."""
    text = "busy" if timings.busy else f"{times(timings.speedup_vs_plain, fixed=fixed)} plain"
    return text.rjust(_WIDTH + len(" plain")) if fixed else text


def percent(share: float | None, *, fixed: bool = False) -> str:
    """A share of 1, as whole per cent.

    >>> percent(0.708), percent(1.0), percent(0.05, fixed=True)
    ('71 %', '100 %', '  5 %')
    """
    text = MISSING if share is None else f"{share * 100:.0f} %"
    return _padded(text, _WIDTH, fixed)


def length(tokens_per_round: float | None, *, fixed: bool = False) -> str:
    """A mean acceptance length.

    >>> length(2.904), length(12.34), length(None)
    ('2.90', '12.3', '-')
    """
    return _padded(_three_digits(tokens_per_round), _LENGTH_WIDTH, fixed)


def nats(divergence: float | None, *, fixed: bool = False) -> str:
    """A divergence of two models, in nats per token.

    >>> nats(0.0413), nats(1.25), nats(None)
    ('0.041', '1.25', '-')
    """
    text = MISSING if divergence is None else f"{divergence:.3f}" if divergence < 0.9995 else _three_digits(divergence)
    return _padded(text, _WIDTH, fixed)


def no_room_for(prompt: Started) -> str:
    """A clause on what of the conversation the context has no room for; empty if it has room for all.

    >>> from localspec.engine.events import Started
    >>> no_room_for(Started(900, 0, 1, dropped_n=4, cut_n=1))
    'the context is full: the oldest 4 messages were left out, the result of a tool was cut short'
    """
    said = []
    if n := prompt.dropped_n:
        said.append(f"the oldest {'message was' if n == 1 else f'{n} messages were'} left out")
    if n := prompt.cut_n:
        said.append(f"{'the result of a tool was' if n == 1 else f'{n} results of tools were'} cut short")
    return f"the context is full: {', '.join(said)}" if said else ""


def depth_used(rounds: Sequence[Round]) -> int | None:
    """The depth most rounds had, the deeper one if two are equally frequent; None without rounds."""
    if not rounds:
        return None
    frequency = Counter(round_.depth for round_ in rounds)
    return max(frequency, key=lambda depth: (frequency[depth], depth))


def drafters_used(rounds: Sequence[Round]) -> tuple[str, ...]:
    """The drafters that proposed, in order of first appearance; empty if every round was plain."""
    rounds_by = (round_.drafter for round_ in rounds if round_.drafter is not None)
    # Those that shared a round are named together there.
    return tuple(dict.fromkeys(name for together in rounds_by for name in together.split("+")))


def summary_parts(timings: Timings, rounds: Sequence[Round], pair: str) -> tuple[str, ...]:
    """The figures of a finished reply, each with its name; those that were not measured are left out."""
    known = not rounds or timings.rounds_n > 0
    drafters = drafters_used(rounds)
    depth = depth_used(rounds) if known else None
    parts = [
        tokens(timings.predicted_n),
        timings.predicted_per_second is not None and f"{speed(timings.predicted_per_second)} tokens/s",
        timings.busy and "speed-up unknown (the machine is busy)",
        timings.speedup_vs_plain is not None and f"speed-up {times(timings.speedup_vs_plain)}",
        timings.draft_acceptance_rate is not None and f"acceptance {percent(timings.draft_acceptance_rate)}",
        timings.mean_acceptance_length is not None
        and f"mean acceptance length {length(timings.mean_acceptance_length)}",
        depth is not None and f"depth {depth}",
        f"drafter {'+'.join(drafters)}" if drafters else known and "no drafter",
        f"pair {pair}",
    ]
    return tuple(part for part in parts if part)


def summary_line(timings: Timings, rounds: Sequence[Round], pair: str) -> str:
    """``summary_parts`` on one line, as ``localspec run`` ends with."""
    return ", ".join(summary_parts(timings, rounds, pair))


def sentence(timings: Timings) -> str:
    """The figures of a reply as a sentence to be read, or to be read aloud."""
    clauses = [tokens(timings.predicted_n)]
    if timings.draft_acceptance_rate is not None:
        clauses.append(f"{percent(timings.draft_acceptance_rate)} of the draft's guesses accepted")
    if timings.speedup_vs_plain is not None:
        clauses.append(f"{_one_decimal(timings.speedup_vs_plain)} times plain speed")
    elif timings.predicted_per_second is not None:
        clauses.append(f"{speed(timings.predicted_per_second)} tokens a second")
    why = why_slower(timings)
    return ", ".join(clauses) + (f": {why}." if why else ".")


def why_slower(timings: Timings) -> str:
    """The reason why a reply with guesses was slower than plain decoding; empty if it was not."""
    if timings.speedup_vs_plain is None or timings.speedup_vs_plain >= _AS_FAST or not timings.draft_n:
        return ""
    per_round = timings.mean_acceptance_length or 1.0
    cost = per_round / timings.speedup_vs_plain
    return f"a round wrote {length(per_round)} tokens and took as long as {length(cost)} plain ones"


def failure_note(round_: Round) -> str:
    """A clause about the drafters that failed and are left out, without a full stop; empty if none failed."""
    return "; ".join(
        f"the {failure.drafter} failed and is left out of this reply: {failure.message.rstrip('.')}"
        for failure in round_.failures
    )


def tokens(n: int) -> str:
    """A number of tokens with the word.

    >>> tokens(1), tokens(2345)
    ('1 token', '2,345 tokens')
    """
    return number_of(n, "token")


def size(size_bytes: int | None) -> str:
    """The size of a file.

    >>> size(2_345_678), size(24_000_000), size(2_497_280_256), size(None)
    ('2.35 MB', '24.0 MB', '2.50 GB', '-')
    """
    if size_bytes is None:
        return MISSING
    if size_bytes < 999_500_000:
        return f"{_three_digits(size_bytes / 1e6)} MB"
    return f"{_three_digits(size_bytes / 1e9)} GB"


def short(number: float | None) -> str:
    """A large number, of parameters or of downloads.

    >>> short(8_190_735_360), short(134_515_008), short(15_300), short(42), short(None)
    ('8.19B', '135M', '15.3k', '42', '-')
    """
    for unit, value in (("T", 1e12), ("B", 1e9), ("M", 1e6), ("k", 1e3)):
        if number is not None and number >= value * 0.9995:
            return f"{_three_digits(number / value)}{unit}"
    return MISSING if number is None else f"{number:.0f}"


def _one_decimal(ratio: float) -> str:
    """Enough for a sentence, but never "0.0"."""
    return f"{ratio:.1f}" if ratio >= 0.95 else f"{ratio:.2f}"


def _three_digits(value: float | None) -> str:
    """Two decimals below 10, one below 100, none above, judged after rounding."""
    if value is None:
        return MISSING
    if value < 9.995:
        return f"{value:.2f}"
    if value < 99.95:
        return f"{value:.1f}"
    return f"{value:.0f}"


def _padded(text: str, width: int, fixed: bool) -> str:
    return text.rjust(width) if fixed else text
