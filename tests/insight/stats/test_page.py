"""The page of figures fits whatever it is written on, and says the same everywhere."""

from __future__ import annotations

import pytest

from localspec.insight.stats.overview import Overview
from localspec.insight.stats.page import Sheet, page
from localspec.insight.stats.wording import GROUP_COLUMNS, SHOWN, basis
from localspec.store import Store
from tests.insight.stats.support import Kind, fill


def overview_of(store: Store) -> Overview:
    overview = Overview()
    for run in store.runs():
        overview.add(run)
    return overview


@pytest.mark.parametrize("width", [16, 20, 23, 24, 25, 39, 40, 57, 58, 75, 76, 80, 200])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_every_line_fits(mixed: Store, width: int, ascii_only: bool) -> None:
    """From 27 columns on all of it, below all but the two charts of days, which may be broken in two."""
    lines = [text for text, _ in page(overview_of(mixed), Sheet(width, ascii_only))]
    charts = lines[-2:]
    assert all(len(line) <= max(width, 16) for line in lines[:-2])
    assert all(len(line) <= max(width, 27) for line in charts)
    assert not ascii_only or "".join(lines).isascii()


@pytest.mark.parametrize("width", [16, 45, 80])
def test_every_measure_has_its_median(mixed: Store, width: int) -> None:
    """However narrow it is."""
    overview = overview_of(mixed)
    text = "\n".join(text for text, _ in page(overview, Sheet(width)))
    for shown in SHOWN:
        assert shown.written(overview.whole.measures[shown.measure].quantile(0.5)) in text
        assert shown.head[:16] in text


def test_replies_without_a_proposal_have_no_histogram(store: Store) -> None:
    """But a sentence in its place."""
    fill(store, Kind(factor=1.0))
    overview = Overview()
    assert any("Nothing was proposed" in text for text, _ in page(overview, Sheet(80)))
    for run in store.runs():
        overview.add(run)
    assert not any("Nothing was proposed" in text for text, _ in page(overview, Sheet(80)))
    assert basis(overview).startswith("1 reply of a-pair, 2026-11-01:")


def test_columns_are_named_once() -> None:
    """So that a list may choose them by their heads."""
    assert len({column.head for column in GROUP_COLUMNS}) == len(GROUP_COLUMNS)
