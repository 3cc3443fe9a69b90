"""Which of the things on record changed when a figure did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from localspec.insight.stats.causes import Circumstances
from localspec.insight.stats.drift_watch import DriftWatch
from localspec.insight.stats.subjects import Subject
from localspec.store import Arm, ModelFileRecord, ReplyMetadata, ReplyRecord
from tests.insight.stats.support import Kind, about_of
from tests.insight.stats.test_drift_watch import runs_of

USUAL = replace(
    about_of(Kind()),
    draft=ModelFileRecord("draft.gguf", None, 100, "d1" * 8),
    target=ModelFileRecord("target.gguf", None, 1000, "a1" * 8),
    template="e1" * 8,
)
OLDER = replace(about_of(Kind()), draft=ModelFileRecord("draft.gguf", None, 100))


def changes(before: ReplyMetadata, since: ReplyMetadata) -> tuple[str, ...]:
    circumstances = Circumstances()
    for run in [*_made_with(before, 40), *_made_with(since, 10)]:
        circumstances.add(run, Subject.PROSE)
    return circumstances.changes(10)


def _made_with(about: ReplyMetadata, n: int) -> Sequence[ReplyRecord]:
    return [replace(run, about=about, prompt_n=100) for run in runs_of([Kind()] * n, 1)]


@pytest.mark.parametrize(
    ("since", "named"),
    [
        (
            replace(USUAL, draft=ModelFileRecord("draft.gguf", None, 100, "d2" * 8)),
            "what is in the file of the draft changed, from digest d1d1d1d1d1d1 to digest d2d2d2d2d2d2",
        ),
        (
            replace(USUAL, target=ModelFileRecord("target.gguf", None, 1000, "a2" * 8)),
            "what is in the file of the target changed, from digest a1a1a1a1a1a1 to digest a2a2a2a2a2a2",
        ),
        (
            replace(USUAL, template="e2" * 8),
            "the chat template changed, from digest e1e1e1e1e1e1 to digest e2e2e2e2e2e2",
        ),
    ],
)
def test_another_file_of_the_same_name_and_size_and_another_template_are_named(
    since: ReplyMetadata, named: str
) -> None:
    assert changes(USUAL, since) == (named,)


def test_another_file_is_named_once() -> None:
    """By its name or size; of course its content is another."""
    (only,) = changes(USUAL, replace(USUAL, draft=ModelFileRecord("draft.gguf", None, 101, "d2" * 8)))
    assert only.startswith("the draft changed")


def test_that_older_replies_know_less_is_no_change() -> None:
    assert changes(OLDER, USUAL) == ()
    assert changes(USUAL, OLDER) == ()


def test_a_trial_raises_no_alarm() -> None:
    """However bad its candidate is: that is what trials are for."""
    usual = runs_of([Kind()] * 100, 3)
    bad = [
        replace(run, about=replace(run.about, trial="0badcafe", arm=Arm.CANDIDATE))
        for run in runs_of([Kind(factor=0.05)] * 60, 4)
    ]
    watch = DriftWatch()
    assert not any(map(watch.receive, [*usual, *bad]))
    incumbents = [replace(run, about=replace(run.about, arm=Arm.INCUMBENT)) for run in bad]
    assert any(map(watch.receive, incumbents))
