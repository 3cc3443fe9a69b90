"""Trials as text, in 80 columns and without colour."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from localspec.cli.tables import columns, paragraph
from localspec.insight.stats.objectives import seconds
from localspec.insight.trials.trial import Trial, in_words
from localspec.runtime.figures import MISSING, length, percent, speed, times
from localspec.store.timestamps import local_time

_WORSE = {"tokens_per_second": "slower", "ttft_s": "later to begin", "failures": "failing more often"}


def begun(trial: Trial) -> str:
    """The sentences about a new trial."""
    parts = [
        f"Trial {trial.id} on {trial.pair}: {in_words(trial)}, on {percent(trial.share)} of {trial.units}.",
        "It is evaluated after every reply. A candidate that is worse is rolled back, one that is faster is "
        + ("written into the settings" if trial.promotes else "reported")
        + f"; either is wrong with a probability of at most {trial.error * 100:g} %.",
    ]
    if trial.sticky:
        parts.append("The pair is loaded anew when a conversation begins that is on the other side.")
    parts.append(f"`localspec trials show {trial.id}` says how it stands; `localspec trials stop {trial.id}` ends it.")
    return paragraph(" ".join(parts))


def state(trial: Trial) -> str:
    """The state in at most two words."""
    return "under way" if trial.end is None else str(trial.end.outcome)


def listing(trials: Sequence[Trial]) -> Iterator[str]:
    """A line for each trial."""
    if not trials:
        yield paragraph(
            "There are no trials. This begins one: localspec trials start --depth 6. "
            "`localspec trials start --help` lists what can be tried."
        )
        return
    rows = [
        (each.id, state(each), f"{each.begun.astimezone():%Y-%m-%d}", percent(each.share), each.pair, in_words(each))
        for each in trials
    ]
    yield from columns([("ID", "STATE", "BEGUN", "SHARE", "PAIR", "TRIED"), *rows])


def shown(trial: Trial, now: Mapping[str, Any]) -> Iterator[str]:
    """The details of a trial: the figures at its end, or ``now``."""
    yield paragraph(
        f"Trial {trial.id} on {trial.pair}: {in_words(trial)}, on {percent(trial.share)} of {trial.units}, "
        f"since {local_time(trial.begun)}."
    )
    if trial.end is None:
        yield from _figures(trial, now, "No reply counts for it yet.")
        return
    yield paragraph(f"{trial.end.outcome.capitalize()} {local_time(trial.end.at)}. {trial.end.why}")
    if trial.end.written or trial.end.added_pair:
        yield paragraph(f"`localspec trials rollback {trial.id}` puts back what was set before.")
    try:
        yield from list(_figures(trial, trial.end.figures or now, "No reply counts for it."))
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError):  # the file was changed by hand
        yield paragraph(f"Its figures cannot be understood; `localspec trials show {trial.id} --json` writes them.")


def _figures(trial: Trial, figures: Mapping[str, Any], none: str) -> Iterator[str]:
    """The table and the evidence; the sentence ``none`` where there are no replies."""
    if not any(side["replies_n"] for side in figures["arms"].values()):
        yield none
        return
    yield ""
    yield from _table(trial, figures)
    yield ""
    yield paragraph(" ".join(_evidence(trial, figures)))


def _table(trial: Trial, figures: Mapping[str, Any]) -> Iterator[str]:
    sides, count = [figures["arms"]["candidate"], figures["arms"]["incumbent"]], "{:,d}".format

    def line(name: str, written: Callable[[Any], str], of: Callable[[Mapping[str, Any]], Any]) -> str:
        return f"{name:24}" + "".join(f"  {written(of(side)):>10}" for side in sides)

    def middle(measure: str) -> Callable[[Mapping[str, Any]], Any]:
        return lambda side: side["medians"][measure]

    yield f"{'':24}" + "".join(f"  {head:>10}" for head in ("CANDIDATE", "INCUMBENT"))
    yield line("replies", count, lambda side: side["replies_n"])
    yield line(f"{trial.units} that count", count, lambda side: side["units_n"])
    yield line("failed", count, lambda side: side["failed_n"])
    yield line("tokens/s", speed, middle("tokens_per_second"))
    yield line("speed-up", times, middle("speedup_vs_plain"))
    yield line("time to first token", seconds, middle("ttft_s"))
    yield line("acceptance", percent, lambda side: side["draft_acceptance_rate"])
    yield line("mean acceptance length", length, lambda side: side["mean_acceptance_length"])


def _evidence(trial: Trial, figures: Mapping[str, Any]) -> Iterator[str]:
    gain = figures["gain"]
    if gain is not None:
        yield f"On like replies the candidate is {abs(gain - 1) * 100:.0f} % {'faster' if gain > 1 else 'slower'}."
    worse, better, bar = (figures[name] for name in ("evidence_worse", "evidence_better", "evidence_to_decide"))
    which = max(_WORSE, key=lambda name: figures["evidence_worse_by_measure"][name])
    yield (
        f"Evidence that it is worse: {_odds(worse)}" + (f", most of it for {_WORSE[which]}" if worse > 1 else "") + ";"
    )
    yield f"that it is faster: {_odds(better)}; {bar:g} decides."
    yield (
        f"Evidence begins at 1; where there is no difference it ever comes to {bar:g} with a probability of at most "
        f"{trial.error * 100:g} %."
    )


def _odds(evidence: float | None) -> str:
    if evidence is None:
        return MISSING
    return f"{evidence:.2g}" if evidence < 10 else f"{evidence:,.0f}"
