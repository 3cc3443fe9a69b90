"""What is done once the evidence suffices: what the trial was told to, and no more."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import pytest

from localspec.config import config_file, read_config
from localspec.insight.trials.book import TrialBook
from localspec.insight.trials.comparison import TrialComparison
from localspec.insight.trials.decision import decide
from localspec.insight.trials.trial import Outcome, Trial
from tests.insight.trials.support import NOW, TRIAL, World, replies

FASTER, SLOWER = World(ratio=1.6), World(ratio=0.6)


def compared(trial: Trial, world: World) -> TrialComparison:
    comparison = TrialComparison(trial)
    for run in islice(replies(trial, world, seed=1), 400):
        comparison.receive(run)
    return comparison


@pytest.mark.parametrize("promotes", [True, False])
def test_a_better_candidate_is_written_into_the_settings_only_where_that_was_wanted(promotes: bool) -> None:
    """Else the trial goes on, and nothing at all is written."""
    book = TrialBook(new_id=lambda: TRIAL.id)
    trial = book.begin(replace(TRIAL, pair="builtin", promotes=promotes))
    comparison = compared(trial, FASTER)
    verdict = comparison.verdict()
    assert verdict is not None
    assert verdict.outcome is Outcome.PROMOTED
    said = decide(book, trial, comparison, lambda: NOW)
    ended = book.find(trial.id).end
    if promotes:
        assert "pair.builtin.depth = 6" in said
        assert ended is not None
        assert read_config().pairs == {"builtin": {"speculation.depth": 6}}
    else:
        assert said == ""
        assert ended is None
        assert not config_file().exists()


def test_a_worse_candidate_goes_even_where_none_is_promoted() -> None:
    """The incumbent's settings are as they were."""
    book = TrialBook(new_id=lambda: TRIAL.id)
    trial = book.begin(replace(TRIAL, pair="builtin", promotes=False))
    assert "rolled back" in decide(book, trial, compared(trial, SLOWER), lambda: NOW)
    assert not config_file().exists()
