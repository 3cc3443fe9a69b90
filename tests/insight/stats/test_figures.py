"""Every figure is what adding up by hand gives."""

from __future__ import annotations

import json
import math
from datetime import UTC
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.insight.stats.charts import bar, heights, shape
from localspec.insight.stats.digest import MEASURES, Digest
from localspec.insight.stats.groups import BY
from localspec.insight.stats.objectives import Objectives, ObjectiveWatch
from localspec.insight.stats.overview import Overview
from localspec.insight.stats.sketch import RELATIVE_ERROR, Sketch
from localspec.insight.stats.subjects import Subject, subject_of
from localspec.store import RecordFilter, ReplyRecord, Store
from tests.insight.stats.support import TEXTS

EVERYTHING = RecordFilter(texts=True, rounds=True)


def naive_quantile(values: list[float], share: float) -> float:
    if share == 0.5:
        return median(values)
    return sorted(values)[max(0, math.ceil(share * len(values) - 1e-9) - 1)]


@given(st.lists(st.floats(0, 1e6), min_size=1), st.sampled_from((0.0, 0.05, 0.5, 0.95, 0.99, 1.0)))
def test_quantiles(values: list[float], share: float) -> None:
    """Within half a per cent of the value that they stand for."""
    sketch = Sketch()
    for value in values:
        sketch.add(value)
    found = sketch.quantile(share)
    assert found is not None
    assert math.isclose(found, naive_quantile(values, share), rel_tol=RELATIVE_ERROR * 1.001, abs_tol=1e-8)
    assert sum(sketch.histogram(sketch.least, sketch.most, 7)) == sketch.n == len(values)


def test_what_was_not_measured_does_not_count() -> None:
    """Nor is what is no number."""
    sketch = Sketch()
    for value in (None, math.nan, math.inf):
        sketch.add(value)
    assert (sketch.n, sketch.mean, sketch.quantile(0.5)) == (0, None, None)
    assert sketch.histogram(0, 1, 3) == [0, 0, 0]


def test_a_sketch_stays_small() -> None:
    """Whatever is put in."""
    sketch = Sketch()
    for n in range(20_000):
        sketch.add(1e-6 * 1.002**n % 4000)
    assert len(sketch._buckets) < 2500


def check(digest: Digest, runs: list[ReplyRecord]) -> None:
    """A digest against its runs."""
    assert digest.replies_n == len(runs)
    assert digest.tokens_n == sum(run.timings.predicted_n for run in runs)
    assert digest.ignored_n == sum(len(round_.ignored) for run in runs for round_ in run.rounds)
    rounds = [round_ for run in runs for round_ in run.rounds]
    proposed_n = sum(round_.proposed_n for round_ in rounds)
    accepted_n = sum(round_.accepted_n for round_ in rounds)
    assert digest.acceptance == (accepted_n / proposed_n if proposed_n else None)
    assert digest.mean_acceptance_length == sum(len(round_.tokens) for round_ in rounds) / len(rounds)
    for name, measure in MEASURES.items():
        values = [value for run in runs if (value := measure(run)) is not None]
        sketch = digest.measures[name]
        assert sketch.n == len(values)
        for share in (0.05, 0.5, 0.95, 0.99):
            assert sketch.quantile(share) == pytest.approx(naive_quantile(values, share), rel=RELATIVE_ERROR)


def test_shares_are_those_of_the_rounds(mixed: Store) -> None:
    """Counted from each round itself, not from the figures at the end of a reply."""
    runs = list(mixed.runs(where=EVERYTHING))
    assert len(runs) == 75
    for run in runs:
        verify_s = sum(round_.verify_s for round_ in run.rounds)
        total_s = sum(round_.total_s for round_ in run.rounds)
        assert MEASURES["verify_share"](run) == pytest.approx(verify_s / total_s, rel=1e-3)
        assert MEASURES["tokens_per_second"](run) == pytest.approx(run.timings.predicted_n / total_s, rel=1e-3)
        assert MEASURES["speedup_vs_plain"](run) == pytest.approx(run.timings.predicted_n / total_s / 40, rel=1e-3)


