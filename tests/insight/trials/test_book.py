"""Trials on disk: what was written is read again, and of several programs one alone ends a trial."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from localspec.base.errors import LocalSpecError, NotFoundError, StoreError, UsageError
from localspec.insight.trials.book import TrialBook, trials_file
from localspec.insight.trials.records import trial_from_dict, trial_to_dict
from localspec.insight.trials.trial import Change, Outcome, PromotedSetting, Trial, TrialEnd, changes_between, in_words
from localspec.runtime.chat_config import ChatConfig
from localspec.runtime.options import LoadOptions
from localspec.store import Arm
from tests.insight.trials.support import NOW, TRIAL

BOTH = replace(
    TRIAL,
    changes=(Change("spec", None, ("draft", "suffix")), Change("draft", None, Path("other.gguf"))),
    candidate_pair="other",
)
ENDED = TrialEnd(
    Outcome.PROMOTED,
    NOW,
    "It is faster.",
    "test",
    {"gain": 1.2},
    (PromotedSetting("speculation.depth", None, 6, "a-pair"),),
    "x",
)


@pytest.fixture
def book() -> TrialBook:
    return TrialBook()


@pytest.mark.parametrize("trial", [TRIAL, BOTH, replace(BOTH, end=ENDED)])
def test_a_trial_is_read_as_it_was_written(trial: Trial) -> None:
    """Fields of later versions are passed over."""
    record = trial_to_dict(trial)
    assert trial_from_dict(record) == trial
    assert trial_from_dict({**record, "later": 1, "end": record["end"] and {**record["end"], "later": 2}}) == trial


def test_another_program_sees_it(book: TrialBook) -> None:
    """Under an id of its own, until it has ended."""
    other = TrialBook()
    assert other.running("a-pair") is None
    begun = book.begin(TRIAL)
    assert other.running("a-pair") == begun
    assert other.running("another") is None
    assert other.find(begun.id[:3]) == begun
    other.end(begun.id, lambda _: ENDED)
    assert book.running("a-pair") is None
    assert book.find(begun.id).end == ENDED


def test_two_at_once_on_a_pair_are_refused(book: TrialBook) -> None:
    begun = book.begin(TRIAL)
    with pytest.raises(UsageError, match=begun.id):
        book.begin(TRIAL)
    book.begin(replace(TRIAL, pair="another"))


def test_a_trial_ends_once(book: TrialBook) -> None:
    """Whoever comes second acts no more; if acting fails, it goes on."""
    begun = book.begin(TRIAL)

    def fails(_: Trial) -> TrialEnd:
        raise StoreError("The disk is full.")

    with pytest.raises(StoreError):
        book.end(begun.id, fails)
    assert book.running("a-pair") == begun
    assert book.end(begun.id, lambda _: ENDED) is not None
    assert book.end(begun.id, fails) is None


def test_an_id_is_found_by_its_beginning(book: TrialBook) -> None:
    for pair in ("one", "two"):
        book.begin(replace(TRIAL, pair=pair))
    for beginning in ("", "x"):
        with pytest.raises(NotFoundError):
            book.find(beginning)
    ids = [trial.id for trial in book.trials()]
    assert [book.find(each) for each in ids] == list(book.trials())


@pytest.mark.parametrize(
    "text", ["[", '[{"id": "x"}]', "{}", '[{"pair": 1}, 2]', "\x00", "[" * 100_000], ids=lambda text: text[:12]
)
def test_a_file_that_is_none_is_said(book: TrialBook, text: str) -> None:
    """And is not written over."""
    trials_file().parent.mkdir(parents=True)
    trials_file().write_text(text)
    for act in (book.trials, lambda: book.begin(TRIAL)):
        with pytest.raises(LocalSpecError, match="cannot be understood"):
            act()
    assert trials_file().read_text() == text


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        *(("id", 7), ("pair", 5), ("most_n", "many"), ("promotes", "no")),
        ("changes", [{"name": "speed", "before": 1, "after": 2}]),
        ("changes", [{"name": "depth", "before": None, "after": "six"}]),
        ("changes", [{"name": "mmap", "before": None, "after": "yes"}]),
    ],
    ids=str,
)
def test_a_trial_of_another_form_is_said(book: TrialBook, field: str, wrong: object) -> None:
    """As a later LocalSpec may try something else, and a person may write into the file."""
    trials_file().parent.mkdir(parents=True)
    trials_file().write_text(json.dumps([{**trial_to_dict(TRIAL), field: wrong}]))
    with pytest.raises(LocalSpecError, match="cannot be understood"):
        book.running("a-pair")


def test_what_differs_is_what_is_tried() -> None:
    """And either side can be made of the other."""
    incumbent = ChatConfig(LoadOptions(Path("t.gguf"), Path("d.gguf")), pair_id="a-pair")
    candidate = replace(
        incumbent,
        load=replace(incumbent.load, draft=Path("e.gguf"), threads=3),
        reply=replace(incumbent.reply, spec=("suffix",), depth=4),
    )
    trial = replace(TRIAL, changes=changes_between(incumbent, candidate))
    assert in_words(trial) == (
        "spec suffix instead of auto, depth 4 instead of auto, draft e.gguf instead of d.gguf, "
        "threads 3 instead of auto"
    )
    assert trial.sticky
    assert trial.suits(incumbent)
    assert trial.is_candidate(candidate)
    assert not trial.suits(candidate)
    assert trial.with_arm(incumbent, Arm.CANDIDATE) == trial.with_arm(candidate, Arm.CANDIDATE) == candidate
    assert trial.with_arm(candidate, Arm.INCUMBENT) == incumbent
