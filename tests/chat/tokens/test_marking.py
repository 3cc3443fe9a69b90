"""The modes of marking: their kinds, their order, and the format of replies."""

from __future__ import annotations

import pytest

from localspec.chat.tokens.marking import (
    HEAT_KINDS,
    MODES,
    OTHER,
    TARGET,
    GhostMode,
    MarkMode,
    ReplyFormat,
    heat_kind,
    kinds_of,
)
from localspec.engine.drafters import drafter_names


def test_heat_is_cut_at_its_own_labels() -> None:
    """A probability is of the first kind whose bound it reaches."""
    expected = {1.0: 0, 0.9: 0, 0.899: 1, 0.5: 1, 0.1: 2, 0.01: 3, 0.0099: 4, 0.0: 4, float("nan"): 5}
    assert {prob: HEAT_KINDS.index(heat_kind(prob)) for prob in expected} == expected


def test_drafters_are_those_there_are() -> None:
    """Their names are those of their files; what they compute with is not loaded for it."""
    assert kinds_of(MarkMode.DRAFTER) == (*drafter_names(), OTHER, TARGET)


@pytest.mark.parametrize("markdown", [True, False])
def test_one_key_goes_through_all_modes_and_ghosts(markdown: bool) -> None:
    """And comes back; each has a sentence. Markdown stays Markdown, tokens stay tokens, and both have the marks."""
    reply_format = ReplyFormat(markdown=markdown)
    seen = []
    for _ in MarkMode:
        reply_format = reply_format.next(hidden=False)
        seen.append(reply_format.mode)
        assert reply_format.markdown == markdown
        assert reply_format.marks is reply_format.mode
    assert set(seen) == set(MarkMode) == set(MODES)
    assert reply_format.mode is ReplyFormat().mode
    assert GhostMode.OFF.next.next.next is GhostMode.OFF


@pytest.mark.parametrize("mode", MarkMode)
def test_marks_that_markdown_hides_are_brought_out_first(mode: MarkMode) -> None:
    """One press shows what is there; only then the next mode."""
    clean = ReplyFormat(mode)
    assert clean.marks is MarkMode.OFF
    shown = clean.next(hidden=True)
    assert shown == ReplyFormat(MarkMode.SUBTLE if mode is MarkMode.OFF else mode, marked=True)
    assert shown.next(hidden=True).mode is shown.mode.next


@pytest.mark.parametrize("mode", MarkMode)
def test_nothing_that_is_hidden_is_not_brought_out(mode: MarkMode) -> None:
    """Tokens have marks in any case, as a reply has that is being written: the key goes on at once."""
    assert ReplyFormat(mode, markdown=False).next(hidden=True).mode is mode.next
    assert ReplyFormat(mode).next(hidden=False).mode is mode.next
