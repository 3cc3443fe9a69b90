"""The range of a number is declared once, and holds on every way into the engine."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from typing import Any

import pytest

from localspec.base.errors import UsageError
from localspec.config import SETTINGS
from localspec.config.kinds import Number
from localspec.engine.settings import Sampling
from localspec.models.pairs import RecommendedSampling
from localspec.runtime.sampling import build_sampling, check_ranges

RANGES: dict[str, Any] = {
    each.key: each.kind.least
    for each in SETTINGS
    if each.section == "sampling" and isinstance(each.kind, Number) and isfinite(each.kind.least)
}


@pytest.mark.parametrize(
    ("sampling", "named"),
    [
        (Sampling(temperature=-1), "--temperature"),
        (Sampling(temperature=float("nan")), "--temperature"),
        (Sampling(temperature=float("inf")), "--temperature"),
        (Sampling(top_k=2**31), "--top-k"),
        (Sampling(top_p=0), "--top-p"),
        (Sampling(min_p=1.5), "--min-p"),
        (Sampling(xtc_probability=0.5, xtc_threshold=0.6), "--xtc-threshold"),
        (Sampling(repeat_penalty=0), "--repeat-penalty"),
        (Sampling(repeat_last_n=2**20 + 1), "--repeat-last-n"),
        (Sampling(dry_multiplier=1, dry_base=0.9), "--dry-base"),
        (Sampling(mirostat=3), "--mirostat"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_number_out_of_range_is_refused(sampling: Sampling, named: str) -> None:
    """By the name of its option, with the range as a hint."""
    with pytest.raises(UsageError, match=named) as refused:
        check_ranges(sampling)
    assert refused.value.hint.startswith("Choose a ")


@pytest.mark.parametrize("key", RANGES)
def test_every_declared_range_is_held(key: str) -> None:
    """For every number that has one."""
    with pytest.raises(UsageError, match=f"--{key.replace('_', '-')}"):
        check_ranges(replace(Sampling(), **{key: RANGES[key] - 1}))


def test_the_recommended_values_are_held_too() -> None:
    """They come from a file."""
    with pytest.raises(UsageError, match="--top-p"):
        build_sampling({}, RecommendedSampling(top_p=0.0))
    assert build_sampling({}, RecommendedSampling(top_p=0.5)).top_p == 0.5
