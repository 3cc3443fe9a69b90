"""The summary of a pair's samples by subject, temperature and condition."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from localspec.base.significance import Interval, median_interval
from localspec.insight.bench.sample import Sample
from localspec.insight.bench.trials import PLAIN

ALL = "all"
"""The subject of a cell for all subjects together."""
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Cell:
    """One condition at one temperature on one subject; medians over replies."""

    way: str
    temperature: float
    subject: str
    n: int
    """Speculative replies with a plain one to compare."""
    plain_per_second: float
    per_second: float
    speedup: float
    """The median ratio of paired speeds."""
    interval: Interval | None
    """The confidence interval of the speed-up; None with too few replies."""
    prompt_per_second: float | None
    plain_prompt_per_second: float | None
    first_token_ms: float
    plain_first_token_ms: float
    draft_share: float
    """The share of drafting in the time of all rounds."""
    verify_share: float
    draft_acceptance_rate: float | None
    mean_acceptance_length: float
    acceptance_per_pos: tuple[float, ...]
    """The share of accepted proposals among those judged at each position."""

    @property
    def host_share(self) -> float:
        return max(0.0, 1 - self.draft_share - self.verify_share)


def series(cells: Iterable[Cell]) -> dict[str, list[Cell]]:
    """The cells of each condition and temperature, by their name in words."""
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        found.setdefault(f"{cell.way}, temperature {cell.temperature:g}", []).append(cell)
    return found


def ways(samples: Iterable[Sample]) -> list[str]:
    """The names of the speculative conditions, sorted."""
    return sorted({sample.way for sample in samples} - {PLAIN})


def cells(samples: Sequence[Sample]) -> list[Cell]:
    """A cell for every condition, temperature and subject, and one for all subjects together.

    The error of intervals is divided among the conditions compared at a temperature (Bonferroni), because the best of
    several looks good by chance.
    """
    compared = ways(samples)
    confidence = 1 - (1 - CONFIDENCE) / max(1, len(compared))
    subjects = list(dict.fromkeys(sample.subject for sample in sorted(samples, key=lambda each: each.prompt)))
    temperatures = sorted({sample.temperature for sample in samples})
    found = []
    for temperature in temperatures:
        for way in compared:
            for subject in (*subjects, ALL):
                pairs = neighbours(samples, way, temperature, subject)
                if pairs:
                    found.append(_cell(way, temperature, subject, pairs, confidence))
    return found


def neighbours(samples: Sequence[Sample], way: str, temperature: float, subject: str) -> list[tuple[Sample, Sample]]:
    """(plain, speculative) replies to the same prompt in the same repetition."""
    chosen = [each for each in samples if each.temperature == temperature and subject in (ALL, each.subject)]
    plain = {(each.prompt, each.repetition): each for each in chosen if each.way == PLAIN}
    return [
        (plain[each.prompt, each.repetition], each)
        for each in chosen
        if each.way == way and (each.prompt, each.repetition) in plain
    ]


def _cell(
    way: str, temperature: float, subject: str, pairs: Sequence[tuple[Sample, Sample]], confidence: float
) -> Cell:
    plain, fast = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    ratios = [two.predicted_per_second / one.predicted_per_second for one, two in pairs]
    spent_ms = sum(each.predicted_ms for each in fast)
    proposed_n = sum(each.draft_n for each in fast)
    return Cell(
        way=way,
        temperature=temperature,
        subject=subject,
        n=len(pairs),
        plain_per_second=median(each.predicted_per_second for each in plain),
        per_second=median(each.predicted_per_second for each in fast),
        speedup=median(ratios),
        interval=median_interval(ratios, confidence),
        prompt_per_second=_prompt_speed(fast),
        plain_prompt_per_second=_prompt_speed(plain),
        first_token_ms=median(each.first_token_ms for each in fast),
        plain_first_token_ms=median(each.first_token_ms for each in plain),
        draft_share=sum(each.draft_ms for each in fast) / spent_ms,
        verify_share=sum(each.verify_ms for each in fast) / spent_ms,
        draft_acceptance_rate=sum(each.draft_n_accepted for each in fast) / proposed_n if proposed_n else None,
        mean_acceptance_length=sum(each.predicted_n for each in fast) / sum(each.rounds_n for each in fast),
        acceptance_per_pos=_per_position(fast),
    )


def _prompt_speed(samples: Sequence[Sample]) -> float | None:
    speeds = [each.prompt_n / each.prompt_ms * 1e3 for each in samples if each.prompt_ms > 0]
    return median(speeds) if speeds else None


def _per_position(samples: Sequence[Sample]) -> tuple[float, ...]:
    depth = max((len(each.proposed_per_pos) for each in samples), default=0)
    judged, accepted = [0] * depth, [0] * depth
    for each in samples:
        for position, n in enumerate(each.proposed_per_pos):
            judged[position] += n
        for position, n in enumerate(each.accepted_per_pos):
            accepted[position] += n
    return tuple(yes / n for yes, n in zip(accepted, judged, strict=True) if n)
