"""What replies are made with, as it is stored."""

from __future__ import annotations

from dataclasses import replace

import pytest

from localspec.store import Arm, ModelFileRecord, RecordFilter, ReplyMetadata, Store
from localspec.store.replies_json import about_from_dict, about_to_dict
from tests.insight.stats.support import Kind, about_of, conversation

OLDER = {
    "options": {"sampling": {"temperature": 0.5}, "depth": 4},
    "target": {"name": "t.gguf", "sha256": None, "size_bytes": 1000},
    "draft": {"name": "d.gguf", "sha256": None, "size_bytes": 100},
    "pair_id": "a-pair",
    "plain_per_second": 40.0,
}


@pytest.mark.parametrize(
    "about",
    [
        ReplyMetadata(),
        about_of(Kind()),
        ReplyMetadata(
            target=ModelFileRecord("t.gguf", "ab" * 32, 5, "cd" * 8), template="ef" * 8, trial="0bad", arm=Arm.CANDIDATE
        ),
    ],
)
def test_it_is_read_as_it_was_written(about: ReplyMetadata) -> None:
    assert about_from_dict(about_to_dict(about)) == about


def test_what_an_older_version_wrote_reads() -> None:
    """With nothing known of what it did not write."""
    about = about_from_dict(OLDER)
    assert about.target is not None
    assert (about.template, about.trial, about.arm, about.target.sample) == (None, None, None, None)
    assert (about.pair_id, about.options.depth) == ("a-pair", 4)


def test_of_no_trial_nothing_is_written() -> None:
    assert not {"trial", "arm", "template"} & set(about_to_dict(ReplyMetadata()))


def test_a_file_agrees_with_what_less_is_known_of() -> None:
    known = ModelFileRecord("t.gguf", "ab" * 32, 5, "cd" * 8)
    assert known.agrees_with(ModelFileRecord("t.gguf", None, 5))
    assert ModelFileRecord("t.gguf", None, 5).agrees_with(known)
    for other in (
        None,
        ModelFileRecord("u.gguf", None, 5),
        ModelFileRecord("t.gguf", None, 6),
        ModelFileRecord("t.gguf", "ef" * 32, 5),
        ModelFileRecord("t.gguf", None, 5, "ef" * 8),
    ):
        assert not known.agrees_with(other)


def test_replies_of_a_trial_are_found(store: Store) -> None:
    """And no others; each with the question above it and its conversation."""

    def counting(about: ReplyMetadata, number: int) -> ReplyMetadata:
        if number % 4 == 1:
            return replace(about, trial="0badcafe")
        return replace(about, trial="0badcaff", pair_id="0badcafe")

    document = conversation([Kind()] * 6)
    messages = tuple(
        replace(
            message,
            parts=tuple(replace(part, about=counting(part.about, number)) for part in message.parts),
        )
        for number, message in enumerate(document.messages)
    )
    store.add([replace(document, messages=messages)])
    runs = list(store.runs(where=RecordFilter(trial="0badcafe")))
    assert len(runs) == 3
    assert {run.about.trial for run in runs} == {"0badcafe"}
    questions = {message.node.id: message.node.parent for message in messages}
    assert all(run.question == questions[run.message] for run in runs)
    assert {run.conversation for run in runs} == {document.heading.id}
    assert len(list(store.runs())) == 6


def test_a_copy_of_a_conversation_counts_for_no_trial(store: Store) -> None:
    """Otherwise each import would add to the evidence that decides which settings are taken."""
    document = conversation([Kind()] * 6)
    messages = tuple(
        replace(
            message,
            parts=tuple(
                replace(part, about=replace(part.about, trial="0badcafe", arm=Arm.CANDIDATE)) for part in message.parts
            ),
        )
        for message in document.messages
    )
    for _ in range(3):
        store.add([replace(document, messages=messages)], copies=True)
    assert len(list(store.runs())) == 6
    assert len(list(store.runs(where=RecordFilter(trial="0badcafe")))) == 6