@pytest.mark.parametrize("by", BY)
def test_groups_part_the_whole(mixed: Store, by: str) -> None:
    """Each reply is in one group, each group has the figures of its replies, and JSON has them all."""
    runs = list(mixed.runs(where=EVERYTHING))
    overview = Overview(by, UTC)
    for run in runs:
        overview.add(run)
    check(overview.whole, runs)
    groups = overview.groups()
    assert len(groups) > 1
    for name, digest in groups:
        check(digest, [run for run in runs if BY[by](run, UTC)[1] == name])
    assert sum(digest.replies_n for _, digest in groups) == len(runs)
    record = json.loads(json.dumps(overview.to_dict(), allow_nan=False))
    assert sum(group["replies_n"] for group in record["groups"].values()) == len(runs)
    assert sum(day["replies_n"] for day in record["days"].values()) == len(runs)


def test_objectives_are_met_day_by_day(mixed: Store) -> None:
    """A miss for each pair and day whose figures, counted by hand, are beyond what is wanted."""
    runs = list(mixed.runs())
    wanted = Objectives(ttft_p95_s=0.5, min_speedup=2.0)
    watch = ObjectiveWatch(wanted, UTC)
    days: dict[tuple[str, str], list[ReplyRecord]] = {}
    for run in runs:
        watch.add(run)
        days.setdefault((f"{run.at:%Y-%m-%d}", run.about.pair_id or "own files"), []).append(run)
    by_hand = []
    for (day, pair), those in sorted(days.items()):
        if naive_quantile([run.ttft_s or 0.0 for run in those], 0.95) > 0.5:
            by_hand.append((day, pair, "ttft_p95_s"))
        if naive_quantile([run.timings.speedup_vs_plain or 0.0 for run in those], 0.5) < 2.0:
            by_hand.append((day, pair, "min_speedup"))
    assert [(miss.day, miss.pair, miss.objective) for miss in watch.misses()] == by_hand
    assert {name for _, _, name in by_hand} == {"ttft_p95_s", "min_speedup"}
    nothing = ObjectiveWatch(Objectives(), UTC)
    for run in runs:
        nothing.add(run)
    assert list(nothing.misses()) == []


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        *((text, Subject(name)) for name, text in TEXTS.items()),
        ("", Subject.SHORT),
        ("Yes.", Subject.SHORT),
        ("```json\n[1]\n```", Subject.JSON),
        ("{not json", Subject.SHORT),
        ("Here it is:\n```\na\nb\n```", Subject.CODE),
        ("One.\nTwo.\nThree.\n```\na\n```", Subject.SHORT),
        ("~~~\nnever closed", Subject.CODE),
        ("| a | b |\n| - | - |\n| 1 | 2 |", Subject.LIST),
        ("1. a\n2) b\nThat is all.", Subject.LIST),
        ("[" * 100_000, Subject.SHORT),
        ("5", Subject.SHORT),
    ],
)
def test_subjects(text: str, subject: Subject) -> None:
    """By the rules of the module, whatever the text."""
    assert subject_of(text) is subject


@given(st.floats(0, 1), st.integers(1, 60), st.booleans())
def test_bars_fit(share: float, width: int, ascii_only: bool) -> None:
    """And show whatever is above nothing."""
    drawn = bar(share, width, ascii_only=ascii_only)
    assert len(drawn) <= width
    assert bool(drawn) is (share > 0)
    assert drawn.isascii() or not ascii_only


@given(st.lists(st.integers(0, 1000), max_size=40), st.booleans())
def test_rows_of_bars_fit(counts: list[int], ascii_only: bool) -> None:
    """A sign for each count, a space for none, the fullest for the most."""
    drawn = shape(counts, ascii_only=ascii_only)
    assert [sign == " " for sign in drawn] == [n == 0 for n in counts]
    full = heights([1], 1, ascii_only=ascii_only)
    assert all(sign == full for sign, n in zip(drawn, counts, strict=True) if n and n == max(counts))
